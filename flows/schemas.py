"""Writes the JSON schemas in params/schema/ from the models: `python -m flows.schemas`, or `make schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.questions import allow_questions
from flows.release import ReleaseSpec
from flows.run.publish import as_json
from flows.sweep.spec import schema_of_sweep_files
from flows.watch.spec import schema_of_watch_files
from tasks.audit.certificates.approval import schema_of_approvals
from tasks.audit.certificates.revocation import schema_of_revocations
from tasks.report.predicate import schema_of_predicates
from tasks.runtime.files import write_whole

FOLDER = Path(__file__).resolve().parent.parent / "params" / "schema"


def schema_of_release_files() -> dict[str, Any]:
    """The JSON schema that editors use; params/schema/release.json holds it, and a test says when it is stale."""
    schema = allow_questions(ReleaseSpec.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schemas() -> dict[str, bytes]:
    """File name to content."""
    made = {
        "release.json": schema_of_release_files(),
        "sweep.json": schema_of_sweep_files(),
        "watch.json": schema_of_watch_files(),
        "predicate.json": schema_of_predicates(),
        "approval.json": schema_of_approvals(),
        "revocation.json": schema_of_revocations(),
    }
    return {name: as_json(schema) for name, schema in made.items()}


if __name__ == "__main__":
    for name, content in schemas().items():
        write_whole(FOLDER / name, content, mode=0o644)

"""Writes the JSON schemas in params/schema/ from the models: `python -m flows.schemas`, or `make schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.questions import allow_questions
from flows.release import ReleaseSpec
from flows.run.publish import as_json
from flows.sweep.spec import create_sweep_schema
from flows.watch.spec import create_watch_schema
from tasks.audit.certificates.approval import create_approval_schema
from tasks.audit.certificates.revocation import create_revocation_schema
from tasks.report.predicate import create_predicate_schema
from tasks.runtime.files import write_whole

FOLDER = Path(__file__).resolve().parent.parent / "params" / "schema"


def create_release_schema() -> dict[str, Any]:
    """The JSON schema that editors use; params/schema/release.json holds it, and a test says when it is stale."""
    schema = allow_questions(ReleaseSpec.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schemas() -> dict[str, bytes]:
    """File name to content."""
    made = {
        "release.json": create_release_schema(),
        "sweep.json": create_sweep_schema(),
        "watch.json": create_watch_schema(),
        "predicate.json": create_predicate_schema(),
        "approval.json": create_approval_schema(),
        "revocation.json": create_revocation_schema(),
    }
    return {name: as_json(schema) for name, schema in made.items()}


if __name__ == "__main__":
    for name, content in schemas().items():
        write_whole(FOLDER / name, content, mode=0o644)

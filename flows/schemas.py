"""Writes the JSON schemas in params/schema/ from the models: `python -m flows.schemas`, or `make schema`."""

from __future__ import annotations

from pathlib import Path

from flows.publish import as_json
from flows.release import schema_of_release_files
from tasks.report.predicate import schema_of_predicates
from tasks.runtime.files import write_whole

FOLDER = Path(__file__).resolve().parent.parent / "params" / "schema"


def schemas() -> dict[str, bytes]:
    """File name to content."""
    return {"release.json": as_json(schema_of_release_files()), "predicate.json": as_json(schema_of_predicates())}


if __name__ == "__main__":
    for name, content in schemas().items():
        write_whole(FOLDER / name, content, mode=0o644)

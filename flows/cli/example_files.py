"""`sdcert examples`: the release, sweep and watch files that come with the program, and the schemas for editors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import app
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import write_whole
from tasks.runtime.project_files import EXAMPLES, find_project_file

WHERE = "sdcert examples"
READABLE = 0o644


@app.command()
def examples(
    to: Annotated[Path, typer.Option(help="the folder in which `params/` is written", show_default="this one")] = Path(),
    as_json: JsonOption = False,
) -> int:
    """Write the example files and the JSON schemas into a folder. Messages name them (`params/releases/anes96.yaml`, ...).

    A file that is there already is left as it is if it says the same, and is never written over.
    """
    origin = find_project_file(EXAMPLES)
    found = sorted(path for path in origin.rglob("*") if path.is_file())
    contents = {to / EXAMPLES / path.relative_to(origin): read_file(path) for path in found}
    for path, content in contents.items():
        if path.exists() and (not path.is_file() or read_file(path) != content):
            raise InputError("file-exists", f"{WHERE} --to", "There is a file of that name which says something else.",
                             "a folder without it", "choose another folder: `--to FOLDER`", str(path))  # fmt: skip
    for path, content in contents.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, mode=READABLE)
    if as_json:
        write_json([str(path) for path in contents])
        return 0
    for path in contents:
        terminal(soft_wrap=True).print(str(path))
    sys.stderr.write(f"next: sdcert certify {to / EXAMPLES}/releases/anes96.yaml\n")
    return 0

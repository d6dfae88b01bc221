"""`--json`: what a command found, on standard output, for scripts. Messages for people then go to standard error."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="print the result on stdout as JSON; messages stay on stderr")]


def write_json(found: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")

"""Follow a page of docs that tells how to add something: take its steps, and carry them out in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

ROOT = Path(__file__).resolve().parents[2]
Action = Literal["Create", "Append to", "In"]
_STEP = re.compile(
    rf"^(?P<action>{'|'.join(get_args(Action))}) `(?P<path>[^`]+)`(?:,? after `(?P<after>[^`]+)`)?:\n\n"
    r"```(?:python|text)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """One file that the page tells to touch; a part of a statement is marked as text. after: the line behind which it goes."""

    action: str
    path: str
    code: str
    after: str | None


def read_steps(page: str) -> tuple[Step, ...]:
    """The steps of a page, in its order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return tuple(Step(found["action"], found["path"], found["code"], found["after"]) for found in _STEP.finditer(text))


def copy_project(folder: Path, *tests: str) -> Path:
    """A copy of the project in `folder`, with the named files of its tests and pages; what is compiled need not be again."""
    for name in ("flows", "tasks"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("pyproject.toml", "requirements.lock", "tests/conftest.py", *tests):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return folder


def carry_out(steps: tuple[Step, ...], folder: Path) -> None:
    """Do to the copy what the steps say."""
    for step in steps:
        path = folder / step.path
        if step.action == "Create":
            assert not path.exists(), f"{step.path} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.code, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        if step.after is None:
            path.write_text(text + step.code, encoding="utf-8")
            continue
        lines = text.splitlines(keepends=True)
        (place,) = (i for i, line in enumerate(lines) if line.strip() == step.after)
        path.write_text("".join((*lines[: place + 1], step.code, *lines[place + 1 :])), encoding="utf-8")


def run_tests(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in the copy."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *words]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)

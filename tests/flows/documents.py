"""The pages that people read, the blocks in them, and small tables that their examples speak of."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from outcomes import ROOT

README = "README.md"
SUBJECTS = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
DECISIONS = tuple(f"docs/decisions/{path.name}" for path in sorted((ROOT / "docs" / "decisions").glob("*.md")))
PAGES = (README, *SUBJECTS, *DECISIONS, "CONTRIBUTING.md", "OPERATIONS.md", "SECURITY.md")
BASE = {
    "name": "example",
    "source": {"table": "survey.csv"},
    "masking": [{"method": "microaggregation", "attributes": ["age"], "k": 3}],
    "policy": [{"measure": "reidentification", "at_most": 0.5}, {"measure": "records_exposed", "at_most": 0.9}],
    "not_limited": dict.fromkeys(("insiders", "inference", "membership"), "not what the example is about"),
}
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(*kinds: str) -> list[tuple[str, str]]:
    """Every block of some kinds: its page, and its text."""
    return [(page, text) for page in PAGES for kind, text in _FENCE.findall(text_of(page)) if kind in kinds]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each `sdcert ...` of a block, without its comment."""
    for said in re.findall(r"^(?:\$ )?(?:.*; )?(?:\.venv/bin/)?sdcert ([a-z].*)$", text, re.MULTILINE):
        yield from (shlex.split(part, comments=True) for part in said.split(" && sdcert "))


def written(folder: Path, text: str, base: dict[str, object]) -> Path:
    """A release file of a block, with what the block leaves to the rest of its file."""
    given = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    left = {field: value for field, value in base.items() if field not in given}
    if given & {"released", "release"}:
        left.pop("masking", None)
    if "release" in given and "policy" in left:
        left["policy"] = [{"measure": "membership_auc", "at_most": 0.7}]
    path = folder / "release.yaml"
    path.write_text(text + "".join(f"{field}: {json.dumps(value)}\n" for field, value in left.items()))
    return path


def tables_of_the_attacks(folder: Path, n: int = 200) -> None:
    """survey.csv, register.csv and payroll.csv: of the register's 80 people 60 are in the survey, and ages are a year off."""
    rng = np.random.default_rng(5)
    people = [
        (1000 + i, rng.integers(18, 90), 100 * rng.integers(10, 90), rng.choice(["Ulm", "Kiel"]), rng.choice(["yes", "no"]))
        for i in range(n)
    ]
    known = [(people[i][0], people[i][1] + rng.integers(-1, 2), people[i][3]) for i in rng.permutation(n)[:60]]
    known += [(9000 + i, rng.integers(18, 90), "Ulm") for i in range(20)]
    _write(folder / "survey.csv", "person_id,age,income,town,vote", people)
    _write(folder / "register.csv", "ID,AGE,TOWN", known)
    _write(folder / "payroll.csv", "ID,PAY", [(people[i][0], people[i][2]) for i in rng.permutation(n)[:50]])


def table_of_the_release_file(folder: Path, n: int = 60) -> None:
    """survey.csv as the page on release files declares it: dates of its own form, decimal commas, grades, NA."""
    rng = np.random.default_rng(6)
    people = [
        (i, rng.integers(18, 90), f"{rng.integers(10, 28)}.03.{rng.integers(1930, 2000)}", f'"{rng.integers(900, 9000)},5"',
         rng.choice(["low", "middle", "high"]), rng.choice(["yes", "no", "NA"]))
        for i in range(n)
    ]  # fmt: skip
    _write(folder / "survey.csv", "person_id,age,born,income,grade,vote", people)


def _write(path: Path, head: str, rows: list[tuple[object, ...]]) -> None:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")

"""Earlier releases that a release file names, wrong on purpose: `certify` says what, where and what to do, and writes nothing.

All cases of a test are tried in one home, so that the source is read and masked once.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from release_files import HARDLY_COMPILED, survey, write_release

from tasks.runtime.settings import Home

HEAD, *ROWS = [line.split(",") for line in survey().splitlines()]
STEP = {"method": "microaggregation", "attributes": ["age", "income"], "k": 5}


def table(*columns, rows=ROWS, head=None, **cells):
    """Columns of the survey, by default all but the key, as a table. cells: by column, what is made of its cells."""
    names = columns or ("age", "income", "town", "vote")
    lines = [[cells.get(name, str)(row[HEAD.index(name)]) for name in names] for row in rows]
    return "\n".join(",".join(line) for line in [head or names, *lines]) + "\n"


WRONG_ENTRIES = {
    # what the entry says beside `table`, words of the message
    "unknown method": ({"mechanism": [{**STEP, "method": "microagregation"}]}, "microaggregation"),
    "unknown parameter": ({"mechanism": [{**STEP, "kk": 3}]}, "kk"),
    "parameter out of bounds": ({"mechanism": [{**STEP, "k": 1}]}, "mechanism[0].k"),
    "mechanism is no list": ({"mechanism": "=1+1"}, "mechanism"),
    "unknown field": ({"tabel": "x"}, "tabel"),
    "unknown alignment": ({"align": "rows"}, "align"),
    "a key of its own": ({"align": "key", "key": "person_id"}, "key"),
    "date is a number": ({"date": 2024}, "date"),
    "no table": ({"table": None}, "prior_releases[0]"),
}
WRONG_TABLES = {
    # what the file holds, what the entry says, words of the message
    "missing file": (None, {}, "old.csv"),
    "empty file": ("", {}, "old.csv"),
    "one row": (table(rows=ROWS[:1]), {}, "align"),
    "a column of another name": (table(head=["agee", "income", "town", "vote"]), {}, "agee"),
    "no column in common": ("shoe\n" + "1\n" * 80, {}, "shoe"),
    "duplicate names": (table(head=["age", "age", "town", "vote"]), {}, "age"),
    "NaN": (table(age=lambda cell: "NaN"), {}, "age"),
    "mixed types": (table(age=lambda cell: cell if cell < "5" else "old"), {}, "age"),
    "formulas for numbers": (table(income=lambda cell: f"=1+{cell}"), {}, "income"),
    "a number beyond doubles": (table(income=lambda cell: "1e400"), {}, "income"),
    "numbers too large to compare": (table(income=lambda cell: "1e300"), {}, "income"),
    "binary": ("\x00\x01" * 50, {}, "old.csv"),
    "step on an unknown attribute": (table(), {"mechanism": [{**STEP, "attributes": ["agee"]}]}, "age"),
    "step on a column that it lacks": (table("income", "town"), {"mechanism": [STEP]}, "age"),
    "no key": (table(), {"align": "key"}, "person_id"),
}
UNUSUAL = {
    "a constant": (table(age=lambda cell: "40.25"), {}),
    "unseen categories": (table(vote=lambda cell: "=perhaps"), {}),
    "a column less": (table("age", "vote"), {}),
    "groups larger than the table": (table(), {"mechanism": [{**STEP, "k": 10**30}]}),
}


@pytest.fixture
def certify_with(sdcert, tmp_path):
    """`certify_with(content, fields)` certifies after an earlier release with this file, in one home."""

    def call(content, fields):
        folder = tmp_path / "project"
        path = write_release(folder, {**HARDLY_COMPILED, "context": {"prior_releases": [{"table": "old.csv", **fields}]}})
        (folder / "old.csv").unlink(missing_ok=True)
        if content is not None:
            (folder / "old.csv").write_text(content)
        return sdcert("certify", path, "--output", tmp_path / "releases")

    return call


def find_faults(certify_with, folder: Path, content, fields, word):
    """What is wrong with how a wrong entry is refused."""
    ran = certify_with(content, fields)
    told = ran.out + ran.err
    written = [path for path in (folder / "releases").rglob("*") if path.is_file()]
    faults = {
        f"exit code {ran.code}": ran.code != 2,
        "not one message": ran.err.count("error: ") != 1 or ran.err.count("to do:") != 1,
        "no place": "prior_releases[0]" not in ran.err,
        f"no {word}": word not in ran.err,
        "a traceback": "Traceback" in told,
        "a release was written": bool(written) or bool(list(Home.current().root.glob("runs/*/certificate.json"))),
    }
    return [fault for fault, is_there in faults.items() if is_there]


def test_a_wrong_entry_is_refused_before_anything_is_read(certify_with, tmp_path):
    found = {name: find_faults(certify_with, tmp_path, table(), *case) for name, case in WRONG_ENTRIES.items()}
    assert not {name: faults for name, faults in found.items() if faults}
    assert not list(Home.current().root.glob("runs/*"))


@pytest.mark.slow
def test_a_wrong_table_is_refused(certify_with, tmp_path):
    found = {name: find_faults(certify_with, tmp_path, *case) for name, case in WRONG_TABLES.items()}
    assert not {name: faults for name, faults in found.items() if faults}


@pytest.mark.long
def test_an_unusual_table_is_attacked(certify_with, undrawn):
    """Two publish incomes unmasked, so that everybody is found; by steps that cannot have made a table nothing is decided."""
    ran = {name: certify_with(*case) for name, case in UNUSUAL.items()}
    words = ("REFUSED", "REFUSED", "CERTIFIED", "UNDECIDED")
    assert [(one.code, word in one.out) for one, word in zip(ran.values(), words, strict=True)] == [
        (1, True), (1, True), (0, True), (1, True)]  # fmt: skip
    assert not any("Traceback" in one.out + one.err for one in ran.values())

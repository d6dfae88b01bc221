"""A file that holds more than the certified table, or shows a cell otherwise, does not pass for the same data."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date, datetime, time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hidden_content import SECRET, hidden_files, in_statistical, mutated, pick
from table_files import claim_of, faithful_files, faithful_statistical, plain_table, small_table

from tasks.audit.certificates.same_content import OtherData, SameData, compare_content
from tasks.ingest.readers.compressed import decompress_content, is_compressed
from tasks.ingest.sources import read_content
from tasks.microdata.table import Microdata

CAN_BE_READ_IN_TWO_WAYS = {"na.csv": "NA taken as missing text"}


@pytest.fixture(scope="module")
def table() -> Microdata:
    return small_table()


@pytest.fixture(scope="module")
def plain() -> Microdata:
    return plain_table()


def compared(written: tuple[str, bytes], table: Microdata) -> SameData | None:
    """None where it is other data."""
    try:
        return compare_content(written[1], written[0], claim_of(table))
    except OtherData:
        return None


def test_faithful_files_are_the_same_data_and_nothing_else(table, plain, tmp_path):
    found = {name: compared((name, content), table) for name, content in faithful_files(table)}
    found |= {name: compared((name, content), plain) for name, content in faithful_statistical(plain, tmp_path)}
    assert {name: same for name, same in found.items() if same is None or same.not_covered} == {}
    assert len(found) > 55
    assert all(words in found[name].read_as for name, words in CAN_BE_READ_IN_TWO_WAYS.items())


def test_what_is_hidden_in_a_file_is_found(table, plain, tmp_path, subtests):
    hidden = [(table, written) for written in hidden_files(table)]
    hidden += [(plain, written) for written in in_statistical(plain, tmp_path)]
    for of_table, (name, content) in hidden:
        with subtests.test(name):
            same = compared((name, content), of_table)
            assert same is None or same.not_covered


def parts_of(content: bytes) -> bytes:
    """The bytes of a file, and those that are packed in it and that Python can unpack."""
    found = [content, decompress_content(content, "x")[0] if is_compressed(content) else b""]
    if content.startswith(b"PK"):
        archive = zipfile.ZipFile(io.BytesIO(content))
        found += [archive.read(one) for one in archive.namelist()]
    return b"\n".join(found)


def values_of(content: bytes, name: str, table: Microdata) -> list[list[Any]]:
    """The cells as another reader understands them."""
    plain = decompress_content(content, name)[0] if is_compressed(content) else content
    raw = read_content(content, name)
    if not raw.as_text:
        return [raw.table.column(one).to_pylist() for one in raw.table.column_names]
    text = plain.decode(raw.encoding or "utf-8")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=raw.delimiter or ","))[1:]
    kinds = [str(field.type) for field in table.arrow.schema]
    return [[understood(row[place], kind) for row in rows] for place, kind in enumerate(kinds)]


def understood(cell: str, kind: str) -> Any:
    if cell in ("", "NA"):
        return None
    readers: dict[str, Any] = {
        "int64": float,
        "double": float,
        "bool": lambda one: one.lower() in ("1", "true"),
        "date32[day]": lambda one: date.fromisoformat(one[:10]) if one[10:] in ("", "T00:00:00", " 00:00:00") else one,
        "timestamp[us]": datetime.fromisoformat,
        "time64[us]": time.fromisoformat,
    }
    return readers.get(kind, str)(cell)


def run_mutations(files, seed: int, count: int) -> dict[str, int]:
    """Mutate files at random; fails if a secret or another value passes. How many were refused, not covered and the same."""
    random = Random(seed)
    told = {"refused": 0, "not covered": 0, "same": 0}
    for _ in range(count):
        table, (name, content) = random.choice(files)
        changed = mutated(content, random)
        same = compared((name, changed), table)
        if same is None:
            told["refused"] += 1
        elif same.not_covered:
            told["not covered"] += 1
        else:
            told["same"] += 1
            assert SECRET not in parts_of(changed), (seed, name)
            assert values_of(changed, name, table) == values_of(content, name, table), (seed, name)
    return told


@pytest.mark.parametrize("seed", range(2))
def test_mutated_files_hide_nothing(table, plain, tmp_path, seed):
    told = run_mutations(pick(table, plain, tmp_path), seed, 25)
    assert told["refused"] > 0


@pytest.mark.slow
def test_many_mutated_files_hide_nothing(table, plain, tmp_path):
    run_mutations(pick(table, plain, tmp_path), 20261123, 1000)


def test_a_file_that_holds_more_is_told_with_what(checked, of_table, table, tmp_path):
    path: Path = tmp_path / "comment.zip"
    path.write_bytes(dict(hidden_files(table))["comment.zip"])
    refused = checked(of_table(table), path)
    assert refused.failures == ("file",)
    assert "use the released file itself, or write `--content-only`" in " ".join(check.says for check in refused.checks)
    accepted = checked(of_table(table), path, content_only=True)
    assert accepted.matches
    assert accepted.not_covered == refused.not_covered
    assert [check.says for check in accepted.checks if check.what == "content"] == [
        f"not covered by the certificate: {one}" for one in accepted.not_covered
    ]

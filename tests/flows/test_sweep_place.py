"""Where a sweep keeps its working set: a folder, or any address that fsspec knows."""

from __future__ import annotations

import io
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.sweep.record import records_in
from flows.sweep.working_set import WorkingSet, results_name
from tasks.microdata.errors import InputError, StorageUnreachable
from tasks.microdata.table import Microdata
from tasks.sweep.evaluation import TrialResult

ROWS = [
    TrialResult("a", "ok", None, {"sse_percent": 0.1 + 0.2, "k_anonymity": {"status": "not_applicable"}}, 0.25),
    TrialResult("b", "skipped", "too-few-rows at masking[0].k", {}, 0.0),
]


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.slow)])
def place(request, tmp_path):
    if request.param == "s3":
        return WorkingSet(f"{request.getfixturevalue('bucket')}/set").usable()
    return WorkingSet(str(tmp_path / "set") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/set")


def test_what_was_written_is_read_again(place):
    assert place.names("") == []
    assert not place.exists("one/two.json")
    place.put_json("one/two.json", {"x": [1, "\u00e4"]})
    assert place.json("one/two.json") == {"x": [1, "\u00e4"]}
    assert place.names("one") == ["two.json"]
    assert place.names("") == ["one"]
    assert place.sizes("") == {"one/two.json": len(place.read("one/two.json"))}
    with pytest.raises(FileNotFoundError):
        place.read("one/three.json")


def test_a_table_comes_back_with_gaps_types_and_texts(place):
    table = Microdata.from_columns(
        {"whole": pa.array([1, None, 3]), "text": pa.array(["a", "", None]), "real": pa.array([0.1, None, -0.0])}
    )
    place.put_table("base", table)
    assert place.table("base").arrow.equals(table.arrow)


def test_results_are_held_by_key_and_their_figures_are_exact(place):
    place.put_rows("base", ROWS)
    assert place.read_result_seconds("base") == {"a": 0.25, "b": 0.0}
    (row,) = place.rows("base", {"a", "elsewhere"})
    assert row == {
        "key": "a",
        "status": "ok",
        "reason": None,
        "figures": '{"k_anonymity":{"status":"not_applicable"},"sse_percent":0.30000000000000004}',
        "seconds": 0.25,
    }


def test_a_damaged_file_of_results_holds_nothing(place):
    place.put_rows("base", ROWS)
    name = f"base/results/{results_name(row.key for row in ROWS)}"
    whole = place.read(name)
    for damaged in (whole[:-9], b"", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
        place.write(name, damaged)
        assert place.read_result_seconds("base") == {}
        assert list(place.rows("base", {"a", "b"})) == []


def test_a_file_that_is_not_a_blocks_own_does_not_pass_for_its_results(place):
    keys = [row.key for row in ROWS]
    assert not place.has_results("base", keys)
    place.put_rows("base", ROWS)
    assert place.has_results("base", keys)
    name = f"base/results/{results_name(keys)}"
    whole = pq.read_table(io.BytesIO(place.read(name)))
    for other in (whole.slice(1), whole.append_column("x", pa.array([1, 2]))):
        pq.write_table(other, buffer := io.BytesIO())
        place.write(name, buffer.getvalue())
        assert not place.has_results("base", keys)


@pytest.mark.parametrize("content", [b"[]", b"{}", b"x", b"\xff", b'{"id":"../elsewhere","started_at":"2026"}'])
def test_a_record_that_is_none_or_of_another_folder_is_passed_over(tmp_path, content):
    place = WorkingSet(str(tmp_path / "set"))
    place.write("one/sweep.json", content)
    assert records_in(place) == []
    needed = dict.fromkeys(("name", "base", "files", "status", "started_at", "process", "host"), "x")
    place.put_json("two/sweep.json", {"id": "two", **needed})
    assert [record["id"] for record in records_in(place)] == ["two"]


def test_an_address_of_an_unknown_kind_is_told():
    with pytest.raises(InputError, match="no library for such an address"):
        WorkingSet("nowhere://bucket/folder")


@pytest.mark.parametrize("url", ["s3://canary:4711@bucket/x", "sftp://canary@host/x", "nowhere://canary:4711@bucket/folder",
                                 "zip://table.csv::sftp://canary:4711@host/x.zip"])  # fmt: skip
def test_an_address_with_a_password_is_refused_and_not_told(url):
    with pytest.raises(InputError, match="holds a user or a password") as caught:
        WorkingSet(url)
    assert "canary" not in f"{caught.value} {caught.value!r} {caught.value.public}"


def test_what_cannot_be_read_or_written_is_told_before_anything_is_computed(monkeypatch):
    place = WorkingSet(f"memory://{uuid.uuid4().hex}/set")
    assert place.usable() is place
    assert place.names("") == []

    def away(*_, **__):
        raise ConnectionError("canary-4711 may not")

    monkeypatch.setattr(place, "_fs", type("Away", (), {"pipe_file": away, "ls": away})())
    with pytest.raises(StorageUnreachable, match=r"\(ConnectionError\)"):
        place.names("")
    for act in (place.usable, place.readable):
        with pytest.raises(InputError, match=r"cannot be .* \(ConnectionError\)") as caught:
            act()
        assert "canary" not in str(caught.value)


@pytest.mark.slow
def test_what_another_writes_is_seen_at_once(bucket):
    """s3fs remembers what it listed and met."""
    import boto3

    place = WorkingSet(f"{bucket}/shared").usable()
    assert not place.exists("a/one.json")
    assert place.names("a") == []
    name = bucket.removeprefix("s3://")
    boto3.client("s3").put_object(Bucket=name, Key="shared/a/one.json", Body=b"1")
    assert place.exists("a/one.json")
    assert place.names("a") == ["one.json"]
    boto3.client("s3").delete_object(Bucket=name, Key="shared/a/one.json")
    assert not place.exists("a/one.json")
    assert place.results("a", "one.json") is None


@pytest.mark.slow
def test_a_bucket_that_is_not_there_is_told(bucket):
    with pytest.raises(InputError, match=r"cannot be written and read \(FileNotFoundError\)"):
        WorkingSet("s3://no-such-bucket/x").usable()

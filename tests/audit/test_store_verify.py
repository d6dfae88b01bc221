"""What `sdcert store verify` finds, each fault planted by hand, and that a sound store has none."""

from __future__ import annotations

import json
import os
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_homes import NOW, aged, ended, home_in, path_of, put, put_cache_record, put_run, revoked

from tasks.audit.maintenance.inventory import PLAIN
from tasks.audit.maintenance.retention import history, read_manifests
from tasks.audit.maintenance.store_verification import verify_store
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.draws import find_or_create_draw, find_or_create_pseudonym_key, keep_seed
from tasks.runtime.settings import Home


def findings(*entries) -> list[tuple[str, str]]:
    found = verify_store(Home.current(), history(read_manifests(Home.current()), entries)).findings
    assert all(finding.says and finding.to_do for finding in found)
    return [(finding.kind, finding.subject) for finding in found]


@pytest.fixture
def furnished(home):
    """A certified run that made a table, a record and a page; the table is named by the record alone."""
    table, page = put("a table", kind="table"), put("a page", kind="page")
    record = put({"see": table})
    put_run("a1", [record, page], verdict="certified", draw=find_or_create_draw("survey"))
    put_cache_record("a" * 32, [record, page])
    return table, record, page


def rewritten(ref: str, content: bytes) -> None:
    path = path_of(ref)
    path.unlink()
    path.write_bytes(content)
    path.chmod(0o400)


def test_a_sound_store_has_no_findings(furnished):
    seen = verify_store(Home.current(), history(read_manifests(Home.current()), ()))
    assert (seen.findings, seen.artifacts, seen.needed, seen.runs) == ((), 3, 3, 1)
    assert (seen.dangling, seen.emptied) == (0, 0)
    assert seen.bytes == sum(path_of(ref).stat().st_size for ref in furnished)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("how", ["torn", "other", "empty"])
def test_what_is_not_what_its_address_says_is_found(which, how, furnished):
    ref, others = furnished[which], put("something else", kind=furnished[which].partition(":")[0])
    good = path_of(ref).read_bytes()
    rewritten(ref, {"torn": good[:-9], "other": path_of(others).read_bytes(), "empty": b""}[how])
    found = [one for one in findings() if one[0] == "damaged"]
    assert found == [("damaged", ref)]


def test_a_damaged_artifact_names_the_runs_that_need_it_and_how_to_restore_it(furnished):
    rewritten(furnished[0], b"")
    orphan = put("orphan")
    rewritten(orphan, b"{}")
    seen = {one.subject: one for one in verify_store(Home.current(), history(read_manifests(Home.current()), ())).findings}
    assert seen[furnished[0]].runs == ("a1",)
    assert "sdcert audit replay a1" in seen[furnished[0]].to_do
    assert seen[orphan].runs == ()


def test_what_a_kept_run_needs_and_is_not_there_is_missing_through_records_too(furnished):
    path_of(furnished[0]).unlink()
    assert findings() == [("missing", furnished[0])]
    assert findings(ended(0, "a1"), ended(1, "a2"), revoked(2, "a1")) == []  # revoked, and no longer the newest


def test_what_only_the_ledger_names_is_missed(furnished):
    gone = "table:" + "1" * 64
    assert findings(ended(0, "a0", stages={"mask": {"cached": True, "produced": {"released": gone}}})) == [("missing", gone)]


def test_runs_that_nothing_keeps_may_have_lost_what_they_made(furnished):
    put_run("a0", ["table:" + "2" * 64], days=5, verdict="refused")
    seen = verify_store(Home.current(), history(read_manifests(Home.current()), ()))
    assert (seen.findings, seen.emptied) == ((), 1)


def test_whatever_is_open_to_others_or_unknown_or_left_over_is_found(furnished, home):
    path_of(furnished[1]).chmod(0o440)
    stranger, link = home / "store" / "table" / "notes.txt", home / "store" / "page" / "ab"
    stranger.write_text("values")
    stranger.chmod(0o600)
    link.symlink_to(home / "draws")
    misplaced = home / "store" / "table" / "zz" / path_of(furnished[0]).name
    misplaced.parent.mkdir()
    misplaced.write_bytes(path_of(furnished[0]).read_bytes())
    misplaced.chmod(0o400)
    drafts = [home / "store" / "table" / f".x.parquet.{digit * 32}.tmp" for digit in "ab"]
    for draft in drafts:
        draft.write_text("values")
        draft.chmod(0o600)
    os.utime(drafts[1], (time.time() - 3700, time.time() - 3700))
    assert sorted(findings()) == sorted(
        [
            ("open", f"store/record/{path_of(furnished[1]).parent.name}/{path_of(furnished[1]).name}"),
            ("open", "store/page/ab"),  # a link is nobody's alone
            ("unknown", "store/page/ab"),
            ("unknown", "store/table/notes.txt"),
            ("unknown", f"store/table/zz/{misplaced.name}"),
            ("left over", f"store/table/{drafts[1].name}"),
        ]
    )


def test_records_of_the_cache_that_dangle_are_counted_and_strange_ones_found(furnished):
    put_cache_record("b" * 32, ["page:" + "0" * 64])
    put_cache_record("c" * 32, [furnished[1]], {"type": "pickle", "picklelib": "cloudpickle"})
    put_cache_record("d" * 32, [furnished[1]], {**PLAIN, "object_decoder": "os.system"})
    put_cache_record("e" * 32, []).write_bytes(b"\x80\x04")
    seen = verify_store(Home.current(), history(read_manifests(Home.current()), ()))
    assert seen.dangling == 1
    assert [(one.kind, one.subject) for one in seen.findings] == [("record", f"records/{key * 32}") for key in "cde"]


@pytest.mark.parametrize("kept", [0, 5, 40])
def test_records_that_a_full_disk_cut_off_are_counted(furnished, kept):
    path = put_cache_record("b" * 32, [furnished[1]])
    path.write_bytes(json.dumps(json.loads(path.read_bytes()), separators=(",", ":")).encode()[:kept])
    seen = verify_store(Home.current(), history(read_manifests(Home.current()), ()))
    assert (seen.torn, seen.findings) == (1, ())


def test_records_of_failures_are_no_finding(furnished):
    """A failed stage leaves one as a record, a failed flow one that is bare; another exception is none of this program's."""
    failure = {"__exc_type__": "tasks.runtime.failures.StageFailure", "message": "ingest: not-numeric at survey.csv: row 1"}
    put_cache_record("b" * 32, []).write_text(json.dumps(failure))
    put_cache_record("c" * 32, []).write_text(json.dumps({"metadata": {"serializer": PLAIN}, "result": json.dumps(failure)}))
    put_cache_record("d" * 32, []).write_text(json.dumps(failure | {"__exc_type__": "os.system"}))
    for i, kind in enumerate(("prefect.exceptions.PrefectHTTPStatusError", "httpx.ReadTimeout")):  # a server without disk
        put_cache_record(f"{i}" * 32, []).write_text(json.dumps(failure | {"__exc_type__": kind}))
    seen = verify_store(Home.current(), history(read_manifests(Home.current()), ()))
    assert seen.dangling == 0
    assert [(one.kind, one.subject) for one in seen.findings] == [("record", f"records/{'d' * 32}")]


def test_the_serializer_that_is_taken_for_plain_is_the_one_of_the_cache():
    from prefect.serializers import JSONSerializer

    assert JSONSerializer().model_dump(mode="json") == PLAIN


def test_a_seed_that_is_gone_or_another_is_found(furnished, home):
    draw, key = find_or_create_draw("survey"), find_or_create_pseudonym_key("survey")
    other = keep_seed(bytes(range(32)))
    seeds = home / "draws" / "seeds"
    assert findings() == []
    (seeds / key).unlink()
    (seeds / draw).unlink()
    (seeds / other).rename(seeds / draw)
    assert sorted(findings()) == sorted([("seed", f"draws/seeds/{draw}"), ("seed", f"draws/seeds/{key}")])


def test_without_the_key_of_the_store_one_thing_is_said_instead_of_everything(furnished, home):
    (home / "keys" / "store.key").unlink()
    assert findings() == [("key", "keys/store.key")]
    assert not (home / "keys" / "store.key").exists(), "a new key would make everything look damaged"


def test_the_manifest_must_be_the_one_that_the_ledger_names(furnished, home):
    path = home / "runs" / "a1" / "manifest.json"
    digest = Store().digest(path.read_bytes())
    assert findings(ended(0, "a1", manifest=digest)) == []
    path.write_bytes(path.read_bytes() + b" ")
    assert findings(ended(0, "a1", manifest=digest)) == [("manifest", "runs/a1/manifest.json")]
    path.unlink()
    assert findings(ended(0, "a1", manifest=digest)) == [("manifest", "runs/a1/manifest.json")]


def test_progress_is_told_for_every_artifact(furnished):
    told: list[tuple[int, int]] = []
    verify_store(Home.current(), history({}, ()), lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_is_found_or_changes_no_value(tmp_path_factory, seed):
    """A table's file has bytes that carry no value; whatever else is changed is found, and nothing raises another error."""
    rng = random.Random(seed)
    with home_in(tmp_path_factory.getbasetemp() / "bits"):
        ref = put("a value that is long enough to be told from others: é", kind="table")
        good = path_of(ref).read_bytes()
        spoiled = bytearray(good)
        spoiled[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        rewritten(ref, bytes(spoiled))
        aged(path_of(ref), 0, now=NOW)
        try:
            value = Store().table(ref).column("x").to_pylist()
        except Damaged:
            value = None
        assert Store().intact(ref) == (value is not None)
        assert value in (None, ["a value that is long enough to be told from others: é"])

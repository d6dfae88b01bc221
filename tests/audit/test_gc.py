"""What gc removes, what it keeps and why, and that what is left is always a store that verifies."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_homes import GONE, NOW, aged, ended, home_in, path_of, put, put_cache_record, put_run, revoked, there

from tasks.audit.maintenance.collection import plan_removal, remove_files
from tasks.audit.maintenance.inventory import find_drafts, is_abandoned
from tasks.audit.maintenance.retention import History, collect_history, read_history, read_manifests
from tasks.audit.maintenance.store_verification import verify_store
from tasks.audit.maintenance.use import lock_store, use_store
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

MONTH = timedelta(days=30)


def past(*entries) -> History:
    return collect_history(read_manifests(Home.current()), entries)


def collected(*entries, younger_than: timedelta = MONTH) -> list[str]:
    """Carry a collection out; the addresses that went."""
    found = plan_removal(Home.current(), past(*entries).runs, now=NOW, younger_than=younger_than)
    remove_files(found)
    return sorted(found.artifacts)


def reasons(*entries) -> dict[str, str]:
    return plan_removal(Home.current(), past(*entries).runs, now=NOW, younger_than=MONTH).reasons


def test_the_reasons_to_keep_a_run(home):
    """Ten runs by hand: only an old one that is neither certified nor the newest of its series is let go."""
    put_run("a1", [], days=400, verdict="certified")
    put_run("a2", [], days=300, verdict="certified")  # revoked below
    put_run("a3", [], days=200, verdict="certified", spec={"not_for_publication": True})
    put_run("a4", [], days=100, verdict="refused")
    put_run("a5", [], days=90, verdict="refused")
    put_run("a6", [], days=80, status="failed")
    put_run("b1", [], days=70, series="b", status="running", process=os.getpid())
    put_run("b2", [], days=60, series="b", status="running", process=GONE)
    put_run("b3", [], days=50, series="b", status="running", process=GONE, host="elsewhere")
    put_run("b4", [], days=20, series="b", verdict="refused")
    put_run("b5", [], days=10, series="b", verdict="refused")
    told = [ended(0, "a1", days=400), ended(1, "a2", days=300), revoked(2, "a2", days=1)]
    assert reasons(*told) == {
        "a1": "certified",
        "a5": "newest of its series",
        "a6": "newest of its series",
        "b1": "in progress",
        "b3": "in progress",
        "b4": "young",
        "b5": "newest of its series",
    }


def test_a_run_that_began_exactly_so_long_ago_is_not_young(home):
    put_run("a1", [], days=30, verdict="refused")
    put_run("a2", [], days=29.999, verdict="refused")
    put_run("a3", [], days=0, verdict="refused")
    assert set(reasons()) == {"a2", "a3"}


def test_an_orphan_goes_and_what_a_certified_run_needs_through_three_records_stays(home):
    deepest = put("deepest", days=99, kind="table")
    inner = put({"see": [deepest]}, days=99)
    outer = put({"see": f"{inner}:with more behind it"}, days=99)
    orphan, of_the_orphan = put("orphan", days=99, kind="page"), put("its table", days=99, kind="table")
    pointing = put({"see": of_the_orphan}, days=99)
    put_run("a1", [outer], days=99, verdict="certified")
    put_run("a2", [], days=98, verdict="refused")
    assert collected() == sorted([orphan, of_the_orphan, pointing])
    assert there([deepest, inner, outer]) == [True] * 3
    assert verify_store(Home.current(), past()).findings == ()


def test_what_the_ledger_alone_knows_is_kept(home):
    """The folder of the run is gone; its entry still says what a certificate rests on."""
    made = put("released", days=99, kind="table")
    entries = [ended(0, "a1", days=99, stages={"mask": {"cached": False, "produced": {"released": made}}})]
    assert collected(*entries) == []
    assert collected(*entries, revoked(1, "a1"), ended(2, "a2", outcome="refused")) == [made]


def test_a_revoked_release_keeps_the_tables_that_later_ones_are_attacked_with(home):
    made = {name: put(name, days=99, kind="table") for name in ("data", "masked", "alignment", "released", "report", "persons")}
    steps, schema = (put({"a": name}, days=99) for name in ("mechanisms", "schema"))
    produced = {
        "ingest": {"data": made["data"], "report": made["report"]},
        "classify": {"schema": schema},
        "mask": {"mechanisms": steps, **{name: made[name] for name in ("masked", "alignment", "released")}},
    }
    stages = {name: {"cached": False, "produced": one} for name, one in produced.items()}
    put_run("a1", [], days=99, persons=made["persons"])
    told = [ended(0, "a1", days=99, stages=stages), revoked(1, "a1"), ended(2, "a2", outcome="refused")]
    assert reasons(*told)["a1"] == "released"
    assert verify_store(Home.current(), past(*told)).findings == ()
    assert collected(*told) == sorted([made["released"], made["report"]])
    assert verify_store(Home.current(), past(*told)).findings == ()
    withdrawn = [told[0], revoked(1, "a1", never_published=True), told[2]]
    assert "a1" not in reasons(*withdrawn)
    assert len(collected(*withdrawn)) == 6


def test_what_is_young_is_kept_with_all_it_names(home):
    old = put("old", days=99)
    young = put({"see": old}, days=29)
    assert collected() == []
    assert collected(younger_than=timedelta(days=29)) == sorted([old, young])


def test_a_plan_changes_nothing(home):
    put("orphan", days=99)
    put_cache_record("f" * 32, ["table:" + "0" * 64])
    before = {path: path.lstat() for path in home.rglob("*")}
    found = plan_removal(Home.current(), (), now=NOW, younger_than=MONTH)
    assert len(list(found.files)) == 2
    after = {path: path.lstat() for path in home.rglob("*") if path != home / "locks"}
    assert {path: (stat.st_mtime_ns, stat.st_size) for path, stat in after.items()} == {
        path: (stat.st_mtime_ns, stat.st_size) for path, stat in before.items() if path != home / "locks"
    }


def test_records_go_with_what_they_point_to_and_before_it(home):
    kept, going = put("kept"), put("going", days=99)
    good = put_cache_record("a" * 32, [kept])
    bad = [put_cache_record("b" * 32, [kept, going]), put_cache_record("c" * 32, ["page:" + "0" * 64])]
    bad.append(put_cache_record("d" * 32, [kept], {"type": "pickle"}))
    found = plan_removal(Home.current(), (), now=NOW, younger_than=MONTH)
    assert [file.path for file in found.files] == [*bad, path_of(going)]
    remove_files(found)
    assert list(Home.current().records.iterdir()) == [good]


def test_a_collection_killed_at_any_moment_leaves_a_store_that_verifies(home):
    """The files are removed one by one: after each, nothing that is left is damaged, missing or pointed to in vain."""
    needed = put("needed", days=99)
    orphans = [put(f"orphan {i}", days=99) for i in range(3)]
    put_run("a1", [needed], days=99, verdict="certified")
    for key, ref in zip("abc", orphans, strict=True):
        put_cache_record(key * 32, [ref])
    found = plan_removal(Home.current(), past().runs, now=NOW, younger_than=MONTH)
    for file in found.files:
        file.path.unlink()
        seen = verify_store(Home.current(), past())
        assert (seen.findings, seen.dangling) == ((), 0)


def test_locks_go_where_no_record_has_their_key(home):
    put_cache_record("a" * 32, [put("kept")])
    locks = Home.current().locks
    for name in ("a" * 32, "b" * 32, "draw-survey", "in-use", "tracking"):
        (locks / f"{name}.lock").touch()
    collected()
    assert sorted(path.stem for path in locks.iterdir()) == sorted(["a" * 32, "draw-survey", "in-use", "tracking"])


def left_by_a_killed_writer(path: Path, secret: bytes) -> Path:
    """What `write_whole` leaves that is killed before it renames its file."""
    seen: list[Path] = []

    def killed(self: Path, target: Path) -> None:
        seen.append(self.with_name(f"{self.name[:-4]}.tmp"))
        os.link(self, self.with_name("kept aside"))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        write_whole(path, secret)
    return path.with_name("kept aside").rename(seen[0])


def test_drafts_of_killed_writers_go_after_an_hour_unless_somebody_holds_them(home):
    secret = b"the seed that nobody may see...."
    now = time.time()
    left = [left_by_a_killed_writer(home / folder / "file", secret) for folder in ("draws/seeds", "runs/a1", "ledger", "keys")]
    fresh = left_by_a_killed_writer(home / "store" / "table" / "ab" / "file", secret)
    foreign = left_by_a_killed_writer(home / "prefect" / "file", secret)
    ours = home / "keys" / f".store.key.{'0' * 16}"  # of a maker of keys
    ours.write_bytes(secret)
    for path in (*left, foreign, ours):
        os.utime(path, (now - 3700, now - 3700))
    with left[0].open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert {file.path for file in find_drafts(home) if is_abandoned(file)} == {*left[1:], ours}
        collected()
    assert [path.exists() for path in (*left, ours, fresh, foreign)] == [True, *[False] * 4, True, True]
    os.utime(fresh, (now + 3700, now + 3700))  # the clock was wrong when it was written
    collected()
    assert not left[0].exists()
    assert not fresh.exists()


def test_details_of_old_failures_go(home):
    folder = Home.current().folder("failures")
    for name, days in (("old.txt", 31), ("new.txt", 29), ("old.md", 31)):
        (folder / name).write_text("a value")
        aged(folder / name, days)
    collected()
    assert sorted(path.name for path in folder.iterdir()) == ["new.txt", "old.md"]


def test_seeds_keys_manifests_and_the_ledger_are_never_touched(home):
    put("orphan", days=99)
    put_run("a1", [], days=999, verdict="refused", draw="d" * 32)
    put_run("a2", [], days=998, verdict="refused")
    for name in ("draws/seeds/dddd", "draws/survey.current", "keys/signing/k.pem", "ledger/ledger.jsonl"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("old")
        aged(home / name, 9999)
    before = {path for folder in ("draws", "keys", "ledger", "runs") for path in (home / folder).rglob("*")}
    assert len(collected(younger_than=timedelta(0))) == 1
    assert all(path.exists() for path in before)


def test_a_run_and_a_collection_exclude_each_other(home):
    with use_store(), use_store(), lock_store() as free:
        assert not free
    with lock_store() as free:
        assert free
    with lock_store() as first, lock_store() as second:
        assert (first, second) == (True, False)


def test_manifests_that_cannot_be_read_are_told_unless_the_ledger_knows_the_run(tmp_path):
    with home_in(tmp_path / "home") as home:
        for run, content in (("a1", "{"), ("a2", "[]"), ("a3", "{}"), ("a4", '{"run": "another"}')):
            put_run(run, [])
            (home.runs / run / "manifest.json").write_text(content)
        found = past(ended(0, "a2"))
        assert (found.unreadable, [run.run for run in found.runs]) == (("a1", "a3", "a4"), ["a2"])
        assert [finding.kind for finding in verify_store(home, found).findings] == ["manifest"] * 3


graphs = st.lists(
    st.tuples(
        st.sampled_from(["record", "record", "record", "page"]),
        st.sets(st.integers(0, 11), max_size=3),  # which earlier artifacts it names
        st.sampled_from([1, 29, 31, 99]),
    ),
    min_size=1,
    max_size=12,
)
runs = st.lists(
    st.tuples(
        st.sets(st.integers(0, 11), max_size=4),
        st.sampled_from(["certified", "refused", "failed", "running", "dead"]),
        st.sampled_from([1, 29, 31, 99]),
        st.sampled_from(["x", "y"]),
        st.booleans(),  # revoked
    ),
    max_size=5,
)
caches = st.lists(st.sets(st.integers(0, 11), max_size=2), max_size=4)
FACTS = {
    "certified": {"verdict": "certified"},
    "refused": {"verdict": "refused"},
    "failed": {"status": "failed"},
    "running": {"status": "running", "process": os.getpid()},
    "dead": {"status": "running", "process": GONE},
}


def closure(naming: dict[int, set[int]], start: set[int]) -> set[int]:
    """The obvious way: add what is named until nothing is added."""
    found = set(start)
    while True:
        more = found.union(*(naming[i] for i in found))
        if more == found:
            return found
        found = more


@given(graphs, runs, caches, st.sampled_from([0, 30]))
@settings(max_examples=60, deadline=None)
def test_after_any_collection_the_store_verifies_and_every_kept_run_is_whole(drawn, drawn_runs, drawn_caches, days):
    with tempfile.TemporaryDirectory() as folder, home_in(Path(folder)) as home:
        refs: list[str] = []
        naming: dict[int, set[int]] = {}
        for i, (kind, names, age) in enumerate(drawn):
            naming[i] = {j for j in names if j < i} if kind == "record" else set()
            refs.append(put({"n": i, "see": [refs[j] for j in sorted(naming[i])]}, days=age, kind=kind))
        for j, (names, fate, age, series, _) in enumerate(drawn_runs):
            put_run(f"r{j}", [refs[i] for i in names if i < len(refs)], days=age, series=series, **FACTS[fate])
        for j, names in enumerate(drawn_caches):
            put_cache_record(f"{j:032x}", [refs[i] for i in names if i < len(refs)])
        entries = [revoked(j, f"r{j}") for j, run in enumerate(drawn_runs) if run[4]]
        kept_by_hand = expected_runs(drawn_runs, days)
        wanted = {i for j in kept_by_hand for i in drawn_runs[j][0] if i < len(refs)}
        wanted |= {i for i, (_, _, age) in enumerate(drawn) if age < days}

        found = plan_removal(home, past(*entries).runs, now=NOW, younger_than=timedelta(days=days))
        assert set(found.reasons) == {f"r{j}" for j in kept_by_hand}
        remove_files(found)

        stays = closure(naming, wanted)
        assert there(refs) == [i in stays for i in range(len(refs))]
        seen = verify_store(home, past(*entries))
        assert (seen.findings, seen.dangling) == ((), 0)
        again = plan_removal(home, past(*entries).runs, now=NOW, younger_than=timedelta(days=days))
        assert list(again.files) == []


def expected_runs(drawn: list[tuple], days: int) -> set[int]:
    kept = set()
    for j, (_, fate, age, series, gone) in enumerate(drawn):
        mates = [(-run[2], k) for k, run in enumerate(drawn) if run[3] == series]
        decided = [(-run[2], k) for k, run in enumerate(drawn) if run[3] == series and run[1] in ("certified", "refused")]
        newest = max(mates)[1] == j or (bool(decided) and max(decided)[1] == j)
        if (fate == "certified" and not gone) or fate == "running" or newest or age < days:
            kept.add(j)
    return kept


def test_a_home_without_anything_has_nothing_to_remove(home):
    found = plan_removal(Home.current(), read_history(Home.current()).runs, now=NOW, younger_than=MONTH)
    assert (list(found.files), found.reasons, found.needed) == ([], {}, 0)

"""The cost of a run, before it begins: what is estimated, what is said of it, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcomes import ROOT
from release_files import RELEASE, ROWS, write_release

from flows.cli import run
from flows.cli.advice import memory_check
from flows.cli.advice.cost_text import describe_cost, format_bounds, format_memory, list_cost_warnings
from flows.cli.advice.memory_check import refuse_too_large
from flows.cli.check import print_plan
from flows.cost.run_cost import RunCost, StageCost, count_known_attributes, estimate_run
from flows.release_file import load_release
from tasks.attack.target_looks import TargetLooks
from tasks.ingest.sources import SourceSpec
from tasks.ingest.table_size import TableSize, find_table_size
from tasks.microdata.errors import InputError
from tasks.runtime import memory_left
from tasks.runtime.memory_left import find_memory_left, parse_memory

ANES96 = ROOT / "params" / "releases" / "anes96.yaml"
NOISE = [{"method": "noise", "kind": "independent", "attributes": ["age", "income", "town"], "sd_percent": 20}]
SWAP = [{"method": "rank_swapping", "attributes": ["age", "income", "town"], "window_percent": 10}]


def size_of(rows, columns=8):
    return TableSize(rows, columns, is_text=True)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Releases of the small survey, by mask."""
    steps = {"groups": RELEASE["masking"], "noise": NOISE, "swap": SWAP}
    folder = tmp_path_factory.mktemp("masks")
    return {name: load_release(write_release(folder / name, {"masking": given})) for name, given in steps.items()}


@given(
    st.sampled_from(["groups", "noise", "swap"]),
    st.integers(1_000, 20_000_000),
    st.integers(5, 60),
    st.integers(1, 1_000_000),
    st.integers(0, 20),
)
def test_more_rows_and_more_columns_cost_more(releases, name, rows, columns, more_rows, more_columns):
    small = estimate_run(releases[name], size_of(rows, columns))
    large = estimate_run(releases[name], size_of(rows + more_rows, columns + more_columns))
    assert large.memory_bytes > small.memory_bytes
    assert large.seconds > small.seconds
    assert large.find_bounds(1) > small.find_bounds(1)


def test_fewer_targets_and_fewer_intruders_cost_less(releases):
    release, size = releases["noise"], size_of(100_000)
    sampled = release.model_copy(update={"intruder": release.intruder.model_copy(update={"targets": 0.01})})
    whole, part = estimate_run(release, size), estimate_run(sampled, size)
    assert (whole.targets, part.targets) == (100_000, 1_000)
    assert part.seconds < whole.seconds
    searching = {"distance_linkage", "transparency"}  # the marginals are of all records
    saved = [one.seconds - other.seconds for one, other in zip(whole.stages, part.stages, strict=True)]
    names = [stage.name for stage, less in zip(whole.stages, saved, strict=True) if less > 0]
    assert set(names) == {f"attack ({name})" for name in searching}
    alone = estimate_run(release, size, (3,))
    assert alone.attacks == len(release.attacks_to_run)
    assert alone.seconds < estimate_run(release, size, (3, 4, 4)).seconds


def test_planned_looks_cost_as_much_as_all_that_are_taken(releases):
    release, size = releases["noise"], size_of(100_000)

    def estimate(targets):
        return estimate_run(
            release.model_copy(update={"intruder": release.intruder.model_copy(update={"targets": targets})}), size
        )

    def add_attacks(cost):
        return sum(stage.seconds for stage in cost.stages if stage.name.startswith("attack"))

    looks = TargetLooks(first=0.001, last=0.1, looks=3)
    planned, single = estimate(looks), [estimate(share) for share in (0.001, 0.01, 0.1)]
    assert add_attacks(planned) == pytest.approx(sum(map(add_attacks, single)))
    assert planned.targets == single[-1].targets == 10_000
    assert planned.find_bounds(1)[0] == pytest.approx(single[0].find_bounds(1)[0])


def test_who_is_set_aside_as_a_control_is_not_attacked(tmp_path):
    release = load_release(write_release(tmp_path, {"control": 0.2}))
    (targets, *_) = describe_cost(estimate_run(release, size_of(1_000)), pace=1.0)
    assert targets[1].startswith("all 800 records are attacked")
    by_persons = estimate_run(release.model_copy(update={"control": None}), size_of(1_000), units=300)
    assert describe_cost(by_persons, pace=1.0, counts="persons")[0][1].startswith("all 300 persons are attacked")


def test_beside_groups_the_law_of_noise_costs_a_large_table_no_more(tmp_path):
    # only the groups of the targets are looked at; a small table is looked at as a whole
    steps = [{"method": "microaggregation", "attributes": ["age", "income"], "k": 3}, {**NOISE[0], "attributes": ["town"]}]
    release = load_release(write_release(tmp_path, {"masking": steps}))

    def find_seconds(rows):
        return max(stage.seconds for stage in estimate_run(release, size_of(rows)).stages if "transparency" in stage.name)

    assert find_seconds(30_001) < find_seconds(30_000)


def test_categories_randomised_beside_swaps_cost_the_transparency_attack_more_than_both_alone(tmp_path):
    pram = [{"method": "pram", "attributes": ["vote"], "retention": 0.8}]
    costs = []
    for i, steps in enumerate((SWAP, pram, SWAP + pram)):
        release = load_release(write_release(tmp_path / str(i), {"masking": steps}))
        stages = {stage.name: stage.seconds for stage in estimate_run(release, size_of(100_000), (3,)).stages}
        costs.append(stages["attack (transparency)"])
    assert costs[2] > costs[0] + costs[1]


def test_the_intruders_are_judged_by_what_the_release_file_declares():
    release = load_release(ANES96)
    keys, opinions = 4, 6
    assert sorted(count_known_attributes(release, 11)) == sorted([keys, *[keys + 1] * opinions, 1, 2, 3])


@pytest.mark.parametrize(
    ("steps", "rows", "columns", "is_text", "peak"),
    [  # the peak of the process that certified, and of the server of the home, with 10,000 targets at most (1: anes96)
        (None, 944, 11, False, 0.80e9 + 0.38e9),
        ("groups", 100_000, 8, True, 0.92e9 + 0.35e9),
        ("swap", 100_000, 8, True, 0.92e9 + 0.35e9),
        ("groups", 1_000_000, 8, False, 2.36e9 + 0.35e9),
        ("groups", 1_000_000, 20, True, 3.70e9 + 0.35e9),
    ],
)
def test_the_memory_of_runs_that_were_measured(releases, steps, rows, columns, is_text, peak):
    release = load_release(ANES96) if steps is None else releases[steps]
    targets = min(1.0, 10_000 / rows)
    sampled = release.model_copy(update={"intruder": release.intruder.model_copy(update={"targets": targets})})
    assert peak / 2 < estimate_run(sampled, TableSize(rows, columns, is_text)).memory_bytes < 2 * peak


def test_attacks_alone_run_side_by_side():
    cost = RunCost(
        size_of(10), 10, 10, 2, (StageCost("mask (noise)", 100.0, 1e9), StageCost("attack (distance_linkage)", 60.0, 2e9))
    )
    (least, most), (alone, same) = cost.find_bounds(2), cost.find_bounds(1)
    assert alone - least == pytest.approx(0.6 * 30)
    assert most == same == pytest.approx(2.5 * cost.seconds)
    assert cost.slowest.name == "mask (noise)"
    by_turns = replace(cost, stages=(cost.stages[0], replace(cost.stages[1], alone_bytes=1.5e9)))
    assert by_turns.memory_bytes == cost.memory_bytes == cost.least_memory_bytes
    assert by_turns.least_memory_bytes == cost.memory_bytes - 0.5e9
    (said,) = (text for name, text in describe_cost(by_turns, pace=1.0) if name == "cost")
    assert "about 2.4 GB, or 1.9 GB if attacks wait for each other, of memory" in said
    assert cost.find_bounds(2, pace=2.0) == (2 * least, 2 * most)
    in_looks = replace(cost, stages=(cost.stages[0], replace(cost.stages[1], first_seconds=20.0)))
    assert in_looks.find_bounds(2) == (pytest.approx(least - 0.6 * 20), most)


@pytest.mark.parametrize(
    ("text", "size"), [("12GB", 12 * 10**9), ("1.5 GiB", 3 << 29), ("800m", 8 * 10**8), ("4096", 4096), ("2 kib", 2048)]
)
def test_amounts_of_memory(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0GB", "12 apples", "1e9", "GB", "12GBB"])
def test_other_texts_are_no_amount_of_memory(text):
    with pytest.raises(InputError) as refused:
        parse_memory(text)
    assert (refused.value.code, refused.value.where) == ("memory-amount", "--memory")


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (10, 80, "10 to 80 seconds"),
        (170, 590, "3 to 10 minutes"),
        (60, 60, "60 seconds"),
        (3_000, 12_000, "0.8 to 3 hours"),
        (86_400, 200_000, "1 to 2 days"),
    ],
)
def test_times_are_rough(least, most, text):
    assert format_bounds(least, most) == text


def test_memory_has_two_digits():
    assert [format_memory(size) for size in (10e6, 854e6, 1.06e9, 12e9, 234e9)] == [
        "10 MB",
        "850 MB",
        "1.1 GB",
        "12 GB",
        "234 GB",
    ]


def test_the_plan_says_what_a_run_needs(tmp_path, capsys):
    assert print_plan(write_release(tmp_path, {"intruder": {"targets": 0.5, "curve": False}})) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert f"{ROWS // 2} of {ROWS} records are attacked, in 4 combinations" in lines["targets"]
    assert "on this machine" in lines["cost"]
    assert "GB of memory" in lines["cost"]


def test_the_plan_as_json_holds_the_figures(tmp_path, capsys):
    assert print_plan(write_release(tmp_path), as_json=True) == 0
    cost = json.loads(capsys.readouterr().out)["cost"]
    assert (cost["targets"], cost["columns"], cost["attacks"]) == (ROWS, 5, 4)
    least, most = cost["seconds"]
    assert 0 < least < most
    assert cost["memory_bytes"] > 5e8


def test_what_no_rate_is_known_of_is_named(tmp_path):
    attacks = [{"method": "distance_linkage"}, {"method": "transparency"}, {"method": "probabilistic_linkage"}]
    release = load_release(write_release(tmp_path, {"attacks": attacks}))
    cost = estimate_run(release, size_of(1_000))
    assert cost.lacks == ("probabilistic_linkage",)
    assert describe_cost(cost, pace=1.0)[-1][1].endswith("; not counted: probabilistic_linkage")
    joined = estimate_run(release, size_of(1_000), with_earlier=4)
    assert (joined.attacks, joined.seconds) == (cost.attacks + 4, cost.seconds)
    assert joined.lacks == (*cost.lacks, "attacks together with earlier releases")
    model = load_release(ROOT / "params" / "releases" / "anes96-vote.yaml")
    assert estimate_run(model, size_of(1_000)).lacks == ("the training of models",)
    assert estimate_run(load_release(ANES96), size_of(1_000)).lacks == ()


def test_hours_are_warned_of_with_what_makes_them_shorter(releases):
    release = releases["groups"]
    long = estimate_run(release, size_of(20_000_000, 30))
    (warning,) = (line for line in list_cost_warnings(release, long) if "hours" in line or "days" in line)
    assert "`intruder.targets: 0.0005` attacks 10,000 records instead of 20,000,000" in warning
    assert "`records_per_part: 100000`" in warning
    small = estimate_run(release, size_of(1_000))
    assert not any("hours" in line for line in list_cost_warnings(release, small))
    assert [name for name, _ in describe_cost(small, pace=1.0)] == ["targets", "cost"]


def write_csv(path: Path, rows: int, *, end: str = "\n") -> SourceSpec:
    path.write_text("a,b,c\n" + "\n".join(f"{i},{i % 7}.25,x{i % 3}" for i in range(rows)) + end)
    return SourceSpec(table=str(path))


def test_the_size_of_a_text_is_known_by_its_beginning(tmp_path):
    for end in ("\n", ""):
        small = find_table_size(write_csv(tmp_path / "small.csv", 100, end=end))
        assert small == TableSize(100, 3, is_text=True, is_exact=True)
    large = find_table_size(write_csv(tmp_path / "large.csv", 200_000))
    assert large is not None
    assert (large.columns, large.is_exact) == (3, False)
    assert large.rows == pytest.approx(200_000, rel=0.1)


def test_the_size_of_parquet_files_is_in_their_footers(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    table = pa.table({"a": np.arange(50), "b": np.arange(50)})
    for name in ("one", "two"):
        pq.write_table(table, folder / f"{name}.parquet")
    size = TableSize(50, 2, is_text=False)
    assert find_table_size(SourceSpec(table=str(folder / "one.parquet"))) == size
    assert find_table_size(SourceSpec(table=str(folder))) == TableSize(100, 2, is_text=False)


def test_nothing_is_said_of_a_source_that_only_reading_would_tell(tmp_path):
    (tmp_path / "packed.csv.gz").write_bytes(b"\x1f\x8b\x08packed")
    (tmp_path / "wide.csv").write_text("a,b\n1,2\n", encoding="utf-16")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1damaged")
    (tmp_path / "blank.csv").write_bytes(b"\n\r\n\n")
    for name in ("packed.csv.gz", "wide.csv", "damaged.parquet", "blank.csv", "absent.csv"):
        assert find_table_size(SourceSpec(table=str(tmp_path / name))) is None, name
    assert find_table_size(SourceSpec(sql="select 1", url_env="DB")) is None


@pytest.mark.parametrize(("there", "refused", "warned"), [(100.0, False, False), (0.9, False, True), (0.6, True, False)])
def test_only_what_is_clearly_too_large_is_refused(tmp_path, monkeypatch, there, refused, warned):
    path = write_release(tmp_path)
    release = load_release(path)
    size = find_table_size(release.source)
    assert size is not None
    needed = estimate_run(release, size).least_memory_bytes
    monkeypatch.setattr(memory_check, "find_memory_left", lambda: round(there * needed))
    if refused:
        with pytest.raises(InputError) as error:
            refuse_too_large(release, path, None)
        assert error.value.code == "too-little-memory"
        assert format_memory(needed) in error.value.what
        assert "for a table of 80 rows and 5 columns" in error.value.what
        assert refuse_too_large(release, path, "100GB") is None
    else:
        assert (refuse_too_large(release, path, None) is not None) == warned


def test_nothing_is_refused_where_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_check, "find_memory_left", lambda: None)
    path = write_release(tmp_path)
    assert refuse_too_large(load_release(path), path, None) is None


def test_a_control_group_bounds_what_is_left(tmp_path, monkeypatch):
    inner = tmp_path / "system.slice" / "run.scope"
    inner.mkdir(parents=True)
    groups = {"memory.max": "1000000000", "memory.current": "400000000", "memory.stat": "anon 5\ninactive_file 100000000\n"}
    for name, text in groups.items():
        (inner / name).write_text(text)
    (inner.parent / "memory.max").write_text("max")
    proc = tmp_path / "cgroup"
    proc.write_text("0::/system.slice/run.scope\n")
    read = memory_left._read
    monkeypatch.setattr(memory_left, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory_left, "_read", lambda path: read(proc if str(path) == "/proc/self/cgroup" else path))
    monkeypatch.setattr("psutil.swap_memory", lambda: type("Swap", (), {"free": 0}))
    assert find_memory_left() == 700_000_000
    (inner / "memory.max").write_text("max")
    assert find_memory_left() > 700_000_000


def test_a_run_that_is_too_large_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "home"))
    path = write_release(tmp_path / "project")
    before = sorted(tmp_path.rglob("*"))
    words = ["certify", str(path), "--output", str(tmp_path / "releases"), "--memory"]
    assert run([*words, "10MB"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: the run needs about ")
    assert "and 10 MB are allowed (`--memory`)" in told
    assert "to do:   if more can be used, say so by `--memory`" in told
    assert run([*words, "lots"]) == 2
    assert "this is no amount of memory" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before

"""One masked table, attacked in many ways: figures, sharing, and what becomes of trials that cannot be."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.threat import IntruderSpec
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.methods import RankIntervalDisclosure
from tasks.sweep import evaluation
from tasks.sweep.evaluation import Trial, TrialGroup, derive_seed, drop_curve_and_files, evaluate

N = 30
SCHEMA = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in "ab"))
LINKAGE, TRANSPARENCY = DistanceLinkage(method="distance_linkage"), Transparency(method="transparency")


def table() -> Microdata:
    rng = np.random.default_rng(5)
    return Microdata.from_columns({"a": rng.normal(size=N), "b": rng.normal(size=N)})


def mdav(k: int) -> Microaggregation:
    return Microaggregation(method="microaggregation", attributes=("a", "b"), k=k)


def trial(key: str, *attacks, targets: float = 1.0, measures=()) -> Trial:
    return Trial(key, attacks or (LINKAGE,), drop_curve_and_files(IntruderSpec(targets=targets)), measures)


def swapped(*trials: Trial, seed: int = 0) -> TrialGroup:
    step = RankSwapping(method="rank_swapping", attributes=("a", "b"), window_percent=40)
    return TrialGroup((step,), seed, trials)


def run(group: TrialGroup) -> list:
    return evaluate(table(), SCHEMA, group, source="sha256:source")


def test_who_is_averaged_over_all_is_found_by_luck_alone():
    (row,) = run(TrialGroup((mdav(N),), 0, (trial("one", LINKAGE, TRANSPARENCY),)))
    assert row.status == "ok"
    assert row.reason is None
    for attack in ("distance_linkage", "transparency"):
        assert row.figures[f"reidentification|{attack}|declared"] == pytest.approx(1 / N)
    assert row.seconds > 0


def test_one_masking_and_one_attack_serve_all_trials(monkeypatch):
    calls = {"mask": 0, "attack_records": 0}

    def counted(name, function):
        def call(*arguments, **named):
            calls[name] += 1
            return function(*arguments, **named)

        return call

    for name in calls:
        monkeypatch.setattr(evaluation, name, counted(name, getattr(evaluation, name)))
    wide = RankIntervalDisclosure(measure="rank_interval_disclosure", p_percent=(33.0,))
    rows = run(
        swapped(trial("both", LINKAGE, TRANSPARENCY), trial("wide", LINKAGE, measures=(wide,)), trial("half", targets=0.5))
    )
    assert calls == {"mask": 1, "attack_records": 3}
    assert [row.key for row in rows] == ["both", "wide", "half"]
    assert {"rank_interval_disclosure|a|p_percent=33"} <= rows[1].figures.keys() - rows[0].figures.keys()


def test_trials_together_or_alone_have_the_same_figures():
    trials = trial("both", LINKAGE, TRANSPARENCY), trial("half", TRANSPARENCY, targets=0.5), trial("one", TRANSPARENCY)
    together = run(swapped(*trials))
    alone = [run(swapped(each))[0] for each in trials]
    assert [replace(row, seconds=0.0) for row in together] == [replace(row, seconds=0.0) for row in alone]


def test_a_seed_gives_the_same_figures_again_and_another_one_others():
    first, again, other = (run(swapped(trial("x", TRANSPARENCY), seed=seed))[0].figures for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert len({derive_seed(n) for n in range(100)}) == 100
    assert len(derive_seed(0)) == 32


def test_a_point_that_is_wrong_in_itself_is_skipped_with_code_and_place():
    rows = run(TrialGroup((mdav(N + 1),), 0, (trial("x"), trial("y"))))
    assert [(row.key, row.status, row.figures) for row in rows] == [("x", "skipped", {}), ("y", "skipped", {})]
    assert "masking[0]" in rows[0].reason


def test_what_breaks_costs_its_trial_alone_and_tells_no_value(monkeypatch):
    real = evaluation.attack_records

    def broken(*arguments, **named):
        if isinstance(arguments[3], Transparency):
            raise KeyError("918273.5")
        return real(*arguments, **named)

    monkeypatch.setattr(evaluation, "attack_records", broken)
    rows = run(swapped(trial("x", TRANSPARENCY), trial("y", LINKAGE)))
    assert [row.status for row in rows] == ["failed", "ok"]
    assert rows[0].reason.startswith("KeyError in broken, line ")
    assert "918273" not in rows[0].reason


def test_an_attack_of_the_declared_intruder_that_fails_fails_its_trial_and_leaves_the_other_figures(monkeypatch):
    real = evaluation.attack_records

    def failing(*arguments, **named):
        found = real(*arguments, **named)
        return replace(found, status="failed", reason="no guess", outcomes=None) if found.attack == "transparency" else found

    monkeypatch.setattr(evaluation, "attack_records", failing)
    row, other = run(swapped(trial("x", LINKAGE, TRANSPARENCY), trial("y", LINKAGE)))
    assert (row.status, row.reason) == ("failed", "attack-failed: transparency: no guess")
    assert row.figures["reidentification|transparency|declared"] == {"status": "failed"}
    assert row.figures["sse_percent"] == other.figures["sse_percent"]


@pytest.mark.parametrize("kind", [MemoryError, OSError])
def test_what_another_attempt_may_mend_is_raised(monkeypatch, kind):
    def broken(*arguments, **named):
        raise kind

    for name in ("attack_records", "mask"):
        with monkeypatch.context() as patch:
            patch.setattr(evaluation, name, broken)
            with pytest.raises(kind):
                run(swapped(trial("x")))


def test_a_sweep_tries_the_insiders_of_several_columns_as_a_release_does():
    rng = np.random.default_rng(8)
    columns = {name: rng.integers(0, 3, N).astype(str) for name in "uvwxyz"}
    source = Microdata.from_columns({"a": table().floats("a"), "b": table().floats("b"), **columns})
    schema = Schema((*SCHEMA.attributes, *(Attribute(name, Role.CONFIDENTIAL, Scale.NOMINAL, "declared") for name in columns)))
    spec = IntruderSpec.model_validate_json('{"insiders": {"know": 3}}')
    trials = (
        Trial("one", (LINKAGE,), drop_curve_and_files(IntruderSpec())),
        Trial("three", (LINKAGE,), drop_curve_and_files(spec)),
    )
    one, three = evaluate(source, schema, TrialGroup((mdav(5),), 0, trials), source="sha256:source")
    found = {key.split("|")[2]: rate for key, rate in three.figures.items() if key.startswith("reidentification|")}
    sets = [name.removeprefix("insider:").split(" + ") for name in found if name.startswith("insider:")]
    assert [sum(len(names) == size for names in sets) for size in (1, 2, 3, 4)] == [6, 15, 4, 0]
    assert one.figures.items() <= three.figures.items(), "the figures of who knows less stay"
    pairs = {name: rate for name, rate in found.items() if name.count(" + ") == 1}
    worst = max(pairs, key=lambda name: pairs[name]).removeprefix("insider:").split(" + ")
    assert all(set(worst) < set(names) for names in sets if len(names) == 3)

"""The estimate of a plan: the least and the most that what is left may take."""

from __future__ import annotations

from flows.cli.sweep.run import time_in_words
from flows.sweep.blocks import Candidate, Job
from flows.sweep.sweep_plan import AT_ONCE, SECONDS_TO_BEGIN, TrialCosts, plan_sweep
from tasks.sweep.evaluation import TrialGroup
from tasks.sweep.points import SweepPoint


def jobs(pipeline: str, trials: int) -> list[Job]:
    """As many jobs of one trial each; only how many trials they have is looked at."""
    return [Job(pipeline, "", TrialGroup((), seed, ("a trial",), False)) for seed in range(trials)]


def plan(costs: TrialCosts, left: list[Job], *, workers: int = 2, in_all: int | None = None):
    known = [Candidate(SweepPoint(number, "a", ())) for number in range(10)]
    return plan_sweep(known, left, costs, seeds=1, held=0, workers=workers, in_all=in_all)


def test_of_few_results_the_extremes_count_each_pipeline_by_its_own():
    costs = TrialCosts({"a": [1.0, 3.0], "b": [0.5]})
    assert costs.bounds(jobs("a", 10) + jobs("b", 4)) == (10 * 1.0 + 4 * 0.5, 10 * 3.0 + 4 * 0.5)
    assert costs.bounds(jobs("unknown", 2)) == (2 * 0.5, 2 * 3.0)


def test_of_many_results_one_that_compiled_does_not_rule():
    costs = TrialCosts({"a": [0.1] * 9 + [10.1]})
    low, high = costs.bounds(jobs("a", 100))
    assert low == 100 * 0.1
    assert round(high, 6) == 100 * (0.9 + 10.1) / 10


def test_the_most_allows_for_the_start_and_for_workers_that_disturb_each_other():
    costs, left = TrialCosts({"a": [1.0, 2.0]}), jobs("a", 40)
    assert plan(costs, left).seconds == (20.0, 40.0 * AT_ONCE + SECONDS_TO_BEGIN)
    assert plan(costs, left, workers=1).seconds == (40.0, 80.0 + SECONDS_TO_BEGIN)
    assert plan(costs, left, in_all=30).seconds == (60.0, 120.0 * AT_ONCE + SECONDS_TO_BEGIN)
    assert plan(TrialCosts(), left).seconds is None


def test_the_words_name_both_ends_and_what_they_rest_on():
    words = time_in_words(plan(TrialCosts({"a": [1.0, 2.0]}), jobs("a", 40)))
    assert words.startswith("20 s to 90 s with 2 at once, judged by 2 trials that took 1 s to 2 s")
    assert "one trial that took 1 s;" in time_in_words(plan(TrialCosts({"a": [1.0]}), jobs("a", 40)))
    assert "not known" in time_in_words(plan(TrialCosts(), jobs("a", 3)))
    assert "nothing is left" in time_in_words(plan(TrialCosts({"a": [1.0]}), []))

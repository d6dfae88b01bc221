"""Learned distances on the papers' six problems: `python benchmarks/dbrl_tables.py [--only PART] [--problem NAME]`.

Protocol: 400 records of Census are drawn, THEN masked; each group of attributes by MDAV on raw values; for every masked record
the nearest original; z-scores by each file's own mean and standard deviation; strict credit. Published: D11.2,
table 2, and Torra (2016) (rates and CPLEX's seconds). Ours are CPU seconds of one thread. Set SDCERT_REFERENCE_DATA to the
folder of census.csv and eia.csv.

Parts: `plain` (d2AM and d2MD over at least 500 samples), `searched` (d2WM, d2OWA, d2CI, d2SB over some samples), `matched` (the
same on the samples whose d2AM and d2MD are nearest to the published pair), `metric`, `proven` (the sample of
numpy.random.default_rng(0)), `larger` (all of Census, EIA, a table of 100,000).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from reference import reference
from threadpoolctl import threadpool_limits

from tasks.attack.learned.constraint_rows import problem
from tasks.attack.learned.exact_links import recount
from tasks.attack.learned.features import LearnedDistanceKind, flatten_matrix
from tasks.attack.learned.learn import evaluate_held_out, learn
from tasks.attack.learned.learned_neighbours import count_links
from tasks.mask.partitions import mdav
from tasks.microdata.table import Floats

GROUPS = {  # attributes and k of each group
    "M4-33": ((2, 3), (2, 3)),
    "M4-28": ((2, 2), (2, 8)),
    "M4-82": ((2, 8), (2, 2)),
    "M5-38": ((3, 3), (2, 8)),
    "M6-385": ((2, 3), (2, 8), (2, 5)),
    "M6-853": ((2, 8), (2, 5), (2, 3)),
}
PUBLISHED = {
    "AM": (84.0, 68.5, 71.0, 39.75, 78.0, 84.75),
    "MD": (94.0, 90.0, 92.75, 88.25, 98.5, 98.0),
    "WM": (95.5, 93.0, 94.25, 90.5, 99.25, 98.75),
    "CI": (95.75, 93.75, 94.25, 91.25, 99.75, 99.25),
    "CI_m": (95.75, 93.75, 94.25, 90.5, 99.5, 98.75),
    "SB": (96.75, 94.5, 95.25, 92.25, 99.75, 99.5),
}
PUBLISHED_SECONDS = {
    "WM": (29.83, 41.37, 24.33, 718.43, 11.81, 17.77),
    "CI": (280.24, 427.75, 242.86, 42_731.22, 24.17, 87.43),
    "SB": (13.67, 3_479.06, 139.59, 169_049.55, 13.93, 13.70),
}
KINDS = {
    "WM": LearnedDistanceKind.WEIGHTED_MEAN,
    "OWA": LearnedDistanceKind.OWA,
    "CI": LearnedDistanceKind.CHOQUET,
    "SB": LearnedDistanceKind.BILINEAR,
}
LIMITS = {"WM": 60.0, "CI": 150.0, "SB": 150.0}
N = 400


def masked(values: Floats, groups: tuple[tuple[int, int], ...]) -> Floats:
    """Each group of columns microaggregated by MDAV on the raw values."""
    made, first = values.copy(), 0
    for count, k in groups:
        part = np.ascontiguousarray(values[:, first : first + count])
        group = mdav.partition(part, k)
        means = np.array([np.bincount(group, column) for column in part.T]) / np.bincount(group)
        made[:, first : first + count] = means.T[group]
        first += count
    return made


def scores(values: Floats) -> Floats:
    """z-scores by the file's own mean and standard deviation."""
    standard: Floats = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    return standard


def files(name: str, rng: np.random.Generator, n: int = N) -> tuple[Floats, Floats]:
    """One sample of a problem: (masked, original), both as z-scores."""
    census = reference("census").to_numpy(dtype=float)[:, : sum(count for count, _ in GROUPS[name])]
    original = census[rng.choice(len(census), n, replace=False)]
    return scores(masked(original, GROUPS[name])), scores(original)


def percent(kind: LearnedDistanceKind, parameters: Floats, searching: Floats, found: Floats) -> float:
    return 100 * float(recount(kind, parameters, searching, found, np.arange(len(found))).strict.mean())


def euclidean_and_mahalanobis(searching: Floats, found: Floats) -> tuple[float, float]:
    """d2AM, and d2MD with the covariance of the differences of true pairs."""
    covariance = np.cov((searching - found).T)
    form = flatten_matrix(np.asarray(np.linalg.inv(covariance), dtype=float))
    weights = np.ones(searching.shape[1])
    return percent(LearnedDistanceKind.WEIGHTED_MEAN, weights, searching, found), percent(
        LearnedDistanceKind.BILINEAR, form, searching, found
    )


def drawn(name: str, samples: int) -> Iterator[tuple[Floats, Floats]]:
    return (files(name, np.random.default_rng(seed)) for seed in range(samples))


def plain(name: str, samples: int) -> list[dict[str, object]]:
    both = np.array([euclidean_and_mahalanobis(*pair) for pair in drawn(name, samples)])
    return [_row(name, what, both[:, at]) for at, what in enumerate(("AM", "MD"))]


def _row(name: str, what: str, rates: Floats, seconds: Floats | None = None) -> dict[str, object]:
    at = list(GROUPS).index(name)
    low, high = np.percentile(rates, [1, 99])
    published = PUBLISHED.get(what, (None,) * 6)[at]
    return {
        "problem": name,
        "distance": f"d2{what}",
        "samples": len(rates),
        "published": published,
        "mean": rates.mean(),
        "1 %": low,
        "99 %": high,
        "inside": published is not None and bool(low <= published <= high),
        "s": None if seconds is None else seconds.mean(),
        "published s": PUBLISHED_SECONDS.get(what, (None,) * 6)[at],
    }


def searched(name: str, samples: int, pairs: list[tuple[Floats, Floats]] | None = None) -> list[dict[str, object]]:
    """The search alone on samples."""
    made = pairs or list(drawn(name, samples))
    rows = []
    for what, kind in KINDS.items():
        learned = [learn(problem(kind, *pair), rng=np.random.default_rng(at)) for at, pair in enumerate(made)]
        rates = np.array([100 * each.rate for each in learned])
        rows.append(_row(name, what, rates, np.array([each.seconds for each in learned])))
    return rows


def matched(name: str, samples: int, among: int = 500) -> list[dict[str, object]]:
    """The search on the samples whose (d2AM, d2MD) is nearest to the published pair."""
    aim = np.array([PUBLISHED[what][list(GROUPS).index(name)] for what in ("AM", "MD")])
    both = np.array([euclidean_and_mahalanobis(*pair) for pair in drawn(name, among)])
    nearest = np.argsort(np.abs(both - aim).sum(axis=1), kind="stable")[:samples]
    return searched(name, samples, [files(name, np.random.default_rng(int(seed))) for seed in nearest])


def metric(name: str, samples: int) -> list[dict[str, object]]:
    """The metric variants, searched."""
    rows = []
    for what in ("WM", "CI", "SB"):
        learned = [
            learn(problem(KINDS[what], *pair), metric=True, rng=np.random.default_rng(0)) for pair in drawn(name, samples)
        ]
        rates, seconds = np.array([[100 * each.rate, each.seconds] for each in learned]).T
        rows.append(_row(name, f"{what}_m", rates, seconds))
    return rows


def proven(name: str, limit: float | None = None, only: str | None = None) -> list[dict[str, object]]:
    """The optimum with its gap on the sample of `numpy.random.default_rng(0)`."""
    pair, rows = files(name, np.random.default_rng(0)), []
    for what in LIMITS if only is None else (only,):
        seconds = limit or (600.0 if (name, what) == ("M5-38", "SB") else LIMITS[what])
        searched_alone = learn(problem(KINDS[what], *pair), rng=np.random.default_rng(0))
        learned = learn(problem(KINDS[what], *pair), solver="certified", time_limit=seconds, rng=np.random.default_rng(0))
        rows.append(
            {
                "problem": name,
                "distance": f"d2{what}",
                "search": searched_alone.linked,
                "search s": searched_alone.seconds,
                "linked": learned.linked,
                "bound": learned.bound,
                "percent": 100 * learned.rate,
                "gap": learned.gap,
                "s": learned.seconds,
                "published s": PUBLISHED_SECONDS[what][list(GROUPS).index(name)],
            }
        )
    return rows


def larger() -> Iterator[dict[str, object]]:
    """Files beyond the papers': all of Census, EIA in pairs of attributes, 100,000 x 6 with noise that differs by attribute."""
    census = reference("census").to_numpy(dtype=float)[:, :5]
    eia = reference("eia").iloc[:, 5:15].to_numpy(dtype=float)
    rng = np.random.default_rng(0)
    people = rng.normal(size=(100_000, 6)) @ (np.eye(6) + 0.3)
    noisy = people + people.std(axis=0) * rng.normal(size=people.shape) * [0.002, 0.01, 0.02, 0.05, 0.2, 0.4]
    cases: dict[str, tuple[Floats, Floats, tuple[LearnedDistanceKind, ...]]] = {
        "Census 1080 M5-38": (scores(masked(census, GROUPS["M5-38"])), scores(census),
                              (LearnedDistanceKind.WEIGHTED_MEAN, LearnedDistanceKind.BILINEAR)),
        "EIA pairs 3,8,5,3,8": (
            scores(masked(eia, tuple((2, k) for k in (3, 8, 5, 3, 8)))), scores(eia),
            (LearnedDistanceKind.WEIGHTED_MEAN, LearnedDistanceKind.BILINEAR)
        ),
        "100,000 x 6": (scores(noisy), scores(people), (LearnedDistanceKind.WEIGHTED_MEAN,)),
    }  # fmt: skip
    return (_large(name, searching, found, kind) for name, (searching, found, kinds) in cases.items() for kind in kinds)


def _large(name: str, searching: Floats, found: Floats, kind: LearnedDistanceKind) -> dict[str, object]:
    distinct = np.unique(found, axis=0, return_index=True)[1]
    own, other = searching[np.sort(distinct)], found[np.sort(distinct)]
    of = problem(LearnedDistanceKind.WEIGHTED_MEAN, own, other, np.arange(len(own)))
    euclid = 100 * of.worth(count_links(of, np.ones(own.shape[1]))) / len(own)
    began = time.process_time()
    learned = learn(problem(kind, own, other), metric=len(own) > 10_000, rng=np.random.default_rng(0))
    used = time.process_time() - began
    split = evaluate_held_out(problem(kind, own, other), metric=len(own) > 10_000, rng=np.random.default_rng(1))
    return {
        "file": name, "n": len(own), "kind": kind.value, "euclid": euclid, "learned": 100 * learned.rate, "s": used,
        "held out: euclid": 100 * split.euclidean, "held out: learned": 100 * split.other_half,
    }  # fmt: skip


def main(
    only: Annotated[str | None, typer.Option(help="plain, searched, matched, metric, proven or larger")] = None,
    name: Annotated[str | None, typer.Option("--problem", help="one of the six problems")] = None,
    distance: Annotated[str | None, typer.Option(help="of proven: WM, CI or SB")] = None,
    samples: Annotated[int | None, typer.Option(help="default: 500 for plain, 10 elsewhere")] = None,
    limit: Annotated[float | None, typer.Option(help="CPU seconds of a proof")] = None,
) -> None:
    """Print the tables, or a part of them."""
    threadpool_limits(limits=1)
    learn(
        problem(LearnedDistanceKind.CHOQUET, *files("M4-33", np.random.default_rng(0), 40)),
        rounds=5,
        rng=np.random.default_rng(0),
    )
    parts: dict[str, Callable[[str], list[dict[str, object]]]] = {
        "plain": lambda problem: plain(problem, samples or 500),
        "searched": lambda problem: searched(problem, samples or 10),
        "matched": lambda problem: matched(problem, samples or 10),
        "metric": lambda problem: metric(problem, samples or 10),
        "proven": lambda problem: proven(problem, limit, distance),
    }
    for part, made in parts.items():
        if only in (None, part):
            for problem_name in GROUPS if name is None else (name,):
                print(pd.DataFrame(made(problem_name)).round(2).to_string(index=False), flush=True)
    if only in (None, "larger"):
        for row in larger():
            print(pd.DataFrame([row]).round(2).to_string(index=False), flush=True)


if __name__ == "__main__":
    typer.run(main)

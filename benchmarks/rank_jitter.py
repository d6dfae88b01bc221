"""Masks that keep each column's values, and microaggregation, at equal loss: `python benchmarks/rank_jitter.py [--seeds N]`.

Census (1,080 records), its 13 columns or the first 7, and EIA (4,092, ten columns), read from SDCERT_REFERENCE_DATA. All
columns are masked, and known to the intruder. The parameter of each mask is chosen so that its information loss (100 * SSE /
SST, z-scored) comes nearest to the stated one; links are shares of the records, ties shared, means over the seeds of the mask:
- distance: Euclid on z-scores; learned: the weights that link most (the data's owner's worst case);
- law: what knowing the step gives each record for itself (transparency: for rank jitter by the law of displacements, for
  microaggregation and reverse mapping by repeating the partition); one to one: the likeliest assignment; marginals: the row
  that is most probably the record's own over all assignments. After noise and reverse mapping: an attack made for this
  comparison, by the density of the noise at the places where sums of each rank are expected, alone and with marginals;
- consistency: for what exchanges pairs;
- best: the largest of these; claimed: what the intruder claims of his links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from consistency import of_columns, swap_of, table

from tasks.attack.consistency.consistency import link_by_consistency
from tasks.attack.learned.constraint_rows import problem
from tasks.attack.learned.features import LearnedDistanceKind
from tasks.attack.learned.learn import learn
from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.linkage.pair_marginals import WeighedPairs, compute_pair_marginals
from tasks.attack.outcomes.links import Links
from tasks.attack.transparency.image_posterior import posterior
from tasks.attack.transparency.transparency import Matching, link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.groups.partition_choice import Partition
from tasks.mask.methods import MaskResult, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Integers, Microdata

BACK = ReverseMapping(method="reverse_mapping")
Steps = tuple[Any, ...]


def grouped(k: float, partition: Partition = "mdav") -> Microaggregation:
    return Microaggregation(method="microaggregation", k=round(k), partition=partition)


MASKS: dict[str, tuple[Callable[[float], Steps], tuple[float, float]]] = {
    "rank swapping": (lambda p: (swap_of(window_percent=p),), (0.5, 70)),
    "rank jitter": (lambda p: (RankJitter(method="rank_jitter", window_percent=p),), (0.5, 70)),
    "noise, reverse mapping": (
        lambda p: (Noise(method="noise", kind="independent", sd_percent=p), BACK),
        (3, 300),
    ),
    "MDAV": (lambda k: (grouped(k),), (2, 500)),
    "MDAV, reverse mapping": (lambda k: (grouped(k), BACK), (2, 500)),
    "refined, reverse mapping": (lambda k: (grouped(k, "refined"), BACK), (2, 500)),
}
LOSSES = (10.0, 25.0, 45.0)


@dataclass(frozen=True, slots=True)
class Scene:
    """A released table in another order than the source: row order[i] of what was masked is its row i."""

    data: Microdata
    schema: Schema
    done: MaskResult
    released: Microdata
    truth: Integers

    @classmethod
    def of(cls, data: Microdata, schema: Schema, done: MaskResult) -> Scene:
        return cls(data, schema, done, done.data.take(done.order), np.argsort(done.order))

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        """Both tables in the source's standard deviations."""
        x, y = (np.column_stack([one.floats(name) for name in one.names]) for one in (self.data, self.released))
        return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1), (y - x.mean(axis=0)) / x.std(axis=0, ddof=1)

    def credit(self, links: Links) -> float:
        return float(links.guesses(np.arange(len(self.truth))).credit(self.truth).mean())


def loss(data: Microdata, released: Microdata) -> float:
    """100 * SSE / SST, the mean over the columns."""
    x, y = (np.column_stack([one.floats(name) for name in one.names]) for one in (data, released))
    return float(100 * (((y - x) / x.std(axis=0)) ** 2).mean())


def parameter_at(data: Microdata, schema: Schema, mask_name: str, wanted: float) -> float:
    """The parameter whose loss comes nearest, by halving its logarithm."""
    steps_of, ends = MASKS[mask_name]
    (low, high), tried = np.log(ends), []
    for _ in range(9):
        value = float(round(np.exp((low + high) / 2), 1))
        found = loss(data, mask(data, schema, steps_of(value), seed=bytes(32), path=()).data)
        tried.append((abs(found - wanted), value))
        low, high = ((low + high) / 2, high) if found < wanted else (low, (low + high) / 2)
    return min(tried)[1]


def figures(scene: Scene, *, learned: bool) -> Iterator[tuple[str, float]]:
    """What each attack links, by its name."""
    who = (scene.data, scene.released, scene.schema)
    yield "distance", scene.credit(link_by_distance(*who, DistanceLinkage(method="distance_linkage"), scene.data.names))
    if learned:
        yield "learned", _learned(scene)
    steps = scene.done.mechanisms
    if isinstance(steps[0], Noise):
        yield from _by_density(scene, steps[0])
        return
    if isinstance(steps[0], RankSwapping):
        yield "consistency", scene.credit(link_by_consistency(*who, steps, scene.data.names)[0])
    jittered = isinstance(steps[0], RankJitter)
    matchings: dict[str, Matching] = {"law": "likeliest", "one to one": "one_to_one", "marginals": "marginals"}
    for name, matching in matchings.items() if jittered else (("law", "likeliest"),):
        try:
            links, _ = link_by_mechanism(*who, steps, scene.data.names, matching=matching)
        except (NotApplicable, AttackFailed):
            continue
        yield name, scene.credit(links)
        if name != "one to one" and jittered:
            yield (
                f"{name} claimed",
                float((links.posterior or posterior(links)).compute_guess_probabilities(np.arange(scene.data.n)).mean()),
            )


def _learned(scene: Scene) -> float:
    x, y = scene.arrays
    found = learn(
        problem(LearnedDistanceKind.WEIGHTED_MEAN, x, y, scene.truth, strict=False), rng=np.random.default_rng(0), metric=False
    )
    return float(found.rate)


def _by_density(scene: Scene, noise: Noise) -> Iterator[tuple[str, float]]:
    """Where the sums of noise and values that end at each rank are expected, and the density of the noise around them."""
    x, y = scene.arrays
    spread, rng = noise.sd_percent / 100, np.random.default_rng(0)
    expected = np.mean([np.sort(x + spread * rng.normal(size=x.shape), axis=0) for _ in range(30)], axis=0)
    log = np.zeros((len(x), len(y)))
    for own, shown, sums in zip(x.T, y.T, expected.T, strict=True):
        ranked, before = np.sort(shown), np.append(0.0, np.cumsum(sums))
        first, last = np.searchsorted(ranked, shown, side="left"), np.searchsorted(ranked, shown, side="right")
        log -= (own[:, np.newaxis] - (before[last] - before[first]) / (last - first)) ** 2 / (2 * spread**2)
    ratio = log - np.logaddexp.reduce(log, axis=0)
    n, weight = len(x), np.exp(np.maximum(ratio - ratio.max(axis=1, keepdims=True), -30.0))
    pairs = WeighedPairs(np.arange(n + 1) * n, np.tile(np.arange(n), n), weight.ravel())
    alone = np.ones(n, dtype=np.int64)
    for name, score in (("law", ratio), ("marginals", compute_pair_marginals(pairs, alone, alone, n).reshape(n, n))):
        best = score >= score.max(axis=1, keepdims=True)
        yield name, float((best[np.arange(len(x)), scene.truth] / best.sum(axis=1)).mean())


def compared(name: str, d: int, wanted: float, seeds: int, *, learned: bool) -> Iterator[dict[str, Any]]:
    """One row for each mask at one loss."""
    data, _ = table(name)
    data, schema = of_columns({one: data.column(one).to_numpy() for one in data.names[:d]})
    for mask_name, (steps_of, _) in MASKS.items():
        value = parameter_at(data, schema, mask_name, wanted)
        runs, lost = [], []
        for seed in range(1, seeds + 1):
            done = mask(data, schema, steps_of(value), seed=seed.to_bytes(32, "big"), path=())
            lost.append(loss(data, done.data))
            runs.append(dict(figures(Scene.of(data, schema, done), learned=learned and seed == 1)))
        means = {key: float(np.mean([run[key] for run in runs if key in run])) for key in runs[0]}
        best = max(value for key, value in means.items() if "claimed" not in key)
        yield {"mask": mask_name, "parameter": value, "loss": float(np.mean(lost)), "best": best, **means}


def _shown(row: dict[str, Any]) -> str:
    return "  ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items())


def main(
    seeds: Annotated[int, typer.Option(help="How many draws of each mask.")] = 3,
    learned: Annotated[bool, typer.Option(help="Learn weights too, for the first draw.")] = True,
    only: Annotated[str, typer.Option(help="census-13, census-7 or eia-10.")] = "",
) -> None:
    """Print the comparison."""
    for name, d in (("census", 13), ("census", 7), ("eia", 10)):
        if only not in ("", f"{name}-{d}"):
            continue
        for wanted in LOSSES:
            typer.echo(f"{name}, {d} attributes, loss {wanted:g}")
            for row in compared(name, d, wanted, seeds, learned=learned):
                typer.echo(_shown(row))


if __name__ == "__main__":
    typer.run(main)

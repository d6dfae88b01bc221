"""The claims of the consistency attack: `python benchmarks/consistency.py [--seeds N] [--only bars|jitter|scale]`.

Bars: rank swapping of Census (1,080 records) and EIA (4,092, ten columns), both read from SDCERT_REFERENCE_DATA, over so many
seeds of the mask; who holds all records, or a share of them. Unique: the share of the records whose one row that is left is
theirs. Links: the share that the largest belief gives, ties shared. Lost: true rows left out, which must be none. Controls: the
same on columns dealt out independently, where more than chance would show once in 10,000 is a bar that is not kept.
Jitter: classic swapping, rank jitter and microaggregation (MDAV) of Census at about equal information loss (100 * SSE / SST,
z-scored), and what is linked, ties shared, by distance, by transparency, by consistency, and by an attack tailored to ranks
that move independently: the likelihood of all displacements, each record for itself, and one to one.
Scale: 100,000 records of 4 columns, 2 percent, and the memory of it, in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from reference import reference
from scipy.optimize import linear_sum_assignment
from scipy.stats import poisson

from tasks.attack.consistency.consistency import link_by_consistency
from tasks.attack.consistency.displacements import LEAST, log_displacement, mid_ranks
from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.outcomes.links import Links
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.ingest.readers.datasets import DatasetName
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Mechanism, mask
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.sweep.calibration.calibration_findings import LEVEL


@dataclass(frozen=True, slots=True)
class Bar:
    """A case, and the least share that its figure must reach."""

    table: DatasetName
    swap: dict[str, Any]
    d: int
    share: float = 1.0
    figure: str = "unique"
    least: float | None = None


CLASSIC_10, CLASSIC_20 = {"window_percent": 10}, {"window_percent": 20}
BUCKETS, NORMAL = {"variant": "p_buckets", "buckets": 10}, {"variant": "p_distribution", "p_percent": 10}
BARS = (
    Bar("census", CLASSIC_20, 2),
    Bar("census", CLASSIC_20, 3, least=0.99),
    Bar("census", CLASSIC_20, 7),
    Bar("census", CLASSIC_20, 3, 0.5, "links"),
    Bar("census", CLASSIC_20, 7, 0.5, "unique", 0.95),
    Bar("census", CLASSIC_20, 7, 0.25, "links"),
    Bar("census", CLASSIC_20, 13, 0.25, "links"),
    Bar("eia", CLASSIC_10, 3),
    Bar("eia", CLASSIC_10, 10, least=0.99),
    *(Bar("census", swap, d, least=0.99 if d == 7 else None) for swap in (BUCKETS, NORMAL) for d in (2, 3, 7)),
    *(Bar("census", swap, 7, 0.5, "links") for swap in (BUCKETS, NORMAL)),
)
MATCHED = (
    ("classic swapping", lambda p: swap_of(window_percent=p), (1, 60)),
    ("rank jitter", lambda p: RankJitter(method="rank_jitter", window_percent=p), (1, 60)),
    ("microaggregation", lambda k: Microaggregation(method="microaggregation", k=round(k)), (2, 540)),
)
LOSSES = (10.0, 25.0, 45.0)
SCALE_ROWS, SCALE_COLUMNS, SCALE_WINDOW = 100_000, 4, 2.0


def table(name: DatasetName) -> tuple[Microdata, Schema]:
    """The original of a case: all numbers, all quasi-identifiers."""
    frame = reference(name)
    columns = frame.columns if name == "census" else frame.columns[5:]
    return of_columns({str(column): frame[column].to_numpy() for column in columns})


def of_columns(columns: dict[str, Any]) -> tuple[Microdata, Schema]:
    """A table of numeric quasi-identifiers."""
    data = Microdata.from_columns(columns)
    return data, Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in data.names))


def swap_of(**parameters: Any) -> RankSwapping:
    return RankSwapping(method="rank_swapping", **parameters)


def measured(bar: Bar, seed: int, *, dealt_out: bool = False) -> dict[str, Any]:
    """One draw of the mask of a case, attacked with a share of the originals."""
    data, schema = table(bar.table)
    step, rng = swap_of(**bar.swap), np.random.default_rng(seed)
    done = mask(data, schema, (step,), seed=seed.to_bytes(32, "big"), path=())
    columns = {
        name: done.data.column(name).take(rng.permutation(data.n) if dealt_out else np.arange(data.n)) for name in data.names
    }
    order = rng.permutation(data.n)
    shown, truth = Microdata.from_columns(columns).take(order), np.argsort(order)
    known = np.sort(rng.permutation(data.n)[: round(bar.share * data.n)])
    began = time.process_time()
    figures = _attacked(data.take(known), shown, schema, data.names[: bar.d], done.mechanisms, truth[known], data.n)
    return {**figures, "seconds": time.process_time() - began}


def _attacked(
    known: Microdata,
    shown: Microdata,
    schema: Schema,
    names: tuple[str, ...],
    mechanisms: tuple[Mechanism, ...],
    truth: Integers,
    n_records: int,
) -> dict[str, Any]:
    """What the attack of the program finds, and what its sets leave."""
    try:
        links, _ = link_by_consistency(known, shown, schema, mechanisms, names, n_records=n_records)
    except AttackFailed:
        return {"unique": 0.0, "links": 0.0, "lost": 0, "left": 0.0}
    except NotApplicable:  # too many pairs
        return {"unique": 0.0, "links": 0.0, "lost": 0, "left": float(shown.n)}
    everybody = np.arange(known.n)
    lost = links.rules_out(everybody, truth)
    assert links.sound_sizes is not None
    sizes = links.sound_sizes[links.search_class]
    return {
        "unique": float((~lost & (sizes == 1)).mean()),
        "links": _of(links, truth),
        "lost": int(lost.sum()),
        "left": float(sizes.mean()),
    }


def bars(seeds: int) -> Iterator[dict[str, Any]]:
    """The mean figures of each case, the worst of what has a bar, and the controls."""
    for bar in BARS:
        runs = [measured(bar, seed) for seed in range(1, seeds + 1)]
        controls = [measured(bar, seed, dealt_out=True) for seed in range(1, seeds + 1)] if bar.least else []
        means = {name: float(np.mean([run[name] for run in runs])) for name in ("unique", "links", "left", "seconds")}
        worst = min(run[bar.figure] for run in runs)
        lost = sum(run["lost"] for run in runs)
        chance = max((run["links"] for run in controls), default=None)
        kept = bar.least is None or (worst >= bar.least and lost == 0 and (chance or 0.0) <= _by_chance(bar, seeds))
        case = f"{bar.table}, {swap_of(**bar.swap).law}, {bar.d} attributes, {bar.share:.0%} of the records"
        yield {"case": case, **means, "worst": worst, "lost": lost, "control": chance, "bar": bar.least, "kept": kept}


def _by_chance(bar: Bar, seeds: int) -> float:
    """The share that the best of so many controls exceeds with a chance of 1e-4, if each links one record on average."""
    n = round(bar.share * len(reference(bar.table)))
    return float(poisson.isf(LEVEL / seeds, 1)) / n


def jitter() -> Iterator[dict[str, Any]]:
    """What each attack links of three masks at equal loss."""
    data, schema = table("census")
    for loss in LOSSES:
        for name, step_of, ends in MATCHED:
            step, released, found = _at_loss(data, schema, step_of, ends, loss)
            yield {"mask": name, "loss": found, **_parameter(step), **dict(_by_all(data, released, schema, step))}


def _parameter(step: Any) -> dict[str, Any]:
    return {"k": step.k} if isinstance(step, Microaggregation) else {"window_percent": step.window_percent}


def _at_loss(data: Microdata, schema: Schema, step_of: Any, ends: tuple[float, float], loss: float) -> Any:
    """The step whose loss comes nearest, by halving the logarithm of its parameter; it, the table, and its loss."""
    low, high = np.log(ends)
    tried = []
    for _ in range(8):
        step = step_of(float(round(np.exp((low + high) / 2), 2)))
        done = mask(data, schema, (step,), seed=bytes(32), path=())
        found = _loss(data, done.data, schema)
        tried.append((abs(found - loss), done.mechanisms[0], done.data, found))
        low, high = ((low + high) / 2, high) if found < loss else (low, (low + high) / 2)
    return min(tried, key=lambda one: one[0])[1:]


def _loss(data: Microdata, released: Microdata, schema: Schema) -> float:
    x, y = (np.column_stack([part.positions(schema[name]) for name in data.names]) for part in (data, released))
    return float(100 * (((y - x) / x.std(axis=0)) ** 2).mean())


def _by_all(data: Microdata, released: Microdata, schema: Schema, step: Any) -> Iterator[tuple[str, Any]]:
    order = np.random.default_rng(1).permutation(data.n)
    who = (data, released.take(order), schema)
    truth = np.argsort(order)
    for d in (3, 13):
        names = data.names[:d]
        plain = link_by_distance(*who, DistanceLinkage(method="distance_linkage"), names)
        yield f"distance, {d}", _of(plain, truth)
        for name, link in (("transparency", link_by_mechanism), ("consistency", link_by_consistency)):
            try:
                yield f"{name}, {d}", _of(link(*who, (step,), names)[0], truth)
            except NotApplicable:
                yield f"{name}, {d}", None
        if isinstance(step, RankSwapping | RankJitter):
            likelihood = _likelihood(data, who[1], schema, names, step)
            best = likelihood == likelihood.max(axis=1, keepdims=True)
            own = np.arange(data.n), truth
            yield f"likelihood, {d}", float((best[own] / best.sum(axis=1)).mean())
            yield f"likelihood one to one, {d}", float((linear_sum_assignment(-likelihood)[1] == truth).mean())


def _of(links: Links, truth: Integers) -> float:
    return float(links.guesses(np.arange(len(truth))).credit(truth).mean())


def _likelihood(data: Microdata, released: Microdata, schema: Schema, names: tuple[str, ...], step: Any) -> Floats:
    total = np.zeros((data.n, released.n))
    for name in names:
        shown = released.positions(schema[name])
        before, after = mid_ranks(data.positions(schema[name]), shown), mid_ranks(shown, shown)
        far = np.broadcast_to(before[:, np.newaxis], total.shape), np.broadcast_to(after, total.shape)
        total += np.maximum(log_displacement(step, data.n, *far), LEAST)
    return total


def scale() -> dict[str, Any]:
    """A large table with columns of distinct values that go together, in this process: seconds, and the most memory."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=SCALE_ROWS)
    data, schema = of_columns({f"a{j}": common + rng.normal(size=SCALE_ROWS) for j in range(SCALE_COLUMNS)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    done = mask(data, schema, (swap_of(window_percent=SCALE_WINDOW),), seed=bytes(32), path=())
    began = time.process_time()
    links, _ = link_by_consistency(data, done.data, schema, done.mechanisms, data.names)
    seconds = time.process_time() - began
    credit = _of(links, np.arange(data.n))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"rows": data.n, "links": credit, "seconds": seconds, "mb_before": before, "mb": most}


def _shown(row: dict[str, Any]) -> str:
    return "  ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items())


def main(
    seeds: Annotated[int, typer.Option(help="How many draws of each mask.")] = 5,
    only: Annotated[str, typer.Option(help="bars, jitter or scale.")] = "",
    here: Annotated[bool, typer.Option(help="Run the scale in this process.", hidden=True)] = False,
) -> None:
    """Print the figures; exit 1 where a bar is not kept."""
    if here:
        typer.echo(json.dumps(scale()))
        return
    kept = True
    measured(BARS[1], 1)  # compiles
    for row in bars(seeds) if only in ("", "bars") else ():
        typer.echo(_shown(row))
        kept &= row["kept"]
    for row in jitter() if only in ("", "jitter") else ():
        typer.echo(_shown(row))
    if only in ("", "scale"):
        ran = subprocess.run([sys.executable, __file__, "--here"], capture_output=True, text=True, check=True)
        typer.echo(_shown(json.loads(ran.stdout)))
    raise typer.Exit(0 if kept else 1)


if __name__ == "__main__":
    typer.run(main)

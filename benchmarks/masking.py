"""The claims of speed of masking, each beside a peer in the same run: `python benchmarks/masking.py [--only NAME] [--full]`.

One function for each claim; it returns a table, one row for each case. Seconds are CPU seconds after a first call on a small
table, which loads the compiled code; each case runs in a process of its own. The peers' recorded figures are printed beside
ours: they were measured on another day with the packages named, and only their order of size is to be compared.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Annotated

import numpy as np
import pandas as pd
import plain_mdav
import typer
from reference import reference

from tasks.ingest.readers.datasets import DatasetName
from tasks.mask.categories.pram import Pram, randomise
from tasks.mask.partitions import mdav, projection, randomised_partition, univariate, v_mdav
from tasks.mask.partitions.near_parts import partition_in_parts
from tasks.mask.partitions.partition_loss import compute_within_group_loss
from tasks.mask.partitions.refined import refined_partition as refined
from tasks.mask.precision_grid import find_precision
from tasks.mask.ranks.rank_jitter import RankJitter, jitter
from tasks.mask.ranks.rank_swapping import RankSwapping, rank_swap
from tasks.mask.step import MaskContext
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Floats, Integers, Microdata

SEED = 20261121
SDCMICRO = {(10_000, 3): (0.31,), (50_000, 3): (10.3,), (100_000, 3): (50.0, 71.0), (100_000, 10): (16.0,)}


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, the megabytes by which the process grew at its peak, and the loss of the groups (100 * SSE / SST)."""

    seconds: float
    megabytes: float
    loss: float


def measured(method: Callable[..., Integers], made: Callable[..., Floats], shape: tuple[int, int], *parameters: float) -> Cost:
    """The cost of a method on one table, in a process of its own. made: a function of n and p at module level."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, method, made, shape, parameters).result()


def _measured(
    method: Callable[..., Integers], made: Callable[..., Floats], shape: tuple[int, int], parameters: tuple[float, ...]
) -> Cost:
    method(made(200, shape[1]), *parameters)
    points = made(*shape)
    peak, start = _peak_megabytes(), time.process_time()
    groups = method(points, *parameters)
    seconds, megabytes = time.process_time() - start, _peak_megabytes() - peak
    return Cost(seconds, megabytes, compute_within_group_loss(points, groups))


def _peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def normal(n: int, p: int) -> Floats:
    return np.random.default_rng(SEED).normal(size=(n, p))


def tied(n: int, p: int) -> Floats:
    return np.random.default_rng(SEED).integers(0, 4, (n, p)).astype(float)


def equal(n: int, p: int) -> Floats:
    return np.ones((n, p))


def half_equal(n: int, p: int) -> Floats:
    return np.vstack([np.zeros((n // 2, p)), normal(n - n // 2, p)])


def ascending(n: int, p: int) -> Floats:
    return np.repeat(np.arange(float(n))[:, None], p, axis=1)


def clustered(n: int, p: int) -> Floats:
    rng = np.random.default_rng(SEED)
    return 10.0 * rng.normal(size=(20, p))[rng.integers(0, 20, n)] + 0.1 * rng.normal(size=(n, p))


def sphere(n: int, p: int) -> Floats:
    points = normal(n, p)
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points


def mdav_speed(full: bool) -> pd.DataFrame:
    """Exact MDAV of normal data in 6 columns, beside the scan of all records and sdcMicro 5.8.1's C++ (recorded)."""
    rows = []
    for n in (10_000, 50_000, 100_000):
        for k in (3, 5, 10):
            fast = measured(mdav.partition, normal, (n, 6), k)
            plain = measured(plain_mdav.partition, normal, (n, 6), k) if full or n < 100_000 else None
            recorded = SDCMICRO.get((n, k))
            rows.append(
                {
                    "n": n,
                    "k": k,
                    "seconds": fast.seconds,
                    "plain": plain and plain.seconds,
                    "plain/ours": plain and plain.seconds / fast.seconds,
                    "sdcMicro": "-".join(f"{seconds:g}" for seconds in recorded) if recorded else None,
                    "sdcMicro/ours": recorded and recorded[0] / fast.seconds,
                    "peak MB": fast.megabytes,
                }
            )
    return pd.DataFrame(rows)


def mdav_hard(full: bool) -> pd.DataFrame:
    """Exact MDAV, k = 3, where a tree has a hard time: ties, one point, a sphere, many columns."""
    n = 50_000 if full else 20_000
    cases = [(tied, 6), (equal, 6), (half_equal, 6), (ascending, 1), (clustered, 6), (sphere, 6), (normal, 13), (normal, 30)]
    rows = []
    for made, p in cases:
        fast, plain = measured(mdav.partition, made, (n, p), 3), measured(plain_mdav.partition, made, (n, p), 3)
        ratio = plain.seconds / fast.seconds
        rows.append(
            {"data": made.__name__, "n": n, "p": p, "seconds": fast.seconds, "plain": plain.seconds, "plain/ours": ratio}
        )
    return pd.DataFrame(rows)


def v_mdav_speed(full: bool) -> pd.DataFrame:
    """V-MDAV of normal data in 6 columns with its default gamma, beside our MDAV."""
    rows = []
    for n in (10_000, 50_000, 100_000) if full else (10_000, 50_000):
        for k in (3, 10):
            ours, fixed = measured(v_mdav.partition, normal, (n, 6), k), measured(mdav.partition, normal, (n, 6), k)
            rows.append({"n": n, "k": k, "seconds": ours.seconds, "MDAV": fixed.seconds, "peak MB": ours.megabytes})
    return pd.DataFrame(rows)


def parts_speed(full: bool) -> pd.DataFrame:
    """MDAV of normal data in 6 columns, k = 10, of all records together and in parts: seconds, and 100 * SSE / SST."""
    cases = [(100_000, None), (100_000, 50_000), (100_000, 10_000), (1_000_000, 100_000)]
    cases += [(1_000_000, None), (1_000_000, 10_000), (10_000_000, 100_000)] if full else []
    rows = []
    for n, most in cases:
        cost = measured(mdav.partition, normal, (n, 6), 10) if most is None else measured(in_parts, normal, (n, 6), 10, most)
        rows.append({"n": n, "part": most, "seconds": cost.seconds, "loss": cost.loss, "peak MB": cost.megabytes})
    return pd.DataFrame(rows)


def in_parts(points: Floats, k: int, most: int) -> Integers:
    return partition_in_parts(points, most, partial(mdav.partition, k=k))


def refined_speed(full: bool) -> pd.DataFrame:
    """The refined and the randomised partition of normal data in 6 columns, beside exact MDAV: seconds, and 100 * SSE / SST."""
    rows = []
    for n in (1_000, 10_000, 100_000) if full else (1_000, 10_000):
        for k in (3, 10):
            cases = {"refined": refined.partition, "randomised": seeded, "MDAV": mdav.partition}
            costs = {name: measured(method, normal, (n, 6), k) for name, method in cases.items()}
            row: dict[str, float] = {"n": n, "k": k} | {f"{name} s": cost.seconds for name, cost in costs.items()}
            row |= {f"{name} loss": cost.loss for name, cost in costs.items()}
            rows.append(row | {"refined peak MB": costs["refined"].megabytes})
    return pd.DataFrame(rows)


def seeded(points: Floats, k: int) -> Integers:
    return randomised_partition.partition(points, k, rng=np.random.default_rng(SEED))


def quick_partitions_speed(full: bool) -> pd.DataFrame:
    """Projection, and individual ranking of all columns, of normal data in 6 columns, k = 3."""
    rows = []
    for n in (10_000, 100_000) if full else (10_000,):
        alone, axis = measured(each_alone, normal, (n, 6), 3), measured(projected, normal, (n, 6), 3)
        rows.append({"n": n, "projection": axis.seconds, "individual ranking": alone.seconds})
    return pd.DataFrame(rows)


def projected(points: Floats, k: int) -> Integers:
    return projection.partition(points, k, axis="first_principal_component")


def each_alone(points: Floats, k: int) -> Integers:
    """The groups of the last column; all are grouped."""
    return [univariate.partition(column, k) for column in points.T][-1]


def partition_losses(full: bool) -> pd.DataFrame:
    """100 * SSE / SST on the z-scores of the literature's tables."""
    tables: dict[str, tuple[DatasetName, int]] = {"Census, 13 columns": ("census", 0), "EIA, 10 columns": ("eia", 5)}
    together = {
        "mdav": mdav.partition,
        "v_mdav": v_mdav.partition,
        "refined": refined.partition,
        "randomised": seeded,
        "projection": projected,
    }
    rows = []
    for label, (name, first) in tables.items():
        values = reference(name).iloc[:, first:].to_numpy(float)
        points = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
        for k in (3, 5, 10):
            row: dict[str, object] = {"table": label, "k": k}
            row |= {name: compute_within_group_loss(points, method(points, k)) for name, method in together.items()}
            alone = [compute_within_group_loss(one[:, None], univariate.partition(one, k)) for one in points.T]
            rows.append(row | {"individual_ranking": float(np.mean(alone))})
    return pd.DataFrame(rows)


def ranks_speed(full: bool) -> pd.DataFrame:
    """Rank swapping and rank jitter, 10 columns of normal data, beside a bare stable argsort of the columns."""
    n = 1_000_000 if full else 100_000
    data, schema = columns_of(normal(n, 10), Scale.NUMERIC)
    steps: dict[str, Callable[[MaskContext], object]] = {
        "classic, 5 %": lambda site: rank_swap(site, RankSwapping(method="rank_swapping", window_percent=5.0, **ALL)),
        "10 buckets": lambda site: rank_swap(
            site, RankSwapping(method="rank_swapping", variant="p_buckets", buckets=10, **ALL)
        ),
        "jitter, 5 %": lambda site: jitter(site, RankJitter(method="rank_jitter", window_percent=5.0, **ALL)),
    }
    sorting = seconds_of(lambda: [np.argsort(data.floats(name), kind="stable") for name in data.names])
    rows = []
    for name, masked in steps.items():
        masked(site_of(*columns_of(normal(200, 10), Scale.NUMERIC)))
        seconds = seconds_of(partial(masked, site_of(data, schema)))
        rows.append({"method": name, "n": n, "seconds": seconds, "sorting alone": sorting, "ours/sorting": seconds / sorting})
    return pd.DataFrame(rows)


def pram_speed(full: bool) -> pd.DataFrame:
    """PRAM of 10 columns of 7 categories, beside a bare vectorised draw from arrays of codes, without tables."""
    n = 1_000_000 if full else 100_000
    codes = np.random.default_rng(SEED).integers(0, 7, (n, 10))
    data, schema = columns_of(codes, Scale.NOMINAL)
    step = Pram(method="pram", retention=0.8, **ALL)
    randomise(site_of(*columns_of(codes[:200], Scale.NOMINAL)), step)
    seconds = seconds_of(lambda: randomise(site_of(data, schema), step))
    bounds = np.cumsum(np.where(np.eye(7, dtype=bool), 0.8, 0.2 / 6), axis=1)
    rng = np.random.default_rng(SEED)
    plain = seconds_of(lambda: [(rng.random(n)[:, None] > bounds[column]).sum(axis=1) for column in codes.T])
    return pd.DataFrame([{"n": n, "seconds": seconds, "plain": plain, "plain/ours": plain / seconds}])


ALL = {"attributes": tuple(f"x{j}" for j in range(10))}


def columns_of(values: Floats, scale: Scale) -> tuple[Microdata, Schema]:
    data = Microdata.from_columns({f"x{j}": column for j, column in enumerate(values.T)})
    return data, Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared") for name in data.names))


def site_of(data: Microdata, schema: Schema) -> MaskContext:
    def draw(*names: str) -> np.random.Generator:
        return np.random.default_rng(SEED)

    return MaskContext(data, data, data, schema, find_precision(data, data.names), draw, "masking[0]")


def seconds_of(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


CLAIMS = {
    claim.__name__: claim
    for claim in (
        mdav_speed,
        mdav_hard,
        v_mdav_speed,
        parts_speed,
        refined_speed,
        quick_partitions_speed,
        partition_losses,
        ranks_speed,
        pram_speed,
    )
}


def main(
    only: Annotated[list[str] | None, typer.Option(help=f"Claims to measure, of {', '.join(CLAIMS)}; default: all.")] = None,
    full: Annotated[bool, typer.Option(help="Run the slow peers at the largest sizes too.")] = False,
) -> None:
    """Measure the claims and print a table for each."""
    for name in only or CLAIMS:
        if name not in CLAIMS:
            raise typer.BadParameter(f"{name} is not one of {', '.join(CLAIMS)}", param_hint="--only")
        print(f"\n{name}: {CLAIMS[name].__doc__}")
        print(CLAIMS[name](full).to_string(index=False, float_format="{:.2f}".format, na_rep=""), flush=True)


if __name__ == "__main__":
    typer.run(main)

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
from multiprocessing import get_context
from typing import Annotated

import numpy as np
import pandas as pd
import plain_mdav
import typer

from tasks.mask.partitions import mdav, v_mdav
from tasks.microdata.table import Floats

SEED = 20261121
SDCMICRO = {(10_000, 3): (0.31,), (50_000, 3): (10.3,), (100_000, 3): (50.0, 71.0), (100_000, 10): (16.0,)}


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, and the megabytes by which the process grew at its peak."""

    seconds: float
    megabytes: float


def measured(method: Callable[..., object], made: Callable[..., Floats], shape: tuple[int, int], *parameters: float) -> Cost:
    """The cost of a method on one table, in a process of its own. made: a function of n and p at module level."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, method, made, shape, parameters).result()


def _measured(
    method: Callable[..., object], made: Callable[..., Floats], shape: tuple[int, int], parameters: tuple[float, ...]
) -> Cost:
    method(made(200, shape[1]), *parameters)
    points = made(*shape)
    peak, start = _peak_megabytes(), time.process_time()
    method(points, *parameters)
    return Cost(time.process_time() - start, _peak_megabytes() - peak)


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


CLAIMS = {claim.__name__: claim for claim in (mdav_speed, mdav_hard, v_mdav_speed)}


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

"""All figures of a release, and how their time grows: `python benchmarks/score.py [--rows N] [--profile]`.

Six correlated numbers and two nominal attributes, masked by noise of 20 % and PRAM; two intruders link by distance, who know
five or all six numbers and one category. Timed is what the stage `score` computes from the tables and the two results. Each
number of rows has a process of its own, after a first call on a small table. CPU seconds; the exponent is that since the number
of rows before. `pandas` is the average ranks of the twelve columns of numbers alone, for scale.
"""

from __future__ import annotations

import cProfile
import hashlib
import json
import os
import pstats
import resource
import subprocess
import sys
import time
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.threat import Intruder
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import Alignment, invert_permutation
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.methods import score

WARM_UP = 3_000
NUMBERS = ("age", "income", "wealth", "hours", "height", "spend")
CONFIDENTIAL = ("spend", "vote")
CATEGORIES = {"region": 16, "vote": 2}
STEPS = (
    Noise(method="noise", attributes=NUMBERS, kind="independent", sd_percent=20.0),
    Pram(method="pram", attributes=("region",), retention=0.9),
)
SCHEMA = Schema(
    tuple(
        Attribute(
            name,
            Role.CONFIDENTIAL if name in CONFIDENTIAL else Role.QUASI_IDENTIFIER,
            Scale.NOMINAL if name in CATEGORIES else Scale.NUMERIC,
            "declared",
        )
        for name in (*NUMBERS, *CATEGORIES)
    )
)


def make_table(n: int) -> Microdata:
    rng = np.random.default_rng(5)
    normal = rng.normal(size=(n, 6)) @ (np.eye(6) + 0.4)
    numbers = {
        "age": np.clip(45 + 12 * normal[:, 0], 15, 99).astype(int),
        "income": np.exp(8 + normal[:, 1] / 2).round(0),
        "wealth": (50_000 * normal[:, 2]).round(2),
        "hours": np.where(rng.random(n) < 0.3, 0, np.clip(38 + 6 * normal[:, 3], 0, 90).round()).astype(int),
        "height": (170 + 9 * normal[:, 4]).round(1),
        "spend": np.exp(5 + normal[:, 5]).round(2),
    }
    names = {name: np.array([f"{name} {i}" for i in range(size)]) for name, size in CATEGORIES.items()}
    return Microdata.from_columns(numbers | {name: of[rng.integers(0, len(of), n)] for name, of in names.items()})


def make_release(n: int) -> tuple[Microdata, Microdata, Mechanisms, tuple[AttackResult, ...], Alignment]:
    table = make_table(n)
    masked = mask(table, SCHEMA, STEPS, seed=bytes(32), path=("benchmark",))
    rows = Alignment(masked.record, invert_permutation(masked.order), n)
    spec, everybody = DistanceLinkage(method="distance_linkage"), np.arange(n)
    knowing = Intruder("declared", (*NUMBERS[:5], "region")), Intruder("insider:spend", (*NUMBERS, "region"))
    results = (
        attack(table, masked.data, SCHEMA, masked.mechanisms, spec, who, alignment=rows, targets=everybody) for who in knowing
    )
    return table, masked.data, masked.mechanisms, tuple(results), rows


def measure(n: int, *, profile: bool) -> tuple[float, float, tuple[Estimate, ...]]:
    table, masked, steps, results, rows = make_release(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    profiler, begin = cProfile.Profile(), time.process_time()
    if profile:
        profiler.enable()
    found = score(table, masked, SCHEMA, steps, results, (), alignment=rows, n_targets=n)
    profiler.disable()
    seconds = time.process_time() - begin
    if profile:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(40)
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, found


def rank_by_pandas(n: int) -> float:
    table = make_table(n).arrow.select(NUMBERS).to_pandas()
    begin = time.process_time()
    for _ in range(2):
        table.rank()
    return time.process_time() - begin


def main(
    rows: Annotated[list[int] | None, typer.Option(help="numbers of rows")] = None,
    profile: Annotated[bool, typer.Option(help="print where the time goes, on stderr")] = False,
    only: Annotated[bool, typer.Option(help="one number of rows, in this process, as JSON", hidden=True)] = False,
) -> None:
    """Print one row for each number of rows. `figures` is a digest of all figures to the last digit."""
    sizes = rows or [100_000, 1_000_000]
    if only:
        measure(WARM_UP, profile=False)
        seconds, more, found = measure(sizes[0], profile=profile)
        digest = hashlib.sha256(repr(found).encode()).hexdigest()[:12]
        ranked = rank_by_pandas(sizes[0])
        line = {"rows": sizes[0], "CPU seconds": seconds, "MB more at the peak": more, "pandas": ranked, "figures": digest}
        print(json.dumps(line))
        return
    words = [sys.executable, __file__, "--only", *(["--profile"] if profile else [])]
    runs = (subprocess.run([*words, "--rows", str(n)], stdout=subprocess.PIPE, check=True, env=os.environ) for n in sizes)
    table = pd.DataFrame([json.loads(run.stdout) for run in runs])
    steps = table[["CPU seconds", "rows"]].transform(lambda of: np.log(of / of.shift()))
    table["exponent"] = steps["CPU seconds"] / steps["rows"]
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)

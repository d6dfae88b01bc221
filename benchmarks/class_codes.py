"""Classes of rows that are equal in some columns: `python benchmarks/class_codes.py [--rows N]`.

CPU seconds of our joint codes, of pandas, and of ranks column by column, in one run on the same columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from tasks.microdata.codes import joint_codes
from tasks.microdata.table import Integers

TIMES = 3


def rank_column_by_column(columns: list[Integers]) -> Integers:
    joint = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]
        joint = np.unique(joint * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    return joint


def measure(compute: Callable[[], object]) -> float:
    seconds = []
    for _ in range(TIMES):
        begin = time.process_time()
        compute()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def main(rows: Annotated[int, typer.Option(min=1)] = 1_000_000) -> None:
    """Print a table: the smallest of three times."""
    draws = np.random.default_rng(0)
    kinds = {
        "1 column of 50": [50],
        "4 keys": [80, 7, 24, 10],
        "10 columns of 1,000": [1000] * 10,
        "3 columns of 1,000,000": [1_000_000] * 3,
    }
    found = []
    for name, sizes in kinds.items():
        columns = [draws.integers(0, size, rows) for size in sizes]
        frame = pd.DataFrame(dict(enumerate(columns)))
        ours = measure(lambda columns=columns: joint_codes(columns, rows))
        peer = measure(lambda frame=frame: frame.groupby(list(frame.columns)).ngroup())
        found.append((name, ours, peer, measure(lambda columns=columns: rank_column_by_column(columns)), peer / ours))
    print(
        pd.DataFrame(found, columns=["columns", "ours", "pandas", "column by column", "times pandas"])
        .round(3)
        .to_string(index=False)
    )


if __name__ == "__main__":
    typer.run(main)

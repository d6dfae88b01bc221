"""Classes of rows that are equal in some columns, and k: `python benchmarks/class_codes.py [--rows N]`.

CPU seconds from columns of values to the size of the smallest class: ours, pandas, and polars on one thread, in one run on the
same tables; the smallest of three times. All have to find the same k. polars is none of our dependencies: without it
(`pip install polars`) its column is empty. Exit code 1 where k differs, or ours takes more than twice the better of the two.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import typer

from tasks.microdata.codes import row_codes
from tasks.microdata.table import Microdata

TIMES = 3
LARGEST = 2  # times the better of the others


def make_tables(rows: int) -> dict[str, pa.Table]:
    """The same draws for every way."""
    draws = np.random.default_rng(0)

    def numbers(*sizes: int) -> pa.Table:
        return pa.table({f"c{j}": draws.integers(0, size, rows) for j, size in enumerate(sizes)})

    def texts(*sizes: int) -> pa.Table:
        columns = (
            pa.array([f"value {i}" for i in range(size)]).take(pa.array(draws.integers(0, size, rows))) for size in sizes
        )
        return pa.table({f"c{j}": column for j, column in enumerate(columns)})

    def gaps(table: pa.Table) -> pa.Table:
        holed = (pa.array(column.to_numpy(), mask=draws.random(rows) < 0.02) for column in table.columns)
        return pa.table(dict(zip(table.column_names, holed, strict=True)))

    return {
        "1 column of 50": numbers(50),
        "4 keys": numbers(80, 7, 24, 10),
        "4 keys, 2 % gaps": gaps(numbers(80, 7, 24, 10)),
        "4 keys of text": texts(80, 7, 24, 10),
        "2 numbers, 2 texts": pa.table([*numbers(80, 7).columns, *texts(24, 10).columns], ["c0", "c1", "c2", "c3"]),
        "10 columns of 1,000": numbers(*[1000] * 10),
        "3 columns, as many values as rows": numbers(*[rows] * 3),
        "4 decimals, all different": pa.table({f"c{j}": draws.normal(size=rows) for j in range(4)}),
        "4 decimals, groups of 3": pa.table({f"c{j}": np.repeat(draws.normal(size=rows // 3 + 1), 3)[:rows] for j in range(4)}),
    }


def find_ours(table: pa.Table) -> Callable[[], int]:
    data = Microdata(table)
    return lambda: int(np.bincount(row_codes(data, data.names)).min())


def find_by_pandas(table: pa.Table) -> Callable[[], int]:
    frame = table.to_pandas()
    return lambda: int(frame.groupby(list(frame.columns), dropna=False, sort=False).size().min())


def find_by_polars(table: pa.Table) -> Callable[[], int] | None:
    os.environ["POLARS_MAX_THREADS"] = "1"
    if importlib.util.find_spec("polars") is None:
        return None
    polars = importlib.import_module("polars")
    frame = polars.from_arrow(table)
    return lambda: int(frame.group_by(frame.columns).len()["len"].min())


def measure(compute: Callable[[], int] | None) -> tuple[float, int | None]:
    if compute is None:
        return float("nan"), None
    seconds, found = [], None
    for _ in range(TIMES):
        begin = time.process_time()
        found = compute()
        seconds.append(time.process_time() - begin)
    return min(seconds), found


def main(rows: Annotated[int, typer.Option(min=1)] = 1_000_000) -> None:
    """Print one row for each table."""
    lines = []
    for name, table in make_tables(rows).items():
        ways = {"ours": find_ours(table), "pandas": find_by_pandas(table), "polars": find_by_polars(table)}
        found = {way: measure(compute) for way, compute in ways.items()}
        ks = {k for _, k in found.values() if k is not None}
        seconds = {way: one for way, (one, _) in found.items()}
        times = seconds["ours"] / np.nanmin([seconds["pandas"], seconds["polars"]])
        lines.append({"columns": name, "k": min(ks), **seconds, "times the better": times, "same k": len(ks) == 1})
    table = pd.DataFrame(lines)
    print(table.round(3).to_string(index=False))
    raise typer.Exit(int(not table["same k"].all() or bool((table["times the better"] > LARGEST).any())))


if __name__ == "__main__":
    typer.run(main)

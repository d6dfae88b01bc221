"""Other programs that do a part of what `scale.py` measures, on the same table and on one thread.

Readers are compared in reading cells alone: those of others guess types and repair in silence, and ours refuses what it would
have to repair, but both make columns of numbers and texts of a file. What the stage checks besides is its whole time.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree

from tasks.microdata.codes import row_codes
from tasks.microdata.table import Floats, Microdata

MOST_SECONDS = 60.0  # of the work of a peer, by what a smaller table took
EXPONENT = 1.3  # of its time, for that; without trees 1 would do, because the targets stay as many
SHORT = 1.0  # seconds; what takes less is done twice
NEIGHBOURS = 2  # the nearest row and the next
OPTIONAL = ("polars", "faiss")
SPARSE_KEYS = ("age", "hours")  # and the nominal columns: they have classes of more than one row

Work = Callable[[], Any]


def describe_missing() -> str:
    missing = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else "all are installed"


def measure_peers(
    source: Microdata, files: tuple[str, str], targets: int, ours: dict[str, float | None], taken: dict[str, tuple[int, float]]
) -> list[dict[str, object]]:
    """One line for each work. ours: CPU seconds by stage. taken: rows and seconds of a peer, by work and name; is updated."""
    keys = [name for name in source.names if name in SPARSE_KEYS or source.is_text(name)]
    numbers = np.column_stack([np.nan_to_num(source.floats(name)) for name in source.names if not source.is_text(name)])
    numbers /= numbers.std(axis=0)
    asked = numbers[np.sort(np.random.default_rng(2).permutation(source.n)[:targets])] + 0.1
    works: dict[str, tuple[float | None, dict[str, Work]]] = {
        "read CSV": (ours.get("read CSV"), _list_csv_readers(files[0])),
        "read Parquet": (ours.get("read Parquet"), _list_parquet_readers(files[1])),
        "smallest class": (_time(partial(_find_smallest_class, source, keys)), _list_counters(source.arrow.select(keys))),
        "nearest row": (ours.get("distance_linkage"), _list_searches(numbers, asked)),
    }
    lines: list[dict[str, object]] = []
    for work, (own, peers) in works.items():
        found = {peer: _measure(f"{work}, {peer}", source.n, do, taken) for peer, do in peers.items()}
        best = min((seconds for seconds in found.values() if seconds is not None), default=None)
        ratio = own / best if own is not None and best else None
        shown = ", ".join(f"{peer} {seconds:.3g}" for peer, seconds in found.items() if seconds is not None)
        whole = ours.get(work.replace("read", "ingest")) if work.startswith("read") else None
        lines.append(
            {"rows": source.n, "work": work, "ours": own, "ours/best": ratio, "the whole stage": whole, "peers": shown}
        )
    return lines


def _list_csv_readers(path: str) -> dict[str, Work]:
    readers: dict[str, Work] = {
        "pandas": lambda: pd.read_csv(path),
        "Arrow": lambda: pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(use_threads=False)),
    }
    polars = _import_polars()
    return readers if polars is None else {**readers, "polars": lambda: polars.read_csv(path)}


def _list_parquet_readers(path: str) -> dict[str, Work]:
    readers: dict[str, Work] = {
        "pandas": lambda: pd.read_parquet(path),
        "Arrow": lambda: pyarrow.parquet.read_table(path, use_threads=False),
    }
    polars = _import_polars()
    return readers if polars is None else {**readers, "polars": lambda: polars.read_parquet(path)}


def _find_smallest_class(source: Microdata, keys: list[str]) -> int:
    return int(np.bincount(row_codes(source, tuple(keys))).min())


def _list_counters(table: pa.Table) -> dict[str, Work]:
    frame, names = table.to_pandas(), table.column_names
    counters: dict[str, Work] = {"pandas": lambda: frame.groupby(names, dropna=False, sort=False).size().min()}
    polars = _import_polars()
    if polars is None:
        return counters
    rows = polars.from_arrow(table)
    return {**counters, "polars": lambda: int(rows.group_by(names).len()["len"].min())}


def _list_searches(numbers: Floats, asked: Floats) -> dict[str, Work]:
    searches: dict[str, Work] = {
        "scipy": lambda: cKDTree(numbers).query(asked, k=NEIGHBOURS),
        "scikit-learn": lambda: KDTree(numbers).query(asked, k=NEIGHBOURS),
    }
    if importlib.util.find_spec("faiss") is None:
        return searches
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    rows, targets = numbers.astype(np.float32), asked.astype(np.float32)

    def search() -> Any:
        index = faiss.IndexFlatL2(rows.shape[1])
        index.add(rows)
        return index.search(targets, NEIGHBOURS)

    return {**searches, "faiss, flat": search}


def _import_polars() -> Any:
    """None: it is not installed."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    return importlib.import_module("polars") if importlib.util.find_spec("polars") is not None else None


def _measure(name: str, n: int, do: Work, taken: dict[str, tuple[int, float]]) -> float | None:
    """CPU seconds of one call, or the shorter of two; None: by what a smaller table took it would take too long."""
    before = taken.get(name)
    if before is not None and before[1] * (n / before[0]) ** EXPONENT > MOST_SECONDS:
        return None
    seconds = _time(do)
    seconds = min(seconds, _time(do)) if seconds < SHORT else seconds  # the first call of a program loads what it needs
    taken[name] = n, seconds
    return seconds


def _time(do: Work) -> float:
    """CPU seconds of all threads."""
    begin = time.process_time()
    do()
    return time.process_time() - begin

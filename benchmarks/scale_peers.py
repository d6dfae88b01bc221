"""Other programs that do a part of what `scale.py` measures, on the same table and on one thread."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from own_process import Cost, Work, measure_alone, measure_in_turns
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree, NearestNeighbors

from tasks.ingest.sources import SourceSpec
from tasks.microdata.codes import row_codes
from tasks.microdata.table import Floats, Microdata

MOST_SECONDS = 60.0  # of the work of a peer, by what a smaller table took
EXPONENT = 1.3  # of its time, for that; without trees 1 would do, because the targets stay as many
NEIGHBOURS = 2  # the nearest row and the next
WARM_UP = 2_000  # rows of the tables that warm up
BY_FIRST_ROWS = "polars by 100 rows"
OPTIONAL = ("polars", "faiss")
OURS = "ours"
LESS_WORK = (BY_FIRST_ROWS,)  # shown, but not compared
SPARSE_KEYS = ("age", "hours")  # and the nominal columns: they have classes of more than one row

Peer = Callable[..., object]
Files = tuple[SourceSpec, SourceSpec]


def describe_missing() -> str:
    missing = [name for name in OPTIONAL if not _is_installed(name)]
    return f"not installed: {', '.join(missing)}" if missing else "all are installed"


def measure_peers(
    source: Microdata,
    ingest: Callable[[SourceSpec], None],
    files: tuple[Files, Files],
    targets: int,
    ours: dict[str, Cost],
    taken: dict[str, tuple[int, float]],
) -> list[dict[str, object]]:
    """One line for each work. files: the table, and a small one that warms up, as CSV and as Parquet. ours: costs by stage.
    taken: rows and seconds by peer, updated."""
    keys = [name for name in source.names if name in SPARSE_KEYS or source.is_text(name)]
    numbers = np.column_stack([source.floats(name) for name in source.names if not source.is_text(name)])
    numbers /= np.nanstd(numbers, axis=0)
    searches = _SEARCHES_AMONG_GAPS if np.isnan(numbers).any() else _SEARCHES
    numbers = np.column_stack([numbers, *(_encode_categories(source, name) for name in keys if source.is_text(name))])
    asked = numbers[np.sort(np.random.default_rng(2).choice(source.n, min(targets, source.n), replace=False))]
    asked[:, : sum(not source.is_text(name) for name in source.names)] += 0.1
    counted, few = source.arrow.select(keys), source.arrow.select(keys).slice(0, WARM_UP)
    (csv, parquet), (small_csv, small_parquet) = files
    own_works: dict[str, Work] = {
        "read CSV": (ingest, partial(ingest, small_csv), (csv,)),
        "read Parquet": (ingest, partial(ingest, small_parquet), (parquet,)),
        "smallest class": (_find_smallest_class, partial(_find_smallest_class, few), (counted,)),
    }
    own_class, _ = measure_alone(*own_works["smallest class"][:2], counted, seconds=3 * MOST_SECONDS)
    works: dict[str, tuple[Cost | None, dict[str, Peer], tuple[Any, ...], tuple[Any, ...]]] = {
        "read CSV": (ours.get("ingest CSV"), _CSV_READERS, (csv.table,), (small_csv.table,)),
        "read Parquet": (ours.get("ingest Parquet"), _PARQUET_READERS, (parquet.table,), (small_parquet.table,)),
        "smallest class": (own_class, _COUNTERS, (counted,), (few,)),
        "nearest row": (ours.get("distance_linkage"), searches, (numbers, asked), (numbers[:WARM_UP], asked[:WARM_UP])),
    }
    lines: list[dict[str, object]] = []
    for work, (own, peers, inputs, small) in works.items():
        compared: dict[str, Work] = {
            peer: (do, partial(do, *small), inputs)
            for peer, do in peers.items()
            if (package := peer.split()[0]) not in OPTIONAL or _is_installed(package)
        }
        found = {peer: _measure(f"{work}, {peer}", source.n, *compared[peer], taken) for peer in compared}
        if own is not None and work in own_works:
            compared[OURS], found[OURS] = own_works[work], own
        measure_in_turns(compared, found, 3 * MOST_SECONDS)
        least = found.pop(OURS, own)
        known = {peer: cost for peer, cost in found.items() if cost.seconds is not None}
        shown = ", ".join(f"{peer} {cost.seconds:.3g}" for peer, cost in known.items())
        alike = {peer: cost for peer, cost in known.items() if peer not in LESS_WORK}
        ratios = {"ours/best": _compare(least, alike, "seconds"), "without the system": _compare(least, alike, "own_seconds")}
        lines.append({"rows": source.n, "work": work, "ours": least and least.seconds, **ratios, "peers": shown})
    return lines


def _compare(own: Cost | None, peers: dict[str, Cost], by: str) -> float | None:
    """Our time over that of the quickest peer."""
    ours, theirs = getattr(own, by, None), [getattr(cost, by) for cost in peers.values()]
    known = [seconds for seconds in theirs if seconds]
    return ours / min(known) if ours is not None and known else None


def _encode_categories(source: Microdata, name: str) -> Floats:
    """One column for each category: squared distances of rows of different categories are 1."""
    codes = row_codes(source, (name,))
    return np.asarray((codes[:, np.newaxis] == np.arange(codes.max() + 1)) * np.sqrt(0.5))


def _find_smallest_class(keys: pa.Table) -> int:
    return int(np.bincount(row_codes(Microdata(keys), tuple(keys.column_names))).min())


def _count_with_pandas(keys: pa.Table) -> int:
    return int(keys.to_pandas().groupby(keys.column_names, dropna=False, sort=False).size().min())


def _count_with_polars(keys: pa.Table) -> int:
    return int(_import_polars().from_arrow(keys).group_by(keys.column_names).len()["len"].min())


def _search_with_scipy(numbers: Floats, asked: Floats) -> None:
    cKDTree(numbers).query(asked, k=NEIGHBOURS)


def _search_with_scikit_learn(numbers: Floats, asked: Floats) -> None:
    KDTree(numbers).query(asked, k=NEIGHBOURS)


def _search_among_gaps(numbers: Floats, asked: Floats) -> None:
    """The trees take no missing values: each target is compared with all rows, in the attributes that both have."""
    NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute", metric="nan_euclidean").fit(numbers).kneighbors(asked)


def _search_with_faiss(numbers: Floats, asked: Floats) -> None:
    """Compare each target with all rows, in single precision."""
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(numbers.shape[1])
    index.add(numbers.astype(np.float32))
    index.search(asked.astype(np.float32), NEIGHBOURS)


def _read_csv_with_pandas(path: str) -> None:
    pd.read_csv(path)


def _read_csv_with_arrow(path: str) -> None:
    pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(use_threads=False))


def _read_csv_with_polars(path: str) -> None:
    """The type of each column by all of its cells, as ours."""
    _import_polars().read_csv(path, infer_schema_length=None)


def _read_csv_with_polars_by_first_rows(path: str) -> None:
    """Types by the first 100 rows: a cell further down that does not fit is an error."""
    _import_polars().read_csv(path)


def _read_parquet_with_pandas(path: str) -> None:
    pd.read_parquet(path)


def _read_parquet_with_arrow(path: str) -> None:
    pyarrow.parquet.read_table(path, use_threads=False)


def _read_parquet_with_polars(path: str) -> None:
    _import_polars().read_parquet(path)


_CSV_READERS: dict[str, Peer] = {
    "pandas": _read_csv_with_pandas, "Arrow": _read_csv_with_arrow, "polars": _read_csv_with_polars,
    BY_FIRST_ROWS: _read_csv_with_polars_by_first_rows,
}  # fmt: skip
_PARQUET_READERS: dict[str, Peer] = {
    "pandas": _read_parquet_with_pandas, "Arrow": _read_parquet_with_arrow, "polars": _read_parquet_with_polars
}  # fmt: skip
_COUNTERS: dict[str, Peer] = {"pandas": _count_with_pandas, "polars": _count_with_polars}
_SEARCHES: dict[str, Peer] = {
    "scipy": _search_with_scipy, "scikit-learn": _search_with_scikit_learn, "faiss": _search_with_faiss
}  # fmt: skip
_SEARCHES_AMONG_GAPS: dict[str, Peer] = {"scikit-learn": _search_among_gaps}


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _import_polars() -> Any:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    return importlib.import_module("polars")


def _measure(
    name: str, n: int, do: Peer, first: Callable[[], object], inputs: tuple[Any, ...], taken: dict[str, tuple[int, float]]
) -> Cost:
    """The cost of one call; without seconds where by what a smaller table took it would take too long."""
    before = taken.get(name)
    if before is not None and before[1] * (n / before[0]) ** EXPONENT > MOST_SECONDS:
        return Cost(None)
    cost, _ = measure_alone(do, first, *inputs, seconds=3 * MOST_SECONDS)
    if cost.seconds is not None:
        taken[name] = n, cost.seconds
    return cost

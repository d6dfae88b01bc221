"""Linkage where attributes have categories or gaps, and how its time grows: `python benchmarks/mixed_linkage.py`.

Six correlated numbers, noise of 0.3 standard deviations, and what `KINDS` adds. `trees` is what the attack does, `pairs` the
way that looks at every pair, which it took for such files before; it runs on up to `--most-pairs` rows, and both have to give
the same links, ties, distances and runners-up to the last digit. scipy's k-d tree (the two nearest by the numbers alone, on one
thread) is beside them for scale: it can search neither categories nor gaps. Each case runs in a process of its own after a
warm-up that compiles; CPU seconds are of all threads. The exponent is that of the time since the number of rows before.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy
import typer

Floats = npt.NDArray[np.float64]
NUMBERS = 6
NOISE = 0.3
WARM_UP = 2_000  # enough for trees


class Files(NamedTuple):
    """Original and masked file, row by row, of which the last columns are nominal."""

    original: Floats
    masked: Floats
    nominal: npt.NDArray[np.bool_]


def with_categories(*counts: int) -> Callable[[Files, np.random.Generator], Files]:
    """A nominal attribute of so many categories each, unchanged in the release."""

    def add(files: Files, rng: np.random.Generator) -> Files:
        for count in counts:
            codes = rng.integers(0, count, len(files.original)).astype(np.float64)
            files = Files(
                np.column_stack([files.original, codes]),
                np.column_stack([files.masked, codes]),
                np.append(files.nominal, True),
            )
        return files

    return add


def with_gaps(share: float) -> Callable[[Files, np.random.Generator], Files]:
    """A share of the cells of both files missing, the same ones in both."""

    def remove(files: Files, rng: np.random.Generator) -> Files:
        gaps = rng.random(files.original.shape) < share
        files.original[gaps] = files.masked[gaps] = np.nan
        return files

    return remove


def with_one_gap(files: Files, _: np.random.Generator) -> Files:
    """One cell of the original missing."""
    files.original[0, 0] = np.nan
    return files


def with_all(files: Files, rng: np.random.Generator) -> Files:
    """Three nominal attributes, and gaps."""
    return with_gaps(0.02)(with_categories(2, 5, 16)(files, rng), rng)


KINDS: dict[str, Callable[[Files, np.random.Generator], Files]] = {
    "numbers alone": lambda files, _: files,
    "one gap": with_one_gap,
    "2 % gaps": with_gaps(0.02),
    "16 categories": with_categories(16),
    "2,000 categories": with_categories(2_000),
    "2, 5 and 16 categories, 2 % gaps": with_all,
}


def make_files(n: int, kind: str) -> Files:
    rng = np.random.default_rng(20261127)
    original = rng.multivariate_normal(np.zeros(NUMBERS), 0.5 + 0.5 * np.eye(NUMBERS), n)
    files = Files(original, original + NOISE * rng.normal(size=original.shape), np.zeros(NUMBERS, dtype=bool))
    return KINDS[kind](files, rng)


def search(files: Files, way: str) -> str:
    """Search by one way; the digest of all that was found."""
    from tasks.attack.neighbours.distances import euclidean
    from tasks.attack.neighbours.nearest import Search
    from tasks.attack.neighbours.record_comparison import ComparedColumns
    from tasks.microdata.scaling import compute_share_of_unequal_pairs, compute_variance

    if way == "scipy":
        tree = scipy.spatial.cKDTree(np.nan_to_num(files.masked[:, :NUMBERS]))
        tree.query(np.nan_to_num(files.original[:, :NUMBERS]), k=2)
        return ""
    weight = [
        2 / compute_share_of_unequal_pairs(column) if is_nominal else 1 / compute_variance(column)
        for column, is_nominal in zip(files.masked.T, files.nominal, strict=True)
    ]
    columns = ComparedColumns.create_plain(files.nominal, np.array(weight))
    asked = Search(files.original, files.masked, columns, euclidean(len(weight)))
    found = asked.nearest() if way == "trees" else asked.find_nearest_by_pairs()
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()


def case(kind: str, n: int, way: str) -> dict[str, object]:
    """Measure one case in this process."""
    search(make_files(WARM_UP, kind), way)
    files = make_files(n, kind)
    before, cpu = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    digest = search(files, way)
    used = time.process_time() - cpu
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"files": kind, "rows": n, "way": way, "CPU seconds": used, "MB more at the peak": more / 1024, "found": digest}


def main(
    rows: Annotated[list[int] | None, typer.Option(help="numbers of rows")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="one of the kinds of files")] = None,
    most_pairs: Annotated[int, typer.Option(help="rows of a file of which all pairs are looked at")] = 30_000,
    only: Annotated[str | None, typer.Option(help="one way, measured in this process, as JSON", hidden=True)] = None,
) -> None:
    """Print one row for each kind of files, way and number of rows. Exit code 1 if trees and pairs differ."""
    sizes, kinds = rows or [10_000, 30_000, 100_000, 1_000_000], kind or list(KINDS)
    if only is not None:
        print(json.dumps(case(kinds[0], sizes[0], only)))
        return
    table = pd.DataFrame([one for one_kind in kinds for one in _measure(one_kind, sizes, most_pairs)])
    by_way = table.groupby(["files", "way"], sort=False)
    table["exponent"] = np.log(by_way["CPU seconds"].transform(lambda of: of / of.shift())) / np.log(
        by_way["rows"].transform(lambda of: of / of.shift())
    )
    print(table.drop(columns="found").round(3).to_string(index=False))
    found = table[table["way"] != "scipy"].groupby(["files", "rows"])["found"].nunique()
    print(f"trees and pairs found the same in {int((found == 1).sum())} of {len(found)} files")
    raise typer.Exit(int((found > 1).any()))


def _measure(kind: str, sizes: list[int], most_pairs: int) -> Iterator[dict[str, object]]:
    for way, most in {"trees": 10**9, "pairs": most_pairs, "scipy": 10**9}.items():
        for n in sizes:
            if n <= most:
                words = [sys.executable, __file__, "--only", way, "--rows", str(n), "--kind", kind]
                yield json.loads(subprocess.run(words, capture_output=True, check=True, env=os.environ).stdout)


if __name__ == "__main__":
    typer.run(main)

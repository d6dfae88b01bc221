"""The claim of speed of linkage: `python benchmarks/linkage.py [--rows N ...] [--mask NAME ...]`.

Records among released rows in six correlated attributes, beside scikit-learn's neighbours in the same run: its k-d tree, and
its brute force up to 100,000 rows. Each case runs in a process of its own, after a warm-up that compiles; CPU seconds are of
all threads, `times` are those of scikit-learn's k-d tree on the same files. Ours returns all ties, the distance and the
runner-up of each record, the assignment also a proof that it is the least one, and each link's margin; scikit-learn returns one
neighbour. The share of right links is that of the first found neighbour, so that all can be compared.

Masks: `noise` of 0.3 standard deviations (default); `swap10`, `swap15`: rank swapping within 10 or 15 % of the ranks, each
attribute alone; `micro`: microaggregation by MDAV, k = 10, of the attributes in pairs (files of up to 20,000 rows).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
import typer

ROOT = Path(__file__).resolve().parent.parent

Floats = npt.NDArray[np.float64]
ATTRIBUTES = 6
MOST_OF_BRUTE_FORCE = 100_000
MOST_OF_ASSIGNMENT = 100_000
NOISE = 0.3
WARM_UP = 500


def files(n: int, mask: str = "noise") -> tuple[Floats, Floats]:
    """Original and masked file, row by row: correlated normal attributes, masked."""
    rng = np.random.default_rng(20261121)
    original = rng.multivariate_normal(np.zeros(ATTRIBUTES), 0.5 + 0.5 * np.eye(ATTRIBUTES), n)
    return original, MASKS[mask][0](original, rng)


def noisy(original: Floats, rng: np.random.Generator) -> Floats:
    """Independent normal noise."""
    return np.asarray(original + NOISE * rng.normal(size=original.shape))


def swapped(percent: float) -> Callable[[Floats, np.random.Generator], Floats]:
    """Rank swapping of each attribute."""

    def swap(original: Floats, rng: np.random.Generator) -> Floats:
        from tasks.mask.ranks.exchange import exchange_ranks

        made = np.empty_like(original)
        for j, column in enumerate(original.T):
            order = np.argsort(column)
            partner = exchange_ranks(max(int(percent / 100 * len(column)), 1), rng.random(len(column)))
            made[order, j] = column[order[partner]]
        return made

    return swap


def microaggregated(original: Floats, rng: np.random.Generator) -> Floats:
    """The means of groups of ten in each pair of attributes."""
    from tasks.mask.partitions.mdav import partition

    made = np.empty_like(original)
    for first in range(0, ATTRIBUTES, 2):
        part = np.ascontiguousarray(original[:, first : first + 2])
        group = partition(part, 10)
        means = np.array([np.bincount(group, column) for column in part.T]) / np.bincount(group)
        made[:, first : first + 2] = means.T[group]
    return made


MASKS: dict[str, tuple[Callable[[Floats, np.random.Generator], Floats], int]] = {
    "noise": (noisy, 10**9),
    "swap10": (swapped(10.0), 10**9),
    "swap15": (swapped(15.0), 10**9),
    "micro": (microaggregated, 20_000),
}


def ours(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
    """The attack's own search, all ties and runners-up."""
    from tasks.attack.neighbours.distances import euclidean

    found = _search(original, masked, euclidean(ATTRIBUTES)).nearest()
    first: npt.NDArray[np.int64] = found.found[found.starts[:-1]]
    return first


def with_covariance(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
    """The same by the Mahalanobis distance of the data."""
    from tasks.attack.neighbours.distances import mahalanobis

    found = _search(original, masked, mahalanobis(np.cov(masked, rowvar=False))).nearest()
    first: npt.NDArray[np.int64] = found.found[found.starts[:-1]]
    return first


def one_to_one(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
    """The assignment of all to all."""
    from tasks.attack.linkage.assignment import list_assigned_classes
    from tasks.attack.neighbours.distances import euclidean

    everybody = np.arange(len(original))
    given: npt.NDArray[np.int64] = list_assigned_classes(
        _search(original, masked, euclidean(ATTRIBUTES)), everybody, everybody
    )[1]
    return given


def _search(original: Floats, masked: Floats, form):  # type: ignore[no-untyped-def]  # imported where it is measured
    from tasks.attack.neighbours.nearest import Search
    from tasks.attack.neighbours.record_comparison import ComparedColumns

    columns = ComparedColumns.create_plain(np.zeros(ATTRIBUTES, dtype=bool), np.ones(ATTRIBUTES))
    return Search(original, masked, columns, form)


def scikit_learn(algorithm: str) -> Callable[[Floats, Floats], npt.NDArray[np.int64]]:
    """One neighbour by scikit-learn, on all cores."""

    def search(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
        from sklearn.neighbors import NearestNeighbors

        model = NearestNeighbors(n_neighbors=1, algorithm=algorithm, n_jobs=-1).fit(masked)
        found: npt.NDArray[np.int64] = model.kneighbors(original, return_distance=False).ravel()
        return found

    return search


CASES: dict[str, tuple[Callable[[Floats, Floats], npt.NDArray[np.int64]], int]] = {
    "sdcert, nearest": (ours, 10**9),
    "sdcert, Mahalanobis": (with_covariance, 10**9),
    "sdcert, one to one": (one_to_one, MOST_OF_ASSIGNMENT),
    "scikit-learn, k-d tree": (scikit_learn("kd_tree"), 10**9),
    "scikit-learn, brute": (scikit_learn("brute"), MOST_OF_BRUTE_FORCE),
}


PEERS = """Elsewhere, as measured in November 2026 on 2 noisy cores:
  seconds for 100,000 x 6 (scipy cKDTree 1.2, scikit-learn k-d tree 0.9, brute force 22), 1,000,000 x 6 (cKDTree 77)
  recordlinkage: 16 to 21 million pairs did not finish; no ties, and it does not run with pandas 3
  sdcMicro, recordLinkage: in memory, the first of equal rows: 73.5 % of Census, MDAV k = 3, in file order, 33 % of
  the same release with its rows shuffled
"""


def case(name: str, n: int, mask: str) -> dict[str, object]:
    """Measure one case in this process."""
    search, _ = CASES[name]
    search(*files(WARM_UP, mask))
    original, masked = files(n, mask)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu = time.perf_counter(), time.process_time()
    found = search(original, masked)
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    right = float((found == np.arange(n)).mean())
    named: dict[str, object] = {"search": name, "mask": mask, "rows": n}
    return {**named, "seconds": wall, "CPU seconds": used, "MB more at the peak": more / 1024, "right": right}


def main(
    rows: Annotated[list[int] | None, typer.Option(help="numbers of rows")] = None,
    mask: Annotated[list[str] | None, typer.Option(help="noise, swap10, swap15 or micro")] = None,
    only: Annotated[str | None, typer.Option(help="one search, measured in this process, as JSON", hidden=True)] = None,
) -> None:
    """Print one row for each mask, number of rows and search, and what is known of others."""
    sizes, masks = rows or [10_000, 100_000, 1_000_000], mask or ["noise"]
    if only is not None:
        print(json.dumps(case(only, sizes[0], masks[0])))
        return
    measured = [one for kind in masks for n in sizes if n <= MASKS[kind][1] for one in _measured(n, kind)]
    table = pd.DataFrame(measured)
    tree = table[table["search"] == "scikit-learn, k-d tree"].set_index(["mask", "rows"])["CPU seconds"]
    files_of = zip(table["mask"], table["rows"], strict=True)
    table["times"] = table["CPU seconds"] / [tree.get(one, np.nan) for one in files_of]
    print(table.round(3).to_string(index=False))
    print(PEERS)


def _measured(n: int, mask: str) -> Iterator[dict[str, object]]:
    for name, (_, most) in CASES.items():
        if n <= most:
            words = [sys.executable, __file__, "--only", name, "--rows", str(n), "--mask", mask]
            done = subprocess.run(words, capture_output=True, check=True, env=os.environ)
            yield json.loads(done.stdout)


if __name__ == "__main__":
    typer.run(main)

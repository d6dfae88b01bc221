"""The claim of speed of linkage: `python benchmarks/linkage.py [--rows N ...]`.

Nearest neighbours of n records among n released rows in six correlated attributes, beside scikit-learn's in the same run: its
k-d tree, and its brute force up to 100,000 rows. Each case runs in a process of its own, after a warm-up that compiles; CPU
seconds are of all threads. Ours returns all ties, the distance and the runner-up of each record; scikit-learn one neighbour.
The share of right links is that of the first found neighbour, so that all can be compared: the files hold no ties.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

Floats = npt.NDArray[np.float64]
ATTRIBUTES = 6
MOST_OF_BRUTE_FORCE = 100_000
MOST_OF_ASSIGNMENT = 20_000
NOISE = 0.3
WARM_UP = 500


def files(n: int) -> tuple[Floats, Floats]:
    """Original and masked file, row by row: correlated normal attributes, and noise of 0.3 standard deviations."""
    rng = np.random.default_rng(20261121)
    original = rng.multivariate_normal(np.zeros(ATTRIBUTES), 0.5 + 0.5 * np.eye(ATTRIBUTES), n)
    return original, original + NOISE * rng.normal(size=original.shape)


def ours(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
    """The attack's own search, all ties and runners-up."""
    from tasks.attack.nearest import nearest

    found = nearest(original, masked, np.zeros(ATTRIBUTES, dtype=bool), np.ones(ATTRIBUTES))
    first: npt.NDArray[np.int64] = found.found[found.starts[:-1]]
    return first


def with_covariance(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
    """The same by the Mahalanobis distance of the data."""
    from tasks.attack.linkage.distances import mahalanobis

    found = _search(original, masked, mahalanobis(np.cov(masked, rowvar=False))).nearest()
    first: npt.NDArray[np.int64] = found.found[found.starts[:-1]]
    return first


def one_to_one(original: Floats, masked: Floats) -> npt.NDArray[np.int64]:
    """The assignment of all to all."""
    from tasks.attack.linkage.assignment import assigned
    from tasks.attack.linkage.distances import euclidean

    everybody = np.arange(len(original))
    given: npt.NDArray[np.int64] = assigned(_search(original, masked, euclidean(ATTRIBUTES)), everybody, everybody)[1]
    return given


def _search(original: Floats, masked: Floats, form):  # type: ignore[no-untyped-def]  # imported where it is measured
    from tasks.attack.linkage.attributes import Columns
    from tasks.attack.linkage.search import Search

    columns = Columns(np.zeros(ATTRIBUTES, dtype=np.int64), np.ones(ATTRIBUTES), np.arange(ATTRIBUTES), ATTRIBUTES, False)
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


def case(name: str, n: int) -> dict[str, float | str]:
    """Measure one case in this process."""
    search, _ = CASES[name]
    search(*files(WARM_UP))
    original, masked = files(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu = time.perf_counter(), time.process_time()
    found = search(original, masked)
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    right = float((found == np.arange(n)).mean())
    return {"search": name, "rows": n, "seconds": wall, "CPU seconds": used, "MB more at the peak": more / 1024, "right": right}


def main(
    rows: Annotated[list[int] | None, typer.Option(help="numbers of rows")] = None,
    only: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Print one row for each search and number of rows."""
    sizes = rows or [10_000, 100_000, 1_000_000]
    if only is not None:
        print(json.dumps(case(only, sizes[0])))
        return
    measured = []
    for n in sizes:
        for name, (_, most) in CASES.items():
            if n <= most:
                words = [sys.executable, __file__, "--only", name, "--rows", str(n)]
                done = subprocess.run(words, capture_output=True, check=True, env=os.environ)
                measured.append(json.loads(done.stdout))
                print(pd.DataFrame(measured[-1:]).round(3).to_string(index=False, header=len(measured) == 1), flush=True)


if __name__ == "__main__":
    typer.run(main)

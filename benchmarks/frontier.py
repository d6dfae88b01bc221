"""The claims of speed of a sweep's map: `python benchmarks/frontier.py [--points N]`.

The frontier, the witnesses of dominance, the distance and the area of N points in two numbers, on a cloud (few points on the
frontier) and on a staircase (all of them); beside them all pairs compared with numpy in the same run, which must agree. Then
what one more point costs that a search asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from tasks.microdata.table import Booleans, Floats
from tasks.sweep.axes import SweepAxis
from tasks.sweep.frontier import distance, dominators, frontier, hypervolume
from tasks.sweep.frontier_search import FrontierSearch
from tasks.sweep.points import Space, SweepPoint

REPEATS = 5


def all_pairs(risk: Floats, loss: Floats) -> Booleans:
    """The frontier by its definition, one row of pairs at a time."""
    on_it = np.empty(len(risk), dtype=bool)
    for i, (own_risk, own_loss) in enumerate(zip(risk, loss, strict=True)):
        smaller = (risk < own_risk) | (loss < own_loss)
        on_it[i] = not ((risk <= own_risk) & (loss <= own_loss) & smaller).any()
    return on_it


def seconds(work: Callable[[], object]) -> float:
    """The least of some runs."""
    best = np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return float(best)


def maps(points: int) -> pd.DataFrame:
    """One row for each quantity, one column for each map."""
    rng = np.random.default_rng(1)
    steps = rng.permutation(points).astype(float)
    return pd.DataFrame({"cloud": timed(*rng.random((2, points))), "staircase": timed(steps, -steps)})


def timed(risk: Floats, loss: Floats) -> dict[str, float]:
    """Seconds for each quantity of one map."""
    assert (frontier(risk, loss) == all_pairs(risk, loss)).all()
    corner = (float(risk.max()), float(loss.max()))
    works = {"frontier": frontier, "dominators": dominators, "distance": distance, "all pairs": all_pairs}
    area = {"hypervolume": seconds(partial(hypervolume, risk, loss, corner))}
    return {name: seconds(partial(work, risk, loss)) for name, work in works.items()} | area


def search_cost(points: int, size: int = 60) -> float:
    """Seconds per point of a search that tries so many, of two numbers between 0 and 1."""
    space = (Space.from_axes("a", (SweepAxis("x", (), (0.0, 1.0)), SweepAxis("y", tuple(range(1000))))),)
    search, tried = FrontierSearch(space, seed=1, size=size), list[SweepPoint]()
    began = time.perf_counter()
    while len(tried) < points:
        numbers = np.array([[float(str(value)) for _, value in point.values] for point in tried]).reshape(-1, 2)
        tried += search.generation(tried, numbers[:, 0], 1 - numbers[:, 0] + numbers[:, 1])
    return (time.perf_counter() - began) / points


def main(
    points: Annotated[int, typer.Option(help="points of the map")] = 10_000,
    searched: Annotated[int, typer.Option(help="points of the search")] = 1_200,
) -> None:
    """Print wall seconds."""
    print(f"{points:,} points, seconds, least of {REPEATS} runs")
    print(maps(points).to_string(float_format="{:.4f}".format))
    print(f"\na search of {searched:,} points: {1000 * search_cost(searched):.1f} ms a point")


if __name__ == "__main__":
    typer.run(main)

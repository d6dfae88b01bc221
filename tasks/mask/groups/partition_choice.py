"""Which partition groups the records of a block."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from threading import Condition
from typing import Literal, assert_never

import numpy as np
from cachetools import LRUCache, cached

from tasks.mask.partitions import mdav, projection, randomised_partition, univariate, v_mdav
from tasks.mask.partitions.near_parts import partition_in_parts
from tasks.mask.partitions.refined import refined_partition as refined
from tasks.microdata.table import Floats, Integers

Partition = Literal["mdav", "v_mdav", "refined", "randomised", "optimal_univariate", "individual_ranking", "projection"]
UNIVARIATE: tuple[Partition, ...] = ("optimal_univariate", "individual_ranking")
ORDER_BASED_PARTITIONS: tuple[Partition, ...] = (
    *UNIVARIATE,
    "projection",
)  # these order the records, so they need attributes with an order
NESTABLE_PARTITIONS: tuple[Partition, ...] = ("mdav", "v_mdav", "refined")  # everybody forms the same groups of them again

LARGEST_KEPT_BYTES = 256 << 20  # of all groups that are remembered

NAMES: dict[Partition, str] = {
    "mdav": "MDAV",
    "v_mdav": "V-MDAV",
    "refined": "the refined partition",
    "randomised": "a randomised partition",
    "optimal_univariate": "the optimal univariate partition",
    "individual_ranking": "individual ranking",
    "projection": "projection to one axis",
}


def partition_records(
    points: Floats,
    k: int,
    partition: Partition,
    *,
    by_median: bool,
    most: int | None,
    gamma: float,
    axis: projection.ProjectionAxis,
    rng: Callable[[], np.random.Generator],
) -> Integers:
    """Shape (n,): the group 0..g-1 of each record; all groups have k..2k-1 records.

    points: shape (n, p), coordinates without NaN, n >= k; p = 1 for the univariate partitions.
    by_median: are the values replaced by medians? Then the univariate partitions minimise absolute deviations, else squares.
    most: how many records are partitioned together; None: all (of MDAV, V-MDAV and the refined partition).
    gamma, axis: of `v_mdav` and `projection`. rng: asked by partitions that draw at random, and by no other.

    Groups of MDAV, V-MDAV and the refined partition are remembered: the declared intruder and each insider form those of the
    mask again, which take a minute for a million records. Cost where they are remembered: that of a digest of the points.
    """
    match partition:
        case "mdav" | "v_mdav" | "refined":
            return _partition_by_distance(points, k, partition, most, gamma).copy()
        case "randomised":
            return randomised_partition.partition(points, k, rng=rng())
        case "optimal_univariate" | "individual_ranking":
            return univariate.partition(points[:, 0], k, cost="absolute" if by_median else "squared")
        case "projection":
            return projection.partition(points, k, axis=axis)
        case _:
            assert_never(partition)


def _identify_partition(points: Floats, *how: object) -> tuple[object, ...]:
    content = np.ascontiguousarray(points)
    return (hashlib.blake2b(content.data).digest(), content.dtype.str, content.shape, *how)


@cached(
    LRUCache(LARGEST_KEPT_BYTES, getsizeof=lambda groups: int(groups.nbytes)), key=_identify_partition, condition=Condition()
)
def _partition_by_distance(
    points: Floats, k: int, partition: Literal["mdav", "v_mdav", "refined"], most: int | None, gamma: float
) -> Integers:
    """Those that everybody forms again of the same points. Attacks that run at once wait for the first of them."""
    compute: Callable[[Floats], Integers]
    match partition:
        case "mdav":
            compute = partial(mdav.partition, k=k)
        case "v_mdav":
            compute = partial(v_mdav.partition, k=k, gamma=gamma)
        case "refined":
            compute = partial(refined.partition, k=k)
        case _:
            assert_never(partition)
    return compute(points) if most is None else partition_in_parts(points, most, compute)

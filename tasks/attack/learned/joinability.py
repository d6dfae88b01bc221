"""May some record be linked besides all that are? Asked exactly, one record after the other, where a search only tries.

A search that moves along lines ends where no line leads on, though a place where one record more is linked may lie beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.attack.learned.constraint_rows import Problem
from tasks.attack.learned.learned_neighbours import links_and_nearest
from tasks.attack.learned.separation import RowPool
from tasks.microdata.table import Booleans, Floats

NEAREST = 15  # rows of each record to begin with
OVERLOOKED = 3  # rows of each broken record that join when all pairs were counted
MOST_ASKED = 40  # records: those that fewest others are nearer than
MOST_COUNTS = 5  # over all pairs, for a record


@dataclass(frozen=True, slots=True)
class _Point:
    parameters: Floats
    linked: Booleans


def extend_linked_set(of: Problem, parameters: Floats, bounds: Floats, admitted: Callable[[Floats], Floats]) -> Floats:
    """Parameters that link no less than those given, and more if a record can join those that are linked; shape (p,).

    bounds: of parameters, as `cone` has them; admitted: brings what rounding left outside them back. Cost: a few least squares
    of some hundred rows for each of at most 40 records, and a count over all pairs where one may join.
    """
    links, others = links_and_nearest(of, parameters, NEAREST)
    at = _Point(parameters, of.is_linked(links))
    pool = RowPool(of, others, bounds, parameters)
    lost = ~at.linked & (of.weight > 0)
    nearest = np.argsort(links.nearer, kind="stable")
    for i in nearest[lost[nearest]][:MOST_ASKED]:
        if not at.linked[i]:
            at = _try_joining_record(of, pool, at, i, admitted) or at
    return at.parameters


def _try_joining_record(of: Problem, pool: RowPool, at: _Point, i: int, admitted: Callable[[Floats], Floats]) -> _Point | None:
    """A place where record i is linked and the weight is larger, if one is found."""
    wanted = at.linked.copy()
    wanted[i] = True
    for _ in range(MOST_COUNTS):
        point, reason = pool.together(wanted)
        if reason is not None or not point.any():
            return None
        parameters = admitted(pool.parameters(point))
        links, others = links_and_nearest(of, parameters, OVERLOOKED)
        linked = of.is_linked(links)
        if of.weight[linked].sum() > of.weight[at.linked].sum():
            return _Point(parameters, linked)
        if not pool.add(np.where((wanted & ~linked)[:, None], others, -1)):
            return None
    return None

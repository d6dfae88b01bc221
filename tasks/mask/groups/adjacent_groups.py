"""What follows from groups that lie side by side along one attribute, for an intruder who does not hold all records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tasks.mask.intruder_belief import Belief, InInterval
from tasks.mask.ranks.by_rank import rank_interval
from tasks.mask.step import IntruderView


def infer_neighbour_interval(view: IntruderView, name: str) -> Belief:
    """What follows of one attribute, grouped by itself in its order: whoever else was grouped, the value brackets the centre.

    Formula in words: c_1 < c_2 < ... are the released centres (means, medians, most frequent values). Each group lies between
    its neighbours, c_(g-1) <= x <= c_(g+1) for all its values x; so a value between two centres shows one of these, and a value
    that is a centre shows it or one of those next to it. Centres that are not released take nothing away. The truth is never
    left out where values stand on the grid that centres are rounded to. Of an attribute that they are not certain of before the
    step nothing follows.
    Source: Winkler (2002) for single-ranking microaggregation; Nin, Herranz and Torra (2008). Done otherwise than there: the
    brackets are those of the released centres, which hold without the other records.
    Example: centres 2, 5, 9: the value 4 shows 2 or 5, the value 5 any, the value 1 shows 2.
    """
    knowledge = view.knowledge
    if not knowledge.is_certain((name,)):
        return knowledge.forget((name,))
    attribute = view.schema[name]
    centres = np.unique(view.released.positions(attribute))
    low, high = rank_interval(knowledge.believed.positions(attribute), centres, lambda _: 1)
    rest = knowledge.drop_attributes((name,))
    return replace(rest, between=(*rest.between, InInterval(name, low, high)))

"""Where an intruder looks for a value that moved by ranks, if they hold a share of the records."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.mask.methods import infer_belief, mask
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping

MOVES = {"attributes": ("a",), "window_percent": 10.0}


@pytest.mark.parametrize("spec", [RankSwapping(method="rank_swapping", **MOVES), RankJitter(method="rank_jitter", **MOVES)])
def test_who_holds_a_share_of_the_records_knows_their_intervals_as_well(numbers, spec):
    """The ranks are read off the released table, which shows the values of all, and not off the few that they hold."""
    data, schema = numbers({"a": [float(value) for value in np.random.default_rng(1).exponential(size=200)]})
    done = mask(data, schema, (spec,), seed=bytes(32), path=())
    held = np.arange(0, 200, 3)
    (whole,) = infer_belief(data, done.data, schema, done.mechanisms).between
    (part,) = infer_belief(data.take(held), done.data, schema, done.mechanisms, n_records=200).between
    assert (part.low == whole.low[held]).all() and (part.high == whole.high[held]).all()
    (unsure,) = infer_belief(data.take(held), done.data, schema, done.mechanisms, n_records=400).between
    assert (unsure.low <= part.low).all() and (unsure.high >= part.high).all() and (unsure.high > part.high).any()

"""Whole numbers that floating point cannot tell apart are refused by the masks that order or scale them."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError

STEPS = (
    RankSwapping(method="rank_swapping", attributes=("a",), window_percent=20.0),
    RankJitter(method="rank_jitter", attributes=("a",), window_percent=20.0),
    Microaggregation(method="microaggregation", attributes=("a",), k=3),
    Noise(method="noise", attributes=("a",), kind="independent", sd_percent=20),
)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.method)
@pytest.mark.parametrize("sign", [1, -1])
def test_from_2_to_the_53_on(numbers, step, sign):
    data, schema = numbers({"a": sign * (2**53 + np.arange(-20, 20))})
    with pytest.raises(InputError, match="16 digits and more") as refused:
        mask(data, schema, (step,), seed=bytes(32), path=())
    assert "9007199254740" not in str(refused.value)


@pytest.mark.parametrize("step", STEPS[:2], ids=lambda step: step.method)
def test_below_it_every_value_is_kept(numbers, step):
    data, schema = numbers({"a": 2**53 - 1 - np.arange(40)})
    done = mask(data, schema, (step,), seed=bytes(32), path=()).data
    assert sorted(done.column("a").to_pylist()) == sorted(data.column("a").to_pylist())

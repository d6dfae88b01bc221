"""Joint groups of values that an intruder does not know for certain: bounds that hold, and a law that finds the row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import infer_belief, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.schema import Scale, Schema
from tests.mask.followed import followed

SEED = bytes(range(32))
NAMES = ("a", "b")


def noise(kind, sd_percent, names=NAMES):
    return Noise(method="noise", attributes=names, kind=kind, sd_percent=sd_percent)


GROUPS = Microaggregation(method="microaggregation", attributes=NAMES, k=3)
STEPS = {
    "groups": GROUPS,
    "medians": GROUPS.model_copy(update={"aggregate": "median"}),
    "refined": GROUPS.model_copy(update={"partition": "refined", "k": 4}),
    "projection": GROUPS.model_copy(update={"partition": "projection"}),
    "other groups": GROUPS.model_copy(update={"attributes": ("b", "c")}),
    "swap": RankSwapping(method="rank_swapping", attributes=NAMES, window_percent=20.0),
    "jitter": RankJitter(method="rank_jitter", attributes=("a",), window_percent=15.0),
    "noise": noise("independent", 20.0),
    "correlated": noise("correlated", 20.0),
    "factors": noise("multiplicative", 20.0),
    "noise of one": noise("independent", 30.0, ("b",)),
    "at random": Rounding.model_validate({"method": "rounding", "bases": dict.fromkeys(NAMES, 10), "kind": "random"}),
    "coded": TopBottomCoding.model_validate(
        {"method": "top_bottom_coding", "limits": {name: {"top_percent": 12} for name in NAMES}}
    ),
}
GROUPINGS = ("groups", "medians", "refined", "projection", "other groups")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(set(STEPS) - set(GROUPINGS))), min_size=1, max_size=2),
    st.sampled_from(GROUPINGS),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=2),
    st.integers(0, 2**32 - 1),
    st.integers(20, 45),
    st.sampled_from([15, 100_000]),
    st.sampled_from([0.0, 0.2]),
)
def test_no_true_row_is_ruled_out(table, before, groups, after, seed, n, different, gaps):
    rng = np.random.default_rng(seed)
    columns = {name: (1 + rng.integers(0, different, n)) * 100.0 / different for name in ("a", "b", "c")}
    columns["a"] = np.where((rng.random(n) < gaps) & (np.arange(n) > 8), np.nan, columns["a"])
    data, schema = table({name: np.round(values, 2) for name, values in columns.items()})
    names = (*before, groups, *after)
    steps = tuple(STEPS[name] for name in names)
    try:
        found = followed(data, schema, steps, seed=seed.to_bytes(32, "big"))
    except InputError:  # steps that do not fit, such as groups of too few rows with the same gaps
        return
    except NotFollowed:
        assert "factors" in names
        return
    assert not found.rules_out_the_truth.any()
    # of factors on a column whose values may all be 0 only the signs are known, which not every later step can use
    assert found.knowledge.unclear == () or "factors" in names


def test_texts_in_an_order_are_grouped_after_a_swap(table):
    # they have no precision; each median category lies between the ends of the order
    rng, grades = np.random.default_rng(5), ("low", "middle", "high")
    original, schema = table({"a": rng.normal(size=60), "b": np.array(grades)[rng.integers(0, 3, 60)]}, scales={"b": "ordinal"})
    schema = Schema((schema["a"], replace(schema["b"], scale=Scale.ORDINAL, order=grades)))
    steps = (RankSwapping(method="rank_swapping", attributes=("b",), window_percent=40.0), GROUPS)
    seen = followed(original, schema, steps)
    assert not seen.rules_out_the_truth.any()
    (between,) = (part for part in seen.knowledge.between if part.name == "b")
    assert ((between.low <= 0.5) & (between.high >= 1.5)).all()


def test_the_bounds_of_a_mean_by_hand(table):
    # a group of three has the value 10 and, at the least, 0 and 1 besides; at the most 20 and 19
    values = np.array([0.0, 1, 2, 10, 18, 19, 20, 11, 12])
    data, schema = table({"a": values, "b": np.arange(9.0)})
    steps = (RankSwapping(method="rank_swapping", attributes=("b",), window_percent=40.0), GROUPS)
    belief = infer_belief(data, mask(data, schema, steps, seed=SEED, path=()).data, schema, steps)
    (a,) = (part for part in belief.between if part.name == "a")
    assert a.low[3] == pytest.approx((10 + 0 + 1) / 3 - 0.5, abs=1e-6)  # half a unit for the rounding of the means
    assert a.high[3] == pytest.approx((10 + 20 + 19) / 3 + 0.5, abs=1e-6)


@pytest.mark.parametrize("first", ["noise", "correlated", "factors", "swap", "at random"])
def test_the_law_finds_at_least_what_the_distance_does(table, first):
    rng = np.random.default_rng(4)
    found = np.zeros(2)
    for seed in range(6):
        common = rng.normal(size=(200, 1))
        values = np.exp(4 + 0.3 * common + 0.3 * rng.normal(size=(200, 3))).round(1)
        data, schema = table({name: values[:, j] for j, name in enumerate("abc")})
        steps = tuple(
            STEPS[one].model_copy(update={"attributes": tuple("abc")}) if one != "at random" else STEPS[one]
            for one in (first, "groups")
        )
        done = mask(data, schema, steps, seed=SEED, path=(str(seed),))
        everybody = np.arange(data.n)
        by_law, _ = link_by_mechanism(data, done.data, schema, done.mechanisms, tuple("abc"))
        nearest = link_by_distance(data, done.data, schema, DistanceLinkage(method="distance_linkage"), tuple("abc"))
        found += [links.guesses(everybody).credit(everybody).mean() for links in (by_law, nearest)]
    assert found[0] > 0.98 * found[1]

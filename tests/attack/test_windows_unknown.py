"""The transparency attack of an intruder who has a bound on the windows in ranks, and does not know them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.mask.methods import infer_belief, mask
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SCHEMA = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in "ab"))


def step(method, window):
    kind = RankSwapping if method == "rank_swapping" else RankJitter
    return kind(method=method, attributes=("a", "b"), window_percent=window)


def people(seed, n=60, ties=False):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, (n, 2)) if ties else rng.permutation(4 * n)[: 2 * n].reshape(n, 2)
    return Microdata.from_columns({"a": values[:, 0].astype(float), "b": values[:, 1].astype(float)})


def sets(data, released, steps, bound):
    """The candidate sets by their definition: which released ranks each value can have within so many percent."""
    knowledge = infer_belief(data, released, SCHEMA, steps, window_at_most=bound)
    return {part.name: (part.low, part.high) for part in knowledge.between}


def test_a_worked_column():
    # ten ranks, exchanged within one: who reckons with two has five rows for the middle ones, not three
    data = Microdata.from_columns({"a": np.arange(10.0), "b": np.arange(10.0)})
    shown = Microdata.from_columns({"a": [1.0, 0, 3, 2, 5, 4, 7, 6, 9, 8], "b": [1.0, 0, 3, 2, 5, 4, 7, 6, 9, 8]})
    steps = (step("rank_swapping", 10.0),)
    for bound, sizes in ((None, [2, *[3] * 8, 2]), (20.0, [3, 4, *[5] * 6, 4, 3])):
        links, _ = link_by_mechanism(data, shown, SCHEMA, steps, ("a",), window_at_most=bound)
        assert links.sound_sizes[links.search_class].tolist() == sizes


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["rank_swapping", "rank_jitter"]), st.floats(10, 100), st.booleans())
def test_too_high_a_bound_widens_and_never_empties(seed, method, bound, ties):
    data, steps = people(seed, ties=ties), (step(method, 10.0),)
    released = mask(data, SCHEMA, steps, seed=bytes(32), path=("x",)).data
    exact, wide = (sets(data, released, steps, of) for of in (None, bound))
    assert set(exact) == set(wide) == {"a", "b"}
    for name in "ab":
        assert (wide[name][0] <= exact[name][0]).all()
        assert (wide[name][1] >= exact[name][1]).all()
    links, knowledge = link_by_mechanism(data, released, SCHEMA, steps, ("a", "b"), window_at_most=bound)
    assert (links.sound_sizes > 0).all()
    assert not knowledge.likelihoods, "the law of a jitter needs its window"


def test_a_bound_of_everything_is_no_knowledge():
    data, steps = people(1), (step("rank_swapping", 5.0),)
    released = mask(data, SCHEMA, steps, seed=bytes(32), path=("x",)).data
    links, _ = link_by_mechanism(data, released, SCHEMA, steps, ("a", "b"), window_at_most=100.0)
    assert (links.sound_sizes == released.n).all()


def test_the_bound_of_the_steps_themselves_changes_nothing():
    data, steps = people(2), (step("rank_swapping", 15.0),)
    released = mask(data, SCHEMA, steps, seed=bytes(32), path=("x",)).data
    exact, same = (link_by_mechanism(data, released, SCHEMA, steps, ("a", "b"), window_at_most=of)[0] for of in (None, 15.0))
    assert exact.sound_sizes.tolist() == same.sound_sizes.tolist()


@pytest.mark.parametrize("given_bound", [None, 20.0])
def test_an_attack_without_a_bound_is_written_as_before(given_bound):
    written = Transparency(method="transparency", window_at_most=given_bound).model_dump(mode="json")
    assert ("window_at_most" in written) == (given_bound is not None)

"""The part of a table that has to do with the wanted records gives the same links as the whole table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.transparency import belief_conditions, searched_part
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.microdata.schema import Scale

SEED = bytes(range(32))
GROUPS = Microaggregation(method="microaggregation", attributes=("x", "y"), k=3)
LAWS = {
    "none": (),
    "categories": (Pram(method="pram", attributes=("town",), retention=0.7),),
    "noise": (Noise(method="noise", attributes=("z",), kind="independent", sd_percent=40.0),),
}


@pytest.fixture
def any_size(monkeypatch):
    """Small tables are looked at in parts too."""
    monkeypatch.setattr(searched_part, "MOST_SEARCHED_WHOLE", 0)


def draw_columns(seed, n, decimals=2):
    """Few decimals: equal records, which can be in different groups."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.integers(0, 12, n).astype(float),
        "y": np.round(rng.normal(size=n), decimals),
        "z": np.round(rng.normal(size=n), 1),
        "town": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
    }


def link_both_ways(table, seed, laws, matching, n=60, decimals=2):
    original, schema = table(draw_columns(seed, n, decimals), scales={"town": Scale.NOMINAL})
    done = mask(original, schema, (GROUPS, *(step for law in laws for step in LAWS[law])), seed=SEED, path=())
    wanted = np.sort(np.random.default_rng(seed).choice(n, 4, replace=False))
    how = {"searching": wanted, "matching": matching, "few": 5}
    files = (original, done.data, schema, done.mechanisms, schema.names)
    return wanted, *(link_by_mechanism(*files, **how, only_links=only)[0] for only in (False, True))


@pytest.mark.parametrize("matching", ["likeliest", "marginals"])
@given(seed=st.integers(0, 2**32), laws=st.sets(st.sampled_from(sorted(LAWS))), decimals=st.sampled_from([0, 2]))
@settings(max_examples=30, deadline=None)
def test_links_are_those_of_the_whole_table(table, seed, laws, matching, decimals):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searched_part, "MOST_SEARCHED_WHOLE", 0)
        patch.setattr(belief_conditions, "MOST_SEARCHED_WHOLE", 0)
        wanted, whole, part = link_both_ways(table, seed, sorted(laws), matching, decimals=decimals)
    of_whole, of_part = whole.guesses(wanted), part.guesses(wanted)
    assert of_whole.starts.tolist() == of_part.starts.tolist()
    assert of_whole.classes.tolist() == of_part.classes.tolist()
    assert of_whole.sound_sizes.tolist() == of_part.sound_sizes.tolist()
    kinds = whole.search_class[wanted]
    for one in kinds:
        small = [links.small_sets[1][links.small_sets[0][one] : links.small_sets[0][one + 1]] for links in (whole, part)]
        assert sorted(small[0].tolist()) == sorted(small[1].tolist())
    if matching == "marginals":
        record, row = (one.ravel() for one in np.meshgrid(wanted, np.arange(60), indexing="ij"))
        chances = [links.posterior.compute_probabilities(record, row) for links in (whole, part)]
        assert chances[0] == pytest.approx(chances[1], abs=1e-4)
        least = [links.posterior.compute_guess_probabilities(wanted) for links in (whole, part)]
        assert least[0] == pytest.approx(least[1], abs=1e-4)


def list_linked_rows(links, wanted):
    guesses = links.guesses(wanted)
    return [
        np.flatnonzero(np.isin(links.found_class, guesses.classes[first:last])).tolist()
        for first, last in pairwise(guesses.starts)
    ]


@given(
    seed=st.integers(0, 2**32),
    laws=st.sets(st.sampled_from(sorted(LAWS))),
    groups=st.booleans(),
    matching=st.sampled_from(["likeliest", "marginals", "one_to_one"]),
    decimals=st.sampled_from([0, 2]),
)
@settings(max_examples=60, deadline=None)
def test_links_of_large_tables_whose_rows_are_grouped_in_no_order(table, seed, laws, groups, matching, decimals):
    original, schema = table(draw_columns(seed, 60, decimals), scales={"town": Scale.NOMINAL})
    steps = (*((GROUPS,) if groups else ()), *(step for law in sorted(laws) for step in LAWS[law]))
    if not steps:
        return
    done = mask(original, schema, steps, seed=SEED, path=())
    released = done.data.take(np.random.default_rng(seed).permutation(60))
    wanted = np.arange(60)
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for most in (60, 0):
            patch.setattr(belief_conditions, "MOST_SEARCHED_WHOLE", most)
            found.append(link_by_mechanism(original, released, schema, steps, schema.names, matching=matching)[0])
    assert list_linked_rows(found[0], wanted) == list_linked_rows(found[1], wanted)
    assert found[0].guesses(wanted).sound_sizes.tolist() == found[1].guesses(wanted).sound_sizes.tolist()
    assert found[0].rules_out(wanted, np.arange(60)).tolist() == found[1].rules_out(wanted, np.arange(60)).tolist()


def test_only_the_groups_of_the_wanted_are_looked_at(any_size, table):
    looked_at = []
    original = searched_part.find_searched_part

    def watch(both, conditions, searching):
        looked_at.append((original(both, conditions, searching), searching))
        return looked_at[-1][0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.attack.transparency.transparency.find_searched_part", watch)
        link_both_ways(table, 1, ["categories"], "likeliest")
    ((part, searching),) = looked_at
    assert part is not None
    assert np.isin(np.flatnonzero(searching), part.records).all()
    assert 4 * 3 <= len(part.both.own_of_record) <= 4 * 5  # groups of 3 to 5
    assert len(part.both.shown_of_row) == len(part.both.own_of_record)


def test_equal_records_of_several_groups_are_looked_at_together(any_size, table):
    # x: 12 values, y: about 50, and 600 records: some have equals, and so are allowed several groups
    looked_at = []

    def watch(both, conditions, searching):
        looked_at.append((conditions, searched_part.find_searched_part(both, conditions, searching)))
        return looked_at[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(belief_conditions, "MOST_SEARCHED_WHOLE", 0)
        patch.setattr("tasks.attack.transparency.transparency.find_searched_part", watch)
        link_both_ways(table, 2, ["noise"], "likeliest", n=600, decimals=1)
    ((conditions, part),) = looked_at
    assert (conditions.ends[0] - conditions.begins[0] > 1).any()
    assert part is not None
    assert len(part.both.own_of_record) < 300


def test_whom_nothing_certain_keeps_apart_is_looked_for_everywhere(any_size, table):
    columns = {name: column for name, column in draw_columns(1, 60).items() if name in ("z", "town")}
    original, schema = table(columns, scales={"town": Scale.NOMINAL})
    done = mask(original, schema, (*LAWS["noise"], *LAWS["categories"]), seed=SEED, path=())
    links, _ = link_by_mechanism(
        original, done.data, schema, done.mechanisms, schema.names, searching=np.array([1]), only_links=True
    )
    assert links.image_scores is not None


def test_tables_that_are_not_large_are_looked_at_as_a_whole(table):
    _, _, links = link_both_ways(table, 1, ["categories"], "likeliest")
    assert links.image_scores is not None


def test_probabilities_of_others_are_none(any_size, table):
    wanted, _, part = link_both_ways(table, 3, ["categories"], "marginals")
    others = np.setdiff1d(np.arange(60), wanted)
    outside = others[~np.isin(part.posterior.record_class[others], part.posterior.record_class[wanted])]
    beyond = outside[part.posterior.record_class[outside] == len(part.posterior.pairs.starts) - 1]
    assert len(beyond) > 20
    assert (part.posterior.compute_guess_probabilities(beyond) == 0).all()
    assert (part.posterior.compute_probabilities(beyond, np.zeros(len(beyond), dtype=np.int64)) == 0).all()

"""The chance of the posterior at the truth where it is not known who is there: against rows that are dealt out anew."""

from __future__ import annotations

import json

import numpy as np
import pytest
from held_files import figures_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from tasks.attack.methods import attack
from tasks.attack.outcomes.posterior_outcomes import chance_at_truth
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata
from tasks.microdata.units import group_rows

LEVEL = 1e-4
NAMES = ("a", "b")
CODES = dict.fromkeys(NAMES, Scale.CODE)


def spec_of(**parameters):
    return ProbabilisticLinkage.model_validate_json(json.dumps({"method": "probabilistic_linkage", **parameters}))


def test_worked_by_hand():
    # the first person has both rows, and takes them to be there with 0.4 and 0.8; the second has none
    used = np.array([0, 1, 2]), np.array([0, 0, 1])
    assert chance_at_truth(np.array([0.4, 0.8, 0.9]), used, group_rows(np.array([0, 0]), 2), 2) == pytest.approx(0.3)
    # everybody is there with certainty: 1/4
    everybody = np.arange(4), np.arange(4)
    assert chance_at_truth(np.ones(4), everybody, group_rows(np.arange(4), 4), 4) == pytest.approx(0.25)


def world(table, seed, *, persons):
    """40 rows, of 16 persons where these are looked for, of whom five rows in eight are in the release."""
    rng = np.random.default_rng(seed)
    who = np.sort(np.append(np.arange(16), rng.integers(0, 16, 24)))
    own = {"a": rng.integers(0, 5, 40), "b": rng.integers(0, 4, 40)}
    roles = {"who": Role.PERSON} if persons else None
    original, schema = table(own | ({"who": who} if persons else {}), scales=CODES, roles=roles)
    there = np.sort(rng.permutation(40)[:25])
    shown = {name: np.where(rng.random(40) < 0.8, one, rng.permutation(one))[there] for name, one in own.items()}
    return original, Microdata.from_columns(shown), schema, Alignment(there, np.arange(25), 40)


def figure(original, masked, schema, alignment, spec, *, known):
    result = attack(
        *(original, masked, schema, (), spec, Intruder("declared", NAMES, participation_known=known)),
        alignment=alignment,
        targets=np.arange(40),
    )
    return figures_of(result, GroundTruth.create_from_tables(original, masked, schema, alignment), schema)[
        "posterior_at_truth", None
    ]


@pytest.mark.slow
@pytest.mark.parametrize("persons", [True, False])
@pytest.mark.parametrize("matching", ["likeliest", "one_to_one"])
def test_it_is_the_mean_over_rows_that_are_dealt_out_anew(table, persons, matching):
    original, masked, schema, alignment = world(table, 1, persons=persons)
    rng, found, stated = np.random.default_rng(9), [], set()
    for _ in range(100):
        dealt = masked.take(rng.permutation(25))
        one = figure(original, dealt, schema, alignment, spec_of(matching=matching), known=False)
        found.append(one.value)
        stated.add(round(one.chance, 9))
    (chance,) = stated  # whose the rows are is not looked at
    assert ttest_1samp(found, chance).pvalue > LEVEL
    for wrong in (0.7, 1.3):
        assert ttest_1samp(found, wrong * chance).pvalue < LEVEL
    assert figure(original, masked, schema, alignment, spec_of(matching=matching), known=False).value > 1.3 * chance


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_where_it_is_known_that_they_are_there_it_is_that_of_any_guess(table, seed, persons):
    original, masked, schema, alignment = world(table, seed, persons=persons)
    one = figure(original, masked, schema, alignment, spec_of(), known=True)
    assert one.chance == pytest.approx(1 / (16 if persons else 40))


def test_persons_of_one_row_each_are_records(table):
    original, masked, schema, alignment = world(table, 3, persons=False)
    of_records = figure(original, masked, schema, alignment, spec_of(), known=False)
    columns = {name: original.column(name) for name in NAMES}
    original, schema = table({**columns, "who": np.arange(40)}, scales=CODES, roles={"who": Role.PERSON})
    of_persons = figure(original, masked, schema, alignment, spec_of(), known=False)
    assert (of_persons.value, of_persons.chance) == pytest.approx((of_records.value, of_records.chance))

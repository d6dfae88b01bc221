"""Of a sample of targets: what the attack can find of all records at most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import ATTACK_CLASSES, attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Role, Scale

GROUPS = Microaggregation(method="microaggregation", attributes=("age", "size"), k=3)
STEPS = {
    "groups": (GROUPS,),
    "swap": (RankSwapping(method="rank_swapping", attributes=("age", "size"), window_percent=20.0),),
    "noise": (Noise(method="noise", kind="independent", attributes=("age", "size"), sd_percent=20.0),),
    "groups and PRAM": (GROUPS, Pram(method="pram", attributes=("vote",), retention=0.7)),
}


def attack_all_and_some(original, schema, steps, spec, knows, some):
    done = mask(original, schema, steps, seed=bytes(32), path=())
    rows = Alignment.complete_in(np.random.default_rng(3).permutation(original.n))
    parts = (original, done.data.take(rows.record), schema, done.mechanisms, spec, Intruder("declared", knows))
    whole, part = (attack(*parts, alignment=rows, targets=targets) for targets in (np.arange(original.n), some))
    return whole, part


def test_worked_table_of_two_groups(table):
    original, schema = table({"age": [1, 2, 3, 10, 11, 12, 13], "vote": list("aabbabc")}, scales={"vote": Scale.NOMINAL})
    groups = Microaggregation(method="microaggregation", attributes=("age",), k=3)
    known, alone = (
        attack_all_and_some(original, schema, (groups,), DistanceLinkage.create_default(), knows, np.array([0]))[
            1
        ].credit_bounds
        for knows in (("age",), ("age", "vote"))
    )
    # Groups of 3 and 4 rows: three records have 1/3 at most and four 1/4, 2 in all.
    assert known.mean == pytest.approx(2 / 7) and known.mean >= 2 / 7
    assert (known.largest, known.exposed) == (1 / 3, 0.0)
    # With the vote, of the first group two rows are alike and one is alone, of the second one is alone, two alike, one alone.
    assert (alone.largest, alone.exposed) == (1.0, 1.0)
    assert alone.mean == pytest.approx((2 / 2 + 1 + 2 / 2 + 1 + 1) / 7)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("kind", ATTACK_CLASSES, ids=lambda kind: kind.get_method())
def test_no_attack_exceeds_the_bounds_of_its_sample(kind, steps, table):
    rng, n = np.random.default_rng(2), 60
    age = rng.integers(0, 30, n).astype(float)
    columns = {"age": age, "size": age + rng.integers(0, 9, n), "income": age + rng.normal(0, 9, n), "vote": list("abc" * 20)}
    original, schema = table(columns, roles={"income": Role.CONFIDENTIAL}, scales={"vote": Scale.NOMINAL})
    knows = ("age", "size", "vote")
    whole, part = attack_all_and_some(original, schema, STEPS[steps], kind.create_default(), knows, np.arange(5))
    assert whole.credit_bounds is None, "all records were attacked: their figures are exact"
    if part.credit_bounds is None:
        assert whole.status != "ok" or kind.create_default().traits.searches_originals
        return
    credit = whole.outcomes.floats("credit")
    assert credit.mean() <= part.credit_bounds.mean
    assert credit.max() <= part.credit_bounds.largest
    assert (credit >= 0.5).mean() <= part.credit_bounds.exposed


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from("ab")), min_size=9, max_size=24),
    st.sampled_from([DistanceLinkage.create_default(), Transparency.create_default()]),
    st.sampled_from([("age",), ("age", "size"), ("age", "size", "vote")]),
    st.integers(2, 4),
)
def test_bounds_hold_on_drawn_tables(table, rows, spec, knows, k):
    columns = dict(zip(("age", "size", "vote"), map(list, zip(*rows, strict=True)), strict=True))
    if len(set(columns["age"])) < 2 or len(set(columns["size"])) < 2:
        return
    original, schema = table(columns, scales={"vote": Scale.NOMINAL})
    groups = Microaggregation(method="microaggregation", attributes=("age", "size"), k=k)
    whole, part = attack_all_and_some(original, schema, (groups,), spec, knows, np.array([0]))
    if part.status == "ok":
        credit = whole.outcomes.floats("credit")
        assert credit.mean() <= part.credit_bounds.mean and credit.max() <= part.credit_bounds.largest
        assert "vote" in knows or part.credit_bounds.largest <= 1 / k

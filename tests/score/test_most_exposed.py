"""Who are the members whom an attack is surest of: by hand, under permutation, and the law of the bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.attack.membership.frame import Frame
from tasks.attack.membership.methods import MembershipResult
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import Units
from tasks.score.figure_rounding import round_for_publication
from tasks.score.known_release import Known
from tasks.score.membership.exposure import estimate_share_of_most_exposed, list_missing_value_subgroups, most_exposed
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.membership.membership_figures import MembershipOutcome, membership_figures
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.subgroups import Subgroup

MEASURE = "subgroup_share_of_most_exposed"


def asked(scores, member):
    """An attack's answer about everybody, and who they are."""
    n = len(member)
    everybody, nobody = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    frame = Frame(Units(np.arange(n), n, "records"), member, ~member, everybody, nobody, nobody, "this file")
    result = MembershipResult(attack="gap", method="gap", evaluates="this file", infers="", knows="", scores=scores,
                              threshold=0.5, threshold_from="own_rule")  # fmt: skip
    return result, frame


def figures(scores, member, part):
    result, frame = asked(np.asarray(scores, dtype=float), member)
    found = membership_estimates(result, frame, (Subgroup("region", "rare categories", part),))
    return {one.measure: one for one in found if one.subgroup}


def test_a_tenth_by_hand():
    """Of 20 members a tenth is two: the one at 3 whole, and a quarter of each of the four at 2."""
    scores = np.array([3.0, 2, 2, 2, 2, *[1] * 15])
    assert most_exposed(scores).tolist() == [1, 0.25, 0.25, 0.25, 0.25, *[0] * 15]
    part = np.isin(np.arange(20), [0, 1, 2, 19])
    assert estimate_share_of_most_exposed(scores, part)[0] == (1 + 0.25 + 0.25) / 2
    assert most_exposed(np.arange(25.0)).tolist() == [*[0] * 22, 0.5, 1, 1]  # a tenth is two and a half


def test_a_part_that_stands_out():
    """100 members, 100 others; of the ten members on top six are of the part, which has 20 members; others do not count."""
    member = np.arange(200) < 100
    scores = np.where(member, np.arange(200.0), 500.0)
    part = np.isin(np.arange(200), [*range(14), *range(94, 100), *range(150, 200)])
    one = figures(scores, member, part)[MEASURE]
    assert (one.value, one.chance, one.n_targets, one.n_in_release) == (0.6, 0.2, 100, 100)
    assert binom.sf(5, 10, one.low) == pytest.approx(0.05) and binom.cdf(6, 10, one.high) == pytest.approx(0.05)
    assert one.id == f"{MEASURE}|gap|region|rare categories"


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.sampled_from([1, 2, 5, 1000]))
def test_the_tenth_is_a_tenth_and_takes_the_highest(seed, m, different):
    scores = np.random.default_rng(seed).integers(0, different, m).astype(float)
    of = most_exposed(scores)
    assert of.sum() == pytest.approx(m / 10) and of.min() >= 0 and of.max() <= 1
    order = np.argsort(scores)
    assert (np.diff(of[order]) >= -1e-12).all()
    assert all(len(set(of[scores == score])) == 1 for score in np.unique(scores))
    assert np.allclose(most_exposed(scores**3 + 1), of)  # a function of the order alone
    part = np.random.default_rng(seed + 1).random(m) < 0.3
    value, within = estimate_share_of_most_exposed(scores, part)
    assert 0 <= within.low <= value + 1e-12 <= within.high + 2e-12
    assert value + estimate_share_of_most_exposed(scores, ~part)[0] == pytest.approx(1)


def test_over_all_permutations_the_mean_is_chance():
    """Whoever is on top: each member is as often in each place, ties or not."""
    scores, part = np.array([4.0, 3, 3, 2, 1, 1, 1]), np.arange(7) < 3
    turned = [estimate_share_of_most_exposed(np.roll(scores, k), part)[0] for k in range(7)]
    assert np.mean(turned) == pytest.approx(3 / 7)
    rng = np.random.default_rng(3)
    scores, part = rng.integers(0, 30, 150).astype(float), np.arange(150) < 30
    drawn = [estimate_share_of_most_exposed(rng.permutation(scores), part)[0] for _ in range(2000)]
    assert abs(np.mean(drawn) - 0.2) < 3.9 * np.std(drawn) / np.sqrt(2000)


def test_scores_that_are_all_the_same_single_out_nobody():
    member = np.arange(300) < 150
    one = figures(np.ones(300), member, np.arange(300) % 5 == 0)[MEASURE]
    assert one.value == pytest.approx(one.chance) == pytest.approx(0.2)
    assert one.low < 0.2 < one.high


def test_few_people_are_not_told_of():
    member = np.arange(240) < 120
    few = figures(np.arange(240.0), member, np.arange(240) < 9)[MEASURE]
    assert few.status == "not_applicable" and "fewer than 10 members of this part" in few.reason
    assert few.value is few.chance is few.n_targets is None
    member = np.arange(200) < 99
    small = figures(np.arange(200.0), member, np.arange(200) % 2 == 0)[MEASURE]
    assert small.status == "not_applicable" and "a tenth of the members" in small.reason


def test_an_attack_that_did_not_run_singles_out_nobody():
    result, frame = asked(np.ones(240), np.arange(240) < 120)
    silent = replace(result, status="failed", reason="why", scores=None)
    found = membership_estimates(silent, frame, (Subgroup("region", "rare categories", np.arange(240) < 60),))
    assert [one.status for one in found if one.measure == MEASURE] == ["failed"]


def test_bounds_without_ties_are_those_of_every_outcome():
    """30 on top of 300, each of the part with probability p: neither bound errs in more than a twentieth."""
    scores = np.arange(300.0)
    bounds = [estimate_share_of_most_exposed(scores, np.isin(np.arange(300), np.arange(300 - k, 300)))[1] for k in range(31)]
    for p in (0.01, 0.05, 0.2, 0.5, 0.9):
        weights = binom.pmf(np.arange(31), 30, p)
        assert 0 < weights[[one.low > p for one in bounds]].sum() <= 0.05 + 1e-12
        assert weights[[one.high < p for one in bounds]].sum() <= 0.05 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("different", [4, 12, 10_000])
@pytest.mark.parametrize("law", [lambda top: 0.05 + 0 * top, lambda top: 0.5 * top**4, lambda top: top > 0.93])
def test_bounds_where_the_surest_are_of_the_part_more_often(law, different):
    """Scores as they are; who is of the part depends on them; about the mean probability in the tenth."""
    rng, draws = np.random.default_rng(8), 1500
    scores = np.floor(rng.random(400) * different) / different
    probability = np.asarray(law(scores), dtype=float)
    truth = (most_exposed(scores) * probability).sum() / 40
    missed = np.zeros(2)
    for _ in range(draws):
        _, within = estimate_share_of_most_exposed(scores, rng.random(400) < probability)
        missed += [within.low > truth + 1e-12, within.high < truth - 1e-12]
    assert (missed / draws <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / draws)).all()


def test_people_without_a_value_are_a_part_too():
    roles = {"age": Role.QUASI_IDENTIFIER, "pay": Role.CONFIDENTIAL, "note": Role.OTHER}
    schema = Schema(tuple(Attribute(name, role, Scale.NUMERIC, "declared") for name, role in roles.items()))
    age = [None] * 40 + [1.0] * 260
    table = Microdata.from_columns({"age": age, "pay": [None] * 9 + [2.0] * 291, "note": age})
    (found,) = list_missing_value_subgroups(table, schema, Units(np.arange(300), 300, "records"))
    assert (found.attribute, found.name, np.flatnonzero(found.members).tolist()) == ("age", "missing values", [*range(40)])
    persons = Units(np.arange(300) // 2, 150, "persons")
    (found,) = list_missing_value_subgroups(table, schema, persons)
    assert np.flatnonzero(found.members).tolist() == [*range(20)]
    wide = Microdata.from_columns({"age": [None] * 160 + [1.0] * 140, "pay": age, "note": age})
    assert [one.attribute for one in list_missing_value_subgroups(wide, schema, Units(np.arange(300), 300, "records"))] == [
        "pay"
    ]
    result, frame = asked(np.arange(300.0), np.arange(300) % 2 == 0)
    told = membership_figures([MembershipOutcome(result, frame, table)], schema, "records")
    assert {(one.attribute, one.subgroup) for one in told if one.measure == MEASURE} == {("age", "missing values")}


def test_no_line_limits_it_and_the_public_sees_two_digits():
    with pytest.raises(InputError, match="alone it says nothing"):
        check_policy((PolicyLine(measure=MEASURE, at_most=0.2),), Known())
    check_policy((PolicyLine(measure="subgroup_membership_auc", at_most=0.6, subgroup="missing values"),), Known())
    with pytest.raises(InputError):
        check_policy((PolicyLine(measure="subgroup_reidentification", at_most=0.6, subgroup="missing values"),), Known())
    member = np.arange(646) < 323
    exact = figures(np.arange(646.0), member, np.arange(646) % 7 == 0)[MEASURE]
    (shown,) = round_for_publication((exact,))
    assert (shown.value, shown.chance, shown.n_targets) == (0.15, 0.15, 320)
    assert (exact.value, exact.chance) == (pytest.approx(5 / 32.3), 47 / 323)

"""Membership by the law of the mask: the release with a record among its originals, and without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from membership_models import halves, records
from scipy.special import expit, logsumexp
from scipy.stats import spearmanr

from tasks.attack.membership.frame import Frame
from tasks.attack.membership.inference import create_file_experiment, score_membership
from tasks.attack.membership.law_ratio import LEAST, LawRatio
from tasks.attack.membership.methods import attack_table
from tasks.attack.simulated import simulated_law
from tasks.attack.simulated.presence import compare_by_simulation
from tasks.attack.threat import Intruder
from tasks.mask.categories.pram import Pram
from tasks.mask.coding.rounding import Rounding
from tasks.mask.control import set_aside
from tasks.mask.external_release.released import Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata
from tasks.microdata.units import Units
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.membership.roc_curve import compute_auc
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

SPEC = LawRatio(method="law_ratio")
XY = ("x", "y")
NOISE = Noise(method="noise", kind="independent", attributes=XY, sd_percent=30.0)
SAME = Rounding(method="rounding", kind="deterministic", attributes=("x",), bases={"x": 1})
SEED = bytes(range(32))


def ask_about_all(member):
    inside = np.asarray(member, dtype=bool)
    everybody, none = np.ones(len(inside), dtype=bool), np.zeros(len(inside), dtype=bool)
    return Frame(records(len(inside)), inside, ~inside, everybody, none, none, "this file")


def release(data, schema, frame, steps, seed=SEED):
    return mask(data.take(frame.member_rows), schema, steps, seed=seed, path=()).data


def score(data, schema, frame, steps, knows=XY, seed=SEED):
    released = release(data, schema, frame, steps, seed)
    result = attack_table(SPEC, data, released, schema, frame, knows, mechanisms=steps)
    assert result.status == "ok", result.reason
    return result.scores, released


def normals(table, n, seed):
    rng = np.random.default_rng(seed)
    data, schema = table({"x": rng.normal(size=n), "y": rng.normal(size=n)})
    return data, schema, halves(n, rng)


def test_by_hand(table):
    """Rounded, two people have 1, of whom one is released; 2 is one member's alone, and 3 is nobody's who is released.

    A row that shows 1 is as probable from the one as from the other: mean over 2 rows of 1 / (1 of 3 others) = 3 / 2.
    """
    data, schema = table({"x": [1.2, 0.9, 2, 3]})
    found, released = score(data, schema, ask_about_all([1, 0, 1, 0]), (SAME,), ("x",))
    assert released.floats("x").tolist() == [1, 2]
    assert found[:2] == pytest.approx(np.log(3 / 2))
    assert found[2] > 20
    assert found[3] == LEAST


def test_pram_by_hand(table):
    """Retention 0.8 of two categories: P is 0.9 and 0.1, and q is the mean over the three others."""
    data, schema = table({"vote": ["a", "a", "b", "b"]}, scales={"vote": Scale.NOMINAL})
    step = Pram(method="pram", attributes=("vote",), retention=0.9)
    frame = ask_about_all([1, 1, 0, 0])
    released = Microdata.from_columns({"vote": ["a", "b"]})
    scores = attack_table(SPEC, data, released, schema, frame, ("vote",), mechanisms=(step,)).scores
    at_a, at_b = 0.9 / ((0.9 + 0.1 + 0.1) / 3), 0.1 / ((0.1 + 0.9 + 0.9) / 3)
    assert scores == pytest.approx(np.log((at_a + at_b) / 2))


def _score_slowly(data, released, share, names=XY):
    """Every pair of a record and a row; noise by the release's own standard deviation, as who holds a part estimates it."""
    own, shown = (np.column_stack([one.floats(name) for name in names]) for one in (data, released))
    variance = shown.var(axis=0, ddof=1) * share**2 / (1 + share**2)
    logs = -(((shown[:, None] - own[None]) ** 2) / variance / 2).sum(axis=-1)
    found = []
    for i in range(len(own)):
        others = np.delete(logs, i, axis=1)
        mean_of_others = logsumexp(others, axis=1) - np.log(others.shape[1])
        found.append(logsumexp(logs[:, i] - mean_of_others) - np.log(len(shown)))
    return np.array(found)


@pytest.mark.parametrize("seed", range(3))
def test_noise_as_a_slow_mean_over_all_pairs(table, seed):
    data, schema, frame = normals(table, 80, seed)
    found, released = score(data, schema, frame, (NOISE,))
    assert found == pytest.approx(_score_slowly(data, released, 0.3)[frame.target_rows], abs=1e-4)


def test_the_order_of_rows_and_records_does_not_matter(table):
    data, schema, frame = normals(table, 60, 1)
    found, released = score(data, schema, frame, (NOISE,))
    shuffled = released.take(np.random.default_rng(2).permutation(released.n))
    again = attack_table(SPEC, data, shuffled, schema, frame, ("y", "x"), mechanisms=(NOISE,)).scores
    assert again == pytest.approx(found)


def test_what_cannot_be_followed_is_left_out(table):
    data, schema, frame = normals(table, 80, 4)
    of_x = Noise(method="noise", kind="independent", attributes=("x",), sd_percent=30.0)
    groups = Microaggregation(method="microaggregation", attributes=("y",), k=4)
    released = release(data, schema, frame, (of_x, groups))
    one = attack_table(SPEC, data, released, schema, frame, ("x",), mechanisms=(of_x, groups))
    both = attack_table(SPEC, data, released, schema, frame, XY, mechanisms=(of_x, groups))
    assert both.scores == pytest.approx(one.scores)
    assert both.status == one.status == "ok"


GROUPS = Microaggregation(method="microaggregation", attributes=XY, k=4)


SWAP = RankSwapping(method="rank_swapping", attributes=XY, window_percent=10.0)
SLIGHT = Noise(method="noise", kind="independent", attributes=XY, sd_percent=0.1)
SAMPLE = Sampling(method="sampling", share=0.6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ((SAMPLE, GROUPS), "not_applicable"),
        ((GROUPS, NOISE), "not_applicable"),
        ((SWAP, SAMPLE, SWAP), "ok"),
    ],
)  # fmt: skip
def test_groups_depend_on_who_is_in_the_release_and_a_lost_law_is_simulated(table, steps, status):
    """Whoever knew who is in the release, or in the sample, could follow the groups; the ranks of a sample of ranks nobody."""
    rng = np.random.default_rng(3)
    data, schema = table({"x": rng.normal(size=90), "y": rng.normal(size=90)})
    first, aside = data.take(np.arange(60)), data.take(np.arange(60, 90))
    done = mask(first, schema, steps, seed=SEED, path=())
    asked = create_file_experiment(first, aside, done.data, done.record, schema, rng=rng)
    result = score_membership(SPEC, asked, schema, None, (Intruder("declared", XY),), done.mechanisms)
    assert (result.status, result.scores is None) == (status, status != "ok")
    assert ("heuristic" in result.infers) == (status == "ok")


def test_more_pairs_than_can_be_simulated_are_not_followed(table, monkeypatch):
    monkeypatch.setattr(simulated_law, "MOST_PAIRS", 999)
    data, schema, frame = normals(table, 60, 4)
    steps = (SWAP, SAMPLE, SWAP)
    released = release(data, schema, frame, steps)
    result = attack_table(SPEC, data, released, schema, frame, XY, mechanisms=steps)
    assert (result.status, result.scores) == ("not_followed", None)
    assert "more than 999 pairs" in result.reason


def test_a_simulated_law_comes_near_the_closed_one(table):
    """Noise, of which both are known: the ratios go together, and tell about as many."""
    data, schema, frame = normals(table, 400, 5)
    closed, released = score(data, schema, frame, (NOISE,))
    found = compare_by_simulation(data, released, schema, (NOISE,), XY, n_masked=released.n)[frame.target_rows]
    assert spearmanr(found, closed).statistic > 0.9
    assert compute_auc(found, frame.is_member) == pytest.approx(compute_auc(closed, frame.is_member), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["swap, noise", "jitter, noise"])
def test_a_simulated_law_does_not_depend_on_the_order_of_rows_and_records(table, name):
    data, schema, frame = normals(table, 60, 1)
    released = release(data, schema, frame, STEPS[name])
    rng = np.random.default_rng(2)
    mixed, rows = rng.permutation(data.n), rng.permutation(released.n)
    tables = ((data, released), (data.take(mixed), released.take(rows)))
    found, again = (compare_by_simulation(*one, schema, STEPS[name], XY, n_masked=released.n) for one in tables)
    assert again == pytest.approx(found[mixed])


def test_a_simulated_law_does_not_depend_on_who_is_a_member(table):
    data, schema, frame = normals(table, 60, 1)
    steps = STEPS["swap, noise"]
    released = release(data, schema, frame, steps)
    found, other = (
        attack_table(SPEC, data, released, schema, one, XY, mechanisms=steps)
        for one in (frame, replace(frame, member=frame.control, control=frame.member))
    )
    assert "heuristic" in found.infers
    assert other.scores == pytest.approx(found.scores)


@pytest.mark.parametrize(
    ("step", "status", "why"),
    [
        (GROUPS, "not_applicable", "depends on who is in the release"),
        (Undeclared(attributes=XY), "not_followed", "nobody declared how the table was masked"),
    ],
)
def test_without_a_law_it_has_no_figure(table, step, status, why):
    """Groups depend on records that the intruder does not know; a method that nobody declared may have a law."""
    data, schema, frame = normals(table, 60, 4)
    released = release(data, schema, frame, (GROUPS,))
    result = attack_table(SPEC, data, released, schema, frame, XY, mechanisms=(step,))
    assert (result.status, result.scores) == (status, None)
    assert why in result.reason


def test_a_law_that_is_lost_in_one_column_leaves_a_lower_bound(table):
    data, schema, frame = normals(table, 80, 4)
    of_x = Noise(method="noise", kind="independent", attributes=("x",), sd_percent=30.0)
    released = release(data, schema, frame, (of_x,))
    steps = (of_x, Undeclared(attributes=("y",)))
    one = attack_table(SPEC, data, released, schema, frame, ("x",), mechanisms=steps)
    both = attack_table(SPEC, data, released, schema, frame, XY, mechanisms=steps)
    assert (one.status, both.status) == ("ok", "not_followed")
    assert both.scores == pytest.approx(one.scores)
    whole, part = membership_estimates(one, frame), membership_estimates(both, frame)
    for found, bound in zip(whole, part, strict=True):
        assert (bound.value, bound.low, bound.status) == (found.value, found.low, "not_followed")
        assert bound.high == (None if found.value is None else 1)
    for limit, decision in ((0.5, "fail"), (0.9999, "undecided")):
        line = PolicyLine(measure="membership_auc", at_most=limit)
        (criterion,) = decide((line,), tuple(replace(bound, low=bound.value) for bound in part)).criteria
        assert (criterion.decision, criterion.lower_bound) == (decision, decision == "fail")


STEPS = {
    "noise": (NOISE,),
    "sample": (Sampling(method="sampling", share=0.6), NOISE),
    "sampled noise": (NOISE, Sampling(method="sampling", share=0.6)),
    "swap": (RankSwapping(method="rank_swapping", attributes=XY, window_percent=10.0),),
    "rounding": (NOISE, Rounding(method="rounding", kind="deterministic", bases={"x": 0.5, "y": 0.5})),
    "swap, noise": (SWAP, SLIGHT),
    "jitter, noise": (RankJitter(method="rank_jitter", attributes=XY, window_percent=20.0), SLIGHT),
    "strata": (Noise(method="noise", kind="independent", attributes=("x",), sd_percent=30.0, by=("colour",)),),
}


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) if one == "swap, noise" else one for one in STEPS])
def test_members_are_told_and_people_who_are_not_in_it_are_not(table, name):
    """Of the file itself more than a half of the area; of a release of other people half, by the law of rank sums at 1e-4."""
    rng = np.random.default_rng(7)
    areas, strange = [], []
    for seed in range(4):
        columns = {"x": rng.normal(size=400), "y": rng.normal(size=400), "colour": rng.choice(["a", "b"], 400).tolist()}
        data, schema = table(columns, scales={"colour": Scale.NOMINAL})
        first, second = data.take(np.arange(200)), data.take(np.arange(200, 400))
        rest, aside = set_aside(Units(np.arange(200), 200, "records"), 0.3, rng=rng)
        drawn = bytes([seed]) * 32
        own, other = (mask(one, schema, STEPS[name], seed=drawn, path=()) for one in (first.take(rest), second.take(rest)))
        for found, released in ((areas, own), (strange, other)):
            tables = (first.take(rest), first.take(aside), released.data)
            asked = create_file_experiment(*tables, own.record, schema, rng=rng)
            who = (Intruder("declared", ("x", "y", "colour")),)
            result = score_membership(SPEC, asked, schema, None, who, STEPS[name])
            assert result.status == "ok", result.reason
            found.append(compute_auc(result.scores, asked.frame.is_member))
            targets = asked.frame.is_member.sum()
    spread = np.sqrt((2 * targets + 1) / (12 * targets**2) / len(strange))
    assert abs(np.mean(strange) - 0.5) < 3.9 * spread
    assert np.mean(areas) > 0.5 + 3.9 * spread or "swap" in name


def test_claims_come_true(table):
    """Of those to whom the ratio gives a chance p of being members, given half of all are, p are."""
    claims, truth = [], []
    for seed in range(20):
        data, schema, frame = normals(table, 240, 100 + seed)
        found, _ = score(data, schema, frame, (NOISE,), seed=bytes([seed]) * 32)
        claims.append(expit(found))
        truth.append(frame.is_member)
    p, member = np.concatenate(claims), np.concatenate(truth)
    for low, high in ((0, 0.4), (0.4, 0.5), (0.5, 0.6), (0.6, 1.01)):
        inside = (p >= low) & (p < high)
        assert inside.sum() > 250
        assert member[inside].mean() == pytest.approx(p[inside].mean(), abs=0.06)

"""Who is in Census, a fifth set aside and five columns masked: what each mask leaves to each attack."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.membership.inference import create_file_experiment, score_membership
from tasks.attack.membership.methods import DEFAULT_TABLE_ATTACKS
from tasks.attack.threat import Intruder
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.control import set_aside
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.units import Units
from tasks.score.membership.roc_curve import compute_auc

NAMES = ("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL")
SWAP = RankSwapping(method="rank_swapping", attributes=NAMES, window_percent=20.0)
JITTER = RankJitter(method="rank_jitter", attributes=NAMES, window_percent=20.0)
TOP = {name: {"top_percent": 1.0} for name in NAMES}
SPECS = {spec.method: spec for spec in DEFAULT_TABLE_ATTACKS}


def noise(sd_percent):
    return Noise(method="noise", kind="independent", attributes=NAMES, sd_percent=sd_percent)


def compute_areas(census, steps, seed, attacks=tuple(SPECS)):
    data, schema = census
    data, schema = data.select(NAMES), type(schema)(schema.select(NAMES))
    rng = np.random.default_rng(seed)
    rest, aside = set_aside(Units(np.arange(data.n), data.n, "records"), 0.2, rng=rng)
    done = mask(data.take(rest), schema, steps, seed=bytes([seed]) * 32, path=())
    asked = create_file_experiment(data.take(rest), data.take(aside), done.data, done.record, schema, rng=rng)
    who, plain = (Intruder("declared", NAMES),), DistanceLinkage(method="distance_linkage")
    results = (score_membership(SPECS[name], asked, schema, plain, who, steps) for name in attacks)
    return {one.method: compute_auc(one.scores, asked.frame.is_member) for one in results if one.scores is not None}


def test_swapping_tells_everybody_by_values_and_hardly_anybody_by_places(census):
    areas = compute_areas(census, (SWAP,), 1)
    assert areas["values_present"] == 1.0
    assert max(areas[name] for name in ("closest_record", "density_ratio", "linkage_score")) < 0.6


SECOND = {
    "noise of 0.01 %": (noise(0.01), 0.99),
    "rounding to 10": (Rounding(method="rounding", kind="deterministic", bases=dict.fromkeys(NAMES, 10)), 0.99),
    "top coding of 1 %": (TopBottomCoding(method="top_bottom_coding", limits=TOP), 0.99),
    "noise of 0.1 %": (noise(0.1), 0.9),
    "individual ranking of two": (
        Microaggregation(method="microaggregation", blocks=tuple({"attributes": (name,)} for name in NAMES), k=2), 0.8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SECOND))
def test_a_small_second_step_hides_nobody(census, name):
    step, least = SECOND[name]
    assert compute_areas(census, (SWAP, step), 1, ("values_present",))["values_present"] > least


@pytest.mark.parametrize(
    "steps",
    [(SWAP,), (noise(30.0),), *(pytest.param((step, noise(0.1)), marks=pytest.mark.long) for step in (SWAP, JITTER))],
    ids=["swap", "noise", "swap, noise", "jitter, noise"],
)
def test_people_of_whom_nobody_is_in_the_release_are_told_by_chance(census, steps):
    """A release of other people says nothing of two samples of strangers: half of the area, at 1e-4 over all draws."""
    deviations = {name: [] for name in ("values_present", "law_ratio")}
    for seed in (1, 2, 3):
        data, schema = census
        data, schema = data.select(NAMES), type(schema)(schema.select(NAMES))
        rng = np.random.default_rng(seed)
        parts = np.array_split(rng.permutation(data.n), 3)
        strangers, aside, others = (data.take(np.sort(part)) for part in parts)
        done = mask(others, schema, steps, seed=bytes([seed]) * 32, path=())
        n = min(strangers.n, others.n)
        asked = create_file_experiment(strangers.take(np.arange(n)), aside, done.data, np.arange(n), schema, rng=rng)
        who = (Intruder("declared", NAMES),)
        m, k = asked.frame.is_member.sum(), (~asked.frame.is_member).sum()
        for name, found in deviations.items():
            scores = score_membership(SPECS[name], asked, schema, None, who, steps).scores
            found.append((compute_auc(scores, asked.frame.is_member) - 0.5) / np.sqrt((m + k + 1) / (12 * m * k)))
    assert all(abs(np.sum(found)) < 3.9 * np.sqrt(len(found)) for found in deviations.values()), deviations


def test_noise_is_told_best_by_its_law(census):
    found = [compute_areas(census, (noise(30.0),), seed) for seed in (1, 2, 3)]
    mean = {name: np.mean([areas[name] for areas in found]) for name in found[0]}
    assert mean["law_ratio"] > 0.67
    assert mean["law_ratio"] > max(mean[name] for name in mean if name != "law_ratio") + 0.05


@pytest.mark.long
@pytest.mark.parametrize(("step", "most_lost"), [(SWAP, 0.03), (JITTER, 0.02)], ids=["swap", "jitter"])
def test_slight_noise_afterwards_takes_little_from_the_law(census, step, most_lost):
    """The closed law follows the first step alone; with noise of 0.1 % the law is simulated."""
    alone, followed = (
        [compute_areas(census, steps, seed, attacks) for seed in (1, 2, 3)]
        for steps, attacks in (((step,), ("law_ratio",)), ((step, noise(0.1)), ("closest_record", "law_ratio")))
    )
    mean = {name: np.mean([areas[name] for areas in followed]) for name in followed[0]}
    assert mean["law_ratio"] > np.mean([areas["law_ratio"] for areas in alone]) - most_lost
    assert mean["law_ratio"] > mean["closest_record"] + 0.05

"""Membership inference on a released table: who is asked about, of the file or in a rehearsal."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.inference import (
    append_control,
    create_file_experiment,
    create_rehearsal_experiment,
    find_scored_linkage,
    score_membership,
)
from tasks.attack.membership.methods import DEFAULT_TABLE_ATTACKS
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Role
from tasks.microdata.units import find_units
from tasks.score.membership.roc_curve import compute_auc

CLOSEST, RATIO, LINKS, VALUES, LAW = DEFAULT_TABLE_ATTACKS
BY_PLACE = (CLOSEST, RATIO, LINKS)
PLAIN = DistanceLinkage(method="distance_linkage")
SEED = bytes(range(32))
WHO = (Intruder("declared", ("x", "y")), Intruder("insider:y", ("x", "y")))
NOISE = Noise(method="noise", kind="independent", attributes=("x", "y"), sd_percent=5.0)


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(8)
    data, schema = table({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    return data.take(np.arange(150)), data.take(np.arange(150, 200)), schema


def of_file(people, steps, seed=0):
    original, control, schema = people
    done = mask(original, schema, steps, seed=SEED, path=())
    return create_file_experiment(original, control, done.data, done.record, schema, rng=np.random.default_rng(seed))


def test_members_are_in_the_file_and_the_control_is_not(people):
    asked = of_file(people, (NOISE,))
    assert asked.table.n == 200
    assert asked.frame.member.tolist() == [True] * 150 + [False] * 50
    assert asked.frame.control.tolist() == [False] * 150 + [True] * 50
    assert (asked.frame.is_member.sum(), (~asked.frame.is_member).sum()) == (50, 50)
    for spec in BY_PLACE:
        found = score_membership(spec, asked, people[2], PLAIN)
        assert found.evaluates == "this file"
        assert compute_auc(found.scores, asked.frame.is_member) > 0.7


def test_whom_a_sampling_left_out_is_nobody_who_is_asked_about(people):
    asked = of_file(people, (Sampling(method="sampling", share=0.5), NOISE))
    assert asked.frame.member.sum() == 75
    assert not (asked.frame.target & ~asked.frame.member & ~asked.frame.control).any()


def test_a_rehearsal_masks_a_half_and_says_so(people):
    original, _, schema = people
    asked = create_rehearsal_experiment(original, schema, (NOISE,), seed=SEED, rng=np.random.default_rng(0))
    assert asked.released.n == 75
    assert asked.frame.member.sum() == 75
    found = score_membership(CLOSEST, asked, schema, None)
    assert found.evaluates == "mechanism, not this file"
    assert compute_auc(found.scores, asked.frame.is_member) > 0.8


def test_a_rehearsal_of_a_sampling_that_leaves_too_few_is_not_applicable(people):
    original, _, schema = people
    for share in (0.02, 0.05, 0.1):
        step = Sampling(method="sampling", share=share)
        with pytest.raises(NotApplicable, match="at least 10 members"):
            create_rehearsal_experiment(original, schema, (step, NOISE), seed=SEED, rng=np.random.default_rng(0))


def test_a_rehearsed_sampling_leaves_no_target_that_is_neither(people):
    original, _, schema = people
    steps = (Sampling(method="sampling", share=0.5), NOISE)
    asked = create_rehearsal_experiment(original, schema, steps, seed=SEED, rng=np.random.default_rng(0))
    assert asked.released.n == asked.frame.member.sum() == 38
    assert (asked.frame.is_member | asked.frame.control[asked.frame.target]).all()


def test_steps_that_a_half_cannot_bear(people):
    original, _, schema = people
    step = Microaggregation(method="microaggregation", attributes=("x", "y"), k=100)
    with pytest.raises(NotApplicable, match="half of the records"):
        create_rehearsal_experiment(original, schema, (step,), seed=SEED, rng=np.random.default_rng(0))


def test_who_stands_far_from_everybody_is_told_apart_on_a_file_that_keeps_values(people):
    asked = of_file(people, (NOISE.model_copy(update={"sd_percent": 0.01}),))
    found = score_membership(CLOSEST, asked, people[2], None)
    assert compute_auc(found.scores, asked.frame.is_member) > 0.99


@pytest.mark.parametrize("seed", range(5))
def test_a_release_of_other_people_tells_nothing(people, table, seed):
    rng = np.random.default_rng(100 + seed)
    strangers, _ = table({"x": rng.normal(size=150), "y": rng.normal(size=150)})
    original, control, schema = people
    asked = create_file_experiment(original, control, strangers, np.arange(150), schema, rng=np.random.default_rng(seed))
    for spec in DEFAULT_TABLE_ATTACKS:
        found = score_membership(spec, asked, schema, PLAIN, WHO, (NOISE,))
        spread = np.sqrt((50 + 50 + 1) / (12 * 50 * 50))
        assert abs(compute_auc(found.scores, asked.frame.is_member) - 0.5) < 4 * spread


def test_which_linkage_gives_its_scores():
    named = DistanceLinkage(method="distance_linkage", id="near")
    back = DistanceLinkage(method="distance_linkage", direction="to_original")
    of_near = LINKS.model_copy(update={"of": "near"})
    assert find_scored_linkage(LINKS, (Transparency(method="transparency"), PLAIN)) == PLAIN
    assert find_scored_linkage(of_near, (PLAIN, named)) == named
    assert find_scored_linkage(LINKS, (back, named)) is None
    assert find_scored_linkage(CLOSEST, (PLAIN,)) is None


def test_without_its_linkage_an_attack_is_not_applicable(people):
    found = score_membership(LINKS, of_file(people, (NOISE,)), people[2], None)
    assert (found.status, found.scores) == ("not_applicable", None)


def test_a_frame_is_kept_as_a_table(people):
    asked = of_file(people, (NOISE,))
    again = Frame.create_from_table(asked.frame.as_table(), asked.frame.units, asked.frame.evaluates)
    for name in ("member", "control", "target", "shadow", "calibration"):
        assert np.array_equal(getattr(again, name), getattr(asked.frame, name))


def test_persons_of_both_parts_keep_their_rows(table):
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(60), 2)
    data, schema = table({"x": rng.normal(size=120), "id": who}, roles={"id": Role.PERSON})
    original, control = data.take(np.arange(80)), data.take(np.arange(80, 120))
    whole = append_control(original, control)
    assert whole.arrow.equals(data.arrow)
    asked = create_file_experiment(original, control, original, np.arange(80), schema, rng=rng)
    assert asked.frame.units.n_units == find_units(data, schema).n_units == 60
    assert (asked.frame.member.sum(), asked.frame.control.sum()) == (40, 20)

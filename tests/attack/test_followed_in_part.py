"""An attack that follows a part of the steps: what it finds bounds what the whole attack finds, and keeps no limit."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.methods import attack
from tasks.attack.omissions import Omission
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.coding.rounding import Rounding
from tasks.mask.external_release.released import Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Scale
from tasks.score.attack_coverage import find_unfollowed, list_attacks_beyond_the_share
from tasks.score.linkage import linkage_estimates
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

SEED = bytes(range(32))
TRANSPARENT, CONSISTENT = Transparency(method="transparency"), Consistency(method="consistency")
NOISE = Noise(method="noise", kind="independent", attributes=("age", "inc"), sd_percent=30.0)
SWAP = RankSwapping(method="rank_swapping", attributes=("age", "inc"), window_percent=10.0)
BUCKETS = RankSwapping(method="rank_swapping", attributes=("age",), variant="p_buckets", buckets=6)
GROUPS = Microaggregation(method="microaggregation", attributes=("age", "inc"), k=3)
OVERLAPPING = GROUPS.model_copy(update={"attributes": ("age", "height")})
ONE = Microaggregation(method="microaggregation", attributes=("age",), k=3)
ROUNDED = Rounding(method="rounding", bases={"height": 5}, kind="deterministic")
KEYS = ("age", "inc", "height", "sex")
LOST = {
    "by buckets, then noise": ((BUCKETS, NOISE), "rank_swapping, then noise"),
    "by buckets, groups, and another column rounded": ((BUCKETS, GROUPS, ROUNDED), "rank_swapping, then microaggregation"),
    "by buckets, then groups of one": ((BUCKETS, ONE), "what the steps did to age cannot be followed: rank_swapping, then"),
    "swapped by buckets": ((BUCKETS,), "what the steps did to age cannot be followed: rank_swapping"),
    "randomised groups": ((GROUPS.model_copy(update={"partition": "randomised"}),), "microaggregation"),
    "undeclared": ((Undeclared(attributes=("inc",)),), "nobody declared how the table was masked in inc"),
}
FOLLOWED = {
    "groups": (GROUPS,),
    "noise": (NOISE,),
    "swapped": (SWAP, ROUNDED),
    "noise, then groups": (NOISE, GROUPS),
    "swapped, then groups": (SWAP, GROUPS, ROUNDED),
}


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(7)
    n = 120
    return table(
        {
            "age": rng.permutation(n),
            "inc": rng.permutation(n) * 10,
            "height": rng.permutation(n) + 100,
            "sex": rng.choice(["f", "m"], n),
        },
        scales={"sex": Scale.NOMINAL},
    )


def run(people, steps, spec=TRANSPARENT, knows=KEYS, share=1.0):
    data, schema = people
    done = mask(data, schema, tuple(one for one in steps if not isinstance(one, Undeclared)), seed=SEED, path=())
    mechanisms = steps if not done.mechanisms else done.mechanisms
    scene = GroundTruth.create_from_tables(data, done.data, schema, Alignment(done.record, done.order, data.n))
    held = None if share == 1 else np.sort(np.random.default_rng(1).permutation(data.n)[: round(share * data.n)])
    result = attack(
        *(data, done.data, schema, mechanisms, spec, Intruder("declared", knows, records=share)),
        alignment=scene.alignment,
        targets=np.arange(data.n) if held is None else held,
        held=held,
    )
    return result, linkage_estimates(result, scene, schema), mechanisms


def decided(result, figures, mechanisms, limit, omit=(), measure="reidentification", side="at_most"):
    line = PolicyLine(measure=measure, **{side: limit})
    return decide((line,), figures, find_unfollowed((result,), omit, mechanisms)).verdict


@pytest.mark.parametrize("knows", [KEYS, ("age", "inc", "sex")], ids=["all", "one that is not masked"])
@pytest.mark.parametrize("steps", LOST)
def test_a_law_that_is_lost_is_not_hidden_by_a_column_that_is_followed(people, steps, knows):
    chain, why = LOST[steps]
    result, figures, mechanisms = run(people, chain, knows=knows)
    assert result.status == "not_followed"
    assert why in result.reason
    rate = next(one for one in figures if one.measure == "reidentification")
    assert rate.low == rate.value == pytest.approx(result.outcomes.floats("credit").mean())
    assert (rate.status, rate.high) == ("not_followed", 1)
    told = (result, figures, mechanisms)
    assert decided(*told, rate.value - 0.001) == "refused"
    assert decided(*told, 1.0) == "undecided"
    omit = (Omission(attack="transparency", reason="seen by the board"),)
    assert decided(*told, rate.value - 0.001, omit) == "refused"
    size = next(one for one in figures if one.measure == "mean_candidate_set_size")
    assert (size.low, size.high) == (0, size.value)
    assert decided(*told, size.value + 1, omit, "mean_candidate_set_size", "at_least") == "refused"


@pytest.mark.parametrize("steps", FOLLOWED)
def test_what_can_be_followed_is_ok(people, steps):
    result, _, _ = run(people, FOLLOWED[steps])
    assert (result.status, result.partly_followed) == ("ok", False)


def test_who_lacks_an_attribute_of_a_joint_step_is_no_such_case(people):
    result, _, _ = run(people, (GROUPS,), knows=("age", "sex"))
    assert result.status == "ok"


def test_an_exchange_that_a_later_step_hides_is_not_hidden_by_another(people):
    result, figures, mechanisms = run(people, (SWAP, OVERLAPPING), CONSISTENT)
    assert result.status == "not_followed"
    assert "what was rank-swapped in age was masked again" in result.reason
    rate = next(one for one in figures if one.measure == "reidentification")
    assert rate.low == rate.value > 0
    assert decided(result, figures, mechanisms, 1.0) == "undecided"


@pytest.mark.parametrize(
    ("steps", "spec", "knows"),
    [
        ((GROUPS,), TRANSPARENT, ("age", "inc")),
        ((GROUPS,), TRANSPARENT, KEYS),
        ((GROUPS, SWAP), CONSISTENT, ("age", "inc")),
        ((ONE, SWAP), CONSISTENT, ("age", "inc")),
    ],
)
def test_a_share_of_the_records_that_hides_something_is_said(people, steps, spec, knows):
    result, _, mechanisms = run(people, steps, spec, knows, share=0.99)
    assert result.needs_all_records
    assert [one.method for one in list_attacks_beyond_the_share((result,), mechanisms)] == [spec.method]
    assert run(people, steps, spec, knows)[0].status == "ok"


@pytest.mark.parametrize("steps", FOLLOWED)
def test_a_share_that_hides_nothing_is_not(people, steps):
    result, _, mechanisms = run(people, FOLLOWED[steps], share=0.99)
    hides = GROUPS in FOLLOWED[steps]
    assert (result.status, bool(list_attacks_beyond_the_share((result,), mechanisms))) == ("ok", hides)


@pytest.mark.parametrize("knows", [KEYS, ("age", "inc")])
def test_a_law_that_is_lost_to_all_is_lost_to_who_holds_a_share(people, knows):
    result, _, mechanisms = run(people, (BUCKETS, NOISE), knows=knows, share=0.5)
    assert result.status == "not_followed"
    assert "rank_swapping, then noise" in result.reason
    assert find_unfollowed((result,), (), mechanisms) == {("transparency", "declared")}

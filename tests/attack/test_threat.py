"""Who attacks, what they know, and what a masked table has to face."""

from __future__ import annotations

import pytest

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.omissions import Omission
from tasks.attack.plan import ASSIGNED, SIMULATED, check_attacks, default_attacks, list_required_attacks
from tasks.attack.row_position import RowPosition
from tasks.attack.threat import IntruderSpec, intruders, order_attributes_greedily
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

LINKAGE, TRANSPARENCY = DistanceLinkage(method="distance_linkage"), Transparency(method="transparency")
CONSISTENCY = Consistency(method="consistency")
SWAP = RankSwapping(method="rank_swapping", attributes=("age", "debt"), window_percent=5.0)
MICRO = Microaggregation(method="microaggregation", attributes=("age",), k=3)


@pytest.fixture
def schema():
    roles = {
        "name": Role.IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "vote": Role.CONFIDENTIAL,
        "debt": Role.CONFIDENTIAL,
        "sex": Role.QUASI_IDENTIFIER,
        "weight": Role.WEIGHT,
        "remark": Role.OTHER,
        "logage": Role.DERIVED,
    }
    return Schema(tuple(Attribute(name, role, Scale.NUMERIC, "declared") for name, role in roles.items()))


def test_the_declared_intruder_and_one_insider_per_other_published_attribute(schema):
    found = intruders(IntruderSpec(), schema)
    assert [(one.name, one.knows) for one in found] == [
        ("declared", ("age", "sex")),
        ("insider:vote", ("age", "sex", "vote")),
        ("insider:debt", ("age", "sex", "debt")),
        ("insider:weight", ("age", "sex", "weight")),
        ("insider:remark", ("age", "sex", "remark")),
    ]


def test_an_insider_who_knows_nothing_more_is_left_out(schema):
    spec = IntruderSpec(knows=("sex", "age", "vote"), participation_known=False)
    found = intruders(spec, schema)
    assert [one.name for one in found] == ["declared", "insider:debt", "insider:weight", "insider:remark"]
    assert not any(one.participation_known for one in found)


@pytest.mark.parametrize(
    ("knows", "code", "said"),
    [(("aeg",), "unknown-attribute", "did you mean `age`?"), (("name",), "unpublished-attribute", "identifier")],
)
def test_what_cannot_be_known(schema, knows, code, said):
    with pytest.raises(InputError) as refused:
        intruders(IntruderSpec(knows=knows), schema)
    assert refused.value.code == code
    assert said in str(refused.value)


def test_somebody_who_knows_nothing_is_refused(schema):
    with pytest.raises(InputError) as refused:
        intruders(IntruderSpec(), Schema((schema["vote"],)))
    assert refused.value.code == "nothing-known"


def test_default_attacks_are_the_required_ones():
    assert list_required_attacks((MICRO,)) == ("distance_linkage", "transparency")
    assert list_required_attacks((SWAP,)) == ("distance_linkage", "transparency", "consistency")
    assert default_attacks((MICRO,)) == (LINKAGE, TRANSPARENCY)
    assert default_attacks(()) == (LINKAGE,)
    drawn = Microaggregation(method="microaggregation", attributes=("a",), k=3, partition="randomised")
    assert ASSIGNED in default_attacks((drawn,))
    assert ASSIGNED not in default_attacks((drawn, Sampling(method="sampling", share=0.5)))


def test_exchanged_values_meet_the_consistency_attack():
    assert default_attacks((MICRO, SWAP)) == (LINKAGE, TRANSPARENCY, CONSISTENCY, SIMULATED)  # they mask the same
    check_attacks((LINKAGE, TRANSPARENCY, CONSISTENCY), (), (SWAP,))
    with pytest.raises(InputError, match="must face the attack `consistency`"):
        check_attacks((LINKAGE, TRANSPARENCY), (), (SWAP,))
    check_attacks((LINKAGE, TRANSPARENCY), (Omission(attack="consistency", reason="run elsewhere"),), (SWAP,))


def test_a_complete_plan_passes():
    second = DistanceLinkage(method="distance_linkage", id="by-original", scale_by="original")
    check_attacks((LINKAGE, second, TRANSPARENCY), (), (MICRO,))
    check_attacks((LINKAGE,), (Omission(attack="transparency", reason="no time"),), (MICRO,))
    check_attacks((LINKAGE,), (), ())


def test_a_bound_on_windows_stands_beside_the_attack_that_knows_them():
    bounded = Transparency(method="transparency", id="less", window_at_most=SWAP.window_percent)
    check_attacks((LINKAGE, TRANSPARENCY, CONSISTENCY, bounded), (), (SWAP,))
    with pytest.raises(InputError) as refused:
        check_attacks((LINKAGE, bounded), (), (SWAP,))
    assert refused.value.code == "required-attack-missing"
    too_low = bounded.model_copy(update={"window_at_most": SWAP.window_percent / 2})
    for attack, step, code in ((too_low, SWAP, "window-above-its-bound"), (bounded, MICRO, "bound-without-window")):
        with pytest.raises(InputError) as refused:
            check_attacks((LINKAGE, TRANSPARENCY, attack), (), (step,))
        assert (refused.value.code, refused.value.where) == (code, "attacks[2].window_at_most")


@pytest.mark.parametrize(
    ("attacks", "omitted", "code"),
    [
        ((LINKAGE,), (), "required-attack-missing"),
        ((), (), "required-attack-missing"),
        ((LINKAGE, LINKAGE, TRANSPARENCY), (), "duplicate-attack-id"),
        ((LINKAGE, TRANSPARENCY, DistanceLinkage(method="distance_linkage", id="transparency")), (), "duplicate-attack-id"),
        ((LINKAGE,), ("transparncy",), "unknown-attack"),
        ((LINKAGE, TRANSPARENCY), ("simulated_law",), "idle-omission"),
        ((LINKAGE, TRANSPARENCY), ("learned_linkage",), "idle-omission"),
    ],
)
def test_incomplete_plans_are_refused(attacks, omitted, code):
    with pytest.raises(InputError) as refused:
        check_attacks(attacks, tuple(Omission(attack=name, reason="because") for name in omitted), (MICRO,))
    assert refused.value.code == code


def test_an_omission_names_an_intruder_and_never_stops_a_planned_attack():
    only = Omission(attack="transparency", intruder="insider:a", reason="because")
    assert only.covers("transparency", "insider:a")
    assert not only.covers("transparency", "declared")
    assert Omission(attack="transparency", reason="because").covers("transparency", "declared")
    check_attacks((LINKAGE, TRANSPARENCY), (only,), (MICRO,))
    with pytest.raises(InputError, match="there is no intruder `insiders`"):
        check_attacks((LINKAGE, TRANSPARENCY), (Omission(attack="transparency", intruder="insiders", reason="why"),), (MICRO,))


def test_a_kept_row_order_must_face_its_attack():
    position = RowPosition(method="row_position")
    assert default_attacks((SWAP,), keeps_row_order=True) == (LINKAGE, TRANSPARENCY, position, CONSISTENCY)
    check_attacks((LINKAGE, TRANSPARENCY, CONSISTENCY, position), (), (SWAP,), keeps_row_order=True)
    check_attacks((LINKAGE, TRANSPARENCY, CONSISTENCY), (), (SWAP,))
    with pytest.raises(InputError, match="keeps the row order must face the attack `row_position`"):
        check_attacks((LINKAGE, TRANSPARENCY, CONSISTENCY), (), (SWAP,), keeps_row_order=True)


RELEASED = Microdata.from_columns(
    {"age": [1, 1, 1, 2, 2, 2], "sex": [1, 2, 1, 2, 1, 2], "vote": [1, 1, 2, 2, 3, 3], "debt": [1] * 6}
)


def test_the_order_of_the_curve_by_hand():
    # alone age and sex show two values, vote three; with vote, age shows four combinations and sex six
    assert order_attributes_greedily(RELEASED, ("debt", "sex", "age", "vote")) == ("vote", "sex", "age", "debt")
    # of equally telling ones the first in the table
    assert order_attributes_greedily(RELEASED, ("sex", "age")) == ("age", "sex")
    gaps = Microdata.from_columns({"a": [1, None, 1, None], "b": [1, 2, 3, 3]})
    assert order_attributes_greedily(gaps, ("a", "b")) == ("b", "a")


def test_the_intruders_of_the_curve(schema):
    spec = IntruderSpec(knows=("sex", "age", "vote"), participation_known=False)
    found = {one.name: one for one in intruders(spec, schema, RELEASED)}
    assert list(found) == ["declared", "insider:debt", "insider:weight", "insider:remark", "knowing:1", "knowing:2"]
    assert found["knowing:1"].knows == ("vote",)
    assert found["knowing:2"].knows == ("vote", "sex")
    assert [one.greedy for one in found.values()] == [False, False, False, False, True, True]
    assert not found["knowing:2"].participation_known
    assert "knowing:1" not in {one.name for one in intruders(spec, schema)}
    without = spec.model_copy(update={"curve": False})
    assert "knowing:1" not in {one.name for one in intruders(without, schema, RELEASED)}
    one_known = IntruderSpec(knows=("age",))
    assert not [one for one in intruders(one_known, schema, RELEASED) if one.greedy]

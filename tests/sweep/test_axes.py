"""The axes of a sweep: values, ranges, log ranges, conditions, and the places in a release that they set."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.errors import InputError
from tasks.sweep.axes import AxisSpec, SweepAxis, axis, distinct, is_one_of, sort_axes
from tasks.sweep.parts import find_number_kind, parse_axis_path, replace_values

NUMBERS = st.floats(0.01, 1e6).map(lambda number: float(f"{number:.6g}"))


def made(whole=False, real=False, **fields):
    return axis("p", AxisSpec.model_validate_json(json.dumps(fields)), whole=whole, real=real)


@pytest.mark.parametrize(
    ("fields", "kind", "choices"),
    [
        ({"values": [2, 3, 2]}, "whole", (2, 3)),
        ({"values": [1, 2.5, 1.0]}, "real", (1.0, 2.5)),
        ({"values": ["mdav", "v_mdav"]}, "text", ("mdav", "v_mdav")),
        ({"values": [True, False]}, "text", (True, False)),
        ({"values": [["a", "b"], ["a"]]}, "text", (("a", "b"), ("a",))),
        ({"range": [2, 10], "steps": 5}, "whole", (2, 4, 6, 8, 10)),
        ({"range": [2, 4], "steps": 9}, "whole", (2, 3, 4)),
        ({"range": [1.5, 4.5]}, "whole", range(2, 5)),
        ({"range": [0.2, 1.1], "steps": 4}, "real", (0.2, 0.5, 0.8, 1.1)),
        ({"log_range": [1, 100], "steps": 3}, "real", (1, 10, 100)),
        ({"log_range": [2, 16], "steps": 4}, "whole", (2, 4, 8, 16)),
        ({"log_range": [1, 3], "steps": 50}, "whole", (1, 2, 3)),
        ({"range": [0.5, 2]}, "real", ()),
    ],
)
def test_what_an_axis_holds(fields, kind, choices):
    found = made(whole=kind == "whole", real=kind == "real", **fields)
    assert found.choices == choices
    assert [type(one) for one in found.choices] == [type(one) if kind != "real" else float for one in choices]
    assert found.continuous == (not choices)


@given(low=NUMBERS, high=NUMBERS, steps=st.integers(2, 50), log=st.booleans(), whole=st.booleans())
def test_a_range_begins_and_ends_where_it_says_ascends_and_repeats_nothing(low, high, steps, log, whole):
    low, high = sorted((low, high))
    if low == high or (whole and math.ceil(low) > math.floor(high)):
        return
    choices = made(whole=whole, real=not whole, **{"log_range" if log else "range": [low, high], "steps": steps}).choices
    ends = (math.ceil(low), math.floor(high)) if whole else (low, high)
    assert (choices[0], choices[-1]) == ends
    assert len(choices) <= steps
    assert all(a < b for a, b in pairwise(choices))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "exactly one"),
        ({"values": []}, "at least 1"),
        ({"values": [1], "range": [1, 2]}, "exactly one"),
        ({"values": [1], "steps": 3}, "steps"),
        ({"range": [5, 2]}, "smaller"),
        ({"range": [2, 2]}, "smaller"),
        ({"log_range": [0, 2]}, "greater than 0"),
        ({"range": [1, 2], "steps": 1}, "greater than or equal to 2"),
        ({"values": [{"a": 1}]}, "valid"),
    ],
)
def test_a_wrong_axis_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        AxisSpec.model_validate_json(json.dumps(fields))


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ({}, {"range": [1, 2], "steps": 2}, "is no number"),
        ({"whole": True}, {"range": [2.2, 2.8]}, "holds 0"),
        ({"whole": True}, {"range": [1, 1e9]}, "1,000,000,000"),
    ],
)
def test_a_range_that_does_not_fit_its_parameter_is_refused(kind, fields, words):
    with pytest.raises(InputError, match=words):
        made(**kind, **fields)


@given(share=st.floats(0, 1, exclude_max=True), log=st.booleans())
def test_a_share_of_the_way_is_inside_the_range(share, log):
    form = "log_range" if log else "range"
    whole = made(whole=True, **{form: [2, 5]}).get_value_at(share)
    assert isinstance(whole, int)
    assert 2 <= whole <= 5
    assert 0.5 <= made(real=True, **{form: [0.5, 2]}).get_value_at(share) <= 2
    assert made(values=["a", "b"]).get_value_at(share) == ("a" if share < 0.5 else "b")


def test_half_the_way_of_a_log_range_is_half_the_factors():
    assert made(real=True, log_range=[1, 100]).get_value_at(0.5) == 10
    assert made(real=True, range=[1, 100]).get_value_at(0.5) == 50.5


def test_truth_is_no_number():
    assert not is_one_of(True, (1, 1.0))
    assert is_one_of(1, (True, 1.0))
    assert distinct([1, True, 1.0, False, 0]) == (1.0, True, False, 0)


def linked(path, *others, values=(1, 2)):
    return SweepAxis(path, values, when=tuple((other, (1,)) for other in others))


def test_an_axis_comes_after_those_it_depends_on_else_in_the_order_of_the_file():
    found = sort_axes((linked("a"), linked("d", "c"), linked("c", "b"), linked("b")))
    assert [one.path for one in found] == ["a", "b", "c", "d"]


def test_an_axis_exists_where_all_its_conditions_hold():
    one = SweepAxis("c", (1,), when=(("a", (1, 2)), ("b", ("x",))))
    assert one.exists({"a": 2, "b": "x"})
    assert not one.exists({"a": 3, "b": "x"})
    assert not one.exists({"a": 1})


@pytest.mark.parametrize(
    ("axes", "where", "words"),
    [
        ((linked("a", "a"),), "a.when", "no other axis"),
        ((linked("abc"), linked("b", "abd")), "b.when", "did you mean `abc`"),
        ((linked("a", values=(2, 3)), linked("b", "a")), "b.when", "never has the value"),
        ((linked("a"), linked("b", "c"), linked("c", "b")), "b", "circle"),
    ],
)
def test_a_wrong_condition_is_refused(axes, where, words):
    with pytest.raises(InputError, match=words) as told:
        sort_axes(axes)
    assert told.value.where == where


CONTENT = {
    "masking": [
        {"method": "microaggregation", "blocks": [{"attributes": ["a", "b"], "k": 3}, ["c"]]},
        {"method": "rounding", "bases": {"age": 5, "a.b": 10}, "kind": "random"},
        {"method": "recoding", "recode": {"age": {"intervals": [20, 40], "publish": "mean"}}},
    ],
    "intruder": {},
    "measures": [{"measure": "rank_interval_disclosure", "p_percent": [5]}],
}


@pytest.mark.parametrize(
    ("path", "place", "kind"),
    [
        ("masking[0].k", ("masking", 0, "k"), "whole"),
        ("masking[0].gamma", ("masking", 0, "gamma"), "real"),
        ("masking[0].partition", ("masking", 0, "partition"), "other"),
        ("masking[0].blocks", ("masking", 0, "blocks"), "other"),
        ("masking[0].blocks[0].k", ("masking", 0, "blocks", 0, "k"), "whole"),
        ("masking[1].bases.age", ("masking", 1, "bases", "age"), "real"),
        ('masking[1].bases["a.b"]', ("masking", 1, "bases", "a.b"), "real"),
        ("masking[2].recode.age.publish", ("masking", 2, "recode", "age", "publish"), "other"),
        ("intruder.targets", ("intruder", "targets"), "real"),
        ("intruder.participation_known", ("intruder", "participation_known"), "other"),
        ("measures[0].p_percent", ("measures", 0, "p_percent"), "other"),
    ],
)
def test_a_path_leads_to_its_parameter(path, place, kind):
    assert parse_axis_path(path) == place
    assert find_number_kind(path, CONTENT) == (kind == "whole", kind == "real")
    changed = replace_values(CONTENT, {path: 0.5})
    here = changed
    for step in place:
        here = here[step]
    assert here == 0.5


def test_setting_a_value_leaves_the_content_alone():
    before = json.dumps(CONTENT)
    assert replace_values(CONTENT, {"masking[0].k": 4, "masking[0].blocks[0].k": 9})["masking"][0]["blocks"][0]["k"] == 9
    assert json.dumps(CONTENT) == before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("masking[0].kk", "did you mean `k`"),
        ("masking[3].k", r"no `\[3\]`"),
        ("masking[1].bases.agee", "did you mean `age`"),
        ("masking[1].k", "no `k`"),
        ("masking[0].method", "pipeline of its own"),
        ("masking", "field inside"),
        ("maskings[0].k", "did you mean `masking`"),
        ("source.table", "cannot vary"),
        ("policy[0].at_most", "cannot vary"),
        ("seed", "cannot vary"),
        ("masking[0]k", "no path"),
        ("masking[00].k", "no path"),
        (".masking[0].k", "no path"),
        ("", "no path"),
        ("intruder.targets.x", "`targets` is not given"),
        ("attacks[0].scale_by", "`attacks` is not given"),
        ("masking[0].axis.x", "`axis` is not given"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path, words):
    with pytest.raises(InputError, match=words):
        find_number_kind(path, CONTENT)

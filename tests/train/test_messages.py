"""What is said of a release of a model that was written wrongly, or oddly: once, and what is allowed."""

from __future__ import annotations

import re

import pytest
from release_files import write_release

from flows.cli.advice.release_warnings import list_release_warnings
from flows.release_file import load_release
from tasks.mask.control import refuse_small_control
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.units import Units

TREE = {"method": "decision_tree"}
POLICY = [{"measure": "membership_auc", "at_most": 0.9}]


def written(folder, *, learner=TREE, **change):
    model = {"learner": learner, "target": "income", **change.pop("model", {})}
    return write_release(folder, {"masking": None, "intruder": None, "policy": POLICY, "release": {"model": model}, **change})


def refused(path):
    with pytest.raises(InputError) as caught:
        load_release(path)
    return caught.value


@pytest.mark.parametrize("control", [0.99, 0.5001, 0, -1, "a quarter"])
def test_a_share_out_of_range_names_one_range(tmp_path, control):
    error = refused(written(tmp_path, control=control))
    assert error.what == "control: no share that can be set aside" and error.value == control
    assert error.where.endswith(": control")
    assert error.allowed == "a share above 0 and less than or equal to 0.5, of 20 records or more, or a table: {table: ...}"


@pytest.mark.parametrize(("n", "allowed"), [(944, "20 records on each: 0.0212 to 0.5"), (40, "20 records on each: 0.5 to 0.5")])
def test_a_share_too_small_for_its_table_names_the_same_end(n, allowed):
    with pytest.raises(InputError) as caught:
        refuse_small_control(Units(None, n, "records"), 0.01)
    assert caught.value.allowed == allowed


def test_an_unknown_learner_is_told_with_the_list_of_learners_once(tmp_path):
    error = refused(written(tmp_path, learner={"method": "random_forrest"}))
    assert error.what == "release.model.learner: unknown method `random_forrest`"
    assert error.allowed.startswith("decision_tree, random_forest, ") and str(error).count("naive_bayes") == 1
    assert error.remedy == "did you mean `random_forest`?"


def test_an_unknown_method_among_other_mistakes_is_told_so(tmp_path):
    error = refused(written(tmp_path, learner={"method": "forest"}, membership=[{"method": "gapp"}]))
    assert re.fullmatch(r"release\.model\.learner: unknown method `forest` \(1 more after this one: line \d+\)", error.what)
    masks = refused(write_release(tmp_path, {"masking": [{"method": "microagregation", "k": 3}]}))
    assert masks.what == "masking[0]: unknown method `microagregation`" and str(masks).count("rank_swapping") == 1


def warned(path, scale):
    schema = Schema((Attribute("income", Role.CONFIDENTIAL, scale, "declared"),))
    return [one for one in list_release_warnings(load_release(path), schema) if one.startswith("release.model.target")]


@pytest.mark.parametrize(("scale", "warns"), [(Scale.NUMERIC, True), (Scale.CODE, False), (Scale.ORDINAL, False)])
def test_a_numeric_target_that_is_not_cut_is_warned_of(tmp_path, scale, warns):
    found = warned(written(tmp_path), scale)
    assert len(found) == warns
    for one in found:
        assert (
            "each of its values is a class of its own" in one
            and "`target_quantiles`" in one
            and "`income: {scale: code}`" in one
        )


def test_a_numeric_target_that_is_cut_or_recoded_is_not(tmp_path):
    assert not warned(written(tmp_path / "cut", model={"target_quantiles": 4}), Scale.NUMERIC)
    recoding = {"method": "recoding", "recode": {"income": {"intervals": [10, 20], "publish": "median"}}}
    assert not warned(written(tmp_path / "recoded", masking=[recoding]), Scale.NUMERIC)
    assert not warned(write_release(tmp_path / "table", {}), Scale.NUMERIC)

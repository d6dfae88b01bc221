"""What asks for the figures of cells: a policy line or an entry of `measures`, and else nothing (0 s)."""

from __future__ import annotations

import json

import pytest
from release_files import RELEASE

from flows.cli.advice.release_warnings import list_release_warnings
from flows.release import ReleaseSpec, collect_policy_names
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.score.cell_figures import CellMembersExposed
from tasks.score.policy import check_policy

LINE = {"measure": "cell_members_exposed", "at_most": 0.1}
OUTSIDER = {"measure": "cell_homogeneity", "attribute": "vote", "at_most": 0.1}
SCHEMA = Schema(
    (
        Attribute("age", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
    )
)


def read(**change):
    return ReleaseSpec.model_validate_json(json.dumps({**RELEASE, **change}))


def test_a_release_that_asks_for_nothing_computes_what_it_did():
    assert read().measures_to_compute == read().measures == ()


@pytest.mark.parametrize("line", [LINE, OUTSIDER])
def test_a_policy_line_asks_for_coalitions_of_one(line):
    assert read(policy=[*RELEASE["policy"], line]).measures_to_compute == (CellMembersExposed(coalition=1, p_percent=5.0),)


def test_an_entry_of_the_measures_changes_what_a_line_asks_for():
    chosen = {"measure": "cell_members_exposed", "coalition": 3, "p_percent": 10}
    release = read(policy=[*RELEASE["policy"], LINE], measures=[chosen])
    assert release.measures_to_compute == (CellMembersExposed(coalition=3, p_percent=10.0),)


@pytest.mark.parametrize("change", [{"coalition": 0}, {"coalition": 1.5}, {"p_percent": 0}, {"attributes": ["vote"]}])
def test_malformed_parameters_are_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        read(measures=[{"measure": "cell_members_exposed", **change}])


def test_a_line_is_about_confidential_attributes():
    release = read(policy=[OUTSIDER])
    check_policy(release.policy, collect_policy_names(release, SCHEMA))
    other = read(policy=[{**OUTSIDER, "attribute": "age"}])
    with pytest.raises(InputError, match="vote"):
        check_policy(other.policy, collect_policy_names(other, SCHEMA))
    skewed = read(policy=[{"measure": "t_closeness", "at_most": 0.2}])
    with pytest.raises(InputError, match="baseline"):
        check_policy(skewed.policy, collect_policy_names(skewed))


@pytest.mark.parametrize(("attribute", "warned"), [("age", True), ("vote", False)])
def test_a_line_that_no_cell_can_decide_is_warned_of(attribute, warned):
    step = {"method": "rank_swapping", "attributes": ["age"], "window_percent": 5}
    if attribute == "vote":
        step = {"method": "pram", "attributes": ["vote"], "retention": 0.8}
    release = read(masking=[step], policy=[*RELEASE["policy"], LINE])
    assert [one.partition(" ")[0] for one in list_release_warnings(release, SCHEMA)] == (["policy[1]"] if warned else [])
    assert list_release_warnings(read(masking=[step]), SCHEMA) == []


def test_rows_of_nobody_have_no_cells():
    elsewhere = {"released": {"table": "fake.csv", "align": "none"}, "masking": None, "key": None}
    with pytest.raises(ValueError, match="cell_members_exposed"):
        read(**elsewhere, measures=[{"measure": "cell_members_exposed"}])
    asked = read(**elsewhere, policy=[LINE])
    with pytest.raises(InputError, match="belong to nobody"):
        check_policy(asked.policy, collect_policy_names(asked))

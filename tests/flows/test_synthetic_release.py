"""Fully synthetic tables, through the command line: adopted, attacked, certified or refused, verified, found and replayed."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from outcomes import folder_of, newest_manifest, scorecard_of, statement_in
from release_files import write_release
from sklearn.tree import DecisionTreeClassifier

ATTRIBUTES = {
    "age": {"role": "quasi_identifier", "scale": "numeric"},
    "town": {"role": "quasi_identifier", "scale": "nominal"},
    "grade": {"role": "quasi_identifier", "scale": "ordinal"},
    "vote": {"role": "confidential", "scale": "nominal"},
}
POLICY = [
    {"measure": "linked_value_disclosed", "attribute": "vote", "at_most": 0.9},
    {"measure": "linked_value_disclosed", "at_most": 1.0, "intruder": "declared"},
    {"measure": "uniques_released", "at_most": 0.5},
    {"measure": "replicated_uniques", "at_most": 0.5},
    {"measure": "marginal_difference", "at_most": 0.25},
    {"measure": "rank_correlation_difference", "at_most": 0.5},
]
NEVER_SAID = ("re-identified", "links 0", "none of", "to the right person", "0 % of the records are exposed")


def people(n=160):
    rng = np.random.default_rng(4)
    age = rng.integers(18, 80, n)
    grade = np.clip(age // 20 + rng.integers(0, 2, n), 1, 5)
    vote = np.where(rng.random(n) < 0.15 + 0.7 * (age > 45), "yes", "no")
    town = rng.choice(["Ulm", "Kiel", "Bonn"], n, p=[0.6, 0.3, 0.1])
    return pd.DataFrame({"person_id": 1000 + np.arange(n), "age": age, "town": town, "grade": grade, "vote": vote})


def column_by_column(source, m):
    """An independent bootstrap of each column."""
    rng = np.random.default_rng(8)
    return pd.DataFrame({name: rng.choice(source[name].to_numpy(), m) for name in ATTRIBUTES})


def tree_by_tree(source, m, leaf=8):
    """Each column drawn from the leaf of a tree on the columns before it, as synthpop's CART does."""
    rng = np.random.default_rng(9)
    coded = source[list(ATTRIBUTES)].apply(lambda column: column.astype("category").cat.codes)
    drawn, told = {"age": rng.choice(source["age"], m)}, {"age": None}
    told["age"] = pd.Index(np.sort(source["age"].unique())).get_indexer(drawn["age"])
    for place, name in enumerate(list(ATTRIBUTES)[1:], 1):
        before = list(ATTRIBUTES)[:place]
        tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0).fit(coded[before].to_numpy(), coded[name])
        leaves = tree.apply(coded[before].to_numpy())
        found = tree.apply(np.column_stack([told[one] for one in before]))
        rows = np.array([rng.choice(np.flatnonzero(leaves == one)) for one in found])
        drawn[name], told[name] = source[name].to_numpy()[rows], coded[name].to_numpy()[rows]
    return pd.DataFrame(drawn)


@pytest.fixture
def project(tmp_path):
    """`project(table, change)` writes source, synthetic table and release file; returns the release file."""

    def write(table, change=None, **released):
        source = people()
        path = write_release(
            tmp_path / "project",
            {
                "attributes": ATTRIBUTES,
                "masking": None,
                "intruder": {},
                "released": {"table": "synthetic.csv", "align": "none", "tool": "sequential trees", **released},
                "policy": POLICY,
                **(change or {}),
            },
            text=source.to_csv(index=False),
        )
        made = table(source) if callable(table) else table
        (path.parent / "synthetic.csv").write_text(made if isinstance(made, str) else made.to_csv(index=False))
        return path

    return write


def figures(tmp_path):
    return {figure["id"]: figure for figure in scorecard_of(tmp_path, newest_manifest())["estimates"]}


def text_of(page):
    return page.replace("\u202f", " ")


def test_a_table_of_more_rows_is_certified_verified_found_and_replayed(sdcert, tmp_path, project):
    path = project(lambda source: tree_by_tree(source, 250))
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    manifest, found = newest_manifest(), figures(tmp_path)
    folder = folder_of(tmp_path, manifest)
    assert len((folder / "released.csv").read_text().splitlines()) == 251
    assert "The 250 rows of this table belong to nobody" in ran.out
    for measure in ("reidentification", "records_exposed", "max_record_risk", "truth_among_nearest", "known_reidentification"):
        figure = found[f"{measure}|distance_linkage|declared"]
        assert (figure["value"], figure["status"]) == (None, "not_applicable")
        assert "belong to nobody" in figure["reason"]
    for measure in ("records_absent", "sse_percent", "cells_changed", "rank_interval_disclosure", "same_value_disclosure"):
        assert (found[measure]["value"], found[measure]["status"]) == (None, "not_applicable")
    told = found["linked_value_disclosed|distance_linkage|declared|vote"]
    assert told["chance"] < told["value"] < 0.9
    assert not any(figure["intruder"] == "knowing:1" for figure in found.values())

    predicate = statement_in(folder)["predicate"]
    assert (predicate["data"]["rows_belong_to"], predicate["data"]["rows_in"], predicate["data"]["rows_out"]) == (
        "nobody",
        160,
        250,
    )
    assert predicate["attack_model"]["average_risk"] == predicate["attack_model"]["maximum_risk"] == "not assessed"
    assert predicate["criteria_wp29"]["linkability"]["value"] == "not assessed"
    assert predicate["criteria_wp29"]["inference"]["measure"] == "linked_value_disclosed"
    assert {tuple(one["mask"]) for one in predicate["attributes"] if one["published"]} == {("synthetic",)}
    for edition in (folder / "report.html", tmp_path / "nothing"):
        page = text_of(edition.read_text()) if edition.exists() else ran.out
        head = page[: page.index("alone in the source")] if "alone in the source" in page else page
        assert "belong to nobody" in head
        assert "Not measured, because" in page
        assert not [said for said in NEVER_SAID if said in page]

    assert sdcert("keys", "export", "-o", tmp_path / "key.pem").code == 0
    verified = sdcert("verify", folder / "released.csv", "--key", tmp_path / "key.pem")
    assert verified.code == 0, verified.out
    assert "Its rows belong to nobody" in verified.out
    assert "byte for byte the released table" in sdcert("audit", "find", folder / "released.csv").out
    again = sdcert("audit", "replay", manifest["run"])
    assert again.code == 0, again.out + again.err
    assert "is identical" in again.out


@pytest.mark.slow
def test_independent_columns_tell_nothing_and_lose_relations(sdcert, tmp_path, project):
    tight = [{"measure": "rank_correlation_difference", "at_most": 0.01}, {"measure": "propensity_ratio", "at_most": 3}]
    path = project(lambda source: column_by_column(source, 120), {"policy": [*POLICY, *tight]})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 1, ran.err
    found = figures(tmp_path)
    told, control = (found[f"linked_value_{kind}|distance_linkage|declared|vote"] for kind in ("disclosed", "control"))
    assert told["value"] < told["chance"] + 0.12
    assert control["value"] > told["value"] + 0.1
    assert found["uniques_released"]["value"] < found["uniques_released"]["chance"] + 0.1
    assert "The synthetic table is too far from the source" in ran.out
    assert "mask" not in ran.out.partition("What would help")[2]


@pytest.mark.slow
def test_a_limit_that_no_table_of_this_size_could_break_is_refused(sdcert, tmp_path, project):
    path = project(lambda source: column_by_column(source, 120), {"policy": [{"measure": "propensity_ratio", "at_most": 1e4}]})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 2
    assert "propensity_ratio cannot exceed" in ran.err
    assert "policy[0].at_most" in ran.err


@pytest.mark.slow
def test_the_source_itself_is_told_and_refused(sdcert, tmp_path, project):
    strict = [{"measure": "linked_value_disclosed", "at_most": 0.8}, {"measure": "uniques_released", "at_most": 0.05}]
    path = project(lambda source: source[list(ATTRIBUTES)].sample(frac=1, random_state=1), {"policy": strict})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 1, ran.err
    assert "160 of the 160 rows" in ran.out + ran.err
    found = figures(tmp_path)
    assert found["linked_value_disclosed|distance_linkage|declared|vote"]["value"] > 0.9
    assert found["marginal_difference"]["value"] == 0
    assert "The synthetic rows tell too much" in ran.out


@pytest.mark.slow
def test_the_order_of_the_table_changes_no_figure(sdcert, tmp_path, project):
    made, seen = column_by_column(people(), 90), []
    for table in (made, made.sample(frac=1, random_state=2)):
        assert sdcert("certify", project(table), "--output", tmp_path / "releases").code in (0, 1)
        seen.append(scorecard_of(tmp_path, newest_manifest())["estimates"])
    assert seen[0] == seen[1]


def test_the_plan_says_whose_the_rows_are(sdcert, project):
    ran = sdcert("check", project(lambda source: column_by_column(source, 40)))
    assert ran.code == 0, ran.err
    assert "fully synthetic: its rows belong to nobody" in ran.out
    assert "knowing" not in ran.out


def made(source):
    return column_by_column(source, 50)


def line(**fields):
    return {"policy": [*POLICY, {"at_most": 0.5, **fields}]}


WRONG = {
    "a line on people found": (made, line(measure="reidentification"), "reidentification cannot be measured"),
    "a line on exposed records": (made, line(measure="records_exposed"), "linked_value_disclosed, inference_excess"),
    "a line on intervals": (made, line(measure="rank_interval_disclosure", p_percent=5), "cannot be measured"),
    "a line on changed cells": (made, line(measure="cells_changed"), "cannot be measured"),
    "an attack that says nothing": (
        made,
        {
            "attacks": [{"method": "distance_linkage"}, {"method": "learned_linkage", "learn": "weighted_mean"}],
            **line(measure="linked_value_disclosed", attack="learned_linkage"),
        },
        "says nothing here",
    ),
    "a measure of records": (made, {"measures": [{"measure": "sd_interval_disclosure"}]}, "sd_interval_disclosure"),
    "a row order": (made, {"keep_row_order": "a panel is joined by position"}, "keep_row_order"),
    "an external file": (
        made,
        {"intruder": {"files": [{"table": "survey.csv", "key": {"person_id": "person_id"}, "attributes": ["age"]}]}},
        "external files",
    ),
    "a column missing": (lambda source: made(source).drop(columns="grade"), {}, "lacks a column"),
    "no rows": ("age,town,grade,vote\n", {}, "no rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_gets_one_clear_message(sdcert, tmp_path, project, case):
    table, change, word = WRONG[case]
    ran = sdcert("certify", project(table, change), "--output", tmp_path / "releases")
    assert ran.code == 2, ran.err + ran.out
    assert word in ran.err, ran.err
    assert ran.err.count("error: ") == 1
    assert "Traceback" not in ran.err + ran.out
    assert not (tmp_path / "releases").exists()


def test_a_mechanism_is_refused_with_the_reason(sdcert, tmp_path, project):
    mechanism = [{"method": "microaggregation", "attributes": ["age"], "k": 3}]
    ran = sdcert("certify", project(made, mechanism=mechanism), "--output", tmp_path / "releases")
    assert ran.code == 2
    assert "no record was" in ran.err


def test_uniques_are_of_synthetic_tables_alone(sdcert, tmp_path):
    change = {"policy": [{"measure": "replicated_uniques", "at_most": 0.5}]}
    ran = sdcert("certify", write_release(tmp_path / "project", change), "--output", tmp_path / "releases")
    assert ran.code == 2
    assert "is measured only where the rows belong to nobody" in ran.err
    asks = {"measures": [{"measure": "uniques_released", "attributes": ["age"]}]}
    ran = sdcert("certify", write_release(tmp_path / "project", asks), "--output", tmp_path / "releases")
    assert ran.code == 2
    assert "measured only where the rows belong to nobody" in ran.err


def test_a_sweep_over_a_synthetic_table_is_refused(sdcert, project):
    path = project(made)
    sweep = path.parent / "sweep.yaml"
    axes = {"masking[0].k": {"values": [3, 5]}}
    masking = [{"method": "microaggregation", "attributes": ["age"]}]
    pipelines = [{"name": "joint", "masking": masking, "axes": axes}]
    sweep.write_text(json.dumps({"name": "s", "base": path.name, "pipelines": pipelines}))
    ran = sdcert("sweep", sweep)
    assert ran.code == 2
    assert "nothing to vary" in ran.err


@pytest.mark.slow
def test_one_row_is_a_table(sdcert, tmp_path, project):
    table = pd.read_csv(io.StringIO("age,town,grade,vote\n40,Ulm,2,yes\n"))
    policy = [{"measure": "linked_value_disclosed", "at_most": 0.9}]
    ran = sdcert("certify", project(table, {"policy": policy}), "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err + ran.out
    found = figures(tmp_path)
    votes = people()["vote"]
    assert found["linked_value_disclosed|distance_linkage|declared|vote"]["value"] == pytest.approx((votes == "yes").mean())
    assert found["covariance_difference"]["status"] == "not_applicable"


@pytest.mark.slow
def test_a_limit_on_propensity_that_no_table_can_break_is_refused_once_scored_and_never_by_a_replay(
    sdcert, tmp_path, project, monkeypatch
):
    beyond = [*POLICY, {"measure": "propensity_ratio", "at_most": 1e6}]
    path = project(lambda source: tree_by_tree(source, 250), {"policy": beyond})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert (ran.code, f"policy[{len(POLICY)}].at_most" in ran.err, "every table would pass" in ran.err) == (2, True, True)
    assert not (tmp_path / "releases").exists()

    with monkeypatch.context() as older:
        older.setattr("flows.certify.refuse_limits_that_cannot_fail", lambda policy, estimates: None)
        assert sdcert("certify", path, "--output", tmp_path / "releases").code == 0
    assert sdcert("audit", "replay", newest_manifest()["run"]).code == 0

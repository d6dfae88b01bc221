"""Persons, groups, subgroups and the knowledge curve, through the command line."""

import csv

import numpy as np
import pytest
from outcomes import folder_of, newest_manifest, scorecard_of
from release_files import write_release

PERSONS, YEARS = 40, 3


def panel():
    """Forty persons in three years each: a person's age and town stay alike, the income moves."""
    rng = np.random.default_rng(7)
    lines = ["pid,hid,age,income,vote"]
    for person in range(PERSONS):
        age, income = rng.integers(20, 80), rng.integers(100, 900)
        for year in range(YEARS):
            lines.append(f"{person + 500},{person // 2 + 90},{age + year},{income + rng.integers(0, 40)},{'yn'[person % 2]}")
    return "\n".join(lines) + "\n"


def release(**change):
    attributes = {
        "age": {"role": "quasi_identifier", "scale": "numeric"},
        "income": {"role": "quasi_identifier", "scale": "numeric"},
        "vote": {"role": "confidential", "scale": "nominal"},
    }
    masking = [{"method": "microaggregation", "attributes": ["age", "income"], "k": 3, "count": "rows"}]
    plain = {"key": None, "attributes": attributes, "masking": masking, "intruder": None, "not_for_publication": True}
    return {**plain, "policy": [{"measure": "reidentification", "at_most": 1.0}], **change}


@pytest.fixture
def certified(sdcert, tmp_path):
    def call(**change):
        path = write_release(tmp_path / "project", release(**change), text=panel())
        ran = sdcert("certify", path, "--output", tmp_path / "releases")
        assert ran.code == 0, ran.err
        manifest = newest_manifest()
        return ran, {one["id"]: one for one in scorecard_of(tmp_path, manifest)["estimates"]}, folder_of(tmp_path, manifest)

    return call


@pytest.mark.slow
def test_figures_count_persons_where_there_is_a_key(certified):
    _, rows, _ = certified(attributes={**release()["attributes"], "pid": {"role": "identifier"}, "hid": {"role": "group"}})
    ran, persons, folder = certified(person="pid", group="hid")
    linkage = "reidentification|distance_linkage|declared"
    assert (rows[linkage]["counts"], rows[linkage]["n_targets"]) == ("records", PERSONS * YEARS)
    assert (persons[linkage]["counts"], persons[linkage]["n_targets"]) == ("persons", PERSONS)
    assert persons[linkage]["chance"] == pytest.approx(1 / PERSONS)
    assert persons[linkage]["value"] > rows[linkage]["value"]
    assert persons["k_anonymity"]["value"] < rows["k_anonymity"]["value"]
    assert 0 <= persons["groups_exposed|distance_linkage|declared|hid"]["value"] <= 1
    assert "persons" in ran.out
    assert "of 40 persons" in (folder / "report.html").read_text()
    with (folder / "released.csv").open() as file:
        assert csv.DictReader(file).fieldnames == ["age", "income", "vote"]


@pytest.mark.slow
def test_who_knows_less_finds_less(certified):
    _, found, _ = certified(attributes={**release()["attributes"], "pid": {"role": "person"}, "hid": {"role": "group"}})
    rates = [found[f"reidentification|distance_linkage|{who}"]["value"] for who in ("knowing:1", "declared", "insider:vote")]
    assert rates == sorted(rates)


@pytest.mark.slow
def test_a_policy_on_a_subgroup_is_decided_by_it(sdcert, tmp_path):
    rng = np.random.default_rng(2)
    rows = "".join(f"{rng.integers(20, 80)},{rng.integers(100, 9000)},{'yn'[i % 2]}\n" for i in range(300))
    line = {"measure": "subgroup_reidentification", "attribute": "income", "subgroup": "highest values"}
    for limit, code in ((1.0, 0), (0.0, 1)):
        path = write_release(
            tmp_path / "project", release(policy=[{**line, "at_most": limit}]), text="age,income,vote\n" + rows
        )
        assert sdcert("certify", path, "--output", tmp_path / "releases").code == code
    (criterion,) = scorecard_of(tmp_path, newest_manifest())["criteria"]
    assert (criterion["attribute"], criterion["subgroup"], criterion["decision"]) == ("income", "highest values", "fail")

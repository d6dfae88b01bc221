"""Releases of one series that keep the groups or the draws of the one before."""

from __future__ import annotations

import csv

import pytest
from outcomes import folder_of, newest_manifest, statement_in
from release_files import ROWS, survey, write_release
from replays import replayed

from tasks.mask.outputs import Mechanisms
from tasks.microdata.refs import RecordRef
from tasks.runtime.artifacts import Store

MASKED = ["age", "income", "town"]
FROZEN = {"masking": [{"method": "microaggregation", "attributes": MASKED, "k": 5, "frozen": True}], "series": "people"}
NOISE = {"method": "noise", "kind": "independent", "attributes": MASKED, "sd_percent": 80, "draw": "per_person"}
PERSONAL = {"masking": [NOISE], "series": "people", "policy": [{"measure": "reidentification", "at_most": 1}]}
MORE = [f"{5000 + i},{20 + i}.25,{1000 + 37 * i}.5,{2000 + 911 * i},no" for i in range(7)]


def rows_of(manifest, folder):
    with (folder_of(folder, manifest) / "released.csv").open() as file:
        return sorted(tuple(row.values()) for row in csv.DictReader(file))


def change_survey(*, without=0, new=0):
    """The survey without its first people, and with new ones."""
    head, *lines = survey().splitlines()
    return "\n".join([head, *lines[without:], *MORE[:new]]) + "\n"


@pytest.mark.slow
def test_a_growing_series_keeps_its_groups(certify, sdcert, tmp_path):
    ran, first = certify(FROZEN)
    assert ran.code == 0, ran.err
    ran, second = certify(FROZEN, text=change_survey(without=2, new=3))
    assert ran.code == 0, ran.err
    assert rows_of(second, tmp_path) == rows_of(first, tmp_path)  # the rows of two leavers stay, and three newcomers wait
    assert sum("3 new records" in note or "rows of 2 people" in note for note in second["notes"]) == 2
    ran, third = certify(FROZEN, text=change_survey(new=7))
    assert ran.code == 0, ran.err
    assert len(rows_of(third, tmp_path)) == ROWS + 7
    assert set(rows_of(first, tmp_path)) < set(rows_of(third, tmp_path))
    for run, text in ((second["run"], change_survey(without=2, new=3)), (first["run"], survey())):
        (tmp_path / "project" / "survey.csv").write_text(text)
        ran, _ = replayed(sdcert, run)
        assert ran.code == 0, ran.out + ran.err
    path = write_release(tmp_path / "project", {**FROZEN, "masking": [{**FROZEN["masking"][0], "k": 6}]})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 2
    assert "k of the last release" in ran.err


@pytest.mark.slow
def test_draws_per_person_are_kept_and_never_published(certify, tmp_path):
    ran, first = certify(PERSONAL)
    assert ran.code == 0, ran.err
    # of two newcomers both are found in half of all draws, which the policy does not allow
    ran, second = certify(PERSONAL, "--new-draw", text=change_survey(without=20, new=7))
    assert ran.code == 0, ran.err
    both = set(rows_of(first, tmp_path)) & set(rows_of(second, tmp_path))
    assert len(both) == ROWS - 20
    signed = str(statement_in(folder_of(tmp_path, second)))
    assert "per_person" in signed
    assert "deviations" not in signed
    addresses = [RecordRef(one["stages"]["mask"]["produced"]["mechanisms"]) for one in (first, second)]
    (before,), (after,) = (Store().record(address, Mechanisms) for address in addresses)
    assert before.personal == after.personal is not None
    ran, _ = certify({**PERSONAL, "masking": [{**NOISE, "sd_percent": 60}]})
    assert ran.code == 2
    assert newest_manifest()["status"] == "failed"


def test_a_release_file_says_by_what_people_are_known_again(sdcert, tmp_path):
    for change, word in (
        ({**FROZEN, "key": None}, "key"),
        ({**PERSONAL, "key": None}, "key"),
        ({**FROZEN, "control": 0.3}, "control"),
        ({**FROZEN, "keep_row_order": "the order is that of the map"}, "keep_row_order"),
        ({"masking": [{**NOISE, "personal": {}}]}, "personal"),
    ):
        ran = sdcert("check", write_release(tmp_path / "project", change))
        assert ran.code == 2
        assert word in ran.err

"""Release files that ask for PRAM: read, checked, and what of them may leave the house."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.release import collect_policy_names
from flows.release_file import load_release
from tasks.mask.categories.pram import Pram
from tasks.microdata.errors import InputError

HEAD = """
name: survey
source: {table: survey.csv}
policy:
  - {measure: reidentification, at_most: 0.1}
  - {measure: sd_interval_disclosure, at_most: 0.5, p_percent: 7}
measures: [{measure: sd_interval_disclosure, p_percent: [7]}]
"""
MATRIX = """{method: pram, attributes: [vote], matrix: {
  "secret party": {"secret party": 0.8, "1": 0.2}, "1": {"secret party": 0.3, "1": 0.7}}}"""


@pytest.fixture
def written(tmp_path) -> Path:
    path = tmp_path / "release.yaml"

    def write(masking: str) -> Path:
        path.write_text(f"{HEAD}masking: [{masking}]\n")
        return path

    return write


def test_a_release_file_with_pram(written):
    release = load_release(written("{method: pram, attributes: [sex], retention: 0.8}, {method: pram, epsilon: 1}"))
    assert release.masking == (
        Pram(method="pram", attributes=("sex",), retention=0.8),
        Pram(method="pram", epsilon=1.0),
    )
    assert [attack.method for attack in release.attacks_to_run] == ["distance_linkage", "transparency", "simulated_law"]
    known = collect_policy_names(release)
    assert (known.p_percent, known.sd_percent) == ((5.0, 10.0), (5.0, 10.0, 7.0))


def test_categories_do_not_reach_the_tracking_server(written):
    release = load_release(written(MATRIX))
    assert "secret party" in release.model_dump_json()
    assert "secret party" not in json.dumps(release.public())


def test_which_answer_is_the_yes_does_not_reach_it_either(written):
    release = load_release(written('{method: pram, attributes: [vote], warner: {p: 0.5, p_yes: 0.75, yes: "secret party"}}'))
    told = release.public()["masking"][0]
    assert told["warner"] == {"p": 0.5, "p_yes": 0.75}
    assert "secret party" not in json.dumps(release.public())


@pytest.mark.parametrize(
    ("masking", "said"),
    [
        ("{method: pram, retention: 0.8, by: [town]}", "strata would change nothing"),
        ("{method: pram, retention: 0.8, jointly: true, attributes: [a]}", "two attributes or more"),
        ('{method: pram, attributes: [a], warner: {p: 0.5, yes: "1"}}', "p_yes"),
        ("{method: pram, retention: 1.0}", "masks nothing"),
        ("{method: pram}", "exactly one of"),
        ("{method: pram, retention: 80}", "less than or equal to 1"),
        ("{method: pram, epsilon: -1}", "greater than or equal to 0"),
        ('{method: pram, matrix: {"1": {"1": 1.0}, "2": {"1": 1.0}}, attributes: [a]}', "each of its categories"),
        ('{method: pram, matrix: {"1": {"1": 0.5, "2": 0.6}, "2": {"1": 0.5, "2": 0.5}}, attributes: [a]}', "sum to 1.1"),
        ("{method: pram, matrix: {1: {1: 0.5}}, attributes: [a]}", "put quotes around it"),
        ("{method: pram, retentoin: 0.8}", "did you mean `retention`"),
        ("{method: prem, retention: 0.8}", "did you mean `pram`"),
    ],
)
def test_wrong_pram(written, masking, said):
    with pytest.raises(InputError) as refused:
        load_release(written(masking))
    assert said in str(refused.value)
    assert "release.yaml, line" in refused.value.where

"""Insiders who know several columns, from the release file to the certificate, its replay, and what is told on the way."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from outcomes import folder_of, public_scorecard_of, scorecard_of, statement_in
from release_files import REASON, RELEASE, write_release
from replays import replayed

COLUMNS = ("vote", "party", "news", "faith", "club")
SEPARATOR = " + "


def survey(n_columns: int = len(COLUMNS), rows: int = 60) -> str:
    """Three numbers that are masked together, and columns of 3 categories that are published as they are."""
    rng = np.random.default_rng(3)
    lines = [",".join(("person_id", "age", "income", "town", *COLUMNS[:n_columns]))]
    for i in range(rows):
        numbers = (1000 + i, rng.integers(18, 90) + 0.25, rng.integers(100, 9000) * 100.5, rng.integers(1000, 900000))
        lines.append(",".join(map(str, (*numbers, *("xyz"[code] for code in rng.integers(0, 3, n_columns))))))
    return "\n".join(lines) + "\n"


def release(know: int | None, n_columns: int = len(COLUMNS), **change):
    attributes = copy.deepcopy(RELEASE["attributes"])
    attributes |= {name: {"role": "confidential", "scale": "nominal"} for name in COLUMNS[:n_columns]}
    intruder = {"curve": False} | ({} if know is None else {"insiders": {"know": know}})
    return {
        "attributes": attributes,
        "intruder": intruder,
        "policy": [{"measure": "reidentification", "at_most": 0.9}],
        **change,
    }


def rates(scorecard, *, attack: str | None = None) -> dict[str, float]:
    """The largest rate of every insider, by name."""
    found: dict[str, float] = {}
    for one in scorecard["estimates"]:
        if one["measure"] == "reidentification" and one["intruder"].startswith("insider:") and attack in (None, one["attack"]):
            found[one["intruder"]] = max(one["value"], found.get(one["intruder"], 0.0))
    return found


@pytest.mark.long
def test_the_curve_of_a_certified_release(certify, sdcert, tmp_path):
    path = write_release(tmp_path / "project", release(3), text=survey())
    checked = sdcert("check", path)
    said = "18 will attack, who know up to 3 of 5 other published columns: all sets of up to 2, then 3 greedy sets"
    assert said in checked.out
    ran, manifest = certify(release(3), text=survey())
    assert ran.code == 0, ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    found = rates(scorecard)
    sizes = [name.count(SEPARATOR) + 1 for name in found]
    assert [sizes.count(size) for size in (1, 2, 3)] == [5, 10, 3]
    worst = [
        max((one for one in found.items() if one[0].count(SEPARATOR) == size), key=lambda one: one[1]) for size in range(3)
    ]
    assert set(worst[1][0].removeprefix("insider:").split(SEPARATOR)) < set(
        worst[2][0].removeprefix("insider:").split(SEPARATOR)
    )

    curve = scorecard["insider_curve"]
    assert [one["columns_known"] for one in curve] == [0, 1, 2, 3]
    assert [one["reidentification"] for one in curve[1:]] == [rate for _, rate in worst]
    assert [one["sets"] for one in curve] == ["all", "all", "all", "greedy"]
    assert manifest["insider_curve"] == public_scorecard_of(tmp_path, manifest)["insider_curve"]
    shown = {one["id"]: one["value"] for one in public_scorecard_of(tmp_path, manifest)["estimates"]}
    for one in manifest["insider_curve"]:
        assert one["reidentification"] == shown[f"reidentification|{one['attack']}|{one['intruder']}"], "as it is published"

    model = statement_in(folder_of(tmp_path, manifest))["predicate"]["attack_model"]
    assert (model["insiders_know"], model["insiders_all_sets_up_to"]) == (3, 2)
    assert worst[2][0].removeprefix("insider:") in model["insiders"]
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "Worst insider, by the number of columns known" in page
    assert "they are not proven the worst" in page
    assert "up to 3 more of the published attributes" in page
    verified = " ".join(sdcert("verify", folder_of(tmp_path, manifest) / "released.csv").out.split())
    assert "Insiders know up to 3 published columns besides the quasi-identifiers; sets of more than 2 greedy" in verified

    ran, told = replayed(sdcert, manifest["run"])
    assert ran.code == 0, ran.err
    assert {one["outcome"] for one in told["results"]} == {"identical"}


@pytest.mark.slow
def test_a_line_on_insiders_decides_over_all_of_them(certify, tmp_path):
    ran, manifest = certify(release(None, 3), text=survey(3))
    single = rates(scorecard_of(tmp_path, manifest))
    assert len(single) == 3
    limit = max(single.values())
    line = {"measure": "reidentification", "at_most": limit, "intruder": "insider"}
    policy = [{"measure": "reidentification", "at_most": 0.9}, line]
    ran, manifest = certify(release(None, 3, policy=policy, not_limited=kinds()), text=survey(3))
    assert ran.code == 0, ran.err
    ran, manifest = certify(release(2, 3, policy=policy, not_limited=kinds()), text=survey(3))
    assert ran.code == 1
    both = rates(scorecard_of(tmp_path, manifest))
    assert {name: both[name] for name in single} == single, "who knows one column finds what they found"
    (criterion,) = [one for one in scorecard_of(tmp_path, manifest)["criteria"] if one["intruder"] != "declared"]
    assert criterion["decision"] == "fail"
    assert SEPARATOR in criterion["intruder"]
    assert criterion["deciding_value"] == max(both.values())
    columns = criterion["intruder"].removeprefix("insider:").split(SEPARATOR)
    assert f"Somebody who knows {' and '.join(columns)} together finds too much" in " ".join(ran.out.split())


def kinds() -> dict[str, str]:
    return {"inference": REASON, "membership": REASON}


def test_a_line_on_one_pair_is_kept_or_refused_by_its_name(certify, sdcert, tmp_path):
    pair = {"measure": "reidentification", "at_most": 0.99, "intruder": "insider:vote + party"}
    path = write_release(tmp_path / "project", release(2, 3, policy=[pair]), text=survey(3))
    assert sdcert("check", path).code == 0
    for know, name in ((None, "insider:vote + party"), (2, "insider:party + vote")):
        path = write_release(tmp_path / "project", release(know, 3, policy=[{**pair, "intruder": name}]), text=survey(3))
        ran = sdcert("check", path)
        assert ran.code == 2
        assert "this release has no such intruder" in ran.err


def test_limits_on_each_named_insider_leave_out_those_that_are_added_later(sdcert, tmp_path):
    lines = [{"measure": "reidentification", "at_most": 0.5, "intruder": f"insider:{name}"} for name in COLUMNS]
    pairs = [f"insider:{a} + {b}" for i, a in enumerate(COLUMNS) for b in COLUMNS[i + 1 :]]
    lines += [{"measure": "reidentification", "at_most": 0.5, "intruder": name} for name in pairs]
    plain = [{"measure": measure, "at_most": 0.9} for measure in ("reidentification", "records_exposed")]
    for know, code in ((2, 0), (3, 2)):
        change = release(know, policy=[*plain, *lines], not_limited=kinds())
        ran = sdcert("check", write_release(tmp_path / "project", change, text=survey()))
        assert ran.code == code, ran.err
    assert "insiders (somebody who also knows another published attribute finds more)" in ran.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"know": 4}, "4 published columns besides the quasi-identifiers, and there are 3: vote, party, news"),
        ({"know": 0}, "greater than or equal to 1"),
        ({"know": "2"}, "a whole number is expected"),
        ({"knows": 2}, "did you mean `know`"),
        (True, "a mapping is expected"),
    ],
)
def test_bad_values_end_with_one_message(sdcert, tmp_path, given, said):
    change = release(None, 3) | {"intruder": {"curve": False, "insiders": given}}
    ran = sdcert("check", write_release(tmp_path / "project", change, text=survey(3)))
    assert ran.code == 2
    assert said in ran.err
    assert "intruder.insiders" in ran.err

"""A required attack that sdcert cannot compute: the release is undecided, or certified except for it with a reason."""

from __future__ import annotations

import pytest
from outcomes import folder_of, scorecard_of, statement_in
from release_files import REASON

from tasks.microdata.errors import NotFollowed

COLUMNS = ["age", "income", "town"]
SWAP = {"method": "rank_swapping", "attributes": COLUMNS, "window_percent": 10}
SWAP_AND_GROUP = [  # the groups are made of values of which nobody knows how far they moved
    {"method": "rank_swapping", "attributes": COLUMNS, "variant": "p_buckets", "buckets": 6},
    {"method": "microaggregation", "attributes": COLUMNS, "k": 3},
]
POLICY = [{"measure": "reidentification", "at_most": 0.9}, {"measure": "records_exposed", "at_most": 0.9}]
LOST = ("transparency", "consistency")
CLOSED_LAWS = [{"method": "distance_linkage"}, *({"method": name} for name in LOST)]  # without the simulated law


def test_it_leaves_identity_undecided_unless_it_is_omitted(certify, sdcert, tmp_path):
    change = {"masking": SWAP_AND_GROUP, "policy": POLICY, "attacks": CLOSED_LAWS}
    ran, manifest = certify(change)
    assert ran.code == 1, ran.out
    criteria = scorecard_of(tmp_path, manifest)["criteria"]
    assert {one["decision"] for one in criteria} == {"undecided"}
    assert "sdcert could not follow the attack transparency" in criteria[0]["reason"]
    assert "rank_swapping, then microaggregation" in criteria[0]["reason"]

    omit = [{"attack": name, "intruder": "declared", "reason": REASON} for name in LOST]
    ran, manifest = certify({**change, "omit": omit[:1]})
    assert ran.code == 1, "only one of the two is omitted"
    ran, manifest = certify({**change, "omit": omit})
    assert ran.code == 0, ran.err
    excepted = ["insiders", "inference", "membership", *LOST]
    assert f"CERTIFIED EXCEPT {', '.join(excepted)}" in ran.out
    assert "sdcert could not compute the required transparency attack for the declared intruder" in ran.out
    assert {f"attack {name} (declared)" for name in LOST} < set(manifest["stages"]), "an omission stops no attack"
    folder = folder_of(tmp_path, manifest)
    said = statement_in(folder)
    assert said["predicateType"] == "urn:sdcert:predicate:release:3"
    assert said["predicate"]["not_claimed"]["exceptions"] == excepted
    assert said["predicate"]["not_claimed"]["attacks_omitted"] == [{**one, "release": None} for one in omit]
    assert "not followed" in (folder / "report.html").read_text()
    verified = sdcert("verify", folder / "released.csv")
    assert verified.code == 0
    assert f"CERTIFIED EXCEPT {', '.join(excepted)}" in verified.out
    assert f"omitted: transparency by declared ({REASON})" in " ".join(verified.out.split())


@pytest.mark.slow
def test_by_default_the_simulated_law_answers(certify, tmp_path):
    ran, manifest = certify({"masking": SWAP_AND_GROUP, "policy": POLICY})
    assert ran.code == 0, ran.err
    figures = {one["id"]: one["status"] for one in scorecard_of(tmp_path, manifest)["estimates"]}
    assert figures["reidentification|transparency|declared"] == "not_followed"
    assert figures["reidentification|simulated_law|declared"] == "ok"


@pytest.mark.slow
def test_an_omission_of_an_attack_that_ran_excepts_nothing(certify, tmp_path):
    ran, manifest = certify({"omit": [{"attack": "transparency", "reason": REASON}]})
    assert ran.code == 0, ran.err
    assert manifest["exceptions"] == ["insiders", "inference", "membership"]
    assert "EXCEPT insiders, inference, membership\n" in ran.out
    figures = {one["id"]: one["status"] for one in scorecard_of(tmp_path, manifest)["estimates"]}
    assert figures["reidentification|transparency|declared"] == "ok"


@pytest.mark.slow
def test_a_lower_bound_refuses_what_is_too_large_for_the_whole_attack(certify, sdcert, tmp_path, monkeypatch):
    import tasks.attack.consistency.consistency as consistency

    def refuse(*_):
        raise NotFollowed("too many pairs")

    monkeypatch.setattr(consistency, "_left", refuse)
    change = {
        "masking": [{**SWAP, "window_percent": 20}],  # by 10 some draws let transparency find as many, as the public sees it
        "policy": [{**line, "at_most": 0.6} for line in POLICY],
        "attacks": [{"method": name} for name in ("distance_linkage", "transparency")]
        + [{"method": "consistency", "sampled_orbits": 300}],
        "omit": [{"attack": "consistency", "reason": REASON}],
    }
    ran, manifest = certify(change)
    assert ran.code == 1, ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    rate = next(one for one in scorecard["estimates"] if one["id"] == "reidentification|consistency|declared")
    assert rate["status"] == "not_followed"
    assert "the orbits of 80 records, drawn at random, give lower bounds" in rate["reason"]
    assert scorecard["verdict"] == "refused"
    assert "links at least" in ran.out
    insider = manifest["worst_insider"]  # rounded for the public, another attack may find as many
    assert insider["reidentification"] > 0.6  # how many exactly hangs on the draw
    assert insider["lower_bound"] is (insider["attack"] == "consistency")
    assert "at least" in sdcert("runs").out
    model = statement_in(folder_of(tmp_path, manifest))["predicate"]["attack_model"]
    assert (model["average_risk_is_lower_bound"], model["worst_insider"]) == (True, insider)
    found = scorecard["criteria"][0]
    assert found["lower_bound"] is True
    assert (found["attack"], found["decision"]) == ("consistency", "fail")
    assert found["reason"].startswith("a lower bound is beyond the limit")
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "not followed" in page
    assert "the orbits of 80 records" in page


CHAIN = [
    {"method": "noise", "kind": "independent", "attributes": ["age", "income"], "sd_percent": 30},
    {"method": "microaggregation", "attributes": ["age", "income"], "k": 3, "partition": "randomised"},
]


@pytest.mark.slow
def test_one_key_that_is_not_masked_hides_no_law_that_is_lost(certify, tmp_path):
    ran, manifest = certify(
        {"masking": CHAIN, "policy": [{**line, "at_most": 1.0} for line in POLICY], "attacks": CLOSED_LAWS[:2]}
    )
    assert ran.code == 1, ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    assert {one["decision"] for one in scorecard["criteria"] if one["limit"] == 1} == {"undecided"}
    assert "noise, then microaggregation" in scorecard["criteria"][0]["reason"]
    rate = next(one for one in scorecard["estimates"] if one["id"] == "reidentification|transparency|declared")
    assert rate["status"] == "not_followed"
    assert rate["low"] == rate["value"] > 0


WEAK = {
    "transparency": [{"method": "transparency", "id": "together", "matching": "one_to_one"}],
    "transparency by its own name": [{"method": "transparency", "matching": "one_to_one"}],
    "distance_linkage": [{"method": "distance_linkage", "id": "back", "direction": "to_original"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WEAK)
def test_an_omitted_attack_runs_beside_an_explicit_list_in_its_full_form(certify, tmp_path, name):
    """So does one of which the list has a weak form: that answers nothing."""
    omitted = name.partition(" ")[0]
    rest = [{"method": one} for one in ("distance_linkage", "transparency") if one != omitted]
    change = {"attacks": [*rest, *WEAK[name]], "omit": [{"attack": omitted, "reason": REASON}]}
    ran, manifest = certify(change)
    assert ran.code == 0, ran.err
    assert omitted not in manifest["exceptions"]
    figures = {one["id"]: one["status"] for one in scorecard_of(tmp_path, manifest)["estimates"]}
    called = f"{omitted}_required" if " by " in name else omitted
    assert figures[f"reidentification|{called}|declared"] == "ok"


@pytest.mark.slow
def test_a_share_that_hides_a_partition_is_excepted(certify):
    ran, manifest = certify({"intruder": {"records": 0.99}, "policy": [{"measure": "reidentification", "at_most": 1.0}]})
    assert ran.code == 0, ran.err
    assert manifest["exceptions"][-1] == "transparency"
    assert "An intruder with all records could reconstruct more of the masking" in ran.out
    assert "the intruder is declared to hold 99 % of the records" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize("intruder", ["insider", "file", "declared", "insider:vote"])
def test_omissions_name_intruders_who_exist(certify, sdcert, intruder):
    ran, _ = certify({"omit": [{"attack": "transparency", "intruder": intruder, "reason": REASON}]})
    assert ran.code == (2 if intruder == "file" else 0), ran.err
    assert ("there is no intruder `file`" in ran.err) == (intruder == "file")


def test_an_omission_of_nobody_is_refused(certify):
    ran, _ = certify({"omit": [{"attack": "transparency", "intruder": "insider:shoe", "reason": REASON}]})
    assert ran.code == 2
    assert "there is no intruder `insider:shoe`" in ran.err
    assert "insider:vote" in ran.err


def test_a_sample_of_few_orbits_is_refused(certify):
    names = ("distance_linkage", "transparency")
    attacks = [{"method": one} for one in names] + [{"method": "consistency", "sampled_orbits": 299}]
    ran, _ = certify({"masking": [SWAP], "attacks": attacks})
    assert ran.code == 2
    assert "300 to 100,000 targets" in ran.err

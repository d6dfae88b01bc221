"""A required attack that sdcert cannot compute: the release is undecided, or certified except for it with a reason."""

from __future__ import annotations

from outcomes import folder_of, scorecard_of, statement_in
from release_files import REASON

COLUMNS = ["age", "income", "town"]
SWAP_AND_GROUP = [  # the groups are made of values that nobody knows
    {"method": "rank_swapping", "attributes": COLUMNS, "window_percent": 10},
    {"method": "microaggregation", "attributes": COLUMNS, "k": 3},
]
POLICY = [{"measure": "reidentification", "at_most": 0.9}, {"measure": "records_exposed", "at_most": 0.9}]
LOST = ("transparency", "consistency")


def test_it_leaves_identity_undecided_unless_it_is_omitted(certify, sdcert, tmp_path):
    change = {"masking": SWAP_AND_GROUP, "policy": POLICY}
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
    assert "sdcert could not compute the transparency attack, which the release must face, for the declared intruder" in ran.out
    assert {f"attack {name} (declared)" for name in LOST} < set(manifest["stages"]), "an omission stops no attack"
    folder = folder_of(tmp_path, manifest)
    said = statement_in(folder)
    assert said["predicateType"] == "urn:sdcert:predicate:release:3"
    assert said["predicate"]["not_claimed"]["exceptions"] == excepted
    assert said["predicate"]["not_claimed"]["attacks_omitted"] == omit
    assert "not followed" in (folder / "report.html").read_text()
    verified = sdcert("verify", folder / "released.csv")
    assert verified.code == 0
    assert f"CERTIFIED EXCEPT {', '.join(excepted)}" in verified.out
    assert f"may be absent: transparency by declared ({REASON})" in " ".join(verified.out.split())


def test_an_omission_of_an_attack_that_ran_excepts_nothing(certify, tmp_path):
    ran, manifest = certify({"omit": [{"attack": "transparency", "reason": REASON}]})
    assert ran.code == 0, ran.err
    assert manifest["exceptions"] == ["insiders", "inference", "membership"]
    assert "EXCEPT insiders, inference, membership\n" in ran.out
    figures = {one["id"]: one["status"] for one in scorecard_of(tmp_path, manifest)["estimates"]}
    assert figures["reidentification|transparency|declared"] == "ok"


def test_a_lower_bound_refuses_what_is_too_large_for_the_whole_attack(certify, tmp_path, monkeypatch):
    import tasks.attack.consistency.consistency as consistency

    monkeypatch.setattr(consistency, "MOST_KEPT", 60)  # pairs: more than 30 targets leave, fewer than all 80
    change = {
        "masking": SWAP_AND_GROUP[:1],
        "policy": [{**line, "at_most": 0.6} for line in POLICY],
        "attacks": [{"method": name} for name in ("distance_linkage", "transparency")]
        + [{"method": "consistency", "sampled_orbits": 30}],
        "omit": [{"attack": "consistency", "reason": REASON}],
    }
    ran, manifest = certify(change)
    assert ran.code == 1, ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    rate = next(one for one in scorecard["estimates"] if one["id"] == "reidentification|consistency|declared")
    assert rate["status"] == "not_followed"
    assert "the orbits of 30 records, drawn at random, give lower bounds" in rate["reason"]
    assert scorecard["verdict"] == "refused"
    found = scorecard["criteria"][0]
    assert (found["attack"], found["decision"]) == ("consistency", "fail")
    assert found["reason"].startswith("a lower bound is beyond the limit")
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "not followed" in page
    assert "the orbits of 30 records" in page

"""An intruder who is declared to know or try less than others do certifies nothing in silence."""

from __future__ import annotations

import numpy as np
import pytest
from outcomes import folder_of, newest_manifest, scorecard_of
from release_files import REASON, RELEASE, write_release

from flows.limits import refuse_weak_membership
from flows.release_file import load_release

COLUMNS = ["age", "income", "town"]
LIMITS = [{"measure": "reidentification", "at_most": 0.95}, {"measure": "records_exposed", "at_most": 0.95}]
INSIDERS = {"measure": "reidentification", "intruder": "insider", "at_most": 0.95}
INFERENCE = {"measure": "linked_value_disclosed", "at_most": 0.9}
MEMBERSHIP = {"measure": "membership_auc", "at_most": 0.95}


def _table_with_a_told_secret() -> str:
    """80 people whose illness all of their group share, and whose vote says nothing."""
    rng = np.random.default_rng(4)
    lines = ["person_id,age,income,town,vote,ill"]
    for i in range(80):
        age = 20 + 10 * (i // 16)
        ill = "no" if rng.random() < 0.05 else "abcde"[i // 16]
        lines.append(f"{i},{age + rng.integers(0, 2)},{1000 * age + i},{100 * age + i},{rng.choice(['x', 'y', 'z'])},{ill}")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_a_secret_that_the_declared_intruder_knows_is_not_limited(sdcert, tmp_path):
    """Nobody limits what others learn of it, who know the quasi-identifiers alone: silence is refused, a reason is excepted."""
    change = {
        "attributes": {**RELEASE["attributes"], "ill": {"role": "confidential", "scale": "nominal"}},
        "masking": [{"method": "microaggregation", "attributes": COLUMNS, "k": 8}],
        "intruder": {"curve": False, "knows": [*COLUMNS, "ill"]},
        "policy": [*LIMITS, INSIDERS, INFERENCE],
        "not_limited": {"membership": REASON},
    }
    path = write_release(tmp_path / "project", change, text=_table_with_a_told_secret())
    for command in ("check", "certify"):
        ran = sdcert(command, path)
        assert ran.code == 2
        assert "the declared intruder knows ill, so that no line is about it" in ran.err
    change["not_limited"] = {"membership": REASON, "inference": REASON}
    path = write_release(tmp_path / "project", change, text=_table_with_a_told_secret())
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    assert "CERTIFIED EXCEPT inference, membership" in ran.out
    assert "The declared intruder knows ill already. The links of the insider who also knows vote" in ran.out


@pytest.mark.slow
def test_an_intruder_who_holds_other_values_alone_is_excepted(sdcert, tmp_path):
    """The quasi-identifiers are published as they are, and nobody is an insider who would hold them."""
    attributes = {**RELEASE["attributes"], "vote": {"role": "withheld"}}
    change = {
        "attributes": attributes,
        "masking": [{"method": "sampling", "share": 0.9}],
        "policy": [{**line, "at_most": 0.3} for line in LIMITS],
        "not_limited": {"membership": REASON},
    }
    for holds, code in (({}, 1), ({name: {"rounded_to": 10_000_000} for name in COLUMNS}, 0)):
        path = write_release(tmp_path / "project", {**change, "intruder": {"curve": False, "holds": holds}})
        ran = sdcert("certify", path, "--output", tmp_path / "releases")
        assert ran.code == code, ran.out
    assert "CERTIFIED EXCEPT membership, distance_linkage" in ran.out
    assert "An intruder with the original values could link more" in ran.out
    assert "the intruder is declared to hold other values of age, income and town" in ran.out
    manifest = newest_manifest()
    assert manifest["exceptions"] == ["membership", "distance_linkage"]
    verified = sdcert("verify", folder_of(tmp_path, manifest) / "released.csv")
    assert "CERTIFIED EXCEPT membership, distance_linkage" in verified.out


@pytest.mark.long
def test_values_of_a_file_of_ones_own_except_nothing_where_others_hold_the_originals(sdcert, tmp_path):
    holds = {"age": {"rounded_to": 10}}
    change = {"policy": [*LIMITS, INSIDERS], "intruder": {"curve": False, "holds": holds}}
    path = write_release(tmp_path / "project", {**change, "not_limited": {"inference": REASON, "membership": REASON}})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    assert scorecard_of(tmp_path, newest_manifest())["exceptions"] == ["inference", "membership"]


OTHERS, BY_MECHANISM = ("closest_record", "density_ratio", "linkage_score"), ("values_present", "law_ratio")
WEAK = (
    [{"method": "closest_record"}],
    [{"method": "closest_record"}, {"method": "density_ratio", "neighbours": 50}, {"method": "linkage_score"}],
    [{"method": name} for name in OTHERS[:2]] + [{"method": "linkage_score", "of": "other"}],
    [{"method": name} for name in OTHERS],
)
STRONG = (
    [{"method": "closest_record", "id": "near"}, *({"method": name} for name in (*OTHERS[1:], *BY_MECHANISM))],
    [{"method": name} for name in (*OTHERS, *BY_MECHANISM)] + [{"method": "density_ratio", "id": "wider", "neighbours": 5}],
)


@pytest.mark.slow
@pytest.mark.parametrize("planned", [*WEAK, *STRONG], ids=range(6))
def test_a_limit_on_membership_wants_the_default_attacks(sdcert, tmp_path, planned):
    change = {"control": 0.25, "membership": planned, "policy": [*LIMITS, INSIDERS, MEMBERSHIP]}
    path = write_release(tmp_path / "project", {**change, "not_limited": {"inference": REASON}})
    ran = sdcert("check", path)
    assert ran.code == (2 if planned in WEAK else 0), ran.err
    assert ("runs by default" in ran.err) == (planned in WEAK)
    if planned == WEAK[0]:
        assert f"{path}, line " in ran.err
        assert "density_ratio, linkage_score, values_present and law_ratio" in ran.err
        assert sdcert("certify", path).code == sdcert("check", "--upgrade", path).code == 2
        reasons = {"inference": REASON, "membership": REASON}
        for other in ({"policy": [*LIMITS, INSIDERS]}, {"control": None}):  # nothing rests on it; a rehearsal
            path = write_release(tmp_path / "project", {**change, **other, "not_limited": reasons})
            assert sdcert("check", path).code == 0


@pytest.mark.slow
def test_a_limit_on_membership_that_was_rehearsed_is_undecided(sdcert, tmp_path):
    """Random halves of the source say nothing of who is in this file."""
    change = {"membership": [{"method": "closest_record"}], "policy": [*LIMITS, INSIDERS, MEMBERSHIP]}
    path = write_release(tmp_path / "project", {**change, "not_limited": {"inference": REASON}})
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 1, ran.out + ran.err
    assert "survey: UNDECIDED" in ran.out
    assert "Set a `control` aside" in ran.out
    (line,) = [one for one in scorecard_of(tmp_path, newest_manifest())["criteria"] if one["decision"] != "pass"]
    assert (line["measure"], line["decision"]) == ("membership_auc", "undecided")
    assert line["reason"].startswith("rehearsed on random halves")


@pytest.mark.parametrize(("shadows", "weak"), [(2, True), (8, False), (24, False)])
def test_fewer_shadow_models_are_a_weaker_attack(tmp_path, shadows, weak):
    planned = [{"method": "gap"}, {"method": "loss_threshold"}, {"method": "shadow_models", "shadows": shadows}]
    planned += [{"method": "likelihood_ratio", "id": name, "variant": name} for name in ("online", "offline")]
    change = {
        "masking": None,
        "release": {"model": {"target": "vote", "learner": {"method": "decision_tree"}}},
        "control": 0.25,
        "intruder": None,
        "membership": planned,
        "policy": [MEMBERSHIP],
    }
    release = load_release(write_release(tmp_path / "project", change))
    if weak:
        with pytest.raises(Exception, match="leaves out shadow_models"):
            refuse_weak_membership(release)
    else:
        refuse_weak_membership(release)

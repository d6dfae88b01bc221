"""No release is certified against one of its limits, or in silence on a kind of disclosure; what is undecided says why.

SDCERT_RANDOM_RELEASES releases, default 20, from SDCERT_RANDOM_RELEASES_SEED on.
"""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from outcomes import newest_manifest, scorecard_of
from random_releases import CONFIDENTIAL, draw_random_release
from release_files import write_release

CASES = int(os.environ.get("SDCERT_RANDOM_RELEASES", "20"))
QUICK_CASES = 4  # the others are of the long tier
FIRST_SEED = int(os.environ.get("SDCERT_RANDOM_RELEASES_SEED", "1"))
OF_IDENTITY = {"reidentification", "records_exposed", "max_record_risk"}
TAILS = {"records_exposed", "max_record_risk"}
SEEDS = [
    pytest.param(FIRST_SEED + number, marks=() if number < QUICK_CASES else pytest.mark.long, id=f"{FIRST_SEED + number}")
    for number in range(CASES)
]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", SEEDS)
def test_a_verdict_keeps_its_limits_and_is_silent_on_nothing(sdcert, tmp_path, seed, record_property):
    release, table = draw_random_release(np.random.default_rng([seed, 3]))
    path = write_release(tmp_path / "project", text=table)
    path.write_text(json.dumps(release))
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code in (0, 1, 2), ran.err
    silent = kinds_in_silence(release)
    if ran.code == 2:
        record_property("ended", "not accepted")
        assert "to do:" in ran.err
        assert not list((tmp_path / "releases").glob("*/*/released*"))
        return
    assert not silent, ran.out
    manifest = newest_manifest()
    card = scorecard_of(tmp_path, manifest)
    record_property("ended", card["verdict"])  # `--junitxml=FILE` has them
    if card["verdict"] == "certified":
        assert not list(broken_limits(release, card["estimates"]))
        (verdict,) = [line for line in ran.out.splitlines() if line.startswith("drawn: CERTIFIED")]
        excepted = set(card["exceptions"])
        assert all(one in verdict for one in excepted)
        assert excepted >= set(release.get("not_limited", {})) & asked(release) - answered_by_limits(release)
        if "attacks" in release and excepted <= asked(release):
            assert not list(broken_limits(release, figures_of_all_attacks(sdcert, path, release, tmp_path)))
    elif card["verdict"] == "undecided":
        undecided = [one for one in card["criteria"] if one["decision"] == "undecided"]
        assert undecided
        assert all(one["reason"] for one in undecided)
        assert all(one["reason"] in ran.out or one["measure"] in ran.out for one in undecided)


def asked(release):
    """The kinds of disclosure that a masked table is asked about, as docs/SCIENCE.md section 3 has them."""
    confidential = CONFIDENTIAL in release["attributes"]
    hidden = set(release["attributes"]) - set(release["intruder"].get("knows", [])) - {CONFIDENTIAL}
    more = confidential or ("knows" in release["intruder"] and hidden)
    return {"identity", "membership"} | ({"inference"} if confidential else set()) | ({"insiders"} if more else set())


def figures_of_all_attacks(sdcert, path, release, tmp_path):
    """What is found where the release file names no attacks, so that all are tried that may find something."""
    path.write_text(json.dumps({name: value for name, value in release.items() if name != "attacks"}))
    assert sdcert("certify", path, "--output", tmp_path / "releases").code in (0, 1)
    return scorecard_of(tmp_path, newest_manifest())["estimates"]


def kinds_in_silence(release):
    """The kinds that are asked and have neither a limit below 1 nor a reason."""
    return asked(release) - answered_by_limits(release) - set(release.get("not_limited", {}))


def answered_by_limits(release):
    lines = [line for line in release["policy"] if line["at_most"] < 1]
    own = {line["measure"] for line in lines if "intruder" not in line}
    answered = set()
    if "reidentification" in own and TAILS & own:
        answered.add("identity")
    if {"inference_excess", "inference_asserted"} <= own:
        answered.add("inference")
    if any("intruder" in line for line in lines):
        answered.add("insiders")
    return answered


def broken_limits(release, estimates):
    """The lines that the worst figure of their kind exceeds, over all attacks and all intruders of that kind."""
    for line in release["policy"]:
        insiders = "intruder" in line
        found = [
            one["value"]
            for one in estimates
            if one["measure"] == line["measure"]
            and one["value"] is not None
            and (str(one["intruder"]).startswith("insider:") if insiders else one["intruder"] == "declared")
        ]
        if max(found, default=0) > line["at_most"] + 1e-12:
            yield line, max(found)

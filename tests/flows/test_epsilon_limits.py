"""A limit on the epsilon of PRAM steps, from the command line."""

from __future__ import annotations

import pytest
from release_files import RELEASE

PRAM = {"method": "pram", "attributes": ["vote"], "epsilon": 1.0}
RATE = {"measure": "reidentification", "at_most": 1.0}


def with_pram(limit, **rule):
    steps = [*RELEASE["masking"], {**PRAM, **rule}]
    lines = [RATE, {"measure": "epsilon", "at_most": limit}, {"measure": "epsilon", "at_most": limit, "attribute": "vote"}]
    return {"masking": steps, "policy": lines}


def decisions(manifest):
    return [line["decision"] for line in manifest["criteria"][:3]]


@pytest.mark.slow
def test_a_limit_on_epsilon_is_kept_or_broken(certify):
    ran, manifest = certify(with_pram(1.0))
    assert (ran.code, decisions(manifest)) == (0, ["pass"] * 3)
    assert "epsilon of vote 1; limit at most 1" in ran.out
    ran, manifest = certify(with_pram(0.9))
    assert (ran.code, decisions(manifest)) == (1, ["pass", "fail", "fail"])


@pytest.mark.long
def test_an_infinite_epsilon_breaks_every_limit(certify):
    ran, manifest = certify(with_pram(50.0, invariant=True))
    assert (ran.code, decisions(manifest)) == (1, ["pass", "fail", "fail"])
    assert "A finite epsilon needs probabilities above 0" in ran.out + ran.err


def test_a_limit_on_epsilon_without_pram_is_refused(certify):
    ran, _ = certify({"policy": [RATE, {"measure": "epsilon", "at_most": 1.0}]})
    assert ran.code == 2
    assert "no step draws a column anew by PRAM" in ran.err

"""What `sdcert certify` leaves, verified: with the keys of the home, and where there is no certificate."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_what_certify_leaves_is_verified_with_the_keys_of_the_home(certify, sdcert, tmp_path):
    ran, manifest = certify()
    assert ran.code == 0
    folder = Path(manifest["folder"])
    assert sdcert("verify", folder / "released.csv").code == 0
    assert sdcert("verify", folder / "report.html").code == 0
    assert sdcert("verify", folder / "scorecard.json").code == 0
    (folder / "report.html").write_bytes((folder / "report.html").read_bytes() + b" ")
    assert sdcert("verify", folder / "report.html").code == 1


@pytest.mark.slow
def test_a_refused_release_is_not_verified_as_certified(certify, sdcert):
    ran, manifest = certify({"policy": [{"measure": "sse_percent", "at_most": 0.0001}]})
    assert ran.code == 1
    folder = Path(manifest["folder"])
    assert not (folder / "certificate.json").exists()
    checked = sdcert("verify", folder / "report.html")
    assert (checked.code, "NOT certified: it is refused" in checked.out) == (1, True)
    assert "genuine" in checked.out and "it says REFUSED: nothing is certified." in checked.out


@pytest.mark.slow
def test_a_rehearsal_is_not_verified_as_certified(certify, sdcert):
    _, manifest = certify({"seed": 7, "not_for_publication": True})
    folder = Path(manifest["folder"])
    assert not (folder / "certificate.json").exists()
    checked = sdcert("verify", folder / "report.html")
    assert (checked.code, "rehearsal" in checked.out or "NOT certified" in checked.out) == (1, True)

"""A backup taken while a run goes on, the machine wiped, the home restored: it verifies, and its runs can be replayed."""

from __future__ import annotations

import json
import shutil

import pytest
from outcomes import newest_manifest
from release_files import write_release

pytestmark = pytest.mark.slow


@pytest.fixture
def outside(tmp_path_factory):
    """Where the backup goes: all else of a test is searched for secrets, and it holds them."""
    folder = tmp_path_factory.mktemp("backups")
    yield folder
    shutil.rmtree(folder)


def test_what_was_backed_up_verifies_and_is_replayed(certify, sdcert, process, home, tmp_path, outside):
    ran, manifest = certify()
    assert ran.code == 0, ran.err
    path = write_release(tmp_path / "project", {"name": "another"})
    going_on = process("-m", "flows.cli", "certify", path, "--output", tmp_path / "releases")
    backed_up = sdcert("backup", "-o", outside / "backup.tar", "--json")
    assert backed_up.code == 0, backed_up.err
    _, err = going_on.communicate(timeout=300)
    assert going_on.returncode == 0, err
    entries = json.loads(backed_up.out)["entries"]
    assert entries >= 4

    shutil.rmtree(home)
    restored = sdcert("restore", outside / "backup.tar", "--json")
    assert restored.code == 0, restored.err
    assert json.loads(restored.out)["entries"] == entries
    verified = sdcert("audit", "verify")
    assert verified.code == 0, verified.out + verified.err
    stored = sdcert("store", "verify")
    assert stored.code == 0, stored.out + stored.err
    replayed = sdcert("audit", "replay", manifest["run"])
    assert replayed.code == 0, replayed.out + replayed.err
    file = tmp_path / "releases" / manifest["release"] / manifest["run"] / "released.csv"
    assert sdcert("verify", file).code == 0

    draw = manifest["draw"]
    again, _ = certify()
    assert again.code == 0, again.err
    assert newest_manifest()["draw"] == draw
    assert sdcert("audit", "verify").code == 0

"""Releases of several homes whose store is one S3-compatible place."""

from __future__ import annotations

import json
import shutil

import pytest
from leaks import Secrets, leaks_in, writings_of_text
from outcomes import computed, newest_manifest
from release_files import write_release
from s3 import ACCOUNT, SECRET

from tasks.runtime.artifacts import Store
from tasks.runtime.shared_storage import SharedStorage

pytestmark = pytest.mark.slow
REHEARSAL = {"seed": 7, "not_for_publication": True}


@pytest.fixture
def store(bucket, monkeypatch):
    monkeypatch.setenv("SDCERT_STORE_URL", f"{bucket}/store")
    return f"{bucket}/store"


@pytest.mark.long
def test_a_second_home_is_served_what_the_first_computed_and_draws_for_no_series_of_it(
    store, sdcert, home, tmp_path, monkeypatch
):
    told = []

    def certified(name: str, change: dict) -> tuple[int, str]:
        path = write_release(tmp_path / "project", change)
        ran = sdcert("certify", path, "--output", tmp_path / f"releases-{name}")
        told.append(ran.out + ran.err)
        return ran.code, ran.err

    code, err = certified("one", {})
    assert code == 0, err
    run = newest_manifest()["run"]
    code, err = certified("one", REHEARSAL)
    assert code in (0, 1), err
    there = set(Store().shared.sizes(""))
    assert not [path for path in (home / "store").rglob("*") if path.is_file()]

    other = tmp_path / "other"
    (other / "keys").mkdir(parents=True, mode=0o700)
    shutil.copy(home / "keys" / "store.key", other / "keys" / "store.key")
    monkeypatch.setenv("SDCERT_HOME", str(other))
    code, err = certified("other", REHEARSAL)
    assert code in (0, 1), err
    assert computed(newest_manifest()) == set()
    assert {name for name in Store().shared.sizes("") if name.startswith("table")} == {
        n for n in there if n.startswith("table")
    }
    code, err = certified("other", {})
    assert code == 2
    assert "another home that shares this store draws for this series" in err

    for place in (home, other):
        monkeypatch.setenv("SDCERT_HOME", str(place))
        ran = sdcert("store", "verify")
        assert ran.code == 0, ran.out
        assert store in ran.out
        before = set(Store().shared.sizes(""))
        ran = sdcert("store", "gc", "--yes", "--older-than", 0, "--json")
        assert json.loads(ran.out)["going"]["artifacts"] == []
        assert set(Store().shared.sizes("")) == before
    monkeypatch.setenv("SDCERT_HOME", str(home))
    ran = sdcert("audit", "replay", run)
    assert ran.code == 0, ran.err

    name = next(name for name in Store().shared.sizes("") if name.startswith("table"))
    Store().shared.write(name, b"damaged")
    ran = sdcert("store", "verify")
    assert ran.code == 1
    assert "damaged" in ran.out
    (tmp_path / "told").write_text("".join(told) + ran.out + ran.err)
    account = Secrets()
    account.add("the account", [*writings_of_text(ACCOUNT), *writings_of_text(SECRET)])
    assert leaks_in(tmp_path, account) == []


def test_of_two_that_claim_a_series_at_once_the_first_has_it(bucket):
    for content in (b"first", b"second"):
        SharedStorage(bucket, "SDCERT_STORE_URL").create("series/x", content)
    assert SharedStorage(bucket, "SDCERT_STORE_URL").read("series/x") == b"first"

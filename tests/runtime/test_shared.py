"""A store that several homes share: one key, one home that draws for each series, nothing believed that the place says."""

from __future__ import annotations

import errno
import json
import shutil
import uuid
from pathlib import Path
from unittest.mock import Mock

import pytest

from tasks.microdata.errors import InputError, StorageUnreachable
from tasks.microdata.table import Microdata
from tasks.runtime import shared_storage, store_sharing
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.caching import FlockManager, vet
from tasks.runtime.draws import find_or_create_draw, find_or_create_pseudonym_key
from tasks.runtime.records import read_returned, seal_result
from tasks.runtime.settings import Home

TABLE = Microdata.from_columns({"a": [1, 2, 3]})


@pytest.fixture(params=["folder", "memory"])
def place(request, tmp_path, home, monkeypatch):
    """The address of a place that the homes of this test share."""
    url = str(tmp_path / "home" / "shared") if request.param == "folder" else f"memory://{uuid.uuid4().hex}"
    monkeypatch.setenv("SDCERT_STORE_URL", url)
    monkeypatch.setattr(store_sharing, "_check_storage", store_sharing._check_storage.__wrapped__)  # looked at anew each time
    return url


@pytest.fixture
def another(tmp_path, monkeypatch):
    """`another(with_key)` goes to another home, on another machine as it were."""

    def call(*, with_key: bool = True, name: str = "another") -> Home:
        key = Home.current().keys / "store.key"
        home = Home(tmp_path / name)
        if with_key and not (home.root / "keys").exists():
            home.folder("keys")
            shutil.copy(key, home.keys / "store.key")
        monkeypatch.setenv("SDCERT_HOME", str(home.root))
        return home

    return call


def test_what_one_home_puts_another_reads(place, another):
    ref, record, page = Store().put_table(TABLE), Store().put_record({"x": [1]}), Store().put_page("<p>")
    home = another()
    assert Store().table(ref).arrow.equals(TABLE.arrow)
    assert Store().record(record, dict) == {"x": [1]}
    assert Store().page(page) == "<p>"
    assert all(Store().intact(one) for one in (ref, record, page))
    assert not [path for path in (home.root / "store").rglob("*") if path.is_file()]


def test_another_key_is_refused_and_none_is_not_made(place, another, home):
    Store()
    other = another(with_key=False)
    with pytest.raises(InputError, match="has none yet") as caught:
        Store()
    assert caught.value.code == "store-key"
    assert not (other.root / "keys" / "store.key").exists()
    other.folder("keys")
    (other.keys / "store.key").write_bytes(bytes(range(100, 132)))
    with pytest.raises(InputError, match="another key"):
        Store()


def test_what_was_damaged_in_the_place_is_put_again(place):
    ref = Store().put_table(TABLE)
    name = next(name for name in Store().shared.sizes("") if name.startswith("table/"))
    whole = Store().shared.read(name)
    Store().shared.write(name, whole[:-5])
    assert not Store().intact(ref)
    with pytest.raises(Damaged):
        Store().table(ref)
    assert Store().put_table(TABLE) == ref
    assert Store().shared.read(name) == whole


def test_a_place_whose_mark_is_gone_is_not_begun_anew(place, home):
    ref = Store().put_table(TABLE)
    there = shared_storage.SharedStorage(place, "SDCERT_STORE_URL")
    there._fs.rm_file(there._join_root("store.mark"))  # as in a folder that is not mounted
    with pytest.raises(InputError, match="not mounted, or was emptied") as caught:
        Store()
    assert caught.value.code == "store-mark"
    (home / "keys" / "places.known").unlink()
    assert Store().table(ref) == TABLE


def test_a_folder_that_fails_is_told_as_any_place_is(home, tmp_path, monkeypatch):
    folder = tmp_path / "home" / "shared"
    monkeypatch.setenv("SDCERT_STORE_URL", str(folder))
    store = Store()
    ref = store.put_table(TABLE)
    stale = OSError(errno.ESTALE, "Stale file handle", str(folder))
    with monkeypatch.context() as patch, pytest.raises(StorageUnreachable, match="Stale file handle") as caught:
        patch.setattr(shared_storage, "read_file", Mock(side_effect=stale))
        store.table(ref)
    assert str(folder) not in str(caught.value)


def test_a_place_that_keeps_nothing_is_no_store(place, monkeypatch):
    Store()
    monkeypatch.setattr(shared_storage.SharedStorage, "write", lambda *_: None)
    with pytest.raises(StorageUnreachable):
        Store().put_table(TABLE)


def record_of(key: str, produced: dict[str, str], serializer: str = "sealed") -> str:
    facts = {
        "storage_key": "elsewhere",
        "expiration": None,
        "serializer": {"type": serializer},
        "prefect_version": "3",
        "storage_block_id": None,
    }
    return json.dumps({"metadata": facts, "result": seal_result(Home.current(), key, produced).decode()})


def returned(key: str, produced: dict[str, str], serializer: str = "sealed") -> None:
    """What Prefect does when a stage has returned."""
    locks = FlockManager()
    locks.acquire_lock(key, "me")
    (Home.current().records / key).write_text(record_of(key, produced, serializer))
    locks.release_lock(key, "me")


def produced_in(path: Path) -> dict[str, str]:
    found = read_returned(path.read_bytes())
    assert found is not None
    return found.produced


def test_what_a_stage_returned_is_served_on_another_machine(place, another):
    ref = Store().put_table(TABLE)
    returned("k1", {"table": ref})
    home = another()
    vet("k1")
    found = json.loads((home.records / "k1").read_bytes())
    assert produced_in(home.records / "k1") == {"table": ref}
    assert found["metadata"]["storage_key"] == str(home.records / "k1")
    vet("k2")
    assert not (home.records / "k2").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("k1", "k9") if "k1" in text else text[:-4],
        lambda text: text.replace(json.loads(json.loads(text)["result"])["seal"], "0" * 64),
        lambda text: text.replace("sealed", "pickle", 1),
        lambda text: json.dumps({"record": text, "mac": "0" * 64}),
        lambda text: "[]",
        lambda text: "{",
    ],
)
def test_a_record_that_somebody_changed_in_the_place_is_not_taken(place, another, damage):
    returned("k1", {"table": Store().put_table(TABLE)})
    shelf = Store().shared
    shelf.write("cached/k1.json", damage(shelf.read("cached/k1.json").decode()).encode())
    home = another()
    vet("k1")
    assert not (home.records / "k1").exists()


def test_one_stage_s_record_is_not_taken_for_another_s(place, another):
    returned("k1", {"table": Store().put_table(TABLE)})
    shelf = Store().shared
    shelf.write("cached/k2.json", shelf.read("cached/k1.json"))
    home = another()
    vet("k2")
    assert not (home.records / "k2").exists()


def test_only_plain_records_of_addresses_are_shared(place):
    ref = Store().put_table(TABLE)
    returned("k1", {"table": ref}, serializer="pickle")
    locks = FlockManager()
    locks.acquire_lock("k2", "me")
    (Home.current().records / "k2").write_text(json.dumps({"__exc_type__": "x", "message": "y"}))
    locks.release_lock("k2", "me")
    assert not [name for name in Store().shared.sizes("") if name.startswith("cached/")]


def test_a_record_whose_artifact_is_gone_is_not_taken(place, another):
    returned("k1", {"table": "table:" + "0" * 64})
    home = another()
    vet("k1")
    assert not (home.records / "k1").exists()


def test_one_home_draws_for_a_series(place, another, home, monkeypatch):
    first = find_or_create_draw("survey")
    another()
    for ask in (find_or_create_draw, find_or_create_pseudonym_key, lambda series: find_or_create_draw(series, new=True)):
        with pytest.raises(InputError, match="another home") as caught:
            ask("survey")
        assert caught.value.code == "series-of-another-home"
    assert find_or_create_draw("another-series")
    monkeypatch.setenv("SDCERT_HOME", str(home))
    assert find_or_create_draw("survey") == first
    assert find_or_create_draw("survey", new=True) != first
    with pytest.raises(InputError):
        find_or_create_draw("another-series")
    assert not [name for name in Store().shared.sizes("") if "survey" in name]


def test_of_two_that_write_what_was_not_there_the_first_wins(place):
    for content in (b"first", b"second"):
        shared_storage.SharedStorage(place, "SDCERT_STORE_URL").create("series/x", content)
    assert shared_storage.SharedStorage(place, "SDCERT_STORE_URL").read("series/x") == b"first"


def test_without_a_place_nothing_is_shared(home):
    assert Store().shared is None
    assert find_or_create_draw("survey")
    assert not (home / "draws" / "home.id").exists()

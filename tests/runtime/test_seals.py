"""The key of the store: another one, or one that a disk has damaged, is noticed before anything is made with it."""

import json
import shutil
import threading

import pytest

from tasks.microdata.errors import InputError
from tasks.runtime import seals
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import find_or_create_draw
from tasks.runtime.seals import MARK, compute_seal, is_sealed, key_fits, store_key
from tasks.runtime.settings import Home


@pytest.fixture
def key(home):
    Store().put_record({"x": 1})
    path = Home.current().keys / "store.key"
    path.chmod(0o600)
    return path


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("bit", [0, 7, 100, 255])
def test_one_flipped_bit_stops_whatever_uses_the_store(home, key, bit):
    whole = key.read_bytes()
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    key.write_bytes(flipped(whole, bit))
    for use in (Store, lambda: find_or_create_draw("survey"), lambda: compute_seal(Home.current(), "x")):
        with pytest.raises(InputError, match="not the one that the store was made with") as caught:
            use()
        assert "restore keys/store.key from a backup" in str(caught.value)
    key.write_bytes(whole)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix != ".lock"} == before
    assert Store()


def test_a_key_that_is_gone_is_not_made_anew(home, key):
    whole = key.read_bytes()
    for mark_too in (False, True):
        if mark_too:
            (home / "store" / MARK).unlink()
        key.unlink(missing_ok=True)
        with pytest.raises(InputError, match="the key is gone"):
            Store()
        assert not key.exists()
    key.write_bytes(whole)
    assert Store()


@pytest.mark.parametrize(("content", "says"), [(b"", "has 0 bytes"), (b"x" * 31, "has 31 bytes"), (b"x" * 33, "more than 32")])
def test_a_key_of_another_length_is_refused(home, key, content, says):
    key.write_bytes(content)
    with pytest.raises(InputError, match=says):
        Store()


def test_a_home_without_a_mark_is_asked_what_its_key_has_made(home, key):
    whole, mark = key.read_bytes(), home / "store" / MARK
    find_or_create_draw("survey")
    mark.unlink()
    key.write_bytes(flipped(whole, 3))
    with pytest.raises(InputError, match="not the one"):
        store_key(Home.current())
    assert not mark.exists()
    key.write_bytes(whole)
    for path in (home / "store" / "record").rglob("*.json"):  # one damaged artifact says nothing of the key
        path.chmod(0o600)
        path.write_text(json.dumps({"x": 2}))
    moved = home.with_name("moved")
    shutil.copytree(home, moved)
    store_key(Home(moved))
    assert (moved / "store" / MARK).exists()


def test_two_first_runs_at_once_agree_on_key_and_mark(home):
    Home.current().folder("keys")
    found, wrong = [], []

    def begin():
        try:
            found.append(Store().key)
        except InputError as error:
            wrong.append(error)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(set(found)), wrong) == (1, [])
    assert key_fits(Home.current(), found[0])


def test_no_address_is_a_seal(home):
    """Whoever has a content stored learns its digest under the key: it must not be the seal of anything."""
    here, said = Home.current(), ("returned", "k1", "{}")
    seal = compute_seal(here, *said)
    assert is_sealed(here, seal, *said)
    assert seal != Store().put_file(json.dumps(said, separators=(",", ":")).encode()).partition(":")[2]
    assert not is_sealed(here, seal, "returned", "k2", "{}")
    assert not is_sealed(here, seal, "returned", "k1", "{}", "")
    assert not is_sealed(here, seal, "returnedk1", "{}")
    assert not is_sealed(here, "\ud800", *said)


def test_another_first_run_between_two_looks_is_no_lost_key(home, monkeypatch):
    """The other one writes its key, and then the mark."""

    real = seals._is_used

    def other(root):
        monkeypatch.setattr(seals, "_is_used", real)
        Store()
        return real(root)

    monkeypatch.setattr(seals, "_is_used", other)
    assert Store()

"""A backup of the private folder: whole, checked, consistent while others write, and never over a home."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import threading
from pathlib import Path

import pytest
from trails import attempt

from tasks.audit.ledger.entries import AttemptMade
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index import Index
from tasks.audit.maintenance import backup
from tasks.audit.maintenance.backup import SUMS, back_up
from tasks.audit.maintenance.restoring import restore
from tasks.audit.maintenance.use import lock_store
from tasks.audit.signing.keys import signing_key
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import find_or_create_draw
from tasks.runtime.settings import Home


@pytest.fixture
def full(home):
    """A home with something of every kind."""
    Store().put_table(Microdata.from_columns({"a": [1, 2, 3]}))
    find_or_create_draw("survey")
    key = signing_key()
    Ledger.current().append(AttemptMade.model_validate(attempt("r1")), key)
    Index.current().close()
    with sqlite3.connect(home / "mlflow.db") as database:
        database.execute("create table t (x)")
        database.execute("insert into t values (1)")
    (home / "runs" / "r1").mkdir(parents=True)
    (home / "runs" / "r1" / "manifest.json").write_text("{}")
    (home / "compiled").mkdir()
    (home / "compiled" / "x.nbi").write_text("made again")
    (home / "store" / f".x.{'0' * 32}.tmp").write_text("a draft")
    (home / "serve").mkdir()
    (home / "serve" / "auth-string").write_text("the password of a server that is up")
    return Home(home)


@pytest.fixture
def outside(tmp_path_factory):
    """Where backups go; all else under the test's own folder is searched for secrets, and a backup holds all of them."""
    folder = tmp_path_factory.mktemp("backups")
    yield folder
    shutil.rmtree(folder)


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_restored_home_is_the_one_that_was_backed_up(full, tmp_path, outside):
    before = contents(full.root)
    made = back_up(full, outside / "backup.tar")
    assert (outside / "backup.tar").stat().st_mode & 0o777 == 0o600
    shutil.rmtree(full.root)
    restored = restore(outside / "backup.tar", full)
    after = contents(full.root)
    assert restored.files == made.files == len(after)
    assert restored.bytes == made.bytes
    assert made.entries == restored.entries == 2
    left_out = {name for name in set(before) - set(after) if not name.endswith(".lock")}
    assert {name.split("/")[0] for name in left_out} <= {"compiled", "store", "ledger", "serve"}
    assert "serve/auth-string" in left_out
    assert not [name for name in left_out if name.endswith((".jsonl", ".parquet"))]
    assert {name: before[name] for name in after if name != "mlflow.db"} == {n: c for n, c in after.items() if n != "mlflow.db"}
    assert sqlite3.connect(full.root / "mlflow.db").execute("select x from t").fetchall() == [(1,)]
    assert all(path.stat().st_mode & 0o077 == 0 for path in full.root.rglob("*"))
    assert next(full.store.rglob("*.parquet")).stat().st_mode & 0o777 == 0o400
    with Index.current() as index:
        assert [one.run for one in index.attempts_of("anes")] == ["r1"]


def test_it_can_be_unpacked_and_checked_without_this_program(full, tmp_path, outside):
    back_up(full, outside / "backup.tar")
    (outside / "by-hand").mkdir()
    subprocess.run(["tar", "-xf", outside / "backup.tar", "-C", outside / "by-hand"], check=True)
    subprocess.run(["sha256sum", "--quiet", "-c", SUMS], cwd=outside / "by-hand", check=True)
    shutil.rmtree(outside / "by-hand")


@pytest.mark.parametrize("exists", ["home", "file"])
def test_nothing_is_written_over(full, tmp_path, exists, outside):
    back_up(full, outside / "backup.tar")
    before = contents(full.root), (outside / "backup.tar").read_bytes()
    with pytest.raises(InputError) as caught:
        restore(outside / "backup.tar", full) if exists == "home" else back_up(full, outside / "backup.tar")
    assert caught.value.code == f"{'home' if exists == 'home' else 'backup'}-exists"
    assert (contents(full.root), (outside / "backup.tar").read_bytes()) == before


def test_a_backup_does_not_lie_in_the_home(full):
    with pytest.raises(InputError, match="in the private folder itself"):
        back_up(full, full.root / "runs" / "backup.tar")


def test_empty_folders_are_no_home(full, tmp_path, outside):
    back_up(full, outside / "backup.tar")
    new = Home(tmp_path / "new" / "home")
    new.folder("runs", "x")
    restore(outside / "backup.tar", new)
    assert (new.root / "ledger" / "ledger.jsonl").is_file()
    assert not (new.root / "runs" / "x").exists()


def repacked(backup: Path, change) -> None:
    with tarfile.open(backup) as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar]
    with tarfile.open(backup, "w") as tar:
        for member, content in change(members):
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def renamed(members, name):
    (first, content), *rest = members
    first.name = name
    sums = hashlib.sha256(content).hexdigest().encode() + b"  " + name.encode() + b"\n"
    return [(first, content), *rest[:-1], (rest[-1][0], rest[-1][1] + sums)]


def linked(members):
    link = tarfile.TarInfo("keys/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return [(link, b""), *members]


ROOTED = Path(tempfile.gettempdir()) / "sdcert-outside"
DAMAGES = {
    "a changed byte": lambda members: [(m, c if m.name != "ledger/ledger.jsonl" else c[:-2] + b" \n") for m, c in members],
    "a file left out": lambda members: members[1:],
    "a file put in": lambda members: [(tarfile.TarInfo("keys/other"), b"x"), *members],
    "no checksums": lambda members: members[:-1],
    "twice": lambda members: [members[0], *members],
    "outside": lambda members: renamed(members, "../outside"),
    "absolute": lambda members: renamed(members, str(ROOTED)),
    "a link": linked,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_backup_that_was_changed_makes_no_home(full, tmp_path, damage, outside):
    back_up(full, outside / "backup.tar")
    repacked(outside / "backup.tar", DAMAGES[damage])
    new = Home(tmp_path / "new")
    with pytest.raises(InputError) as caught:
        restore(outside / "backup.tar", new)
    assert caught.value.code == "backup-damaged"
    assert not new.root.exists()
    assert not list(tmp_path.glob(".new*"))
    assert not (tmp_path / "outside").exists()
    assert not ROOTED.exists()


@pytest.mark.parametrize("end", [0, 100, 0.5, 0.9, 1.0])
def test_a_torn_backup_makes_no_home(full, tmp_path, end, outside):
    back_up(full, outside / "backup.tar")
    whole = (outside / "backup.tar").read_bytes().rstrip(b"\0")[:-1]  # without the zeros that fill up a tar
    (outside / "backup.tar").write_bytes(whole[: int(end * len(whole)) if isinstance(end, float) else end])
    with pytest.raises(InputError, match=r"not a whole backup|checksums"):
        restore(outside / "backup.tar", Home(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_nothing_is_removed_from_the_store_meanwhile(full, tmp_path, monkeypatch, outside):
    seen = []

    def told(_: int) -> None:
        with lock_store() as free:
            seen.append(free)

    back_up(full, outside / "backup.tar", told)
    assert seen
    assert not any(seen)


@pytest.mark.slow
def test_a_backup_holds_what_its_ledger_names_while_others_append(full, tmp_path, outside):
    """Who appends names a file that it wrote before, as a run does with its manifest."""
    key, stop = signing_key(), threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set() and number < 200:
            run = f"live-{number}"
            (full.root / "runs" / run).mkdir()
            (full.root / "runs" / run / "manifest.json").write_text("{}")
            Ledger(full.root / "ledger").append(AttemptMade.model_validate(attempt(run)), key)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for turn in range(3):
            back_up(full, outside / f"{turn}.tar")
    finally:
        stop.set()
        writer.join()
    for turn in range(3):
        other = Home(tmp_path / f"restored-{turn}")
        restore(outside / f"{turn}.tar", other)
        ledger = Ledger(other.root / "ledger")
        named = [json.loads(line.content) for line in ledger.lines()]
        assert len(named) == ledger.head().size
        there = {path.name for path in (other.root / "runs").iterdir()}
        for line in list(ledger.lines())[1:]:
            event = ledger.entry(line.first_byte, len(line.content)).event
            assert event.run in there


def test_a_store_that_was_moved_and_linked_is_in_it(full, tmp_path, outside):
    shutil.move(full.root / "store", tmp_path / "home" / ".." / "elsewhere")
    (full.root / "store").symlink_to(tmp_path / "elsewhere")
    back_up(full, outside / "backup.tar")
    new = Home(tmp_path / "new")
    restore(outside / "backup.tar", new)
    assert len(list((new.root / "store").rglob("*.parquet"))) == 1
    shutil.rmtree(tmp_path / "elsewhere")


def test_a_key_that_is_a_link_is_in_it(full, tmp_path, outside):
    """As a mounted secret is."""
    (full.root / "keys" / "store.key").rename(outside / "store.key")
    (full.root / "keys" / "store.key").symlink_to(outside / "store.key")
    back_up(full, outside / "backup.tar")
    new = Home(tmp_path / "new")
    restore(outside / "backup.tar", new)
    assert (new.root / "keys" / "store.key").read_bytes() == (outside / "store.key").read_bytes()
    assert not (new.root / "keys" / "store.key").is_symlink()


def test_a_disk_that_is_not_mounted_makes_no_backup_without_it(full, tmp_path, outside):
    shutil.move(full.root / "store", outside / "elsewhere")
    (full.root / "store").symlink_to(outside / "nowhere")
    with pytest.raises(InputError, match="a link of the home leads nowhere") as caught:
        back_up(full, outside / "backup.tar")
    assert (caught.value.code, caught.value.value) == ("backup-link", "store")
    assert [path.name for path in outside.iterdir()] == ["elsewhere"]


def test_what_is_removed_while_its_folder_is_read_is_left_out(full, monkeypatch, outside):
    (full.root / "outbox").mkdir()
    for name in ("1.json", "2.json"):
        (full.root / "outbox" / name).write_text("{}")

    still = backup._still

    def removing(path, own):
        if path.name == "1.json":
            path.with_name("2.json").unlink()
        return still(path, own)

    monkeypatch.setattr(backup, "_still", removing)
    back_up(full, outside / "backup.tar")
    with tarfile.open(outside / "backup.tar") as tar:
        assert [name for name in tar.getnames() if name.startswith("outbox")] == ["outbox/1.json"]


@pytest.mark.parametrize("name", [b"a line\nbreak", b"back\\slash", b"back\\nslash", b"no utf-8 \xff", "ä 名".encode()])
def test_a_file_of_any_name_comes_back(full, tmp_path, name, outside):
    strange = Path(os.fsdecode(os.fsencode(full.root / "runs" / "r1") + b"/" + name))
    strange.write_text("x")
    back_up(full, outside / "backup.tar")
    new = Home(tmp_path / "new")
    restore(outside / "backup.tar", new)
    assert name in [os.fsencode(path.name) for path in (new.root / "runs" / "r1").iterdir()]
    (outside / "by-hand").mkdir()
    subprocess.run(["tar", "-xf", outside / "backup.tar", "-C", outside / "by-hand"], check=True)
    subprocess.run(["sha256sum", "--quiet", "-c", SUMS], cwd=outside / "by-hand", check=True)
    shutil.rmtree(outside / "by-hand")


@pytest.mark.parametrize(
    "header", [{"mtime": "nan"}, {"mtime": "1e300"}, {"GNU.sparse.size": "9" * 15, "GNU.sparse.map": "0,1"}]
)
def test_a_hostile_header_is_told_and_fills_no_disk(tmp_path, header, outside):
    with tarfile.open(outside / "backup.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("keys/store.key")
        member.size, member.pax_headers = 1, header
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(InputError) as caught:
        restore(outside / "backup.tar", Home(tmp_path / "new"))
    assert caught.value.code == "backup-damaged"
    assert not (tmp_path / "new").exists()


def test_a_full_disk_leaves_no_backup(full, tmp_path, outside):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            back_up(full, outside / "backup.tar")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(outside.iterdir())


def test_the_commands_say_what_they_did(full, tmp_path, capfd, monkeypatch, outside):
    from flows.cli import run

    monkeypatch.setenv("SDCERT_STORE_URL", "")
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql+asyncpg://u:canary-4711@h/d")
    assert run(["backup", "-o", str(outside / "backup.tar")]) == 0
    out = capfd.readouterr().out
    assert "private keys" in out
    assert "pg_dump" in out
    assert "canary" not in out
    assert run(["restore", str(outside / "backup.tar")]) == 2
    assert "there is a home already" in capfd.readouterr().err
    shutil.rmtree(full.root)
    assert run(["restore", str(outside / "backup.tar"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["entries"] == 2

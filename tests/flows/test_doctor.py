"""`sdcert doctor`: what is wrong is named with what to do; what is secret is not; nothing is changed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from trails import runs, write_trail

from flows.cli import run
from flows.cli.doctor import examine as doctor
from flows.cli.doctor import home as doctor_home

KEY = bytes(range(32))
SEED = b"the seed that nobody may see...."[:32]
DRAW = hmac.new(KEY, b"draw" + SEED, hashlib.sha256).hexdigest()[:32]


@pytest.fixture
def furnished(home):
    """A private folder as a first run leaves it."""
    for folder in ("keys", "draws/seeds", "store/table", "runs"):
        (home / folder).mkdir(parents=True, mode=0o700)
    for path, content in (
        ("keys/store.key", KEY),
        ("draws/survey.current", DRAW.encode()),
        (f"draws/seeds/{DRAW}", SEED),
        ("draws/survey.pseudonyms", DRAW.encode()),
    ):
        (home / path).write_bytes(content)
        (home / path).chmod(0o600)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return home


def keep_run(home, name: str, **facts: object) -> None:
    folder = home / "runs" / name
    folder.mkdir(mode=0o700)
    named = {"run": name, "release": "survey", "series": "survey", "spec": {}, "stages": {}}
    here = {"host": socket.gethostname(), "process": os.getpid(), "started_at": datetime.now(UTC).isoformat()}
    manifest = {**named, **here, "status": "finished", **facts}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "manifest.json").chmod(0o600)


def examined(capsys) -> tuple[int, dict[str, list[dict[str, str]]], str]:
    capsys.readouterr()
    code = run(["doctor", "--json"])
    out = capsys.readouterr().out
    by_topic: dict[str, list[dict[str, str]]] = {}
    for finding in json.loads(out)["findings"]:
        by_topic.setdefault(finding["topic"], []).append(finding)
    return code, by_topic, out


def test_a_furnished_home_passes(furnished, capsys):
    code, found, _ = examined(capsys)
    assert code == 0
    assert {finding["status"] for topic in ("home", "permissions", "keys", "seeds", "locks") for finding in found[topic]} == {
        "ok"
    }


def test_a_home_that_is_absent_stays_absent(home, capsys):
    code, found, _ = examined(capsys)
    assert code == 0
    assert "will be made at the first run" in found["home"][0]["says"]
    assert not home.exists()


def test_nothing_is_changed(furnished, capsys):
    before = {path: (path.stat().st_mode, path.stat().st_size) for path in furnished.rglob("*")}
    examined(capsys)
    assert {path: (path.stat().st_mode, path.stat().st_size) for path in furnished.rglob("*")} == before


def test_each_file_that_is_open_to_others_is_named(furnished, capsys):
    (furnished / "draws" / "seeds" / DRAW).chmod(0o644)
    (furnished / "store").chmod(0o750)
    (furnished / "compiled").mkdir(mode=0o755)
    code, found, _ = examined(capsys)
    assert code == 1
    told = [finding["says"] for finding in found["permissions"]]
    assert len(told) == 2
    assert any(f"draws/seeds/{DRAW}" in says for says in told)
    assert all(finding["to_do"].startswith("chmod go-rwx ") for finding in found["permissions"])


def test_a_home_that_others_may_enter_fails(furnished, capsys):
    furnished.chmod(0o755)
    code, found, _ = examined(capsys)
    assert (code, found["home"][0]["status"]) == (1, "fail")
    assert found["home"][0]["to_do"].startswith("chmod 700 ")


def test_machine_code_that_others_may_write_fails(furnished, capsys):
    (furnished / "compiled").mkdir()
    (furnished / "compiled").chmod(0o777)
    assert examined(capsys)[0] == 1


def test_machine_code_outside_the_home_that_others_may_write_fails(furnished, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SDCERT_COMPILED", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    assert [one["status"] for one in examined(capsys)[1]["compiled code"]] == ["ok"]
    (tmp_path / "cache" / "function.nbc").touch()
    (tmp_path / "cache" / "function.nbc").chmod(0o666)
    code, found, _ = examined(capsys)
    assert (code, found["compiled code"][0]["status"]) == (1, "fail")


@pytest.mark.parametrize(
    ("path", "content", "topic"),
    [("keys/store.key", None, "keys"), ("keys/store.key", b"short", "keys"), (f"draws/seeds/{DRAW}", None, "seeds"),
     (f"draws/seeds/{DRAW}", b"short", "seeds")],
)  # fmt: skip
def test_a_lost_or_torn_secret_fails(path, content, topic, furnished, capsys):
    (furnished / path).unlink()
    if content is not None:
        (furnished / path).write_bytes(content)
        (furnished / path).chmod(0o600)
    code, found, _ = examined(capsys)
    assert code == 1
    assert found[topic][0]["status"] == "fail"


def test_no_secret_and_no_address_is_printed(furnished, capsys, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://steward:hush-hush@127.0.0.1:9/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://steward:hush-hush@127.0.0.1:9")
    code, found, out = examined(capsys)
    assert code == 1
    assert [found[topic][0]["status"] for topic in ("prefect", "mlflow")] == ["fail", "warn"]
    run(["doctor"])
    out += capsys.readouterr().out
    assert "PREFECT_API_URL" in out
    assert not any(secret in out for secret in ("hush-hush", "127.0.0.1", SEED.decode(), KEY.hex()))


def test_a_damaged_store_of_figures_is_a_warning(furnished, capsys):
    store = furnished / "mlflow.db"
    sqlite3.connect(store).close()
    store.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    store.chmod(0o600)
    code, found, _ = examined(capsys)
    assert (code, found["mlflow"][0]["status"]) == (0, "warn")


def test_dead_runs_and_runs_from_the_future_are_told(furnished, capsys):
    keep_run(furnished, "20261101T000000Z-aaaaaa", status="running", process=2**22 + 1)
    keep_run(furnished, "20261102T000000Z-bbbbbb", status="running", process=2**22 + 1, host="elsewhere")
    keep_run(furnished, "20361102T000000Z-cccccc", started_at=(datetime.now(UTC) + timedelta(days=9)).isoformat())
    _, found, _ = examined(capsys)
    assert "1 run killed before the end: 20261101T000000Z-aaaaaa" in found["runs"][0]["says"]
    assert "20361102T000000Z-cccccc" in found["clock"][1]["says"]


def test_a_file_in_the_place_of_the_home_fails(home, capsys):
    home.write_text("")
    code, found, _ = examined(capsys)
    assert code == 1
    assert "not a folder" in found["home"][0]["says"]


def test_little_room_and_network_disks_are_told(furnished, capsys, monkeypatch):
    monkeypatch.setattr(doctor_home, "LOW_FREE_BYTES", 2**62)
    monkeypatch.setattr(doctor_home, "FEW_INODES", 2**62)
    monkeypatch.setattr(doctor_home, "LITTLE_INODES", 2**62)
    monkeypatch.setattr(doctor_home, "_find_file_system", lambda folder: "nfs4")
    code, found, _ = examined(capsys)
    assert code == (1 if os.statvfs(furnished).f_files else 0)
    assert [found[topic][0]["status"] for topic in ("disk space", "file system")] == ["warn", "warn"]


def test_locks_that_hold_nothing_fail(tmp_path, monkeypatch):
    assert doctor_home._check_locks(tmp_path).status == "ok"
    monkeypatch.setattr(doctor_home.fcntl, "flock", lambda file, how: None)
    assert doctor_home._check_locks(tmp_path).status == "fail"


def test_versions_are_compared_with_the_lock(tmp_path, monkeypatch):
    import numpy

    lock = tmp_path / "requirements.lock"
    monkeypatch.setattr(doctor, "LOCK", lock)
    lock.write_text(
        f"numpy=={numpy.__version__} ; python_full_version >= '3.0' \\\n    --hash=sha256:00\n# via x\nnot-there==1 \\\n"
    )
    assert [finding.status for finding in doctor._check_packages()] == ["ok"]
    lock.write_text("NumPy==0.1 ; python_full_version < '3.0' \\\nnumpy==0.2 \\\n")
    (finding,) = doctor._check_packages()
    assert (finding.status, "numpy" in finding.says) == ("warn", True)


def test_the_terminal_shows_a_line_a_finding_and_what_is_not_protected(furnished, capsys):
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Not protected, whatever stands above:" in out
    assert "PCG64" in out
    assert all(
        line.split()[0] in {"ok", "warn", "fail", "to", "-", "Not"} or "ok," in line for line in out.splitlines() if line
    )


@pytest.mark.parametrize(
    ("spoil", "status", "says"),
    [
        (lambda lines: lines, "ok", "the last 7 are as they were signed"),
        (lambda lines: [*lines[:4], *lines[5:]], "fail", "lost entries"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"A", b"B", 1)], "fail", "last acknowledged entry"),
        (lambda lines: [*lines[:4], lines[4].replace(b"A", b"B", 1), *lines[5:]], "fail", "entry 4: "),
        (lambda lines: [*lines, b"{torn"], "warn", "ends in the middle of an entry (5 bytes)"),
    ],
)
def test_the_end_of_the_ledger_is_looked_at(furnished, capsys, spoil, status, says):
    path = write_trail(furnished, runs(2))
    lines = [line + b"\n" for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(spoil(lines)).removesuffix(b"\n" if status == "warn" else b""))
    code, found, _ = examined(capsys)
    (finding,) = [one for one in found["ledger"] if one["status"] == status]
    assert says in finding["says"]
    if status != "ok":
        assert "sdcert audit verify" in finding["to_do"]
    assert code == int(status == "fail" or any(one["status"] == "fail" for all_of in found.values() for one in all_of))


def test_a_missing_head_of_the_ledger_is_told(furnished, capsys):
    (write_trail(furnished, runs(2)).parent / "head.json").unlink()
    assert any("head.json is missing" in one["says"] for one in examined(capsys)[1]["ledger"])

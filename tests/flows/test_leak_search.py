"""The search for leaks finds what is planted, in every writing, and says which secret it is without showing it."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import os
import sqlite3
import subprocess
import sys

import leaks
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from outcomes import ROOT
from release_files import CANARY, survey, write_release

SEED = hashlib.sha256(b"a seed").digest()
STORE_KEY = hashlib.sha256(b"a key of a store").digest()


@pytest.fixture
def planted(tmp_path, home):
    """A home with every kind of secret in it, and a planted record in its source."""
    for folder in ("store", "keys/signing", "draws/seeds", "runs/one", "failures", "ledger", "records"):
        (home / folder).mkdir(parents=True)
    (home / "draws/seeds/draw").write_bytes(SEED)
    (home / "keys/store.key").write_bytes(STORE_KEY)
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"a signing key").digest())
    for name, encryption in (("open", NoEncryption()), ("closed", BestAvailableEncryption(b"correct horse"))):
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        (home / f"keys/signing/{name}.pem").write_bytes(pem)
    write_release(tmp_path / "project", text=survey(canary=True))
    table = str(tmp_path / "project/survey.csv")
    (home / "runs/one/manifest.json").write_text(json.dumps({"spec": {"source": {"table": table}}, "seed": SEED.hex()}))
    (home / "failures/trace.txt").write_text(f"broke at {CANARY['income']}")
    return home


@pytest.fixture
def leaky(planted, tmp_path):
    """`leaky(path, content)` plants a leak, searches, and takes the leak away again: the test's own search finds none."""

    def search(where: str, content: bytes) -> list[str]:
        path = tmp_path / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        try:
            return leaks.leaks_of_test(tmp_path)
        finally:
            path.unlink()

    return search


def test_private_folders_may_hold_secrets(leaky):
    assert leaky("home/runs/one/scorecard.json", SEED + STORE_KEY + str(CANARY["income"]).encode()) == []


@pytest.mark.parametrize(
    "where", ["home/ledger/ledger.jsonl", "home/index.db", "home/mlflow.db", "releases/a/b/report.html", "log"]
)
def test_a_seed_is_found_wherever_it_is_not_private(leaky, tmp_path, where):
    (told,) = leaky(where, b'{"draw": "' + SEED.hex().encode() + b'"}')
    assert told == f"{tmp_path / where} holds a seed"


WRITINGS = {
    "raw": SEED,
    "hex": SEED.hex().encode(),
    "HEX": SEED.hex().upper().encode(),
    "base64": base64.b64encode(SEED),
    "url-safe": base64.urlsafe_b64encode(SEED),
    "a number": str(int.from_bytes(SEED, "big")).encode(),
    "a number from behind": str(int.from_bytes(SEED, "little")).encode(),
    "hex in a signed envelope": base64.b64encode(b'{"note":"' + SEED.hex().encode() + b'"}'),
    "raw in a longer base64": base64.b64encode(b"x" + SEED + b"yz"),
    "first half": SEED.hex().encode()[:32] + b"\0\0\0\0",
    "second half": b"\0\0\0\0" + SEED.hex().encode()[32:],
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_every_writing_of_a_seed_is_found(leaky, writing):
    assert [told.rpartition(" holds ")[2] for told in leaky("log", b"before " + WRITINGS[writing] + b" after")] == ["a seed"]


def test_what_is_told_does_not_show_the_secret(leaky):
    assert SEED.hex() not in "".join(leaky("log", SEED.hex().encode()))


def test_keys_that_sign_are_found(planted, leaky):
    raw = hashlib.sha256(b"a signing key").digest()
    closed = (planted / "keys/signing/closed.pem").read_bytes()
    for content in (raw, raw.hex().encode(), closed, base64.b64encode(b"." + closed), closed.splitlines()[1]):
        assert [told.rpartition(" holds ")[2] for told in leaky("out.json", content)] == ["a private key that signs"]
    assert [told.rpartition(" holds ")[2] for told in leaky("out.json", STORE_KEY)] == ["the store's key"]


@pytest.mark.parametrize("variable", ["SDCERT_KEY_PASSPHRASE", "SDCERT_APPROVAL_PASSPHRASE"])
def test_passphrases_are_found(leaky, monkeypatch, variable):
    monkeypatch.setenv(variable, "correct horse")
    assert [told.rpartition(" holds ")[2] for told in leaky("out", b"--passphrase 'correct horse'")] == ["a passphrase"]
    monkeypatch.delenv(variable)


@pytest.mark.parametrize("kind", leaks.HASHES)
def test_plain_hashes_of_the_source_are_found(leaky, tmp_path, kind):
    digest = hashlib.new(kind, (tmp_path / "project/survey.csv").read_bytes()).hexdigest()
    told = leaky("releases/certificate.json", base64.b64encode(f'{{"source":"{digest}"}}'.encode()))
    assert [one.rpartition(" holds ")[2] for one in told] == [f"the {kind} of a source"]


def test_values_of_the_planted_record_are_found(leaky):
    for name in leaks.ORIGINAL:
        value = str(CANARY[name]).encode()
        for content in (b"row: " + value, base64.b64encode(b"row: " + value)):
            assert [told.rpartition(" holds ")[2] for told in leaky("log", content)] == [f"the planted {name}"]


def test_a_copy_of_the_source_is_a_leak_though_the_source_is_none(leaky):
    assert len(leaky("releases/released.csv", survey(canary=True).encode())) == len(leaks.ORIGINAL)


def test_parquet_is_read_and_databases_too(leaky, tmp_path):
    pq.write_table(pa.table({"income": [1.0, CANARY["income"]]}), tmp_path / "made", compression="zstd")
    content = (tmp_path / "made").read_bytes()
    (tmp_path / "made").unlink()
    assert [told.rpartition(" holds ")[2] for told in leaky("released.parquet", content)] == ["the planted income"]
    with sqlite3.connect(tmp_path / "made.db") as base:
        base.execute("create table t (a text, b text)")
        base.executemany("insert into t values (?, ?)", [("x" * length, SEED.hex()) for length in range(3900, 4100)])
    base.close()
    content = (tmp_path / "made.db").read_bytes()
    (tmp_path / "made.db").unlink()
    assert [told.rpartition(" holds ")[2] for told in leaky("made.db", content)] == ["a seed"]


def test_known_limit_compressed_files_are_not_opened(leaky):
    assert leaky("log.gz", gzip.compress(SEED.hex().encode())) == []


@given(st.binary(max_size=200), st.binary(min_size=8, max_size=40), st.binary(max_size=200), st.integers(0, 2))
def test_the_one_pass_finds_what_a_plain_search_finds(before, secret, after, copies):
    searched = leaks.Secrets()
    searched.add("it", [secret])
    content = before + secret * copies + after
    assert searched.found_in(content) == ({"it"} if secret in content else set())


def test_short_secrets_alone_and_none_at_all():
    searched = leaks.Secrets()
    assert searched.found_in(b"anything") == set() and not searched
    searched.add("it", [b"4711"])
    assert searched.found_in(b"x4711") == {"it"} and searched.found_in(b"") == set()


@given(st.binary(max_size=9), st.binary(min_size=20, max_size=40), st.binary(max_size=9))
def test_base64_is_found_whatever_stands_around(before, secret, after):
    text = base64.b64encode(before + secret + after)
    assert any(writing in text for writing in leaks._base64_inside(secret))


def test_the_table_is_read_as_a_person_would(tmp_path):
    """The planted line is the one that the tests' survey ends with."""
    write_release(tmp_path, text=survey(canary=True))
    *_, last = csv.reader((tmp_path / "survey.csv").read_text().splitlines())
    assert last == [str(value) for value in CANARY.values()]


TWO_LEAKS = """
import os
from pathlib import Path

SEED = bytes(range(100, 132))


def test_that_leaks_in_its_own_folder(home, tmp_path):
    (home / "draws/seeds").mkdir(parents=True)
    (home / "draws/seeds/draw").write_bytes(SEED)
    (home / "keys/signing").mkdir(parents=True)
    (tmp_path / "log").write_text(SEED.hex())


def test_that_leaks_in_a_shared_place(home):
    shared = Path(os.environ["SHARED"])
    shared.mkdir()
    (shared / "log").write_text(SEED.hex())


def test_that_leaks_nothing(home):
    pass
"""


def test_a_leak_fails_the_test_that_made_it_and_the_session(tmp_path):
    """The fixtures of tests/conftest.py, in a session of their own."""
    (tmp_path / "test_planted.py").write_text(TWO_LEAKS)
    (tmp_path / "shared.py").write_text(
        "import conftest, os, pathlib\nos.environ['SHARED'] = str(pathlib.Path(conftest._SESSION) / 'shared')\n"
    )
    folders = [str(tmp_path), str(ROOT / "tests"), str(ROOT / "tests/flows"), str(ROOT)]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}  # with it pytest tells things twice
    environment["PYTHONPATH"] = os.pathsep.join(folders)
    words = ["-p", "conftest", "-p", "shared", "-p", "no:cacheprovider", "--basetemp", tmp_path / "made", "-q"]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", tmp_path, *words, tmp_path / "test_planted.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "3 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if line.endswith(" holds a seed")]
    assert len(told) == 2
    assert "test_that_leaks_in_its_own_f" in told[0] and told[1].endswith("shared/log holds a seed")
    assert bytes(range(100, 132)).hex() not in done.stdout

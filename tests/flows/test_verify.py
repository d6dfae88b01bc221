"""`sdcert verify` at the command line: exit codes, what it prints, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from outcomes import ROOT

from tasks.runtime.settings import Home

GOLDEN = ROOT / "tests" / "audit" / "golden" / "certificate_v2"
WHEN = ("--at", "2027-01-01")


@pytest.fixture
def release(tmp_path) -> Path:
    return shutil.copytree(GOLDEN, tmp_path / "release")


@pytest.fixture
def verify(capfd, monkeypatch, tmp_path):
    """`verify(*words)` in this process, with a home that does not exist; exit code, stdout, stderr."""
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "no-home"))
    from flows.cli import run

    def call(*words: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["verify", *map(str, words)])
        captured = capfd.readouterr()
        assert not (tmp_path / "no-home").exists()
        return code, captured.out, captured.err

    return call


def test_a_certified_file_matches(verify, release):
    code, out, err = verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line[:27].split() for line in lines[:6]] == [
        ["matches", what] for what in ("form", "signature", "verdict", "file", "date", "revocation")
    ]
    assert "released.csv is what the certificate of golden (run 20261121T093100Z-000001) speaks of." in lines
    assert "  pass      reidentification 0.083; limit at most 0.15, found by distance_linkage, declared" in lines
    assert "  This is not a determination of anonymity in law." in lines
    assert "  omitted: transparency (shown in an earlier edition)" in lines


def test_another_file_does_not(verify, release, tmp_path):
    other = tmp_path / "other.csv"
    other.write_bytes((release / "released.csv").read_bytes().replace(b"58", b"59"))
    words = ("--certificate", release / "certificate.json", "--key", release / "sdcert.pem", *WHEN)
    code, out, _ = verify(other, *words)
    assert (code, "DOES NOT MATCH  file" in out) == (1, True)
    assert "Do not rely on it: other.csv and this certificate fail the check of file." in out
    assert "limit at most" not in out


@pytest.mark.parametrize(
    ("at", "code"), [("2026-11-20", 1), ("2026-11-21", 0), ("2028-11-20", 0), ("2028-11-21", 1), ("2028-11-21T09:31:00Z", 0),
                     ("2028-11-21T10:31:00+01:00", 0), ("2028-11-21T09:31:01", 1)]
)  # fmt: skip
def test_as_of_a_date(verify, release, at, code):
    assert verify(release / "released.csv", "--key", release / "sdcert.pem", "--at", at)[0] == code


def test_without_a_date_it_is_now(verify, release, monkeypatch):
    from datetime import UTC, datetime

    import flows.cli.timestamps as console

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2030, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(console, "datetime", Later)
    code, out, _ = verify(release / "released.csv", "--key", release / "sdcert.pem")
    assert (code, "to be reviewed by 2028-11-21, which is past" in out) == (1, True)


def signed_release(release, change, name="certificate.json"):
    """The golden certificate, changed and signed with another key: the key's file."""
    from securesystemslib.signer import CryptoSigner

    from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, open_envelope, sign_envelope

    signer, path = CryptoSigner.generate_ed25519(), release / "certificate.json"
    value = open_envelope(path.read_bytes(), STATEMENT_PAYLOAD_TYPE).value
    change(value)
    path.unlink()
    (release / name).write_bytes(sign_envelope(value, STATEMENT_PAYLOAD_TYPE, signer))
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = signer._private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (release / "other.pem").write_bytes(public)
    return release / "other.pem"


@pytest.mark.parametrize(
    ("claim", "word"),
    [
        ({"verdict": "refused", "file": "not released"}, "REFUSED"),
        ({"verdict": "undecided", "file": "not released"}, "UNDECIDED"),
        ({"not_for_publication": True}, "REHEARSAL"),
    ],
)
def test_an_authentic_refusal_is_told_from_a_forgery(verify, release, claim, word):
    def refuse(value):
        value["predicate"]["claim"] |= claim
        if "file" in claim:
            (report,) = [one for one in value["predicate"]["documents"] if one["name"] == "report.html"]
            value["subject"] = [{"name": "report.html", "digest": {"sha256": report["sha256"]}}]

    key = signed_release(release, refuse, "statement.json")
    code, out, _ = verify(release / "report.html", "--key", key, *WHEN)
    assert (code, "Do not rely" in out) == (1, False)
    assert "report.html is genuine: signed by key " in out
    assert f"and it says {word}: nothing is certified." in out
    code, out, _ = verify(release / "report.html", "--key", key, "--at", "2040-01-01")
    assert (code, f"says {word}" in out) == (1, True)
    (release / "report.html").write_bytes((release / "report.html").read_bytes() + b" ")
    code, out, _ = verify(release / "report.html", "--key", key, *WHEN)
    assert (code, "genuine" in out, "Do not rely on it" in out) == (1, False, True)
    code, _, err = verify(release / "statement.json", "--key", key)
    assert (code, "this is the signed statement itself" in err) == (2, True)
    assert f"sdcert verify {release}/re" in err


def test_who_names_a_signed_statement_is_told_which_file_to_name(verify, release, home, tmp_path):
    from tasks.audit.certificates.approval import PREDICATE_TYPE as APPROVAL
    from tasks.audit.certificates.revocation import PREDICATE_TYPE as REVOCATION
    from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, open_envelope, sign_envelope
    from tasks.audit.signing.keys import open_signing_key

    golden = release / "certificate.json"
    subject = open_envelope(golden.read_bytes(), STATEMENT_PAYLOAD_TYPE).value["subject"]
    for name, kind in {"approval-1.json": APPROVAL, "revocation.json": REVOCATION}.items():
        value = {"_type": "x", "predicateType": kind, "predicate": {}, "subject": subject}
        (release / name).write_bytes(sign_envelope(value, STATEMENT_PAYLOAD_TYPE, open_signing_key(home=Home(home)).signer))
    shutil.copy(golden, release / "mine.json")
    for name, told in {
        "approval-1.json": "this is an approval",
        "revocation.json": "this is a revocation",
        "mine.json": "this is the certificate itself",
        "certificate.json": "this is the certificate itself",
    }.items():
        code, _, err = verify(release / name, "--key", release / "sdcert.pem")
        assert (code, told in err, f"sdcert verify {release}/released.csv" in err) == (2, True, True)
        assert (f"--certificate {release}/mine.json" in err) is (name == "mine.json")


def test_a_key_that_is_not_known_may_be_an_older_one(verify, release):
    key = signed_release(release, lambda value: None)
    code, out, _ = verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN)
    assert (code, "not known here; if the issuer changed keys since" in out, "trust file" in out) == (1, True, True)
    assert verify(release / "released.csv", "--key", key, *WHEN)[0] == 0


def test_a_trust_file_tells_of_a_revoked_certificate_of_the_same_data(verify, release):
    from datetime import UTC, datetime

    from tasks.audit.ledger.entries import KeyClaim
    from tasks.audit.signing.keyring import KeyRecord, RevokedCertificate, TrustFile, parse_public_key
    from tasks.microdata.canonical import canonical

    pem, when = (release / "sdcert.pem").read_text(), datetime(2026, 11, 20, tzinfo=UTC)
    key = {"key_id": parse_public_key(pem.encode()).keyid, "purpose": "certificates", "public_key": pem, "created_at": when}
    address = json.loads(verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN, "--json")[1])
    address = address["predicate"]["claim"]["file"]["content_address"]
    revoked = RevokedCertificate(sha256="1" * 64, reason="the wrong purpose", at=when, content_address=address)
    record = KeyRecord(claim=KeyClaim(**key, name="the office"))
    trust = TrustFile(ledger=None, written_at=when, keys=(record,), revoked_certificates=(revoked,))
    (release / "trust.json").write_bytes(canonical(trust.model_dump(mode="json")))
    words = (release / "released.csv", "--key", release / "trust.json", *WHEN)
    code, out, _ = verify(*words)
    assert code == 0
    assert (
        "WARNING         revocation  another certificate of the same data was revoked on 2026-11-20: the wrong purpose" in out
    )
    assert "(this one was issued after that: ask the issuer)" in out
    assert "speaks of. BUT another certificate of the same data was revoked: ask the issuer." in out
    said = json.loads(verify(*words, "--json")[1])
    assert [check["matches"] for check in said["checks"] if check["warning"]] == [None]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "Insiders were tried, and the policy sets them no limit"),
        ([("reidentification", "insider:vote", 0.41), ("reidentification", "insider:income", 0.3)],
         "Insiders under the policy's limits: reidentification 0.41 (insider:vote). The figures of the attack model are the"),
    ],
)  # fmt: skip
def test_the_worst_insider_is_named(verify, release, lines, told):
    def limit(value):
        value["predicate"]["attack_model"]["insiders"] = ["vote", "income"]
        criteria = value["predicate"]["claim"]["criteria"]
        for measure, intruder, figure in lines:
            criteria.append(criteria[0] | {"measure": measure, "intruder": intruder, "deciding_value": figure, "limit": 0.5})

    key = signed_release(release, limit)
    code, out, _ = verify(release / "released.csv", "--key", key, *WHEN)
    assert (code, told in out) == (0, True)


def test_a_lower_bound_is_told_as_one(verify, release):
    def mark(value):
        said = value["predicate"]
        said["attack_model"]["worst_insider"] = {
            "intruder": "insider:vote", "attack": "consistency", "reidentification": 0.37, "lower_bound": True
        }  # fmt: skip
        limit = {"intruder": "insider:vote", "limit": 0.5, "lower_bound": True, "deciding_value": 0.37, "deciding_bound": "low"}
        said["claim"]["criteria"].append(said["claim"]["criteria"][0] | {"measure": "reidentification", **limit})

    key = signed_release(release, mark)
    code, out, _ = verify(release / "released.csv", "--key", key, *WHEN)
    assert code == 0
    assert "Worst insider: reidentification at least 0.37 (insider:vote, consistency)" in out
    assert "Insiders under the policy's limits: reidentification at least 0.37 (insider:vote)." in out
    assert "reidentification at least 0.37; limit at most 0.5" in out


def test_planned_looks_and_their_bounds_are_told(verify, release):
    def mark(value):
        said = value["predicate"]
        looks = {"basis": "sequential_targets", "planned_shares": [0.01, 0.1], "ended_at": 1, "planned": 2}
        said["attack_model"]["looks"] = looks | {"bound_confidence": 0.975}
        bound = {"deciding_bound": "high", "deciding_value": 0.2, "bound_confidence": 0.975}
        said["claim"]["criteria"].append(said["claim"]["criteria"][0] | {"measure": "reidentification", **bound})

    key = signed_release(release, mark)
    code, out, _ = verify(release / "released.csv", "--key", key, *WHEN)
    assert code == 0
    assert "Targets were taken in planned looks, which ended at look 1 of 2" in out
    assert "reidentification 0.2 (one-sided 97.5 % bound)" in out


@pytest.mark.parametrize(("status", "word"), [("ok", "not omitted after all"), ("not_followed", "omitted")])
def test_an_omission_of_an_attack_that_gave_a_figure_is_none(verify, release, status, word):
    def attack(value):
        claims = value["predicate"]["claim"]["attacks"]
        claims.append(claims[0] | {"attack": "transparency", "method": "transparency", "status": status})

    key = signed_release(release, attack)
    code, out, _ = verify(release / "released.csv", "--key", key, *WHEN)
    assert (code, f"  {word}: transparency (shown in an earlier edition)" in out) == (0, True)


def test_as_json(verify, release):
    code, out, _ = verify(release / "report.html", "--key", release / "sdcert.pem", *WHEN, "--json")
    said = json.loads(out)
    assert (code, said["matches"], said["predicate"]["release"]) == (0, True, "golden")
    assert (said["document"], "the released table was not looked at" in said["conclusion"]) == ("report.html", True)
    assert {check["what"]: check["matches"] for check in said["checks"]}["file"] is True
    (release / "certificate.json").write_bytes(b"{}")
    code, out, _ = verify(release / "released.csv", "--key", release / "sdcert.pem", "--json")
    assert (code, json.loads(out)["matches"], json.loads(out)["predicate"]) == (1, False, None)


def with_a_dictionary_of_more(release: Path) -> Path:
    """A Parquet file of the released table, whose dictionary holds a name that no row uses."""
    table = pd.read_csv(release / "released.csv", dtype={"region": "string"}, parse_dates=["visit", "seen"])
    regions = [*table["region"].dropna().unique(), "SECRET Alice"]
    table["region"] = pd.Categorical(table["region"], categories=regions)
    table.to_parquet(release / "own.parquet", index=False)
    assert b"SECRET Alice" in (release / "own.parquet").read_bytes()
    return release / "own.parquet"


def test_a_file_that_holds_more_than_the_table_matches_only_on_request(verify, release):
    words = (with_a_dictionary_of_more(release), "--key", release / "sdcert.pem", *WHEN)
    code, out, _ = verify(*words)
    assert code == 1
    listed = (
        "WARNING         content     not covered by the certificate: values in a dictionary that no row uses (column region)"
    )
    assert listed in out
    assert "own.parquet holds the certified table and more, which the certificate does not cover (see above)." in out
    code, out, _ = verify(*words, "--content-only")
    assert (code, listed in out) == (0, True)
    assert "The table in own.parquet is what the certificate of golden" in out
    code, out, _ = verify(*words, "--json")
    assert (code, json.loads(out)["not_covered"]) == (1, ["values in a dictionary that no row uses (column region)"])


def test_a_file_of_the_same_bytes_is_compared_by_them_alone(verify, release):
    plain = verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN)
    assert verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN, "--content-only") == plain


def test_a_statement_beside_it_is_found_where_there_is_no_certificate(verify, release):
    (release / "certificate.json").rename(release / "statement.json")
    assert verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN)[0] == 0


def wrong_arguments(release: Path) -> dict[str, tuple[list[object], str]]:
    released, key = release / "released.csv", ["--key", release / "sdcert.pem"]
    lonely = release.parent / "lonely.csv"
    lonely.write_bytes(b"a\n1\n")
    return {
        "no file": ([release / "none.csv", *key], "there is no such file"),
        "folder": ([release, *key], "this is not a file"),
        "no certificate": ([lonely, *key], "neither certificate.json nor statement.json stands beside the file"),
        "certificate absent": ([released, "--certificate", release / "none.json", *key], "there is no such file"),
        "certificate is a folder": ([released, "--certificate", release, *key], "this is not a file"),
        "certificate given": ([release / "certificate.json", *key], "this is the certificate itself"),
        "no key": ([released], "no public key is known here"),
        "key absent": ([released, "--key", release / "none.pem"], "there is no such file"),
        "key is none": ([released, "--key", released], "this is no public key and no trust file"),
        "no date": ([released, *key, "--at", "tomorrow"], "this is no date"),
        "no such day": ([released, *key, "--at", "2027-02-30"], "this is no date"),
        "beyond all years": ([released, *key, "--at", "9999-12-31T23:59:59-05:00"], "this is no date"),
        "nothing": ([], "Missing argument"),
        "more": ([released, released, *key], "unexpected extra argument"),
    }


def test_wrong_arguments_have_each_its_message(verify, release, subtests):
    for name, (words, message) in wrong_arguments(release).items():
        with subtests.test(name):
            code, out, err = verify(*words)
            assert (code, out) == (2, "")
            assert message in err
            assert "to do:" in err
            assert "Traceback" not in err


@pytest.mark.parametrize("gone", [BrokenPipeError(), SystemExit(1)], ids=["the system's", "rich's"])
def test_who_did_not_read_the_verdict_is_not_told_that_it_is_good(verify, release, monkeypatch, gone):
    def unread(*_, **__):
        raise gone

    monkeypatch.setattr("flows.cli.verify._print", unread)
    assert verify(release / "released.csv", "--key", release / "sdcert.pem", *WHEN)[0] == 3


def test_a_home_that_cannot_be_looked_at_has_no_keys(verify, release, monkeypatch):
    monkeypatch.setenv("SDCERT_HOME", "/" + "x" * 300)  # to look at it is an error, as it is at a folder of somebody else's
    code, _, err = verify(release / "released.csv")
    assert (code, "no public key is known here" in err) == (2, True)


def test_names_from_files_cannot_steer_the_terminal(verify, release, tmp_path):
    hostile = tmp_path / "a\x1b[31m\u202e.csv"
    hostile.write_bytes(b"x\x1b[2J,y\n1,2\n")
    words = ("--certificate", release / "certificate.json", "--key", release / "sdcert.pem", *WHEN)
    code, out, err = verify(hostile, *words)
    assert code == 1
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
    assert "the certificate does not know the columns x\\x1b[2J, y" in out


@pytest.mark.slow
def test_a_process_elsewhere_without_a_home_leaves_nothing(release, tmp_path):
    """The whole path of who gets three files: other bytes are compared by their content too, which imports the most."""
    empty, home = tmp_path / "empty", tmp_path / "user"
    empty.mkdir()
    home.mkdir()
    files = [release / name for name in ("released.csv", "certificate.json", "sdcert.pem")]
    windows = tmp_path / "released.csv"
    windows.write_bytes(files[0].read_bytes().replace(b"\n", b"\r\n"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SDCERT_", "PREFECT_", "MLFLOW_"))}
    environment |= {"PYTHONPATH": str(ROOT), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    for file in (files[0], windows):
        words = ["verify", file, "--certificate", files[1], "--key", files[2], *WHEN]
        ran = subprocess.run(
            [sys.executable, "-m", "flows.cli", *map(str, words)],
            cwd=empty,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
    assert list(empty.iterdir()) == list(home.iterdir()) == []

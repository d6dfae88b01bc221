"""`sdcert audit verify | witness | prove` as somebody types them. Needs no server."""

import json

import pytest
from ledgers import began, forge_head, short

from flows.cli import run
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.signing.keys import open_signing_key


@pytest.fixture
def typed(home, capfd):
    """`typed(*words)` runs `sdcert audit *words` here; returns the exit code, stdout and stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["audit", *map(str, words)])
        return (code, *capfd.readouterr())

    return call


@pytest.fixture
def ledger(home):
    made, key = Ledger.current(), open_signing_key()
    for number in range(4):
        made.append(began(f"run-{number}"), key)
    return made


@pytest.fixture
def public(ledger, tmp_path):
    path = tmp_path / "public.pem"
    path.write_text(open_signing_key().claim.public_key)
    return path


def test_a_sound_ledger_is_told_with_what_is_not_shown(typed, ledger):
    code, out, err = typed("verify")
    assert (code, err) == (0, "")
    assert "every entry is as it was signed" in out
    assert out.count("not shown") == 2


def test_nothing_is_left_unsaid_with_a_key_and_a_witness(typed, ledger, public, tmp_path):
    code, out, err = typed("witness", "-o", tmp_path / "w.json")
    assert (code, out) == (0, "")
    assert ledger.head().root in err
    code, out, _ = typed("verify", "--witness", tmp_path / "w.json", "--key", public)
    assert code == 0
    assert "not shown" not in out
    assert "w.json" in out


def test_findings_are_told_and_counted(typed, ledger):
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    code, out, _ = typed("verify")
    assert code == 1
    assert "removed     entry 2: not at its place before entry 3" in out
    assert "missing at the end" not in out
    assert "1 finding:" in out
    code, out, _ = typed("verify", "--json")
    told = json.loads(out)
    assert code == 1
    assert [finding["what"] for finding in told["findings"]] == ["removed"]
    assert told["sound"] is False


def test_entries_cut_off_by_who_may_write_everything_are_found_by_the_witness(typed, ledger, tmp_path):
    typed("witness", "-o", tmp_path / "w.json")
    ledger.path.write_bytes(b"".join(ledger.path.read_bytes().splitlines(keepends=True)[:3]))
    forge_head(ledger)
    assert typed("verify")[0] == 0
    code, out, _ = typed("verify", "--witness", tmp_path / "w.json")
    assert code == 1
    assert "the ledger had 5 entries, and has 3" in out


@pytest.mark.parametrize("words", [("verify",), ("witness",), ("prove", "0"), ("prove", "--since", "w.json")])
def test_a_home_without_a_ledger_is_no_sound_one(typed, home, words):
    code, out, err = typed(*words)
    assert (code, out) == (2, "")
    assert "there is no ledger in this home yet" in err
    assert not home.exists()


@pytest.mark.parametrize("left", ["a run", "head.json", "an empty file"])
def test_a_ledger_that_is_gone_is_found(typed, ledger, home, left):
    if left == "a run":
        ledger.head_path.unlink()
        (home / "runs" / "one").mkdir(parents=True)
        (home / "runs" / "one" / "manifest.json").write_text("{}")
    ledger.path.write_bytes(b"") if left == "an empty file" else ledger.path.unlink()
    code, out, _ = typed("verify")
    assert code == 1
    assert ("truncated" if left == "an empty file" else "missing") in out


def test_a_ledger_that_is_gone_is_found_by_the_witness(typed, ledger, tmp_path):
    typed("witness", "-o", tmp_path / "w.json")
    ledger.path.unlink()
    ledger.head_path.unlink()
    assert typed("verify", "--witness", tmp_path / "w.json")[0] == 1


def test_a_proof_is_checked_without_a_home(typed, ledger, public, tmp_path, monkeypatch):
    assert typed("witness", "-o", tmp_path / "w.json")[0] == 0
    ledger.append(short(9), open_signing_key())
    for words in (("run-2",), ("3",), ("--since", tmp_path / "w.json")):
        code, out, err = typed("prove", *words)
        (tmp_path / "proof.json").write_text(out)
        assert code == 0
        assert "--proof FILE" in err
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("SDCERT_HOME", str(tmp_path / "elsewhere"))
            code, out, _ = typed("verify", "--proof", tmp_path / "proof.json", "--key", public)
            assert code == 0
            assert "the proof holds" in out
            code, _, err = typed("verify", "--proof", tmp_path / "proof.json")
            assert code == 2
            assert "--key" in err
            assert not (tmp_path / "elsewhere").exists()
    changed = (tmp_path / "proof.json").read_text().replace('"path":["', '"path":["' + "0" * 64 + '","')
    (tmp_path / "proof.json").write_text(changed)
    code, out, _ = typed("verify", "--proof", tmp_path / "proof.json", "--json")
    assert code == 1
    assert json.loads(out)["holds"] is False


def test_wrong_words_are_explained(typed, ledger, public, tmp_path):
    (tmp_path / "w.json").write_text("{}")
    cases = [
        (("prove",), "one of two"),
        (("prove", "1", "--since", tmp_path / "w.json"), "one of two"),
        (("prove", "--since", tmp_path / "w.json"), "no witness"),
        (("prove", "nothing"), "no such entry"),
        (("prove", "1", "-o", tmp_path / "w.json"), "a file of this name"),
        (("witness", "-o", tmp_path / "w.json"), "a file of this name"),
        (("verify", "--witness", tmp_path / "w.json"), "no witness"),
        (("verify", "--proof", tmp_path / "w.json"), "no proof"),
        (("verify", "--proof", public, "--witness", public), "keys alone"),
        (("verify", "--key", tmp_path / "w.json"), "no public key"),
    ]
    for words, said in cases:
        code, out, err = typed(*words)
        assert (code, out) == (2, ""), words
        assert said in err, words
    assert (tmp_path / "w.json").read_text() == "{}"


def test_what_a_file_says_is_made_harmless_for_the_terminal(typed, ledger, tmp_path):
    name = tmp_path / "w\x1b[31m\n.json"
    typed("witness", "-o", name)
    code, out, _ = typed("verify", "--witness", name)
    assert code == 0
    assert "\x1b" not in out

"""`sdcert audit find | show | export` as somebody types them: what they find and refuse, and that no name gets out of hand."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import socket
from base64 import b64decode, b64encode
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from trails import attempt, attribute, began, digest, ended, released, runs, write_trail

from tasks.audit.ledger.ledger import Ledger
from tasks.ingest.sources import SourceSpec
from tasks.ingest.task import source_digest
from tasks.microdata.canonical import canonical
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, content_address

HOSTILE = '=cmd|"/C calc"!A1\x1b[31m\u202e</script><img src=x onerror=alert(1)>\n'
RUN = "20261121T093000Z-1f2e3d"


@pytest.fixture
def table(tmp_path) -> tuple[Path, pa.Table]:
    """A released table as a file, and its content."""
    content = pa.table({"age": pa.array([30, 41, 41]), "town": ["Ålesund", None, "Bø"]})
    path = tmp_path / "released.csv"
    pa.csv.write_csv(content, path, pa.csv.WriteOptions(quoting_style="none"))
    return path, content


@pytest.fixture
def issued(home, table):
    """A home whose ledger knows the released table; the run is called RUN."""
    path, content = table
    columns = [{"name": "age", "type": "int64"}, {"name": "town", "type": "string"}]
    said = released(RUN, sha256=hashlib.sha256(path.read_bytes()).hexdigest(), rows=3, columns=columns,
                    content_address=content_address(Microdata(content)))  # fmt: skip
    write_trail(home, [began(RUN), attempt(RUN), ended(RUN, released=said)])
    return path


def test_a_released_file_is_found_by_its_bytes(audit, issued):
    code, out, _ = audit("find", issued)
    assert code == 0
    assert "byte for byte the released table (released.csv)" in out
    assert RUN in out
    assert digest(RUN, "certificate") in out


def test_the_same_data_in_another_format_is_found(audit, issued, table, tmp_path):
    other = tmp_path / "the same.parquet"
    pq.write_table(table[1], other)
    code, out, _ = audit("find", other)
    assert code == 0
    assert "the same data" in out
    assert RUN in out


def test_a_file_that_holds_more_is_found_with_what_it_holds(audit, issued, table, tmp_path):
    other = tmp_path / "more.parquet"
    pq.write_table(table[1].replace_schema_metadata({"note": "SECRET Alice"}), other)
    code, out, _ = audit("find", other)
    assert (code, RUN in out) == (0, True)
    assert "the file also holds metadata (note, ARROW:schema)" in out


def test_a_changed_file_is_not_found_and_the_nearest_run_is_told(audit, issued):
    issued.write_bytes(issued.read_bytes().replace(b"30", b"31"))
    code, out, _ = audit("find", issued)
    assert code == 1
    assert "no release of this home has this content" in out
    assert f"the table of run {RUN} has the same columns and as many rows" in out


def test_a_changed_file_in_the_folder_of_its_run_is_told(audit, issued, tmp_path):
    inside = tmp_path / "releases" / RUN / "report.html"
    inside.parent.mkdir(parents=True)
    inside.write_text("changed")
    code, out, _ = audit("find", inside)
    assert code == 1
    assert f"it lies in the folder of run {RUN}" in out


@pytest.mark.usefixtures("home")
def test_a_source_is_found_by_its_keyed_digest(audit, home, tmp_path):
    source = tmp_path / "survey.csv"
    source.write_text("age,income\n1,2\n")
    keyed = source_digest(SourceSpec(table=str(source)))
    assert Store().file_digest(source) != keyed
    write_trail(home, [began("r1"), attempt("r1", source_file=keyed), began("r2"), attempt("r2")])
    code, out, _ = audit("find", source, "--json")
    assert code == 0
    said = json.loads(out)
    assert [one["run"] for one in said["runs"]] == ["r1"]
    assert "source" in said["how"]
    source.write_text("age,income\n1,3\n")
    assert audit("find", source)[0] == 1


@pytest.mark.slow
def test_filters_narrow_and_dates_are_whole_days(audit, home):
    write_trail(home, runs(30))  # an entry a minute from 9:00 on 1 January 2026
    count = {words: json.loads(audit("find", "--json", *words)[1])["found"] for words in (
        (), ("--release", "release-3"), ("--series", "series-3"), ("--dataset", "data-3"), ("--verdict", "running"),
        ("--since", "2026-01-01"), ("--since", "2026-01-02"), ("--until", "2026-01-01"), ("--until", "2025-12-31"),
        ("--since", "2026-01-01T09:10:00"), ("--until", "2026-01-01T10:09:00+01:00"),
        ("--touching", "age", "--verdict", "refused"),
        ("--since", "20260101"), ("--until", "20260101"), ("--until", "2026-W01-4"), ("--until", "9999-12-31"),
    )}  # fmt: skip
    assert list(count.values()) == [30, 1, 2, 3, 4, 30, 0, 30, 0, 27, 3, 4, 30, 30, 30, 30]


def test_not_all_are_shown_and_that_is_said(audit, home):
    write_trail(home, runs(30))
    code, out, _ = audit("find", "--last", 2)
    assert code == 0
    assert "2 of 30 runs" in out
    shown = json.loads(audit("find", "--last", 2, "--json")[1])
    assert (shown["found"], shown["shown"], len(shown["runs"])) == (30, 2, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--release", "anes69"), "did you mean `anes96`?"),
        (("--touching", "agee"), "did you mean `age`?"),
        (("--verdict", "failed"), "no run of this home's ledger is like this"),
    ],
)
def test_what_is_not_found_says_why(audit, issued, words, said):
    code, out, _ = audit("find", *words)
    assert code == 1
    assert said in out


@pytest.mark.parametrize(
    "words",
    [
        ("find", "--since", "yesterday"),
        ("find", "--since", "2026-02-02", "--until", "2026-02-01"),
        ("find", "--verdict", "certifed"),
        ("find", "/nowhere/at/all.csv"),
        ("find", "/"),
        ("find", "--last", "0"),
        ("find", "--last", "9" * 30),
        ("find", "--verdict", "killed"),
        ("show", "9" * 5000),
        ("show", "2026-nobody"),
        ("show", "#77"),
        ("export", "--format", "pdf"),
        ("export", "-o", "/nowhere/\0/x"),
    ],
)
def test_wrong_words_are_one_message_and_2(audit, issued, words):
    code, out, err = audit(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ") or "\nerror: " in err  # a slow machine notes first that it built the index
    assert "Traceback" not in err


def test_an_empty_home_answers(audit, home, tmp_path):
    assert audit("find")[:2] == (1, "the ledger of this home has no entries yet\n")
    assert audit("show", "1")[0] == 2
    assert audit("export", "-o", tmp_path / "x.html")[0] == 0
    assert json.loads(audit("find", "--json")[1])["runs"] == []
    assert not (home / "ledger" / "ledger.jsonl").exists()


def test_show_says_everything_of_a_run(audit, home):
    asked = {"user": "amara", "host": "office", "deployment": "nightly/certify", "flow_run": "f-1"}
    told = ended(RUN, review_by="2028-11-21T00:00:00Z", previous_certificate=digest("before"), attack_catalogue_version="7",
                 attributes=[attribute("age", masks=["microaggregation", "noise"]),
                             attribute("id", masks=[], published=False)])  # fmt: skip
    after = [
        {"kind": "approved", "run": RUN, "certificate": digest(RUN, "certificate"), "approval": digest("a"), "by": "Ida",
         "role": "officer", "reason": "read it", "key_id": digest("k"), "independent": False, "flags": ["same-person"]},
        {"kind": "revoked", "run": RUN, "certificate": digest(RUN, "certificate"), "revocation": digest("r"),
         "reason": "wrong frame", "asked_by": asked},
        {"kind": "replayed", "run": RUN, "outcome": "differs", "differs": ["mask"], "causes": ["code"], "asked_by": asked,
         "made_by": began("r")["made_by"]},
    ]  # fmt: skip
    write_trail(home, [began(RUN, asked_by=asked), attempt(RUN, attempts=4), told, *after])
    code, out, err = audit("show", RUN[:20])
    assert (code, err.count("warning")) == (0, 0)
    text = re.sub(r"\s+", " ", out)
    for said in ("CERTIFIED, REVOKED", "amara at office", "nightly/certify", "f-1", "anes96", digest("file"), digest("masking"),
                 "number 4", " published age: quasi_identifier, microaggregation, then noise",
                 "not published id: quasi_identifier, not masked", "it is not the seed",
                 "reidentification 0.08", "limit at most 0.15", "found by transparency",
                 digest(RUN, "certificate"), digest("before"),
                 "2028-11-21", "attack catalogue 7", "by Ida as officer (NOT independent; same-person): read it",
                 "REVOKED 2026-01-01 09:05:00 UTC, by amara at office: wrong frame",
                 "differs: mask (because of code)", digest(RUN, "manifest"), "(gone)", "c" * 64, "Python 3.11.9",
                 "each signed by a key of this home"):  # fmt: skip
        assert said in text, said
    for name in (
        RUN,
        digest(RUN, "certificate"),
        digest(RUN, "certificate")[:10],
        digest(RUN, "report.html"),
        digest(RUN, "released"),
    ):
        assert audit("show", name)[:2] == (0, out)


def test_show_keeps_the_letters_of_what_the_verdict_excepts(audit, home):
    revoked = {"kind": "revoked", "run": RUN, "certificate": digest(RUN, "certificate"), "revocation": digest("r"),
               "reason": "wrong frame", "asked_by": {"user": "amara", "host": "office"}}  # fmt: skip
    write_trail(home, [began(RUN), attempt(RUN), ended(RUN, exceptions=["membership", "row_position"]), revoked])
    code, out, _ = audit("show", RUN)
    assert code == 0
    assert "CERTIFIED EXCEPT membership, row_position; REVOKED" in out


def test_show_takes_numbers_and_refuses_what_is_ambiguous(audit, home):
    write_trail(home, [began("20260101T090000Z-aaaaaa"), began("20260101T090000Z-bbbbbb")])
    for name in ("1", "#1"):
        code, out, _ = audit("show", name)
        assert code == 0
        assert "Entry 1 of 3" in out
        assert "20260101T090000Z-aaaaaa" in out
    assert json.loads(audit("show", "0", "--json")[1])["entry"]["event"]["kind"] == "opened"
    code, _, err = audit("show", "2026")
    assert code == 2
    assert "2 runs begin so" in err
    shown = json.loads(audit("show", "20260101T090000Z-b", "--json")[1])
    assert [entry["event"]["kind"] for entry in shown["entries"]] == ["began"]


def test_show_says_first_what_decided_and_leaves_the_stages_to_json(audit, home):
    write_trail(home, [began(RUN), attempt(RUN), ended(RUN)])
    _, out, _ = audit("show", RUN)
    titles = ("What decided", "Who asked", "What went in", "What was done", "What came out", "Attempts", "By which program",
              "Private papers", "Entries of the ledger")  # fmt: skip
    places = [out.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    assert "age, income, educ, popul, PID, vote, TVnews, selfLR: quasi_identifier, microaggregation" in re.sub(r"\s+", " ", out)
    assert not [line for line in out.splitlines() if line != line.rstrip()]
    assert "ingest" not in out
    entries = json.loads(audit("show", RUN, "--json")[1])["entries"]
    assert "ingest" in entries[-1]["event"]["stages"]


def test_an_interrupted_run_is_called_so(audit, home):
    write_trail(home, [began(RUN), ended(RUN, outcome="interrupted", code="KeyboardInterrupt", stage="mask")])
    title = audit("show", RUN)[1].splitlines()[0]
    assert title.endswith("INTERRUPTED AT MASK")
    write_trail(home, [began(RUN), ended(RUN, outcome="failed", code="unknown-column", stage="ingest")])
    assert audit("show", RUN)[1].splitlines()[0].endswith("FAILED AT INGEST: unknown-column")


def test_a_table_that_was_adopted_is_found(audit, home, tmp_path):
    masked = tmp_path / "masked.csv"
    masked.write_text("age\n1\n")
    keyed = source_digest(SourceSpec(table=str(masked)))
    write_trail(home, [began(RUN), attempt(RUN, masking=f"record:{digest('plan')}:{keyed}")])
    code, out, _ = audit("find", masked)
    assert (code, "masked elsewhere, that was adopted by:" in out, RUN in out) == (0, True, True)


def test_show_says_whether_the_manifest_is_the_one_that_was_named(audit, home):
    path = home / "runs" / RUN / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"spec": {"source": {"table": "/data/survey.csv"}}}')
    write_trail(home, [began(RUN), ended(RUN, manifest=Store().digest(path.read_bytes()))])
    _, out, _ = audit("show", RUN)
    assert "CHANGED" not in out
    assert "/data/survey.csv" in out
    path.write_text("{}")
    assert "(CHANGED since the ledger named it)" in re.sub(r"\s+", " ", audit("show", RUN)[1])


def test_a_run_that_never_ended_is_running_killed_or_unknown(audit, home):
    write_trail(home, [began("r1"), began("r2"), began("r3")])
    for name, process in (("r1", os.getpid()), ("r2", 2**22 + 1)):
        path = home / "runs" / name / "manifest.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"status": "running", "host": socket.gethostname(), "process": process}))
    found = json.loads(audit("find", "--verdict", "running", "--json")[1])["runs"]
    assert [(one["run"], one["verdict"]) for one in found] == [("r3", "never ended"), ("r2", "killed"), ("r1", "running")]


def test_a_damaged_record_of_a_key_hides_nothing(audit, issued, home):
    (record,) = (home / "keys" / "signing").glob("*.json")
    record.write_text("{}")
    code, out, err = audit("find")
    assert code == 0
    assert RUN in out
    assert "NOT TO BE BELIEVED" in out
    assert "no signature can be checked" in err


def test_a_tampered_line_is_shown_as_such(audit, home):
    path = write_trail(home, [began(RUN), attempt(RUN), ended(RUN, outcome="refused", released=None)])
    lines = path.read_bytes().splitlines()
    payload = json.loads(b64decode(json.loads(lines[3])["payload"]))
    payload["event"]["outcome"] = "certified"
    envelope = json.loads(lines[3]) | {"payload": b64encode(canonical(payload)).decode()}
    path.write_bytes(b"\n".join([*lines[:3], canonical(envelope)]) + b"\n")
    for words in (("show", RUN), ("show", "3")):
        code, out, _ = audit(*words)
        assert code == 1
        assert "NOT TO BE BELIEVED" in out
    code, out, _ = audit("find")
    assert "NOT TO BE BELIEVED: entry 3" in out
    code, _, err = audit("export", "--format", "csv", "-o", "-")
    assert code == 1
    assert "not to be believed" in err


def test_no_name_gets_out_of_hand(audit, home, tmp_path):
    asked = {"user": HOSTILE, "host": HOSTILE, "deployment": None, "flow_run": None}
    hostile = ended(RUN, release=HOSTILE, series=HOSTILE, attributes=[attribute(HOSTILE, masks=[HOSTILE], role=HOSTILE)])
    approved = {"kind": "approved", "run": RUN, "certificate": digest(RUN, "certificate"), "approval": digest("a"),
                "by": HOSTILE, "role": HOSTILE, "reason": HOSTILE, "key_id": digest("k"), "independent": True,
                "flags": [HOSTILE]}  # fmt: skip
    write_trail(home, [began(RUN, release=HOSTILE, series=HOSTILE, dataset=HOSTILE, asked_by=asked), hostile, approved])
    for words in (("find",), ("find", "--json"), ("find", "--release", HOSTILE), ("show", RUN), ("show", "2"),
                  ("show", RUN, "--json"), ("find", "--release", "x" + HOSTILE)):  # fmt: skip
        _, out, err = audit(*words)
        assert "\x1b" not in out + err, words
        assert "\u202e" not in out + err, words
    page = tmp_path / "page.html"
    assert audit("export", "-o", page)[0] == 0
    assert "<img" not in page.read_text()
    assert page.read_text().count("</script>") == 2
    assert "\u202e" not in page.read_text()
    _, out, _ = audit("export", "--format", "csv", "-o", "-")
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["release"].startswith("'=cmd")
    assert "\x1b" not in out
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row.values())


def test_exports_are_whole_private_and_never_written_over(audit, home, tmp_path):
    write_trail(home, runs(20))
    for form in ("html", "csv", "jsonl"):
        path = tmp_path / f"trail.{form}"
        assert audit("export", "--format", form, "-o", path)[0] == 0
        assert path.stat().st_mode & 0o777 == 0o600
        before = path.read_bytes()
        code, _, err = audit("export", "--format", form, "-o", path)
        assert code == 2
        assert "--force" in err
        assert path.read_bytes() == before
        assert audit("export", "--format", form, "-o", path, "--force", "--last", 1)[0] == 0
        assert len(path.read_bytes()) < len(before)
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != "home") == ["trail.csv", "trail.html", "trail.jsonl"]


def test_jsonl_is_what_was_signed(audit, home):
    path = write_trail(home, runs(5))
    payloads = [b64decode(json.loads(line)["payload"]).decode() for line in path.read_bytes().splitlines()]
    assert audit("export", "--format", "jsonl", "-o", "-")[1].splitlines() == payloads
    some = audit("export", "--format", "jsonl", "-o", "-", "--release", "release-1")[1].splitlines()
    assert some == [payload for payload in payloads if "-000001" in payload]
    assert len(some) == 3


def test_csv_has_a_line_for_each_run(audit, home):
    write_trail(home, runs(20))
    rows = list(csv.DictReader(io.StringIO(audit("export", "--format", "csv", "-o", "-")[1])))
    found = json.loads(audit("find", "--json", "--last", 100)[1])["runs"]
    assert [row["run"] for row in rows] == [one["run"] for one in found]
    assert [row["verdict"] for row in rows] == [one["verdict"] for one in found]


def test_the_page_states_its_ledger_and_allows_its_script_alone(audit, home, tmp_path):
    write_trail(home, runs(3))
    page = tmp_path / "page.html"
    audit("export", "-o", page)
    text, head = page.read_text(), Ledger.current().head()
    assert head.root in text
    assert head.ledger in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    assert str(home) not in text

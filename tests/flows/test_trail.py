"""What a run writes in the ledger: before the masking, and at its end, whatever the end."""

import hashlib
import shutil

import pytest
from outcomes import folder_of, newest_manifest, statement_in
from release_files import RELEASE, survey

from tasks.audit.ledger.entries import AttemptMade, LedgerOpened, RunBegan, RunEnded


def events():
    from tasks.audit.ledger.ledger import Ledger, open_entry

    return [open_entry(line.content).event for line in Ledger.current().lines()]


def last_ending():
    return [event for event in events() if isinstance(event, RunEnded)][-1]


def test_a_certified_run_is_written_down_in_three_entries(certified, tmp_path):
    from tasks.runtime.artifacts import Store

    manifest = certified.manifest
    opened, began, attempt, ended = events()
    assert (type(opened), type(began), type(attempt), type(ended)) == (LedgerOpened, RunBegan, AttemptMade, RunEnded)
    assert {began.run, attempt.run, ended.run} == {manifest["run"]}
    assert (began.asked_by.user, began.asked_by.host) == (manifest["user"], manifest["host"])
    assert attempt.source == manifest["stages"]["ingest"]["produced"]["data"]
    assert ended.outcome == "certified"
    folder = folder_of(tmp_path, manifest)
    predicate = statement_in(folder)["predicate"]
    claimed = predicate["claim"]["file"]
    assert claimed.pop("kind") == "table"
    assert ended.released.model_dump() == {**claimed, "columns": tuple(claimed["columns"])}
    assert {one.name for one in ended.documents} == {"report.html", "scorecard.json"}
    assert [line["decision"] for line in ended.criteria] == ["pass", "pass"]
    assert {one.name: one.masks for one in ended.attributes}["age"] == ("microaggregation",)
    path = folder.parents[2] / "home" / "runs" / manifest["run"] / "manifest.json"
    assert ended.manifest == Store().digest(path.read_bytes())


@pytest.mark.slow
def test_an_identifier_that_is_published_as_a_pseudonym_is_written_down_as_published(certify):
    steps = [{"method": "pseudonyms", "attributes": ["person_id"]}]
    certify({"masking": steps, "attributes": {**RELEASE["attributes"], "person_id": {"role": "identifier"}},
             "policy": [{"measure": "reidentification", "at_most": 1.0}], "not_for_publication": True})  # fmt: skip
    ended = last_ending()
    told = {one.name: (one.masks, one.published) for one in ended.attributes}
    assert told["person_id"] == (("pseudonyms",), True)
    assert {name for name, (_, published) in told.items() if published} == {one.name for one in ended.released.columns}


def test_the_certificate_proves_that_the_attempt_was_written_down_before(certified, tmp_path):
    from tasks.audit.ledger.ledger import Ledger

    manifest = certified.manifest
    predicate = statement_in(folder_of(tmp_path, manifest))["predicate"]
    lines = list(Ledger.current().lines())
    recorded = predicate["recorded"]
    line = lines[recorded["attempt_entry"]]
    assert line.leaf.hex() == recorded["attempt_digest"]
    assert recorded["tree_size"] == line.index + 1 == len(lines) - 1
    attempt = events()[line.index]
    assert attempt.policy == predicate["claim"]["policy"]["digest"]
    assert attempt.attempts == predicate["attempts"] == 1


def test_a_certificate_names_the_one_before_it_in_its_series(certified, certify, tmp_path):
    first = certified.manifest
    _, second = certify()
    _, refused = certify({"policy": [{"measure": "reidentification", "at_most": 0.0001}]})
    _, third = certify()
    certificate = {run["run"]: folder_of(tmp_path, run) / "certificate.json" for run in (first, second, third)}
    digest = {run: hashlib.sha256(path.read_bytes()).hexdigest() for run, path in certificate.items()}
    said = [
        statement_in(folder_of(tmp_path, run))["predicate"]["previous_certificate"] for run in (first, second, refused, third)
    ]
    assert said == ["none", digest[first["run"]], digest[second["run"]], digest[second["run"]]]


@pytest.mark.slow
def test_a_rehearsal_leaves_no_certificate(certify, tmp_path):
    ran, manifest = certify({"seed": 7, "not_for_publication": True})
    assert ran.code == 0
    names = {path.name for path in folder_of(tmp_path, manifest).iterdir()}
    assert "statement.json" in names
    assert "certificate.json" not in names
    _, real = certify()
    assert statement_in(folder_of(tmp_path, real))["predicate"]["previous_certificate"] == "none"


def test_attempts_are_counted_per_source_and_repetitions_are_not(certified, certify):
    counted = [certified.manifest["attempts"]]
    counted += [certify(*call)[1]["attempts"] for call in ((None,), (None, "--new-draw"))]
    stricter = {"policy": [{"measure": "reidentification", "at_most": 0.0001}]}
    counted += [certify(stricter)[1]["attempts"], certify(text=survey(60))[1]["attempts"]]
    assert counted == [1, 1, 2, 3, 1]


@pytest.mark.long
def test_the_scale_of_a_column_starts_no_new_count(certified, certify):
    counted = [certified.manifest["attempts"], certify(None, "--new-draw")[1]["attempts"]]
    attributes = {**RELEASE["attributes"], "town": {"role": "withheld", "scale": "code"}}
    steps = [{**RELEASE["masking"][0], "attributes": ["age", "income"], "k": 7}]
    changed = {"attributes": attributes, "masking": steps}
    counted += [certify(change)[1]["attempts"] for change in (changed, changed, {"masking": steps})]
    made = [event for event in events() if isinstance(event, AttemptMade)]
    assert len({one.source for one in made}) > 1, "the typed tables differ"
    assert len({one.source_file for one in made}) == 1, "the file is one"
    assert counted == [1, 2, 3, 3, 4]


@pytest.mark.slow
def test_a_failure_at_ingest_is_written_down_without_a_value(certify):
    wrong = {"expect": [{"expect": "between", "attribute": "income", "low": 0, "high": 100}]}
    ran, _ = certify(wrong)
    assert ran.code == 2
    ended = last_ending()
    assert (ended.outcome, ended.stage, ended.certificate, ended.criteria) == ("failed", "ingest", None, ())
    assert "expectation" in ended.code
    assert not any(isinstance(event, AttemptMade) for event in events())


def test_a_damaged_ledger_stops_a_run_before_it_masks(certified, certify, home):
    path = home / "ledger" / "ledger.jsonl"
    path.write_bytes(path.read_bytes()[:-200])
    ran, _ = certify()
    assert ran.code == 2
    assert "sdcert audit verify" in ran.err


def test_an_interrupted_run_is_written_down(certify, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.certify._count_attempt", stop)
    ran, _ = certify()
    assert ran.code == 130
    assert last_ending().outcome == "interrupted"
    assert newest_manifest()["status"] == "interrupted"


@pytest.mark.slow
def test_what_is_broken_off_when_the_folder_stands_is_issued_all_the_same(certify, sdcert, monkeypatch, tmp_path):
    """Else a certificate would be about that could neither be approved nor revoked."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.run.issue.show_release", stop)
    ran, manifest = certify()
    assert ran.code == 130
    assert [event.outcome for event in events() if isinstance(event, RunEnded)] == ["certified"]
    assert (manifest["status"], manifest["verdict"]) == ("finished", "certified")
    assert (folder_of(tmp_path, manifest) / "certificate.json").is_file()
    assert sdcert("revoke", manifest["run"], "--reason", "a test").code == 0


@pytest.mark.slow
def test_a_folder_that_does_not_appear_takes_no_verdict_back(certify, monkeypatch, tmp_path):
    """The ledger has one last word, and the whole draft is kept: who looks next lets it appear (test_partial_folders)."""

    def full(_: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr("flows.run.publish.FolderDraft.appear", full)
    ran, manifest = certify()
    assert ran.code not in (0, 1)
    assert [event.outcome for event in events() if isinstance(event, RunEnded)] == ["certified"]
    assert "OSError" in manifest["broken_off"]
    (kept,) = (tmp_path / "releases").rglob("certificate.json")
    assert kept.parent.name.startswith(".partial-")


@pytest.mark.slow
def test_a_key_rotated_in_mid_run_signs_what_follows(certify, sdcert, monkeypatch, tmp_path):
    import flows.certify

    attempted = flows.certify._count_attempt

    def rotated(*words, **options):
        draw = attempted(*words, **options)
        from tasks.audit.signing.key_changes import KeyChanges
        from tasks.runtime.settings import Home

        KeyChanges(Home.current(), None).rotate(passphrase=None)
        return draw

    monkeypatch.setattr("flows.certify._count_attempt", rotated)
    ran, manifest = certify()
    assert ran.code == 0
    checked = sdcert("audit", "verify")
    assert checked.code == 0, checked.out
    verified = sdcert("verify", folder_of(tmp_path, manifest) / "released.csv")
    assert verified.code == 0, verified.out


@pytest.mark.long
def test_a_home_that_is_older_than_its_ledger_draws_nothing_by_itself(certify, home):
    """A backup from before the first draw, with the newest ledger put in its place: one table must not get two masks."""
    certify({"seed": 7, "not_for_publication": True})
    shutil.rmtree(home / "draws")
    assert certify()[0].code == 0, "a seed that was chosen for a rehearsal is no loss"
    shutil.rmtree(home / "draws")
    ran, _ = certify()
    assert (ran.code, "lost-seed" in ran.err or "has lost the seed" in ran.err) == (2, True)
    assert "--new-draw" in ran.err
    assert not list((home / "draws").glob("*.current"))
    assert last_ending().code == "lost-seed at SDCERT_HOME"
    assert certify(None, "--new-draw")[0].code == 0
    assert certify()[0].code == 0
    assert [event.attempts for event in events() if isinstance(event, AttemptMade)] == [1, 2, 3, 3]

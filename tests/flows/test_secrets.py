"""A planted record, the seed and the plain hash of the source are searched in all that a run leaves outside private folders.

The fixture `home` searches every file after each test (leaks.py); here it is seen that the files are there, and what the
terminal, Prefect's answers and the ledger say.
"""

import json
import re
import stat
from base64 import b64decode
from pathlib import Path

import leaks
import pytest
from outcomes import folder_of, newest_manifest, public_scorecard_of
from prefect_servers import asked
from release_files import CANARY, RELEASE, survey, write_release

from flows.run.publish import draft_release_folder
from tasks.microdata.refs import TableRef
from tasks.runtime.artifacts import Store

pytestmark = pytest.mark.drawn

OF_A_RUN = {"kind", "run", "release", "series", "outcome", "not_for_publication", "manifest", "stages"}
OF_A_FAILURE = {"stage", "code"}


def secrets_of(folder: Path) -> leaks.Secrets:
    homes = leaks.homes_in(folder)
    found = leaks.secrets_of(homes)
    found.update(leaks.secrets_of_inputs(folder, homes))
    return found


def searched(folder: Path) -> set[str]:
    """The files that the search reads, as names inside the folder."""
    closed = {home / name for home in leaks.homes_in(folder) for name in leaks.PRIVATE}
    files = (path for path in folder.rglob("*") if path.is_file() and not any(path.is_relative_to(one) for one in closed))
    return {path.relative_to(folder).as_posix() for path in files}


def entries(home: Path) -> list[dict[str, object]]:
    lines = (home / "ledger" / "ledger.jsonl").read_bytes().splitlines()
    return [json.loads(b64decode(json.loads(line)["payload"]))["event"] for line in lines]


CHANGES = {
    "certified": ({}, 0),
    "refused": ({"policy": [{"measure": "reidentification", "at_most": 0.0001}]}, 1),
    "swapped, sampled": (
        {
            "masking": [{"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 4}],
            "intruder": {"targets": 0.5},
            "publish": {"format": "parquet"},
            "policy": [{"measure": "reidentification", "at_most": 1.0}],
        },
        0,
    ),
    "expectation fails": ({"expect": [{"expect": "between", "attribute": "income", "low": 0, "high": 900000}]}, 2),
    "value outside the order": (
        {
            "attributes": {
                "age": {"role": "quasi_identifier", "scale": "numeric"},
                "income": {"role": "quasi_identifier", "scale": "numeric"},
                "town": {"role": "quasi_identifier", "scale": "numeric"},
                "vote": {"role": "confidential", "scale": "ordinal", "order": ["no", "yes"]},
            }
        },
        2,
    ),
}


TIERS = {name: pytest.mark.slow if name == "certified" else pytest.mark.long for name in CHANGES}


@pytest.mark.parametrize("change", [pytest.param(name, marks=TIERS[name]) for name in CHANGES])
def test_no_secret_leaves_the_private_folders(process, tmp_path, home, change):
    spec, code = CHANGES[change]
    path = write_release(tmp_path / "project", spec, text=survey(canary=True))
    out = tmp_path / "releases"
    ran = process("-m", "flows.cli", "certify", path, "--output", out, PREFECT_LOGGING_LEVEL="DEBUG")
    stdout, stderr = ran.communicate(timeout=300)
    assert ran.returncode == code, stderr
    found = searched(tmp_path)
    assert {"home/ledger/ledger.jsonl", "home/ledger/head.json", "home/mlflow.db"} <= found
    if code < 2:
        assert secrets_of(tmp_path).found_in((stdout + stderr).encode()) == set()
        statement = "certificate.json" if code == 0 else "statement.json"
        assert {"report.html", "scorecard.json", statement, "index.db"} <= {Path(name).name for name in found}
    else:
        (ended,) = [entry for entry in entries(home) if entry["kind"] == "ended"]
        said = {name: value for name, value in ended.items() if value not in (None, [], {})}
        assert ended["outcome"] == "failed" and set(said) <= OF_A_RUN | OF_A_FAILURE
        assert not any(str(value) in json.dumps(entries(home)) for value in CANARY.values() if value != CANARY["age"])
    secrets = secrets_of(tmp_path)
    wanted = {*secrets.long.values(), *secrets.short.values()}
    assert {"the planted income", "the sha256 of a source", "the store's key", "a private key that signs"} <= wanted


def test_no_secret_is_in_what_the_audit_trail_gives_out(certify, sdcert, tmp_path, home):
    """Exports, witness, trust file, approval and revocation lie beside the release, and the fixture searches them all."""
    _, manifest = certify({"policy_author": "Ada"}, text=survey(canary=True))
    run, out = manifest["run"], tmp_path / "given-out"
    out.mkdir()
    assert sdcert("keys", "create", "--for", "approvals", "--name", "Bob", "--no-passphrase").code == 0
    assert sdcert("approve", run, "--as", "board", "--reason", "it was discussed").code == 0
    assert sdcert("revoke", run, "--reason", "for the search").code == 0
    for form in ("html", "csv", "jsonl"):
        assert sdcert("audit", "export", "--format", form, "--output", out / f"audit.{form}").code == 0
    assert sdcert("audit", "witness", "--output", out / "witness.json").code == 0
    assert sdcert("keys", "export", "--trust", "--seal", "--output", out / "trust.json").code == 0
    assert sdcert("keys", "export", "--output", out / "key.pem").code == 0
    asked = (("audit", "show", run), ("audit", "show", run, "--json"), ("audit", "find"), ("audit", "verify"), ("keys", "list"))
    told = [sdcert(*words) for words in asked]
    assert all(ran.code == 0 for ran in told)
    folder = folder_of(tmp_path, manifest).relative_to(tmp_path).as_posix()
    files = ("certificate.json", "approval-1.json", "revocation.json", "released.csv")
    assert {f"{folder}/{name}" for name in files} <= searched(tmp_path)
    assert {f"given-out/{path.name}" for path in out.iterdir()} <= searched(tmp_path)
    assert secrets_of(tmp_path).found_in("".join(ran.out + ran.err for ran in told).encode()) == set()
    assert leaks.leaks_of_test(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("change", [pytest.param("certified", marks=pytest.mark.long), "value outside the order"])
def test_prefects_database_holds_no_secret(process, tmp_path, home, prefect, change):
    """What the session's server answers; its database is searched at the end of the session."""
    path = write_release(tmp_path / "project", CHANGES[change][0], text=survey(canary=True))
    ran = process("-m", "flows.cli", "certify", path, "--output", tmp_path / "releases", PREFECT_LOGGING_LEVEL="DEBUG")
    _, err = ran.communicate(timeout=300)
    manifest = newest_manifest()
    answers = []
    for what in ("flow_runs", "task_runs", "logs", "artifacts", "events"):
        answers.append(asked(prefect, "POST", f"{what}/filter", {"limit": 50 if what == "events" else 200}).text)
    text = "".join(answers)
    assert (manifest["run"] if change == "certified" else "StageFailure") in text
    wanted = secrets_of(tmp_path)
    if change != "certified":
        assert "error: " in err
        wanted.add("the planted vote", leaks.writings_of_text(CANARY["vote"]))
    assert wanted.found_in(text.encode()) == set()


@pytest.mark.long
def test_releases_of_the_same_persons_tell_no_secret(certify, tmp_path, home, prefect, monkeypatch):
    """Two releases with lasting pseudonyms, and one from elsewhere: digests of persons, keys and values stay private.

    All files beside the private folders are searched, MLflow's database among them, what Prefect answers, and what was printed.
    """
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "DEBUG")
    text = survey(canary=True)
    old = [",".join(line.split(",")[1:]) for line in text.splitlines()[:-1]]
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "old.csv").write_text("\n".join([*old, "40.25,100.5,2000,no"]) + "\n")
    pseudonyms = {"method": "pseudonyms", "attributes": ["person_id"], "stable": "series"}
    told, persons = [], set()
    for k, context in ((12, {}), (11, {"prior_releases": [{"table": "old.csv"}]})):
        masking = [{**RELEASE["masking"][0], "k": k}, pseudonyms]
        ran, manifest = certify({"masking": masking, "context": context, "series": "same"}, text=text)
        assert ran.code in (0, 1), ran.err
        told.append(ran.out + ran.err)
        digests = Store().table(TableRef(manifest["persons"])).arrow.to_pydict().values()
        persons |= {str(value) for column in digests for value in column}
    assert manifest["earlier"]
    secrets = secrets_of(tmp_path)
    secrets.add("a digest of a person", {text.encode() for text in persons if len(text) >= 16})
    assert "a digest of a person" in secrets.long.values()
    answers = [
        asked(prefect, "POST", f"{what}/filter", {"limit": 50 if what == "events" else 200}).text
        for what in ("flow_runs", "task_runs", "logs", "artifacts", "events")
    ]
    assert secrets.found_in("".join([*told, *answers]).encode()) == set()
    homes = leaks.homes_in(tmp_path)
    inputs = [tmp_path / "project" / name for name in ("survey.csv", "old.csv")]
    assert leaks.leaks_in(tmp_path, secrets, homes=homes, but=inputs) == []
    assert "home/mlflow.db" in searched(tmp_path)


def test_the_canary_is_there_to_be_found(certify, home):
    """The search itself works: inside the private folders the planted record is found."""
    _, manifest = certify(text=survey(canary=True))
    private = {path: path.read_bytes() for path in (home / "runs").rglob("*") if path.is_file()}
    assert any(manifest["seed"].encode() in content for content in private.values())
    assert any("a seed" in leaks.secrets_of([home]).found_in(content) for content in private.values())
    from tasks.runtime.artifacts import Store

    table = Store().table(manifest["stages"]["ingest"]["produced"]["data"])
    assert CANARY["income"] in table.floats("income")


def test_private_files_are_private(certified, home):
    assert [path for path in home.rglob("*") if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("umask", "of_files", "of_folders"),
    [("022", 0o644, 0o755), ("002", 0o664, 0o775), ("077", 0o600, 0o700), ("777", 0o600, 0o700), ("-1", 0o600, 0o700)],
)
def test_what_is_published_has_the_rights_that_the_users_umask_leaves(own, tmp_path, monkeypatch, umask, of_files, of_folders):
    monkeypatch.setenv("SDCERT_UMASK", umask)
    with draft_release_folder(tmp_path / "a" / "releases", "one", "20261127T000000Z-aaaaaa") as draft:
        draft.add("report.html", b"<p>")
        assert stat.S_IMODE(draft.folder.stat().st_mode) == 0o700  # nobody reads what is not whole
        folder = draft.appear()
    assert stat.S_IMODE((folder / "report.html").stat().st_mode) == of_files
    made = (folder, *list(folder.parents)[: len(folder.relative_to(tmp_path).parts) - 1])
    assert {stat.S_IMODE(one.stat().st_mode) for one in made} == {of_folders}


def test_the_public_figures_are_rounded(certified, tmp_path, home):
    manifest = certified.manifest
    public = public_scorecard_of(tmp_path, manifest)
    private = json.loads((home / "runs" / manifest["run"] / "scorecard.json").read_text())
    exact = {figure["id"]: figure["value"] for figure in private["estimates"]}
    checked = 0
    for figure in public["estimates"]:
        if figure["measure"] in ("mean_difference", "covariance_difference") and figure["value"]:
            digits = re.sub(r"e.*|^0\.0*|\.", "", repr(figure["value"])).rstrip("0")
            assert len(digits) <= 2, figure
            assert figure["value"] == pytest.approx(exact[figure["id"]], rel=0.06)
            checked += 1
    assert checked >= 1

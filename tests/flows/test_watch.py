"""`sdcert watch` and `sdcert quarantine` by the real chain: drop folder, database, ledger, replay."""

from __future__ import annotations

import json
import sqlite3

import jsonschema
import pytest
from outcomes import ROOT, newest_manifest
from release_files import survey
from ruamel.yaml import YAML
from watches import drop, write_watch

from flows.cli.doctor.schedules import check_quarantine

CANARY = "zanzibar-quux"


@pytest.fixture
def watching(sdcert, tmp_path):
    """`watching(*options, **change)` looks once; exit code, the JSON, and what was said."""
    path = write_watch(tmp_path)

    def call(*options, **change):
        ran = sdcert("watch", write_watch(tmp_path, **change) if change else path, "--json", *options)
        return ran.code, json.loads(ran.out) if ran.out else None, ran.err

    return call


def events(run: str) -> list:
    from tasks.audit.lookup.index import Index

    with Index.current() as index:
        return list(index.run(run).events)


def test_from_the_first_version_to_quarantine_and_out_again(watching, sdcert, tmp_path):
    drop(tmp_path, "survey-1.csv")
    code, first, _ = watching()
    assert (code, first["verdict"], first["events"]) == (0, "certified", ["certified"])
    latest = tmp_path / "releases" / "survey" / "latest"
    assert str(latest.readlink()) == first["run"]
    assert newest_manifest()["spec"]["source"]["table"] == str(tmp_path / "drop" / "survey-1.csv"), "a replay finds it"

    drop(tmp_path, "survey-2.csv", survey().replace("\n", "\r\n"), hour=1)
    code, again, _ = watching()
    assert (code, again["action"], again["run"]) == (0, "unchanged", first["run"])

    drop(tmp_path, "survey-3.csv", survey().replace("yes", CANARY, 1), hour=2)
    code, wrong, said = watching(release={"expect": [{"expect": "in_set", "attribute": "vote", "values": ["yes", "no"]}]})
    assert (code, wrong["events"], wrong["exit_code"]) == (2, ["quarantined"], 2)
    assert CANARY not in json.dumps(wrong)
    assert "in quarantine as" in said
    ended = events(wrong["run"])[-1]
    assert (ended.outcome, ended.code) == ("failed", wrong["code"]), "the audit trail has the code"
    assert str(latest.readlink()) == first["run"], "the last certified release stays"

    listed = sdcert("quarantine", "list", "--json")
    assert [one["id"] for one in json.loads(listed.out)] == [wrong["quarantine"]]
    assert CANARY not in listed.out
    assert CANARY in sdcert("quarantine", "show", wrong["quarantine"][:8]).out, "for the person who asks"
    (finding,) = check_quarantine()
    assert (finding.status, "1 version of a source not certified, of the series: survey" in finding.says) == ("warn", True)
    drop(tmp_path, "survey-4.csv", survey(90), hour=3)
    code, mended, _ = watching(release={})
    assert (code, mended["verdict"]) == (0, "certified")
    assert list(check_quarantine()) == [], "a later version was certified"
    drop(tmp_path, "survey-5.csv", survey(95).replace("yes", CANARY, 1), hour=4)
    _, wrong, _ = watching(release={"expect": [{"expect": "in_set", "attribute": "vote", "values": ["yes", "no"]}]})
    assert sdcert("quarantine", "retry", wrong["quarantine"]).code == 0
    assert list(check_quarantine()) == []
    assert "nothing is in quarantine" in sdcert("quarantine", "list").out
    assert sdcert("quarantine", "show", "f00").code == 2


@pytest.mark.long
def test_two_versions_and_a_refusal_link_to_each_other(watching, sdcert, tmp_path):
    from outcomes import statement_in

    runs = []
    for number, outcome in enumerate(("certified", "certified", "refused")):
        drop(tmp_path, f"survey-{number}.csv", survey(80 + number), hour=number)
        policy = [{"measure": "reidentification", "at_most": 0.4 if outcome == "certified" else 0.01}]
        code, found, _ = watching(release={"policy": policy})
        assert (code, found["verdict"]) == (int(outcome == "refused"), outcome)
        runs.append(found["run"])
    parent = tmp_path / "releases" / "survey"
    assert str((parent / "latest").readlink()) == runs[1]
    contexts = [statement_in(parent / run)["predicate"]["context"] for run in runs]
    assert [context["prior_releases"] for context in contexts] == ["not assessed"] * 3
    named = [[one["name"] for one in context["earlier_releases"]] for context in contexts]
    assert named == [[], runs[:1], sorted(runs[:2])]
    assert [watching(release={"policy": policy})[1]["action"] for _ in range(2)] == ["refused_before"] * 2
    assert sdcert("audit", "replay", runs[1]).code == 0
    assert sdcert("revoke", runs[1], "--reason", "the source was wrong").code == 0
    assert not (parent / "latest").is_symlink()


@pytest.mark.slow
def test_a_query_is_watched_and_a_database_that_is_away_is_no_quarantine(watching, sdcert, tmp_path, monkeypatch):
    database = tmp_path / "survey.db"
    rows = [line.split(",") for line in survey().splitlines()[1:]]
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE survey (person_id INTEGER, age REAL, income REAL, town INTEGER, vote TEXT)")
        connection.executemany("INSERT INTO survey VALUES (?, ?, ?, ?, ?)", rows)
    monkeypatch.setenv("SURVEY_URL", f"sqlite:///{database}")
    path = write_watch(tmp_path, release={"source": {"sql": "SELECT * FROM survey", "url_env": "SURVEY_URL"}})
    content = json.loads(path.read_text())
    content["look_at"] = {"source": "release"}
    path.write_text(json.dumps(content))

    def look() -> tuple[int, dict]:
        ran = sdcert("watch", path, "--json")
        return ran.code, json.loads(ran.out)

    database.rename(tmp_path / "away.db")
    code, away = look()
    assert (code, away["action"], away["code"]) == (3, "away", "no-connection at the query on $SURVEY_URL")
    (tmp_path / "away.db").rename(database)
    assert look()[1]["verdict"] == "certified"
    assert look()[1]["action"] == "unchanged"
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO survey VALUES (7, 33.25, 100.5, 2000, 'yes')")
    assert look()[1]["verdict"] == "certified"
    with sqlite3.connect(database) as connection:
        connection.execute("ALTER TABLE survey RENAME COLUMN town TO place")
    code, wrong = look()
    assert (code, wrong["events"]) == (2, ["quarantined"])
    assert look()[1]["action"] == "quarantined_before"


def test_the_shipped_watches_fit_the_shipped_schema_and_can_be_read(home):
    from flows.schemas import create_schemas
    from flows.watch.spec import load_watch

    text = (ROOT / "params" / "schema" / "watch.json").read_text()
    assert create_schemas()["watch.json"].decode() == text
    for path in (ROOT / "params" / "watches").glob("*.yaml"):
        jsonschema.validate(YAML(typ="safe", pure=True).load(path), json.loads(text))
        assert load_watch(path).spec.name == path.stem


@pytest.mark.parametrize("words", [["watch"], ["quarantine"]])
def test_help_says_what_there_is(sdcert, words):
    ran = sdcert(*words, "--help")
    assert ran.code == 0
    assert ("--again" if words == ["watch"] else "retry") in ran.out


GROUPS = {"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 5}
LIMITS = {"policy": [{"measure": "reidentification", "at_most": 0.25}]}  # 1/k = 0.2
NEWCOMERS = 12  # with each version: more than stay uncounted as a part of the people


def drop_version(folder, number):
    """A version of the survey with more people, whose answers tell which rows of two versions belong together."""
    head, *rows = survey(80 + NEWCOMERS * number).splitlines()
    told = [f"{row.rpartition(',')[0]},answer {i % 40}" for i, row in enumerate(rows)]
    drop(folder, f"survey-{number}.csv", "\n".join([head, *told]) + "\n", hour=number)


@pytest.mark.slow
def test_a_growing_table_stays_certified_with_frozen_groups(watching, tmp_path):
    found: list[str] = []
    for number in range(5):
        drop_version(tmp_path, number)
        code, looked, said = watching(release={"masking": [{**GROUPS, "frozen": True}], **LIMITS})
        assert code == 0, said
        assert newest_manifest()["earlier"] == found
        found.append(looked["run"])


@pytest.mark.slow
def test_a_growing_table_without_frozen_groups_is_refused_and_the_first_version_named(watching, tmp_path):
    runs = []
    for number, verdict in enumerate(("certified", "refused")):
        drop_version(tmp_path, number)
        code, looked, said = watching(release={"masking": [GROUPS], **LIMITS})
        assert code == number, said
        assert looked["verdict"] == verdict
        runs.append(looked["run"])
    assert runs[0] in said

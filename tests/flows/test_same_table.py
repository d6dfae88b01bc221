"""The same table in every form it may come in: one address, one scorecard."""

import sqlite3

import pandas as pd
import pyreadstat
import pytest
from outcomes import newest_manifest, scorecard_of
from release_files import survey, write_release
from sqlalchemy import create_engine

FORMS = ("parquet", "sqlite", "postgresql", *(pytest.param(form, marks=pytest.mark.slow) for form in ("csv.gz", "sav")))


@pytest.fixture
def source(request, tmp_path, monkeypatch):
    """`source(form)` writes the survey in that form and returns what the release file says of it."""

    def written(form):
        frame = pd.read_csv(tmp_path / "project" / "survey.csv")
        path = tmp_path / "project" / f"survey.{form}"
        if form == "csv.gz":
            frame.to_csv(path, index=False)
        elif form == "parquet":
            frame.to_parquet(path, index=False)
        elif form == "sav":
            pyreadstat.write_sav(frame, path, variable_format={"person_id": "F8.0", "town": "F8.0"})
        elif form in ("sqlite", "postgresql"):
            return queried(frame, f"sqlite:///{path}" if form == "sqlite" else request.getfixturevalue("postgresql"))
        return {"table": path.name}

    def queried(frame, url):
        engine = create_engine(url)
        frame.sample(frac=1, random_state=3).to_sql("survey", engine, index=False, if_exists="replace")
        engine.dispose()
        monkeypatch.setenv("SURVEY_URL", url)
        return {"sql": "select person_id, age, income, town, vote from survey order by person_id", "url_env": "SURVEY_URL"}

    return written


@pytest.fixture
def first(certified, tmp_path):
    """The address and the figures of the table as CSV."""
    return outcome_of(tmp_path, certified.manifest)


def outcome(sdcert, tmp_path, path):
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    return outcome_of(tmp_path, newest_manifest())


def outcome_of(tmp_path, manifest):
    scorecard = scorecard_of(tmp_path, manifest)
    return manifest["stages"]["ingest"]["produced"]["data"], scorecard["estimates"], scorecard["criteria"]


@pytest.mark.parametrize("form", FORMS)
def test_one_address_and_one_scorecard(sdcert, tmp_path, first, source, form):
    path = write_release(tmp_path / "project", {"source": source(form)}, text=survey())
    assert outcome(sdcert, tmp_path, path) == first


def test_the_url_of_a_database_is_written_nowhere(sdcert, tmp_path, home, first, source, monkeypatch):
    path = write_release(tmp_path / "project", {"source": source("sqlite")}, text=survey())
    renamed = tmp_path / "project" / "secret-password.sqlite"
    (tmp_path / "project" / "survey.sqlite").rename(renamed)
    monkeypatch.setenv("SURVEY_URL", f"sqlite:///{renamed}")
    outcome(sdcert, tmp_path, path)
    for folder in (home, tmp_path / "releases"):
        for file in folder.rglob("*"):
            if file.is_file():
                assert b"secret-password" not in file.read_bytes(), file


@pytest.mark.slow
def test_a_database_that_lost_a_row_is_another_source(sdcert, tmp_path, first, source):
    path = write_release(tmp_path / "project", {"source": source("sqlite")}, text=survey())
    with sqlite3.connect(tmp_path / "project" / "survey.sqlite") as database:
        database.execute("delete from survey where person_id = 1003")
    database.close()
    sdcert("certify", path, "--output", tmp_path / "releases")  # with the first file the other people are found: refused
    assert outcome_of(tmp_path, newest_manifest())[0] != first[0]

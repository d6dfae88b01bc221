"""External files of the intruder, through the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from outcomes import folder_of, newest_manifest, scorecard_of
from release_files import RELEASE, survey, write_release
from replays import by_stage, causes_of, replayed

from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.score.known_release import Known
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.verdict import decide

N, FOREIGN = 50, 20
FILE = {
    "table": "register.csv",
    "name": "register",
    "key": {"PID": "person_id"},
    "attributes": {"AGE": "age", "income_k": "income", "town": "town"},
    "convert": {"income": {"times": 1000}},
}


def register():
    """Fifty people of the survey, incomes in thousands, twenty others, and a column that is no use and could not be read."""
    rng = np.random.default_rng(0)
    people = list(csv.DictReader(io.StringIO(survey())))
    rows = [
        f"{one['person_id']},{one['age']},{float(one['income']) / 1000},{one['town']},4 2/3"
        for one in (people[i] for i in rng.permutation(len(people))[:N])
    ]
    rows += [
        f"{880000 + i},{rng.integers(18, 90)}.5,{rng.integers(1, 900)},{rng.integers(1000, 900000)},NA" for i in range(FOREIGN)
    ]
    rng.shuffle(rows)
    return "PID,AGE,income_k,town,shoe\n" + "\n".join(rows) + "\n"


def release(*lines, **fields):
    return {"intruder": {"curve": False, "files": [{**FILE, **fields}]}, "policy": [*RELEASE["policy"], *lines]}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "register.csv").write_text(register())
    return folder


def test_a_release_is_attacked_by_who_holds_a_file(sdcert, project, tmp_path):
    limit = {"measure": "reidentification_present", "at_most": 0.9, "intruder": "file"}
    followed = {"measure": "reidentification", "at_most": 0.4, "attack": "transparency"}  # which no holder of a file can do
    path = write_release(project, release(limit, followed))
    told = sdcert("check", path)
    assert (told.code, "register.csv: age, income, town; 50 of 70 records are in the source" in told.out) == (0, True)
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    manifest = newest_manifest()
    scorecard, folder = scorecard_of(tmp_path, manifest), folder_of(tmp_path, manifest)
    figures = {one["id"]: one for one in scorecard["estimates"]}
    rate = figures["reidentification|distance_linkage|file:register"]
    assert (rate["n_targets"], rate["n_in_release"], rate["chance"]) == (70, 50, pytest.approx(50 / 70 / 80))
    present = figures["reidentification_present|distance_linkage|file:register"]
    assert present["value"] == pytest.approx(rate["value"] * 70 / 50)
    assert figures["reidentification|transparency|file:register"]["status"] == "not_applicable"
    assert scorecard["criteria"][1]["intruder"] == "file:register"
    assert (scorecard["criteria"][2]["decision"], scorecard["criteria"][2]["intruder"]) == ("pass", "declared")
    page, internal = (folder / "report.html").read_text(), next((tmp_path / "home" / "runs").rglob("report-internal.html"))
    for text in (page, internal.read_text()):
        assert "external file register (70 records, 50 of them in the release)" in text
        assert "the 70 records of an external file, of which 50 are in the release" in text
    private = ("register.csv", "income_k", "880001", str(project))
    public = [*(one for one in folder.iterdir()), *(tmp_path / "home" / "ledger").rglob("*.jsonl")]
    assert [(one.name, text) for one in public for text in private if text in one.read_text(errors="replace")] == []


@pytest.mark.slow  # a run and its replay
def test_two_files_are_used_together(sdcert, project, tmp_path):
    rows = [line.split(",") for line in register().splitlines()]
    (project / "towns.csv").write_text("\n".join(f"{row[0]},{row[3]}" for row in rows[:40]) + "\n")
    files = [
        {**FILE, "attributes": {"AGE": "age", "income_k": "income"}},
        {"table": "towns.csv", "name": "towns", "key": {"PID": "person_id"}},
    ]
    limit = {"measure": "reidentification", "at_most": 1.0, "intruder": "file:register+towns"}
    both = {"curve": False, "files": files, "combine": [{"files": ["register", "towns"]}]}
    path = write_release(project, {"intruder": both, "policy": [*RELEASE["policy"], limit]})
    told = sdcert("check", path)
    assert (told.code, "register + towns: age, income, town; 50 of 70 records are in the source" in told.out) == (0, True)
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    manifest = newest_manifest()
    figures = {one["id"]: one for one in scorecard_of(tmp_path, manifest)["estimates"]}
    assert {"file:register", "file:towns", "file:register+towns"} <= {one["intruder"] for one in figures.values()}
    assert figures["reidentification|distance_linkage|file:register+towns"]["n_targets"] == 70
    assert "external files register and towns" in (folder_of(tmp_path, manifest) / "report.html").read_text()
    again, compared = replayed(sdcert, manifest["run"])
    assert (again.code, compared["outcome"]) == (0, "identical"), again.err
    wrong = {**both, "combine": [{"files": ["register", "towns"], "by": ["town"]}]}
    refused = sdcert("check", write_release(project, {"intruder": wrong}))
    assert (refused.code, "intruder.combine[0].by" in refused.err) == (2, True)


@pytest.mark.slow  # two replays
def test_a_replay_needs_the_file(sdcert, project, tmp_path):
    assert sdcert("certify", write_release(project, release()), "--output", tmp_path / "releases").code == 0
    manifest = newest_manifest()
    again, compared = replayed(sdcert, manifest["run"])
    assert again.code == 0, again.err
    assert by_stage(compared)["ingest file:register"]["outcome"] == "identical"
    file = project / "register.csv"
    file.write_text(file.read_text().replace("880001,", "880001,1"))
    again, compared = replayed(sdcert, manifest["run"])
    assert again.code == 1
    assert "the intruder's file:register" in causes_of(compared, "ingest file:register")["data"]
    moved = file.rename(project / "elsewhere.csv")
    gone = sdcert("audit", "replay", manifest["run"])
    assert (gone.code, "intruder.files[0]" in gone.err, "`--file register=FILE` says where" in gone.err) == (2, True, True)
    again, compared = replayed(sdcert, manifest["run"], "--file", f"register={moved}")
    assert (again.code, "1 row changed, in AGE (1)" in causes_of(compared, "ingest file:register")["data"]) == (1, True)
    moved.write_text(moved.read_text().replace("PID", "ID"))
    again, compared = replayed(sdcert, manifest["run"], "--file", f"register={moved}")
    assert (again.code, compared["outcome"]) == (1, "failed")
    assert causes_of(compared, "ending")["data"] == "the intruder's file:register has other content"
    moved.write_text(register())
    again, compared = replayed(sdcert, manifest["run"], "--file", f"register={moved}")
    assert (again.code, compared["outcome"], compared["causes"]) == (0, "identical", []), again.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["register"], "does not say which file is where"),
        (["=a.csv"], "does not say which file is where"),
        (["register="], "does not say which file is where"),
        (["register=a.csv", "register=b.csv"], "`register` is given twice."),
    ],
)
def test_a_place_that_says_nothing_is_refused(sdcert, given, told):
    ran = sdcert("audit", "replay", "any", *(word for one in given for word in ("--file", one)))
    assert (ran.code, ran.out, told in ran.err) == (2, "", True)


def test_a_replay_looks_for_a_file_where_it_is_now(home, project):
    from flows.release_file import load_release
    from flows.replay.rerun import GivenPaths, link_moved_files

    home.mkdir(parents=True, exist_ok=True)
    loaded = load_release(write_release(project, release()))
    other = (project / "register.csv").rename(project / "elsewhere.csv")
    with link_moved_files(loaded, GivenPaths(files={"register": other})) as there:
        (file,) = there.intruder.files
        assert (file.table.endswith("/register.csv"), file.name, file.key) == (True, "register", loaded.intruder.files[0].key)
        assert Path(file.table).read_text() == register()
    for files, told in (({"registry": other}, "did you mean `register`"), ({"register": project / "no.csv"}, "no such file")):
        with pytest.raises(InputError, match=told), link_moved_files(loaded, GivenPaths(files=files)):
            pass
    with (
        pytest.raises(InputError, match="leave --file out"),
        link_moved_files(load_release(write_release(project)), GivenPaths(files={"register": other})),
    ):
        pass


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"table": "registre.csv"}, "intruder.files[0]"),
        ({"key": {"PIDD": "person_id"}}, "The file has no such column"),
        ({"key": {"PID": "age"}}, "`age` is published"),
        ({"key": {"PID": "nobody"}}, "no column `nobody`"),
        ({"key": {"PID": "person_id", "AGE": "age"}}, "`key` is one column"),
        ({"attributes": {"shoe": "age"}}, "intruder.files[0]"),
        ({"attributes": {"shoe": "town", "AGE": "age"}, "convert": {}}, "numeric"),
        ({"attributes": None, "convert": {"income": {"times": 1000}}}, "no attribute `income`"),
        ({"columns": {"PIN": {"missing": ["0"]}}}, "of which no use is made"),
        ({"convert": {"income": {"times": 0}}}, "greater than 0"),
        ({"dataset": "census"}, "exactly one"),
        ({"name": "A register"}, "small letters"),
    ],
)
def test_a_file_that_does_not_fit_is_one_clear_message(sdcert, project, fields, told):
    path = write_release(project, release(**fields))
    ran = sdcert("check", path)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert "release.yaml, line" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("PID,AGE,income_k,town\n", "no rows"),
        ("PID,AGE,income_k,town\n1001,40,2,1000\n1001,41,2,1000\n", "repeat the key"),
        ("PID,AGE,income_k,town\n1001,40,2,1000\n,41,2,1000\n", "have no key"),
        ("PID,AGE,income_k,town\n5,40,2,1000\n", "has a key of the source"),
        ("PID,AGE,income_k,town\n1001,1e999,2,1000\n", "intruder.files[0]"),
        ("PID,PID\n1,2\n", "more than once"),
        ("\x00\x00\x01", "intruder.files[0]"),
    ],
)
def test_a_hostile_file_is_one_clear_message(sdcert, project, text, told):
    (project / "register.csv").write_text(text)
    ran = sdcert("check", write_release(project, release()))
    assert ran.code == 2
    assert told in ran.err
    assert "intruder.files[0]" in ran.err
    assert "Traceback" not in ran.err


def test_a_file_as_parquet_with_one_record(sdcert, project):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"person_id": [1003.0], "age": [40], "town": [1000.5]}), project / "one.parquet")
    spec = {"table": "one.parquet", "key": "person_id"}
    ran = sdcert("check", write_release(project, {"intruder": {"files": [spec]}}))
    assert (ran.code, "file:1, one.parquet: age, town; 1 of 1 records are in the source" in ran.out) == (0, True), ran.err


def test_neither_the_tracking_server_nor_the_report_is_told_where_the_files_are(project):
    from flows.release_file import load_release

    loaded = load_release(write_release(project, release()))
    assert loaded.intruder.files[0].table == str(project / "register.csv")
    assert loaded.report_plan.intruder.files == ()
    assert "register" not in json.dumps(loaded.public())


def estimate(intruder, value):
    return Estimate(measure="reidentification", attack="distance_linkage", intruder=intruder, value=value, unit="share")


@pytest.mark.parametrize(
    ("asked", "decision", "by"),
    [
        (None, "fail", "file:a"),
        ("declared", "pass", "declared"),
        ("file", "fail", "file:a"),
        ("file:b", "pass", "file:b"),
        ("insider", "fail", "insider:vote"),
    ],
)
def test_whose_figures_a_line_is_about(asked, decision, by):
    given = (estimate("declared", 0.1), estimate("insider:vote", 0.9), estimate("file:a", 0.5), estimate("file:b", 0.2))
    (criterion,) = decide((PolicyLine(measure="reidentification", at_most=0.3, intruder=asked),), given).criteria
    assert (criterion.decision, criterion.intruder) == (decision, by)


def test_a_line_on_a_file_that_is_not_there_is_refused(sdcert, project):
    line = {"measure": "reidentification", "at_most": 0.5, "intruder": "file:registry"}
    ran = sdcert("check", write_release(project, release(line)))
    assert (ran.code, "did you mean `file:register`?" in ran.err) == (2, True)
    asked = {**line, "intruder": "file:register", "attack": "transparency"}
    ran = sdcert("check", write_release(project, release(asked)))
    assert (ran.code, "nobody can carry out `transparency` with an external file" in ran.err) == (2, True), ran.err
    assert "release.yaml, line" in ran.err
    known = Known(intruders=("declared",))
    with pytest.raises(Exception, match="no such intruder"):
        check_policy((PolicyLine(measure="reidentification", at_most=0.5, intruder="file"),), known)


@pytest.mark.slow
def test_census_attacked_with_two_files(sdcert, reference, tmp_path):
    """800 of Census' records are the source, of which a sample is masked; the others are known to who holds a register.

    A register of the source itself, shuffled, gives the figures of the declared intruder to the last digit. One of 400 of the
    source's records and the 280 others counts those as absent; its rate among the present is what the masking gives away.
    """
    rng = np.random.default_rng(8)
    header, *rows = (reference / "census.csv").read_text().splitlines()
    keyed = [f"{9000 + i},{row}" for i, row in enumerate(rows)]
    folder = tmp_path / "project"
    folder.mkdir()
    source = "\n".join(['"id",' + header, *keyed[:800]]) + "\n"
    (folder / "same.csv").write_text("\n".join(['"id",' + header, *(keyed[i] for i in rng.permutation(800))]) + "\n")
    (folder / "other.csv").write_text("\n".join(['"id",' + header, *(keyed[i] for i in 400 + rng.permutation(680))]) + "\n")
    names = [name.strip('"') for name in header.split(",")]
    keys = {name: {"role": "quasi_identifier", "scale": "numeric"} for name in names[:5]}
    rest = {name: {"role": "confidential", "scale": "numeric"} for name in names[5:6]}
    kept_back = {name: {"role": "withheld"} for name in names[6:]}
    files = [{"table": f"{name}.csv", "name": name, "key": "id", "attributes": list(keys)} for name in ("same", "other")]
    change = {
        "key": "id",
        "attributes": {"id": {"role": "identifier"}, **keys, **rest, **kept_back},
        "masking": [{"method": "sampling", "share": 0.9}, {"method": "microaggregation", "attributes": [*keys], "k": 3}],
        "intruder": {"curve": False, "files": files},
        "attacks": [
            {"method": "distance_linkage"},
            {"method": "distance_linkage", "id": "together", "matching": "one_to_one"},
        ],
        "omit": [{"attack": "transparency", "reason": "it does not use the files"}],
        "policy": [{"measure": "reidentification", "at_most": 1.0}],
        "not_for_publication": True,
    }
    ran = sdcert("certify", write_release(folder, change, text=source), "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    (private,) = (tmp_path / "home" / "runs").rglob("scorecard.json")
    found = {one["id"]: one for one in json.loads(private.read_text())["estimates"]}
    figures = {name: one for name, one in found.items() if "|declared" in name and "|transparency" not in name}
    assert len(figures) > 10
    for name, one in figures.items():
        if one["subgroup"] is None:
            assert found[name.replace("|declared", "|file:same")] == one | {
                "id": name.replace("|declared", "|file:same"),
                "intruder": "file:same",
            }
    for attack in ("distance_linkage", "together"):
        rate, present = (found[f"{name}|{attack}|file:other"] for name in ("reidentification", "reidentification_present"))
        assert rate["n_targets"] == 680
        assert 330 < rate["n_in_release"] == present["n_targets"] < 390
        assert present["chance"] == 1 / 720
        assert rate["value"] == pytest.approx(present["value"] * rate["n_in_release"] / 680)
        assert found[f"false_links_absent|{attack}|file:other"]["n_targets"] == 680 - rate["n_in_release"]
    mine, all_ = (found[f"reidentification_present|distance_linkage|{who}"]["value"] for who in ("file:other", "declared"))
    assert abs(mine - all_) < 0.12  # half of the same people are looked for

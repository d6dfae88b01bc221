"""A point of a sweep becomes a release file that says what it says, wherever it stands, and is certified as any other."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from outcomes import folder_of, newest_manifest, statement_in
from release_files import write_release

from flows.release_file import load_release
from flows.sweep.promote import PointOrigin, SweepFiles, find_point, format_promoted_release
from flows.sweep.spec import load_sweep
from flows.sweep.variants import create_release_spec
from flows.sweep.working_set import open_default_working_set
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError
from tasks.sweep.evaluation import drop_curve_and_files
from tasks.sweep.layout import TrialRow, create_sweep_table

TOLD = PointOrigin("s", "s-0123456789ab", 14)
ODD = 'a "town": {[x]}, # yes'
SWEEP = {
    "name": "s",
    "base": "../releases/release.yaml",
    "pipelines": [
        {
            "name": "mdav",
            "masking": [{"method": "microaggregation"}],
            "axes": {
                "masking[0].k": {"values": [3, 5]},
                "masking[0].partition": {"values": ["mdav", "v_mdav"]},
                "masking[0].gamma": {"range": [0.2, 1.1], "steps": 3, "when": {"masking[0].partition": "v_mdav"}},
                "masking[0].attributes": {"values": [["age", "income"], ["age", "income", "town"]]},
            },
        },
        {"name": "swap", "masking": [{"method": "rank_swapping"}], "axes": {"masking[0].window_percent": {"values": [5, 20]}}},
        {"name": "as-it-is"},
    ],
    "axes": {"intruder.targets": {"values": [1]}},
}


@pytest.fixture
def project(tmp_path):
    """`project(base=..., **sweep)` writes a base release and a sweep in folders of their own, and reads the sweep."""

    def made(base=None, **sweep):
        write_release(tmp_path / "params" / "releases", base)
        path = tmp_path / "params" / "sweeps" / "s.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(SWEEP | sweep))
        return load_sweep(path)

    return made


def table(sweep, **status):
    """The table of a sweep, with one figure for each trial."""
    return create_sweep_table(
        [
            TrialRow(
                point=point.number,
                pipeline=point.pipeline,
                seed=seed,
                axes=dict(point.values),
                status=status.get(f"p{point.number}", "ok"),
                reason=None,
                figures={"sse_percent": 1.5},
                seconds=0.1,
            )
            for point in sweep.points()
            for seed in range(2)
        ]
    )


def kept(sweep):
    """What the record keeps, as it comes back from JSON with sorted keys."""
    return SweepFiles.from_record(json.loads(json.dumps(sweep.export_files(), sort_keys=True)))


def test_every_point_is_read_off_the_table_as_it_was(project):
    sweep = project()
    found = table(sweep)
    points = list(sweep.points())
    assert len(points) == 2 * 4 * 2 + 2 + 1
    assert [find_point(found, point.number, kept(sweep).spaces) for point in points] == points


def test_a_point_of_a_random_sweep_with_a_continuous_axis_is_read_off_as_well(project):
    axes = {"masking[0].window_percent": {"range": [1, 50]}}
    swap = {"name": "swap", "masking": [{"method": "rank_swapping"}], "axes": axes}
    sweep = project(pipelines=[swap], strategy={"method": "random", "points": 10})
    points = list(sweep.points())
    assert [find_point(table(sweep), point.number, kept(sweep).spaces) for point in points] == points


def test_a_promoted_file_is_the_variant_with_a_fresh_seed(project, tmp_path):
    sweep = project()
    for point in sweep.points():
        folder = tmp_path / "elsewhere" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "x.yaml"
        path.write_text(format_promoted_release(kept(sweep), point, TOLD, folder))
        found, expected = load_release(path), create_release_spec(sweep, point)
        different = {name for name in type(found).model_fields if getattr(found, name) != getattr(expected, name)}
        assert different <= {"name", "series", "not_for_publication", "sweep", "source"}
        assert Path(found.source.table).resolve() == Path(expected.source.table).resolve()
        assert (found.name, found.series_name) == (f"survey-{point.pipeline}-{point.number}", "survey")
        assert (found.seed, found.not_for_publication) == (None, False)
        assert found.sweep.model_dump() == {"name": "s", "id": TOLD.id, "points_tried": 14}


def test_the_file_says_in_words_where_it_comes_from(project):
    sweep = project()
    point = next(point for point in sweep.points() if point.pipeline == "swap")
    text = format_promoted_release(kept(sweep), point, TOLD, Path("/"))
    comments = " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    assert f"point {point.number} of the sweep s (s-0123456789ab), one of 14 that were tried" in comments
    assert "masking[0].window_percent 5.0" in comments
    assert "fresh seed" in comments


def test_a_chosen_seed_is_not_kept_and_a_series_is(project, tmp_path):
    sweep = project({"seed": 20260101, "not_for_publication": True, "series": "yearly"})
    assert "20260101" not in json.dumps(sweep.export_files())
    path = tmp_path / "x.yaml"
    path.write_text(format_promoted_release(kept(sweep), next(sweep.points()), TOLD, tmp_path))
    found = load_release(path)
    assert (found.seed, found.not_for_publication, found.series) == (None, False, "yearly")
    alone = project({"not_for_publication": True})
    path.write_text(format_promoted_release(kept(alone), next(alone.points()), TOLD, tmp_path))
    assert load_release(path).not_for_publication


def test_a_base_that_was_chosen_in_a_sweep_brings_its_points(project, tmp_path):
    sweep = project({"sweep": {"name": "before", "id": "before-1", "points_tried": 100}})
    path = tmp_path / "x.yaml"
    path.write_text(format_promoted_release(kept(sweep), next(sweep.points()), TOLD, tmp_path))
    assert load_release(path).sweep.model_dump() == {"name": "s", "id": TOLD.id, "points_tried": 114}
    assert "counts the 100 points" in path.read_text()


def test_names_and_texts_that_yaml_reads_otherwise_come_back_as_they_were(project, tmp_path):
    odd = {
        "attributes": {
            "age": {"role": "quasi_identifier", "label": "no", "missing": ["012", "12:30", "~"]},
            ODD: None,
            "\u202e\n": None,
        },
        "context": {"environment": "public", "period": "2026-01-01", "purpose": "x" * 200 + " # " + "y " * 40},
        "publish": {"format": "csv"},
    }
    sweep = project(odd)
    path = tmp_path / "params" / "releases" / "x.yaml"
    path.write_text(format_promoted_release(kept(sweep), next(sweep.points()), TOLD, path.parent))
    written = read_document(path).content
    assert {name: written[name] for name in odd} == odd
    assert written["source"] == {"table": "survey.csv"}
    assert list(written)[:4] == ["name", "series", "source", "key"]
    assert list(written["attributes"]) == list(odd["attributes"])


def test_files_of_the_intruder_are_found_from_the_new_place_and_no_sweep_reads_them(project, tmp_path):
    held = {"files": [{"table": "register.csv", "key": "person_id"}, {"dataset": "census", "key": "person_id", "name": "b"}]}
    sweep = project({"intruder": held})
    path = tmp_path / "deep" / "promoted.yaml"
    path.parent.mkdir()
    path.write_text(format_promoted_release(kept(sweep), next(sweep.points()), TOLD, path.parent))
    files = load_release(path).intruder.files
    assert Path(files[0].table).resolve() == (tmp_path / "params" / "releases" / "register.csv").resolve()
    assert (files[1].dataset, files[1].table) == ("census", None)
    assert drop_curve_and_files(load_release(path).intruder).files == ()


def test_files_that_the_base_and_the_pipeline_name_are_found_from_the_new_place(project, tmp_path):
    (tmp_path / "params" / "sweeps").mkdir(parents=True)
    (tmp_path / "params" / "sweeps" / "towns.csv").write_text("old,new\nyes,no\nno,no\n")
    (tmp_path / "params" / "codes.yaml").write_text("attributes: {age: {label: Age}}\n")
    steps = [{"method": "recoding", "recode": {"vote": {"file": "towns.csv"}}}, {"method": "microaggregation", "k": 3}]
    sweep = project({"codebook": "../codes.yaml"}, pipelines=[{"name": "recode", "masking": steps}])
    path = tmp_path / "x.yaml"
    path.write_text(format_promoted_release(kept(sweep), next(sweep.points()), TOLD, tmp_path))
    written = read_document(path).content
    assert written["codebook"] == "params/codes.yaml"
    assert written["masking"][0]["recode"]["vote"]["file"] == "params/sweeps/towns.csv"
    assert load_release(path).masking == create_release_spec(sweep, next(sweep.points())).masking


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [(99, {}, "0 to 18"), (3, {"p3": "skipped"}, "never measured"), (3, {"p3": "failed"}, "never measured")],
)
def test_a_point_without_figures_is_not_promoted(project, number, status, words):
    sweep = project()
    with pytest.raises(InputError, match=words):
        find_point(table(sweep, **status), number, kept(sweep).spaces)


@pytest.fixture
def finished(project, home):
    """A sweep in the home of this test, as one leaves it that has ended."""
    sweep = project()
    place = open_default_working_set()
    facts = {
        "id": TOLD.id,
        "name": "s",
        "files": sweep.export_files(),
        "started_at": "2026-11-21T00:00:00+00:00",
        "status": "finished",
    }
    facts |= {"base": "survey", "process": 1, "host": "here"}
    place.put_json(f"{TOLD.id}/sweep.json", facts)
    content = table(sweep, p0="skipped")
    with (Path(home) / "sweeps" / TOLD.id / "table.parquet").open("wb") as file:
        pq.write_table(content, file)
    return sweep


@pytest.mark.slow
def test_a_promoted_point_is_certified_and_its_certificate_names_the_sweep(finished, sdcert, tmp_path):
    path = tmp_path / "x.yaml"
    ran = sdcert("sweep", "promote", "s", 9, "--output", path)
    assert (ran.code, ran.err) == (0, "")
    assert f"sdcert certify {path}" in ran.out
    assert "one of 18" in ran.out
    done = sdcert("certify", path, "--output", tmp_path / "releases")
    assert done.code == 0, done.err
    manifest = newest_manifest()
    said = statement_in(folder_of(tmp_path, manifest))["predicate"]
    assert said["sweep"] == {"name": "s", "points_tried": 18}
    assert said["seed_entropy_bits"] == 256
    assert (said["series"], said["attempts"]) == ("survey", 1)


def test_nothing_is_written_over_without_force(finished, sdcert, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("mine")
    ran = sdcert("sweep", "promote", TOLD.id[:5], 9, "-o", path)
    assert (ran.code, path.read_text()) == (2, "mine")
    assert "--force" in ran.err
    assert sdcert("sweep", "promote", TOLD.id, 9, "-o", path, "--force").code == 0
    assert load_release(path).name == "survey-mdav-9"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sweeep", 9, "-o", "x.yaml"), "no sweep"),
        (("s", 900, "-o", "x.yaml"), "0 to 18"),
        (("s", 0, "-o", "x.yaml"), "never measured"),
        (("s", 9, "-o", "no/such/folder.yaml"), "no such folder"),
        (("s", 9, "-o", "."), "folder"),
        (("s", 9, "-o", "x" * 300 + ".yaml"), "cannot be looked at"),
    ],
)
def test_a_wrong_promotion_is_refused_and_writes_nothing(finished, sdcert, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*.yaml"))
    ran = sdcert("sweep", "promote", *words)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert sorted(tmp_path.rglob("*.yaml")) == before

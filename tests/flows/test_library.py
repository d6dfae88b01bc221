"""`import sdcert` beside the command line: the same runs, and of rehearsals the same figures to the last digit."""

import ast
import doctest
import os

import numpy as np
import pandas as pd
import pytest
from documents import blocks, commands
from outcomes import newest_manifest, scorecard_of
from release_files import RELEASE, survey, write_release
from sweep_files import write_sweep

import sdcert as sc

NOISE = {"method": "noise", "kind": "independent", "attributes": ["town"], "sd_percent": 30}
PARTLY_RANDOM = [{"method": "microaggregation", "attributes": ["age", "income"], "k": 4}, NOISE]
MEMBERSHIP = ["closest_record", "density_ratio", "linkage_score", "values_present", "law_ratio"]
TREE = {"method": "model_based_disclosure", "learners": ["decision_tree", "nearest_neighbours"]}
KNOWN = ["age", "income", "town"]


def read_figures(scorecard):
    return {one["id"]: (one["value"], one["low"], one["high"], one["status"]) for one in scorecard["estimates"]}


def rehearse(project, masking, **options):
    frame = pd.read_csv(project / "survey.csv")
    masked = sc.mask(frame, masking, key="person_id", declare=RELEASE["attributes"], **options)
    attacked = sc.attack(frame, masked, insiders=True)
    return masked, sc.score(frame, masked, attacks=[attacked])


def collect_figures(scored):
    return {one.id: (one.value, one.low, one.high, one.status) for one in scored.estimates}


@pytest.fixture
def furnished(home, prefect, made_store):
    """A home in which a flow can run."""
    import shutil

    home.mkdir(mode=0o700, parents=True)
    shutil.copy(made_store, home / "mlflow.db")
    return home


@pytest.mark.slow
def test_certify_verify_and_find_as_the_command_line_does(furnished, tmp_path):
    rights = os.umask(0o022)
    try:
        path = write_release(tmp_path / "project")
        run = sc.certify(path, output=tmp_path / "releases")
        after = os.umask(0o022)
    finally:
        os.umask(rights)
    assert after == 0o022
    assert (run.verdict, run.scorecard["verdict"]) == ("certified", "certified")
    assert run.report.name == "report.html"
    assert run.certificate is not None and run.statement is None
    assert list(run.table) == ["age", "income", "town", "vote"]
    assert len(run.table) == len(survey().splitlines()) - 1
    assert "<iframe" in run._repr_html_()

    masked, scored = rehearse(path.parent, RELEASE["masking"])
    assert collect_figures(scored) == read_figures(scorecard_of(tmp_path, newest_manifest()))
    rows = [tuple(row) for table in (masked.table, run.table) for row in [sorted(map(tuple, table.to_numpy().tolist()))]]
    assert rows[0] == rows[1]

    found = sc.verify(run.released_file)
    assert found and found.matches and found.broken_by == []
    run.released_file.chmod(0o600)
    run.released_file.write_bytes(run.released_file.read_bytes().replace(b"yes", b"no ", 1))
    assert not sc.verify(run.released_file)
    searched = sc.audit.find(run.report)
    assert searched.runs["run"].tolist() == [run.run]
    assert sc.audit.find(release="nobody").runs.empty
    with pytest.raises(sc.InputError):
        sc.verify(tmp_path / "nothing.csv")
    with pytest.raises(sc.InputError) as caught:
        sc.certify(write_release(tmp_path / "project", {"masking": [{**RELEASE["masking"][0], "k": 1}]}))
    assert "line" in caught.value.where


@pytest.mark.slow
def test_every_block_of_the_page_runs_as_it_stands(furnished, sdcert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    shown = []
    for page, text in blocks("python", "yaml", "sh"):
        if page != "docs/LIBRARY.md":
            continue
        if text.startswith("# "):
            (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text)
        elif text.startswith("sdcert "):
            (words,) = commands(text)
            assert sdcert(*words).code == 0
        else:
            code = doctest.script_from_examples(text) if ">>> " in text else text
            for statement in ast.parse(code).body:
                is_shown = isinstance(statement, ast.Expr) and ">>> " not in text
                compiled = compile(ast.unparse(statement), page, "eval" if is_shown else "exec")
                shown += [eval(compiled, names)] if is_shown else []  # noqa: S307  our own page
                exec(compiled, names) if not is_shown else None  # noqa: S102
    _, (verdict, scorecard, report, certificate, table), verified, runs, known, frontier = shown
    assert (verdict, scorecard["verdict"], len(table)) == ("certified", "certified", 40)
    assert report.exists() and certificate.exists() and verified and known
    assert runs["release"].tolist() == ["survey"]
    assert len(frontier) >= 1


@pytest.mark.slow
def test_a_chosen_seed_gives_the_figures_of_a_rehearsed_release(furnished, tmp_path):
    change = {"masking": PARTLY_RANDOM, "seed": 11, "not_for_publication": True}
    path = write_release(tmp_path / "project", change)
    run = sc.certify(path, output=tmp_path / "releases")
    assert run.table is None
    _, scored = rehearse(path.parent, PARTLY_RANDOM, seed=11)
    assert collect_figures(scored) == read_figures(scorecard_of(tmp_path, newest_manifest()))
    verdict = sc.decide(scored, RELEASE["policy"])
    assert {"kept": "certified", "broken": "refused", "undecided": "undecided"}[verdict.outcome] == run.verdict
    assert collect_figures(rehearse(path.parent, PARTLY_RANDOM, seed=12)[1]) != collect_figures(scored)


@pytest.mark.slow
@pytest.mark.parametrize("control", [0.3, None])
def test_attacks_on_people_give_the_figures_of_a_rehearsed_release(furnished, tmp_path, control):
    asked = {"membership": [{"method": name} for name in MEMBERSHIP], "inference": [TREE]}
    change = {"masking": PARTLY_RANDOM, "seed": 11, "not_for_publication": True}
    change |= {"policy": [{"measure": "sse_percent", "at_most": 100}], "control": control, **asked}
    path = write_release(tmp_path / "project", change)
    sc.certify(path, output=tmp_path / "releases")
    frame = pd.read_csv(path.parent / "survey.csv")
    masked = sc.mask(frame, PARTLY_RANDOM, key="person_id", declare=RELEASE["attributes"], seed=11, control=control)
    attacked = sc.attack(frame, masked, insiders=True, **asked)
    found = collect_figures(sc.score(frame, masked, [attacked]))
    assert {name.partition("|")[0] for name in found} >= {"membership_auc", "inference_excess", "inference_asserted"}
    assert found == read_figures(scorecard_of(tmp_path, newest_manifest()))


@pytest.mark.slow
def test_a_sweep_gives_its_frontier(furnished, tmp_path, monkeypatch):
    found = sc.sweep(write_sweep(tmp_path), workers=1)
    assert found.frontier.index.name == "point"
    assert np.isfinite(found.frontier[["risk", "loss"]].to_numpy()).all()
    assert len(found.table) >= len(found.frontier) > 0
    assert sum(found.reasons.values()) == (found.table["status"] != "ok").sum() > 0
    assert found._repr_html_().count("<table>") == 2

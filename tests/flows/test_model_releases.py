"""Releases of a model: trained here or read from a file, attacked by who asks who taught it, published with a certificate."""

from __future__ import annotations

import signal

import numpy as np
import pandas as pd
import pytest
from outcomes import folder_of, newest_manifest, scorecard_of, statement_in
from release_files import RELEASE, ROWS, survey, write_release

from flows.run.progress import Lines
from tasks.train.skops_file import OWN_TYPES

TREE = {"method": "decision_tree"}
STUMP = {"method": "decision_tree", "max_depth": 1, "min_samples_leaf": 10}
ALL = [
    {"method": "gap"},
    {"method": "shadow_models"},
    {"method": "likelihood_ratio"},
    {"method": "likelihood_ratio", "id": "offline", "variant": "offline"},
    {"method": "loss_threshold"},
]
LOOSE = [{"measure": "membership_auc", "at_most": 0.9999}, {"measure": "model_accuracy", "at_least": 0.0}]
REHEARSAL = {"seed": 3, "not_for_publication": True}
OF_MODEL = {"masking": None, "intruder": None, "control": 0.25, "membership": ALL, "policy": LOOSE}


def of_model(learner=STUMP, **change):
    return {**OF_MODEL, "release": {"model": {"learner": learner, "target": "vote"}}, **change}


def figures(tmp_path, manifest):
    return {one["id"]: one for one in scorecard_of(tmp_path, manifest)["estimates"]}


@pytest.fixture
def fitted(tmp_path):
    """A pipeline that somebody fitted to the survey, and wrote with skops.

    The tree remembers its records. A model that does not may, in one draw of a hundred, take strangers for members,
    and then its figure is undecided.
    """
    import skops.io
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "survey.csv").write_text(survey())
    table = pd.read_csv(tmp_path / "project" / "survey.csv")
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = make_pipeline(StandardScaler(), tree).fit(table[["income", "age"]], table["vote"])
    skops.io.dump(model, tmp_path / "project" / "model.skops")
    return model


def others(n=ROWS, seed=7):
    """People of the same kind who are not in the survey."""
    rows = [line.split(",") for line in survey(n + seed).splitlines()]
    rng = np.random.default_rng(seed)
    shifted = [[str(9000 + i), str(rng.integers(18, 90) + 0.75), *row[2:]] for i, row in enumerate(rows[1 : n + 1])]
    return "\n".join(",".join(row) for row in [rows[0], *shifted]) + "\n"


def test_a_model_is_trained_attacked_and_published_with_a_certificate_and_no_table(certify, sdcert, tmp_path):
    import skops.io

    ran, manifest = certify(of_model())
    assert ran.code == 0, ran.out + ran.err
    assert [line.split()[:4] for line in ran.err.splitlines() if line.startswith("shadow")] == [
        ["shadow", "models", "(32)", "32"]
    ]
    folder = folder_of(tmp_path, manifest)
    assert {path.name for path in folder.iterdir()} == {"certificate.json", "model.skops", "report.html", "scorecard.json"}
    found = figures(tmp_path, manifest)
    for attack in ("gap", "shadow_models", "likelihood_ratio"):
        auc = found[f"membership_auc|{attack}"]
        assert (auc["status"], auc["n_targets"], auc["n_in_release"], auc["reason"]) == ("ok", 40, 20, None)
    assert not any(name.startswith("reidentification") for name in found)
    told = found["inference_excess|model_answers|declared|vote"]
    assert (told["status"], told["n_targets"], told["n_in_release"]) == ("ok", 40, 20)
    own = skops.io.get_untrusted_types(file=folder / "model.skops")
    assert set(own) <= set(OWN_TYPES)
    model = skops.io.load(folder / "model.skops", trusted=own)
    table = pd.read_csv(tmp_path / "project" / "survey.csv")
    assert set(model.predict(table[["age", "income", "town"]])) <= {"yes", "no"}
    said = statement_in(folder)["predicate"]
    assert [one["method"] for one in said["claim"]["attacks"]].count("model_answers") == 1
    claimed = said["claim"]["file"]
    assert (claimed["kind"], claimed["name"], claimed["rows"]) == ("model", "model.skops", 0.75 * ROWS)
    assert [one["name"] for one in claimed["columns"]] == ["age", "income", "town", "vote"]
    assert not any(one["published"] for one in said["attributes"])
    assert said["data"]["rows_control"] == 20
    assert [one["settings"] for one in said["claim"]["attacks"]][1].endswith("evaluates: this file; 8 shadow models")
    page = (folder / "report.html").read_text()
    assert "Who taught the model" in page
    assert "a decision tree that predicts vote" in page
    verified = sdcert("verify", folder / "model.skops")
    assert verified.code == 0, verified.err
    replayed = sdcert("audit", "replay", manifest["run"])
    assert replayed.code == 0, replayed.out + replayed.err
    assert manifest["run"] in sdcert("audit", "find", "--touching", "town").out
    assert "taught the model" in sdcert("audit", "show", manifest["run"]).out
    changed = bytearray((folder / "model.skops").read_bytes())
    changed[len(changed) // 2] ^= 1
    (folder / "model.skops").write_bytes(changed)
    assert sdcert("verify", folder / "model.skops").code == 1


def test_a_model_that_knows_its_people_by_heart_is_refused(certify, tmp_path):
    strict = [{"measure": "membership_advantage", "at_most": 0.1}, {"measure": "inference_excess", "at_most": 0.1}]
    ran, manifest = certify(of_model(TREE, membership=[{"method": "loss_threshold"}], policy=strict, **REHEARSAL))
    assert ran.code == 1, ran.err
    folder = folder_of(tmp_path, manifest)
    assert not (folder / "model.skops").exists()
    found = figures(tmp_path, manifest)
    assert found["membership_advantage|loss_threshold"]["low"] > 0.2
    assert found["inference_success|model_answers|declared|vote"]["value"] == 1.0
    assert [one["decision"] for one in scorecard_of(tmp_path, manifest)["criteria"]] == ["fail", "fail"]
    assert "yes and no" not in (folder / "report.html").read_text()  # the classes are values: of a refused model none is shown


@pytest.mark.slow
def test_shadow_models_are_shared_and_kept(certify, tmp_path):
    few = [{"method": "gap"}, {"method": "shadow_models", "shadows": 4}, {"method": "likelihood_ratio", "shadows": 4}]
    more = [few[0], {**few[1], "shadows": 8}, few[2]]
    _, first = certify(of_model(membership=few, **REHEARSAL))
    ran, second = certify(of_model(membership=more, **REHEARSAL))
    assert ran.code == 0, ran.out + ran.err
    stages = {name: stage["cached"] for name, stage in second["stages"].items() if name.startswith("shadow models")}
    assert stages == {"shadow models apart 1-4": True, "shadow models apart 5-8": False, "shadow models inserted 1-4": True}
    assert second["stages"]["membership likelihood_ratio"]["cached"]
    assert not second["stages"]["membership shadow_models"]["cached"]
    assert first["stages"]["train"]["produced"] == second["stages"]["train"]["produced"]


@pytest.mark.slow
def test_without_a_control_the_training_is_rehearsed_and_says_so_everywhere(certify, tmp_path):
    ran, manifest = certify(of_model(control=None, policy=[{"measure": "membership_auc", "at_most": 0.9999}]))
    assert ran.code == 1, ran.out + ran.err
    assert "UNDECIDED" in ran.out
    assert "Set a `control` aside" in ran.out
    folder = folder_of(tmp_path, manifest)
    assert {one["reason"] for name, one in figures(tmp_path, manifest).items() if one["value"] is not None} == {
        "rehearsed on random halves of the source: it is about how the release is made, not about this release"
    }
    said = statement_in(folder)["predicate"]
    assert said["not_claimed"]["attacks_not_in_catalogue"] == ["membership inference"]
    assert {one["settings"].partition(";")[2] for one in said["claim"]["attacks"]} >= {" evaluates: mechanism, not this file"}
    page = (folder / "report.html").read_text()
    assert "Rehearsed" in page
    assert "were set aside" not in page


@pytest.mark.slow
def test_a_model_of_the_masked_table_has_imitations_that_learn_from_masked_records(certify, tmp_path):
    change = of_model(TREE, masking=RELEASE["masking"], **REHEARSAL)
    ran, manifest = certify(change)
    assert ran.code == 0, ran.out + ran.err
    assert "the masked source" in (folder_of(tmp_path, manifest) / "report.html").read_text()
    masked = figures(tmp_path, manifest)["membership_auc|shadow_models"]
    ran, manifest = certify(of_model(TREE, **REHEARSAL))
    plain = figures(tmp_path, manifest)["membership_auc|shadow_models"]
    assert masked["status"] == plain["status"] == "ok"
    assert masked["value"] < plain["value"]  # the original record is not what the model has learned by heart


@pytest.mark.slow
def test_a_fitted_model_is_read_from_its_file_and_asked_about_people_of_another_table(fitted, certify, tmp_path):
    import skops.io

    (tmp_path / "project" / "others.csv").write_text(others())
    change = {**OF_MODEL, "release": {"model": {"file": "model.skops", "target": "vote"}}, "control": {"table": "others.csv"}}
    ran, manifest = certify(change)
    assert ran.code == 0, ran.out + ran.err
    folder = folder_of(tmp_path, manifest)
    auc = figures(tmp_path, manifest)["membership_auc|shadow_models"]
    assert (auc["status"], auc["n_targets"], auc["reason"]) == ("ok", 80, None)
    table = pd.read_csv(tmp_path / "project" / "survey.csv")[["income", "age"]]
    published = skops.io.load(folder / "model.skops", trusted=list(OWN_TYPES))
    np.testing.assert_array_equal(published.predict_proba(table), fitted.predict_proba(table))
    claimed = statement_in(folder)["predicate"]["claim"]["file"]
    assert (claimed["rows"], [one["name"] for one in claimed["columns"]]) == (ROWS, ["income", "age", "vote"])


def renamed(names):
    """Steps that give the categories of a target other names."""
    return [{"method": "recoding", "recode": {"vote": {"map": names}}}]


@pytest.mark.slow
def test_a_model_of_recoded_records_is_asked_in_the_words_that_it_has_learned(certify, tmp_path):
    change = {"membership": [{"method": "loss_threshold"}], "policy": LOOSE, **REHEARSAL}
    found = []
    for masking in (None, renamed({"yes": "those who agree", "no": "others"})):
        ran, manifest = certify(of_model(TREE, masking=masking, **change))
        assert ran.code == 0, ran.out + ran.err
        found.append({name: one["value"] for name, one in figures(tmp_path, manifest).items()})
    assert min(one["membership_auc|loss_threshold"] for one in found) > 0.6  # 1/2 where the model is asked in other words
    assert min(one["model_accuracy"] for one in found) > 0  # 0 where its answers are read in other words


@pytest.mark.slow
def test_people_of_another_table_are_the_control_of_a_table_made_elsewhere(certify, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "others.csv").write_text(others())
    (project / "released.csv").write_text("\n".join(line.partition(",")[2] for line in survey().splitlines()) + "\n")
    change = {"masking": None, "released": {"table": "released.csv", "align": "none"}, "control": {"table": "others.csv"}}
    ran, manifest = certify({**change, "policy": [{"measure": "membership_auc", "at_most": 0.6}]})
    assert ran.code == 1, ran.err  # an exact copy tells who is in it
    assert figures(tmp_path, manifest)["membership_auc|closest_record"]["low"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (survey(), "stand in the source too, as `person_id` says"),
        (others().replace("person_id", "person"), "lacks 1 of the source's columns: `person_id`"),
        (others(12), "the table of the control has 12 records"),
    ],
)
def test_a_control_that_cannot_be_one_is_refused(certify, tmp_path, text, said):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "others.csv").write_text(text)
    ran, _ = certify({"control": {"table": "others.csv"}, "policy": [{"measure": "membership_auc", "at_most": 0.6}]})
    assert ran.code == 2
    assert said in ran.err
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_model(attacks=[{"method": "distance_linkage"}]), "`attacks` is about a released table"),
        (of_model(intruder={"knows": ["age"]}), "`intruder` is about a released table"),
        (of_model(membership=[]), "a model is attacked before it is released"),
        (of_model(membership=[{"method": "closest_record"}]), "`closest_record` is not one on a model"),
        ({"control": 0.25, "membership": [{"method": "gap"}]}, "`gap` is not one on a table"),
        (of_model({"method": "k_nearest_neighbours"}), "k_nearest_neighbours"),
        (of_model(policy=[{"measure": "reidentification", "at_most": 0.1}]), "is about a released table"),
        ({"policy": [{"measure": "model_accuracy", "at_least": 0.1}]}, "is about a released model"),
        (of_model(release={"model": {"target": "vote"}}), "either `learner`"),
        (of_model(release={"model": {"file": "model.skops", "target": "vote"}}), "a share cannot be set aside any more"),
        (of_model(release={"model": {"learner": STUMP, "target": "vote", "trained_on": "masked"}}), "needs `masking`"),
        (of_model(release={"model": {"file": "a", "target": "vote", "features": ["age"]}}, control=None), "is fixed already"),
        (of_model(release={"model": {"file": "a", "target": "vote"}}, control=None), "cannot be rehearsed"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(sdcert, tmp_path, change, said):
    path = write_release(tmp_path / "project", change)
    for command in ("check", "certify"):
        ran = sdcert(command, path)
        assert ran.code == 2
        assert said in ran.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": "vot"}, "did you mean `vote`"),
        ({"target": "person_id"}, "is not published"),
        ({"features": ["vote"]}, "the target is among the features"),
        ({"target": "town"}, "too few records"),
        ({"target_quantiles": 3}, "cannot be cut into quantiles"),
    ],
)
def test_a_model_that_cannot_be_is_told_by_check_already(sdcert, tmp_path, change, said):
    model = {"learner": STUMP, "target": "vote", **change}
    path = write_release(tmp_path / "project", of_model(control=None, release={"model": model}))
    for command in ("check", "certify"):
        ran = sdcert(command, path)
        assert ran.code == 2, ran.err
        assert said in ran.err


def test_a_pickle_is_not_read(sdcert, tmp_path):
    import pickle

    path = write_release(
        tmp_path / "project", of_model(release={"model": {"file": "model.pkl", "target": "vote"}}, control=None)
    )
    (tmp_path / "project" / "model.pkl").write_bytes(pickle.dumps({"a": 1}))
    ran = sdcert("certify", path)
    assert ran.code == 2
    assert "pickle" in ran.err


def test_the_plan_of_a_model_is_told(sdcert, tmp_path):
    ran = sdcert("check", write_release(tmp_path / "project", of_model()))
    assert ran.code == 0, ran.out + ran.err
    told = " ".join(ran.out.split())
    assert "train decision_tree" in told
    assert "shadow_models shadows 8 on whose records the model was trained on" in told
    assert "model.skops" in told


DIES_AT_THE_FIFTEENTH_SHADOW = """
import os, signal, sys
import flows.environment
import tasks.attack.task as module
real, calls = module.shadow_answers, []
def die(*arguments):
    calls.append(1)
    if len(calls) == 15:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
module.shadow_answers = die
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.long
def test_after_kill_9_shadow_models_that_have_answered_are_not_trained_again(process, tmp_path):
    change = of_model(membership=[{"method": "shadow_models", "shadows": 24}])
    words = ["certify", write_release(tmp_path / "project", change), "--output", tmp_path / "releases"]
    victim = process("-c", DIES_AT_THE_FIFTEENTH_SHADOW, *words)
    victim.communicate(timeout=180)
    assert victim.returncode == -signal.SIGKILL
    following = process("-m", "flows.cli", *words)
    _, err = following.communicate(timeout=180)
    assert following.returncode == 0, err
    stages = newest_manifest()["stages"]
    cached = [stages[name]["cached"] for name in stages if name.startswith("shadow models")]
    assert len(cached) == 6
    assert 1 <= sum(cached) <= 3


def test_how_long_many_parts_will_still_take_is_told(capsys):
    from rich.console import Console

    lines = Lines(Console(width=100))
    lines.begin_step("shadow models (32)")
    for done, seconds in ((1, 10.0), (4, 40.0), (5, 50.0), (8, 80.0), (32, 320.0)):
        lines.advance_step("shadow models", done, 32, seconds)
    assert capsys.readouterr().out.splitlines() == [
        "shadow models: 4 of 32, about 5 min left",
        "shadow models: 8 of 32, about 4 min left",
    ]


def test_what_is_made_once_does_not_lengthen_the_time_that_is_left(capsys):
    """The first four waited for a minute of compiling; each four take half a minute."""
    from rich.console import Console

    lines = Lines(Console(width=100))
    for _ in range(2):  # what an earlier step took tells nothing of the next
        lines.begin_step("shadow models (16)")
        lines.advance_step("shadow models", 4, 16, 70.0)
        lines.advance_step("shadow models", 8, 16, 100.0)
    assert capsys.readouterr().out.splitlines() == 2 * [
        "shadow models: 4 of 16",
        "shadow models: 8 of 16, about 60 s left",
    ]


def test_what_was_there_already_does_not_shorten_the_time_that_is_left(capsys):
    """24 of 32 were cached; the next four took half a minute, and so will the last."""
    from rich.console import Console

    lines = Lines(Console(width=100))
    lines.begin_step("shadow models (32)")
    lines.advance_step("shadow models", 24, 32, 31.0, cached=24)
    lines.advance_step("shadow models", 25, 32, 38.75, cached=24)
    lines.advance_step("shadow models", 28, 32, 62.0, cached=24)
    assert capsys.readouterr().out.splitlines() == ["shadow models: 24 of 32", "shadow models: 28 of 32, about 31 s left"]


def test_both_lines_on_inference_answer_the_kind_of_a_model(sdcert, tmp_path):
    lines = [{"measure": f"inference_{what}", "at_most": 0.9} for what in ("excess", "asserted")]
    change = of_model(policy=[*LOOSE, *lines], not_limited={})
    ran = sdcert("check", write_release(tmp_path / "project", change))
    assert ran.code == 0, ran.out + ran.err
    assert "model_answers" in ran.out
    ran = sdcert("check", write_release(tmp_path / "project", {**change, "policy": [*LOOSE, lines[0]]}))
    assert ran.code == 2
    assert "{measure: inference_asserted, at_most: <limit>}" in ran.err

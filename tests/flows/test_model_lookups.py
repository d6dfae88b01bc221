"""A released model in the commands that look releases up: verify, compare, `audit find` and `audit show`."""

from __future__ import annotations

import re

import pytest
from outcomes import folder_of
from release_files import survey
from test_model_releases import STUMP, of_model

from flows.cli.audit.private_manifest import PrivateManifest
from flows.cli.compare.compare import _format_title
from flows.cli.compare.compared_runs import ComparedRun, _create_risk_rows, _use_rows
from tasks.microdata.estimate import Estimate
from tasks.score.membership.membership_figures import REHEARSED


@pytest.mark.long
def test_a_model_is_called_one_and_a_rehearsal_too(certify, sdcert, tmp_path):
    people = survey(160)  # of fewer, shares are not shown
    ran, first = certify(of_model(), text=people)
    assert ran.code == 0, ran.out + ran.err
    folder = folder_of(tmp_path, first)
    told = sdcert("verify", folder / "model.skops").out
    assert "attacked by gap" in told
    assert "rehearsed" not in told
    assert "the released model was not looked at" in sdcert("verify", folder / "report.html").out
    table = tmp_path / "project" / "survey.csv"
    other = sdcert("verify", table, "--certificate", folder / "certificate.json")
    assert (other.code, "not those of the released model" in other.out) == (1, True)
    assert "byte for byte the released model (model.skops)" in sdcert("audit", "find", folder / "model.skops").out
    shown = sdcert("audit", "show", first["run"]).out
    assert "predicts vote; trained on 120 rows, 4 columns" in shown
    facts = dict(re.findall(r"^  (learner|predicts|trained on) +(.*?) *$", shown, re.MULTILINE))
    assert facts["learner"].startswith("decision_tree max_depth 1")
    assert (facts["predicts"], facts["trained on"]) == ("vote", "the source as it is")
    assert "are not assessed of a model" in told
    like = tmp_path / "like.csv"
    like.write_text("\n".join(line.partition(",")[2] for line in table.read_text().splitlines()[:-1]) + "\n1.5,2.5,3,yes\n")
    assert "the same columns" not in sdcert("audit", "find", like).out

    few = {"control": None, "membership": [{"method": "gap"}]}
    runs = [certify(of_model({**STUMP, "max_depth": depth}, **few), text=people) for depth in (1, 2)]
    assert [ran.code for ran, _ in runs] == [1, 1]  # a rehearsal decides no limit on membership
    rows = sdcert("compare", *(one["run"] for _, one in runs)).out
    assert "k_anonymity" not in rows
    assert "membership_auc, worst attack, rehearsed: A, B" in rows
    assert "membership_advantage, worst attack, rehearsed: A, B" in rows
    assert "model_accuracy, of others, rehearsed: A, B" in rows


def of(letter, auc, *, reason=None, target="vote"):
    """A run that released a model; auc: of two attacks, and of part of the people."""
    parts = ("membership_auc", None), ("membership_auc", None), ("subgroup_membership_auc", "rare"), ("model_accuracy", None)
    numbers = (auc, auc - 0.1, 0.99, auc)
    found = tuple(
        Estimate(measure=measure, value=value, unit="share", subgroup=part, reason=reason)
        for (measure, part), value in zip(parts, numbers, strict=True)
    )
    return ComparedRun(letter, {"spec": {"release": {"model": {"target": target}}}}, found)


def test_the_worst_attack_of_each_run_is_compared():
    (row,) = _create_risk_rows([of("A", 0.7), of("B", 0.6)])
    assert (row.what, row.values, row.best) == ("membership_auc, worst attack", (0.7, 0.6), (1,))
    (row,) = _use_rows([of("A", 0.7), of("B", 0.6)])
    assert (row.values, row.best) == ((0.7, 0.6), (0,))


def test_a_rehearsal_is_not_compared_with_a_file_nor_an_answer_with_another():
    (row,) = _create_risk_rows([of("A", 0.7), of("B", 0.6, reason=REHEARSED)])
    assert (row.what, row.best) == ("membership_auc, worst attack, rehearsed: B", ())
    assert "not compared: rehearsed of B" in _format_title("risks", [row])
    (row,) = _use_rows([of("A", 0.7), of("B", 0.6, target="town")])
    assert (row.best, row.remark) == ((), "not compared: they predict other attributes")


@pytest.mark.parametrize(
    ("model", "masking", "told"),
    [
        ({"learner": {"method": "naive_bayes", "var_smoothing": 1e-9}, "target": "vote", "target_quantiles": 4}, [{}],
         {"learner": "naive_bayes var_smoothing 1e-09", "predicts": "vote, cut into 4 classes of about equal size",
          "trained on": "the masked table"}),
        ({"learner": {"method": "naive_bayes"}, "target": "vote", "features": ["age", "town"]}, None,
         {"learner": "naive_bayes", "predicts": "vote", "from": "age, town", "trained on": "the source as it is"}),
        ({"learner": None, "file": "/home/somebody/m.skops", "target": "vote"}, None,
         {"file": "m.skops, fitted elsewhere", "predicts": "vote", "trained on": "the source, as the release file declares"}),
        (None, None, {}),
    ],
)  # fmt: skip
def test_the_private_papers_name_the_model(model, masking, told):
    papers = object.__new__(PrivateManifest)
    papers.__dict__["_spec"] = {"release": None if model is None else {"model": model}, "masking": masking}
    assert dict(papers.model()) == told

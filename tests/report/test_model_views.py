"""A released model in the report: what is said beside the verdict, what its tiles are about, and what was not assessed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import jsonschema
import pytest

from tasks.attack.membership.methods import MembershipResult
from tasks.microdata.estimate import Estimate
from tasks.report.page import Stamp, render_report
from tasks.report.predicate import LedgerClaim, MadeBy, create_predicate_schema
from tasks.report.statement import create_predicate
from tasks.report.views.model import accuracy_rows, model_in_short, working_party_of_model
from tasks.report.views.overview import create_tiles
from tasks.report.views.residual import list_known_limits
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide
from tasks.train.card import Input, ModelCard

POLICY = (PolicyLine(measure="model_accuracy", at_least=0.8), PolicyLine(measure="k_anonymity", at_least=5))
GAP = MembershipResult(attack="gap", method="gap", evaluates="this file", infers="guesses", knows="the record")


def card(inputs=2):
    read = tuple(Input(name=f"a{i}", type="double", kind="number") for i in range(inputs))
    return ModelCard(algorithm="RandomForestClassifier", parameters={"max_depth": 3}, inputs=read, target="vote",
                     target_type="string", classes=("a", "b"), trained_on="original", rows=900, trusted=())  # fmt: skip


def of_model(certified, **changes):
    accuracy = Estimate(
        measure="model_accuracy", value=0.9, low=0.85, high=0.95, unit="share", basis="control_group", chance=0.6
    )
    estimates = (*certified.estimates, accuracy)
    about = {"model": card(), "membership": (GAP,), "control": 40, "attacks": (), "policy": POLICY, "estimates": estimates,
             "verdict": decide(POLICY, estimates)}  # fmt: skip
    return replace(certified, **{**about, **changes})


def test_beside_the_verdict_stands_what_its_sentences_leave_out(certified):
    assert model_in_short(of_model(certified)) == (
        ("Reads", "a0 and a1"), ("Classes", "a and b"), ("Parameters", "max_depth 3"),
    )  # fmt: skip
    assert model_in_short(of_model(certified, model=card(40)))[0] == ("Reads", "40 columns, listed below")
    assert model_in_short(certified) == ()


def test_the_accuracy_is_about_people_and_stands_on_a_bar(certified):
    content = of_model(certified)
    about = {tile.title: tile.who.facts["of_others"] for tile in create_tiles(content)}
    assert about == {"Accuracy of the model": True, "k-anonymity": False}
    (row,) = accuracy_rows(content)
    assert (row.bar.value, row.bar.chance) == (90.0, 60.0)


@pytest.mark.parametrize("control", [40, None])
def test_none_of_the_three_risks_is_claimed_to_be_measured(certified, control):
    policy = POLICY[:1]
    content = of_model(certified, control=control, estimates=(), policy=policy, verdict=decide(policy, ()))
    stamp = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=1)
    recorded = LedgerClaim(ledger="1" * 32, attempt_entry=4, attempt_digest="23" * 32, tree_size=5, root="45" * 32)
    made_by = MadeBy(version="0.1", code="67" * 32, lock="89" * 32, platform="0a" * 32, python="3.11.2")
    said = create_predicate(content, stamp, source_digest="ef" * 32, recorded=recorded, made_by=made_by)
    jsonschema.validate(said, create_predicate_schema())
    risks = said["criteria_wp29"]
    note = risks.pop("note")
    assert {value for risk in risks.values() for name, value in risk.items() if name != "reason"} == {"not assessed"}
    assert [name for name, risk in risks.items() if "reason" in risk] == ["inference"]  # the only one that can be measured
    assert note == working_party_of_model(content)
    assert working_party_of_model(content).facts == {"is_rehearsed": control is None}
    assert note in list_known_limits(content)
    assert note.replace("'", "&#39;") in render_report(content)

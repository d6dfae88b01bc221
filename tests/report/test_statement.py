"""The statement: every field that a certificate owes, one canonical form, and no value of the source."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import jsonschema
import pyarrow as pa
import pytest

from tasks.attack.membership.methods import DEFAULT_MODEL_ATTACKS, DEFAULT_TABLE_ATTACKS
from tasks.attack.methods import ATTACKS
from tasks.attack.singling_out.outcomes import SinglingOutResult
from tasks.microdata.canonical import canonical
from tasks.microdata.estimate import Estimate
from tasks.microdata.table import Microdata
from tasks.report.page import Stamp
from tasks.report.predicate import (
    ATTACK_CATALOGUE_VERSION,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Approval,
    ColumnClaim,
    DocumentClaim,
    LedgerClaim,
    MadeBy,
    Predicate,
    SweepClaim,
    create_predicate_schema,
)
from tasks.report.statement import add_months, create_column_claims, create_predicate, create_statement, digest_policy
from tasks.report.wording.sentence import say
from tasks.report.working_party import judge_working_party
from tasks.score.kinds import NotLimited
from tasks.score.measures.inference import DECIDING
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

ISSUED = datetime(2026, 11, 21, 9, 31, tzinfo=UTC)
STAMP = Stamp(
    run="run-1", issued_at=ISSUED, attempts=2, released_file="released.csv", sha256="ab" * 32, content_address="cd" * 32
)
UNRELEASED = Stamp(run="run-2", issued_at=ISSUED, attempts=3)
DIGEST = "ef" * 32
RECORDED = LedgerClaim(ledger="1" * 32, attempt_entry=4, attempt_digest="23" * 32, tree_size=5, root="45" * 32)
MADE_BY = MadeBy(version="0.1", code="67" * 32, lock="89" * 32, platform="0a" * 32, python="3.11.2")
COLUMNS = (ColumnClaim(name="age", type="int64"), ColumnClaim(name="vote", type="string"))


def filled(content, stamp=STAMP, **more):
    return create_predicate(content, stamp, source_digest=DIGEST, recorded=RECORDED, made_by=MADE_BY, **more)


def test_every_field_is_there(certified):
    said = filled(certified, seed_entropy_bits=256)
    assert set(said) == {
        "schema_version", "release", "series", "run", "claim", "not_claimed", "criteria_wp29", "context", "data",
        "attack_model", "attributes", "documents", "approvals", "issued_at", "review_by", "revoked_by",
        "previous_certificate", "attempts", "recorded", "made_by", "sweep", "seed_entropy_bits",
        "attack_catalogue_version", "utility", "residual",
    }  # fmt: skip
    assert set(said["claim"]) == {"verdict", "not_for_publication", "file", "policy", "criteria", "attacks", "date"}
    assert set(said["criteria_wp29"]) == {"singling_out", "linkability", "inference", "note"}
    assert said["criteria_wp29"]["note"] is None
    assert set(said["data"]) == {
        "unit", "persons", "rows_in", "rows_out", "rows_control", "rows_outside", "rows_belong_to",
        "sampling_fraction", "sampled", "period", "special_categories", "source",
    }  # fmt: skip
    assert set(said["context"]) == {"environment", "purpose", "recipients", "prior_releases", "earlier_releases"}
    assert {"maximum_risk", "average_risk", "direction", "scale", "credit"} <= set(said["attack_model"])
    assert {
        "role", "decided_by", "mask", "parameters", "known_to_intruder", "published_unmasked", "published_as_pseudonym",
        "derived_from", "epsilon",
    } <= set(said["attributes"][0])  # fmt: skip
    assert (said["issued_at"], said["review_by"]) == ("2026-11-21T09:31:00Z", "2028-11-21T09:31:00Z")
    assert (said["attempts"], said["seed_entropy_bits"], said["revoked_by"], said["approvals"]) == (2, 256, None, [])


def test_what_is_not_known_is_said_to_be_not_assessed(certified):
    said = filled(certified)
    for place in (
        said["sweep"],
        said["seed_entropy_bits"],
        said["context"]["recipients"],
        said["context"]["prior_releases"],
        said["data"]["persons"],
        said["data"]["sampling_fraction"],
        said["claim"]["policy"]["version"],
        said["claim"]["policy"]["author"],
        said["attributes"][0]["epsilon"],
        said["criteria_wp29"]["inference"]["decision"],
    ):
        assert place == "not assessed"
    none = certified.context.model_copy(update={"prior_releases": (), "special_categories": ()})
    known = filled(replace(certified, context=none, persons=900))
    assert known["context"]["prior_releases"] == []
    assert known["data"]["special_categories"] == []
    assert known["data"]["persons"] == 900


def test_the_three_risks_take_the_worst_policy_line(certified, refused, undecided):
    risks = filled(certified)["criteria_wp29"]
    assert (risks["linkability"]["value"], risks["linkability"]["decision"]) == (90 / 944, "pass")
    assert (risks["inference"]["measure"], risks["inference"]["value"]) == ("linked_value_disclosed", 600 / 944)
    assert filled(refused, UNRELEASED)["criteria_wp29"]["linkability"]["decision"] == "fail"
    assert filled(undecided, UNRELEASED)["criteria_wp29"]["linkability"]["decision"] in ("undecided", "fail")
    losses = certified.policy[2:3]
    bare = replace(certified, policy=losses, verdict=decide(losses, certified.estimates), estimates=(), attacks=())
    assert set(filled(bare)["criteria_wp29"]["linkability"].values()) == {"not assessed"}


def test_the_worst_of_two_lines_counts_and_the_first_of_equals(certified):
    policy = (
        PolicyLine(measure="records_exposed", at_most=0.5),
        PolicyLine(measure="max_record_risk", at_most=0.5),
    )
    content = replace(certified, policy=policy, verdict=decide(policy, certified.estimates))
    linking = filled(content)["criteria_wp29"]["linkability"]
    assert (linking["measure"], linking["value"], linking["decision"]) == ("max_record_risk", 1.0, "fail")


def _add_figure(content, lines, *figures):
    """The content with lines and figures more."""
    policy, estimates = (*content.policy, *lines), (*content.estimates, *figures)
    return replace(content, policy=policy, estimates=estimates, verdict=decide(policy, estimates))


def _estimate(measure, value, attack, attribute):
    return Estimate(
        measure=measure, value=value, low=value, high=value, unit="share", attack=attack, intruder="declared",
        attribute=attribute,
    )  # fmt: skip


@pytest.mark.parametrize(("low", "high", "decision"), [(0.0, 0.05, "pass"), (0.2, 0.3, "fail"), (0.0, 0.3, "undecided")])
def test_singling_out_is_judged_by_its_own_line_alone(certified, low, high, decision):
    """Where it was not measured it is not assessed, whatever links people: a reason says so."""
    without = filled(certified)["criteria_wp29"]["singling_out"]
    assert {value for name, value in without.items() if name != "reason"} == {"not assessed"}
    assert without["reason"] == say("working_party.not_measured", measure="singling_out")
    ran = SinglingOutResult(evaluates="this file", quasi_identifiers=("age", "educ"), largest=2)
    measured = _add_figure(
        replace(certified, singling_out=(ran,)),
        [PolicyLine(measure="singling_out", at_most=0.1)],
        replace(_estimate("singling_out", low, "singling_out", "age,educ"), high=high),
    )
    said = filled(measured, UNRELEASED if decision != "pass" else STAMP)
    found = said["criteria_wp29"]["singling_out"]
    assert (found["attacks"], found["measure"], found["decision"]) == (["singling_out"], "singling_out", decision)
    assert "reason" not in found
    assert [one["attack"] for one in said["claim"]["attacks"]][-1] == "singling_out"


@pytest.mark.parametrize(
    ("limits", "decision"),
    [
        ({}, "not assessed"),
        ({"linked_value_disclosed": 0.9}, "not assessed"),
        ({"inference_excess": 0.2}, "not assessed"),
        ({"inference_excess": 0.2, "inference_asserted": 1}, "not assessed"),  # which no release can break
        ({"inference_excess": 0.2, "inference_asserted": 0.2}, "pass"),
        ({"inference_excess": 0.2, "inference_asserted": 0.05}, "fail"),
        ({"linked_value_disclosed": 0.1}, "fail"),
    ],
)
def test_inference_passes_by_its_two_figures_alone(certified, limits, decision):
    figures = [_estimate(one, 0.1, "model_based_disclosure", "vote") for one in ("inference_excess", "inference_asserted")]
    lines = [PolicyLine(measure=measure, at_most=limit) for measure, limit in limits.items()]
    content = _add_figure(certified, lines, *figures)
    found = judge_working_party(content).inference
    assert found.decision == decision
    assert (found.reason is None) == (decision != "not assessed")
    reason = judge_working_party(replace(content, not_limited=NotLimited(inference="everybody knows"))).inference.reason
    assert reason == ("everybody knows" if decision == "not assessed" else None)


def test_inference_of_what_the_intruder_knows_is_not_assessed(certified):
    """No figure is about it: the verdict excepts the kind, and the criterion does not pass."""
    figures = [_estimate(one, 0.1, "model_based_disclosure", "PID") for one in DECIDING]
    lines = [PolicyLine(measure=one, at_most=0.2) for one in DECIDING]
    content = replace(_add_figure(certified, lines, *figures), not_limited=NotLimited(inference="everybody knows"))
    assert judge_working_party(content).inference.decision == "pass"
    knows = ("age", "educ", "income", "popul", "vote")
    content = replace(content, intruder=content.intruder.model_copy(update={"knows": knows}))
    assert "inference" in dict(content.exceptions)
    assert judge_working_party(content).inference.decision == "not assessed"


def test_of_equal_lines_the_one_with_the_worst_figure_counts(certified):
    """Not what the declared intruder finds, where an insider finds more and the policy lets both pass."""
    declared = next(one for one in certified.verdict.criteria if one.measure == "reidentification")
    insider = replace(declared, line=declared.line + 1, intruder="insider:vote", deciding_value=0.4)
    lines = (certified.policy[declared.line], certified.policy[declared.line])
    for both in ((declared, insider), (insider, declared)):
        content = replace(certified, policy=lines, verdict=replace(certified.verdict, criteria=both))
        assert filled(content)["criteria_wp29"]["linkability"]["value"] == 0.4


def test_attributes_tell_mask_knowledge_and_origin(certified):
    by_name = {one["name"]: one for one in filled(certified)["attributes"]}
    assert by_name["age"]["mask"] == ["microaggregation"]
    parameters = {"attributes": ["age", "educ", "income", "popul"], "k": 10, "partition": "mdav", "standardize": True}
    assert by_name["age"]["parameters"] == [{"method": "microaggregation", "parameters": parameters}]
    assert (by_name["age"]["known_to_intruder"], by_name["age"]["published_unmasked"]) == (True, False)
    assert (by_name["vote"]["known_to_intruder"], by_name["vote"]["published_unmasked"]) == (False, True)
    assert (by_name["vote"]["decided_by"], by_name["age"]["decided_by"]) == ("pipeline", "declared")
    assert (by_name["logpopul"]["derived_from"], by_name["logpopul"]["published"]) == (["popul"], False)
    assert by_name["logpopul"]["published_unmasked"] is False


def test_the_attack_model_and_what_is_not_claimed(certified, refused):
    model = filled(certified)["attack_model"]
    assert (model["maximum_risk"], model["average_risk"]) == (1.0, 90 / 944)
    assert (model["direction"], model["scale"], model["credit"]) == (["to_release"], ["release"], ["shared"])
    assert model["insiders"] == ["vote", "PID"]
    denied = filled(refused, UNRELEASED)["not_claimed"]
    assert denied["attacks_omitted"] == [
        {
            "attack": "transparency",
            "intruder": None,
            "release": None,
            "reason": "the board has seen it on an earlier draft",
        }
    ]
    assert denied["anonymity_in_law"] == say("residual.not_in_law")


def test_where_nothing_was_released_nothing_is_claimed_of_a_file(refused):
    said = filled(refused, UNRELEASED)
    assert said["claim"]["file"] == "not released"
    assert (said["claim"]["verdict"], said["data"]["rows_in"], said["data"]["rows_out"]) == ("refused", 944, 0)


def test_the_policy_has_a_digest_of_its_lines_alone(certified):
    policy = filled(certified)["claim"]["policy"]
    assert policy["digest"] == hashlib.sha256(canonical(policy["lines"])).hexdigest()
    assert policy["digest"] == filled(certified, UNRELEASED)["claim"]["policy"]["digest"]
    stricter = (PolicyLine(measure="reidentification", at_most=0.14), *certified.policy[1:])
    assert policy["digest"] != filled(replace(certified, policy=stricter))["claim"]["policy"]["digest"]


def test_the_policy_says_its_edition_and_who_wrote_it(certified):
    policy = filled(certified, policy_version="2026-2", policy_author="disclosure control unit")["claim"]["policy"]
    assert (policy["version"], policy["author"]) == ("2026-2", "disclosure control unit")
    assert policy["digest"] == filled(certified)["claim"]["policy"]["digest"] == digest_policy(certified.policy)


def test_shape_documents_ledger_and_program_are_named(certified):
    documents = (DocumentClaim(name="report.html", sha256="12" * 32),)
    said = filled(certified, columns=COLUMNS, documents=documents, previous_certificate="34" * 32)
    assert said["claim"]["file"]["rows"] == certified.rows_out == 944
    assert said["claim"]["file"]["columns"] == [{"name": "age", "type": "int64"}, {"name": "vote", "type": "string"}]
    assert said["documents"] == [{"name": "report.html", "sha256": "12" * 32}]
    assert (said["previous_certificate"], filled(certified)["previous_certificate"]) == ("34" * 32, "none")
    assert said["recorded"] == {
        "ledger": "1" * 32, "attempt_entry": 4, "attempt_digest": "23" * 32, "tree_size": 5, "root": "45" * 32,
    }  # fmt: skip
    assert said["made_by"] == {
        "version": "0.1", "code": "67" * 32, "lock": "89" * 32, "platform": "0a" * 32, "python": "3.11.2",
    }  # fmt: skip


def test_columns_are_named_by_their_logical_types():
    table = Microdata(pa.table({"b": ["x", None], "a": [1.5, None], "day": pa.array([1, None], pa.date32())}))
    assert [(one.name, one.type) for one in create_column_claims(table)] == [
        ("b", "string"),
        ("a", "double"),
        ("day", "date32[day]"),
    ]


def test_insiders_are_named_in_the_residual(certified):
    assert any("PID" in sentence and "44.5" in sentence for sentence in filled(certified)["residual"])


@pytest.mark.parametrize("which", ["certified", "refused", "undecided"])
def test_the_schema_describes_it(which, request):
    content = request.getfixturevalue(which)
    stamp = STAMP if content.is_certified else UNRELEASED
    approval = Approval(by="A. Reviewer", role="review board", reason="seen in session", at=ISSUED)
    said = filled(content, stamp, approvals=(approval,), sweep=SweepClaim(name="k", points_tried=12))
    schema = create_predicate_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(said)
    assert Predicate.model_validate_json(json.dumps(said)).model_dump(mode="json") == said
    said["claim"]["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(said)


def test_the_statement_is_about_the_file(certified):
    said = create_statement(filled(certified), "released.csv", "ab" * 32, "cd" * 32)
    assert said["_type"] == STATEMENT_TYPE == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == PREDICATE_TYPE == "urn:sdcert:predicate:release:3"
    assert said["subject"] == [{"name": "released.csv", "digest": {"sha256": "ab" * 32, "sdcertContent": "cd" * 32}}]
    assert create_statement({}, "report.html", "ab" * 32)["subject"][0]["digest"] == {"sha256": "ab" * 32}


def test_the_canonical_form_is_one(certified):
    said = create_statement(filled(certified), "released.csv", "ab" * 32)
    again = create_statement(filled(replace(certified)), "released.csv", "ab" * 32)
    assert canonical(said) == canonical(again)
    assert json.loads(canonical(said)) == said
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()
    with pytest.raises(ValueError):
        canonical({"a": float("nan")})


def test_no_word_promises_too_much(certified, refused, undecided):
    for content in (certified, refused, undecided):
        text = canonical(filled(content, STAMP if content.is_certified else UNRELEASED)).decode().lower()
        for word in ("worst-case", "worst case", "upper bound", "resist", "guarantee"):
            assert word not in text


def test_the_source_is_named_by_its_keyed_digest_alone(certified):
    """A file name or a seed of the source would be in the ingest report; neither gets into the statement."""
    secret = replace(certified, ingest=replace(certified.ingest, source="patients-of-dr-doe.csv", notes=("canary-note",)))
    text = canonical(filled(secret)).decode()
    assert "patients-of-dr-doe" not in text
    assert "canary-note" not in text
    assert DIGEST in text


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [((2026, 11, 21), 24, (2028, 11, 21)), ((2028, 2, 29), 24, (2030, 2, 28)), ((2026, 1, 31), 1, (2026, 2, 28)),
     ((2026, 12, 31), 2, (2027, 2, 28))],
)  # fmt: skip
def test_months_later(start, months, end):
    assert add_months(datetime(*start, 12, tzinfo=UTC), months) == datetime(*end, 12, tzinfo=UTC)


def test_a_new_attack_takes_a_new_catalogue_version():
    """Whoever adds an attack raises the version here and there, and takes it off the list of what is missing."""
    assert (ATTACK_CATALOGUE_VERSION, sorted(ATTACKS)) == (
        "16",
        [
            "consistency", "distance_linkage", "earlier_releases", "learned_linkage", "probabilistic_linkage",
            "profile_linkage", "row_position", "simulated_law", "transparency",
        ],
    )  # fmt: skip
    assert sorted(spec.method for spec in DEFAULT_TABLE_ATTACKS) == [
        "closest_record", "density_ratio", "law_ratio", "linkage_score", "values_present",
    ]  # fmt: skip
    assert sorted({spec.method for spec in DEFAULT_MODEL_ATTACKS}) == [
        "gap", "likelihood_ratio", "loss_threshold", "shadow_models",
    ]  # fmt: skip

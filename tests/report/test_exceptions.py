"""What a verdict excepts is told with its reason, and with what was found all the same."""

from __future__ import annotations

from dataclasses import replace

from tasks.report.views.exceptions import describe_disclosure, exceptions_in_words
from tasks.score.kinds import NotLimited


def test_a_kind_without_a_limit_is_told_with_what_was_found(certified):
    reasons = {"membership": "everybody votes", "insiders": "nobody else knows their votes"}
    told = {
        one.facts["what"].facts["kind"]: one
        for one in exceptions_in_words(replace(certified, not_limited=NotLimited(**reasons)))
    }
    assert {kind: one.facts["reason"] for kind, one in told.items()} == reasons
    assert told["membership"].facts["found"].id == "exceptions.no_figure"
    assert told["insiders"].facts["found"].id == "residual.insider"
    assert all(reasons[kind] in one for kind, one in told.items())
    assert describe_disclosure(certified, "identity").id == "residual.declared_intruder"


def test_an_omitted_attack_says_whether_sdcert_could_run_it(refused):
    (told,) = exceptions_in_words(refused)
    assert (told.facts["what"].id, told.facts["found"]) == ("exceptions.not_attacked", "")
    own = replace(
        refused.attacks[0], attack="transparency", method="transparency", status="not_followed", reason="it is too large"
    )
    (told,) = exceptions_in_words(replace(refused, attacks=(*refused.attacks, own)))
    assert told.facts["what"].facts == {
        "attack": "transparency", "why": "it is too large", "intruders": ("the declared intruder",)
    }  # fmt: skip


def test_a_value_that_the_declared_intruder_knows_is_told_by_others(certified):
    knows = certified.intruder.model_copy(update={"knows": ("vote",)})
    told = exceptions_in_words(replace(certified, intruder=knows, not_limited=NotLimited(inference="it is known")))
    (found,) = (one.facts["found"] for one in told if one.facts["what"].facts["kind"] == "inference")
    assert (found.id, found.facts["told"].attribute) == ("exceptions.known_value", "vote")

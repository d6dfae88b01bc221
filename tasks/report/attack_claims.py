"""The attacks that were carried out, as the certificate lists them."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.attack.membership.methods import DECLARED_KNOWLEDGE, MembershipResult
from tasks.attack.singling_out.outcomes import ATTACK
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.kinds import find_report
from tasks.report.predicate import AttackClaim
from tasks.report.views.inference import describe_inference_settings
from tasks.report.views.singling_out import describe_singling_out_settings
from tasks.report.wording.sentence import say
from tasks.score.policy import DECLARED


def list_attack_claims(content: Content) -> tuple[AttackClaim, ...]:
    """Each attack by each intruder: by linkage, on membership, by inference, by singling out."""
    return (
        *_list_linkage_attacks(content),
        *_list_membership_attacks(content),
        *_list_inference_attacks(content),
        *_list_singling_out(content),
    )


def _list_inference_attacks(content: Content) -> Iterator[AttackClaim]:
    for result in content.inference:
        yield AttackClaim(
            attack=result.attack,
            method=result.method,
            intruder=result.intruder,
            status=result.status,
            knows_data=join_with_and(result.knows),
            knows_mechanism="nothing" if result.evaluates == "this file" else say("membership.knowledge_of_steps"),
            settings=describe_inference_settings(result),
            reason=result.reason,
        )


def _list_singling_out(content: Content) -> Iterator[AttackClaim]:
    for result in content.singling_out:
        yield AttackClaim(
            attack=ATTACK,
            method=ATTACK,
            intruder=DECLARED,
            status=result.status,
            knows_data=say("singling_out.knows"),
            knows_mechanism="nothing" if result.evaluates == "this file" else say("membership.knowledge_of_steps"),
            settings=describe_singling_out_settings(result),
            reason=result.reason,
        )


def _list_membership_attacks(content: Content) -> Iterator[AttackClaim]:
    for result in content.membership:
        yield AttackClaim(
            attack=result.attack,
            method=result.method,
            intruder=DECLARED if result.method in DECLARED_KNOWLEDGE else "whole record",
            status=result.status,
            knows_data=result.knows,
            knows_mechanism=_name_known_mechanism(result),
            settings=say("membership.settings", of_model=not content.kind.is_table, evaluates=result.evaluates,
                         shadows=result.shadows),
            reason=result.reason,
        )  # fmt: skip


def _name_known_mechanism(result: MembershipResult) -> str:
    if result.method == "law_ratio":
        return say("membership.knowledge_of_steps")
    return say("membership.knowledge_of_learner") if result.shadows else "nothing"


def _list_linkage_attacks(content: Content) -> tuple[AttackClaim, ...]:
    return tuple(
        AttackClaim(
            attack=result.attack,
            method=result.method,
            intruder=result.intruder,
            status=result.status,
            knows_data=result.knows_data,
            knows_mechanism=result.knows_mechanism,
            settings=find_report(content).describe_settings(result),
            reason=result.reason,
        )
        for result in content.attacks
    )

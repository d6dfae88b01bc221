"""Is somebody in the table, and what does it tell of them: membership and inference attacks on a masked data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flows.release import ReleaseSpec
from sdcert.masked_frames import MaskedFrame
from sdcert.rehearsals import to_plain
from tasks.attack.inference.experiment import list_secrets
from tasks.attack.inference.model_based_disclosure import DEFAULT_INFERENCE_ATTACKS
from tasks.attack.inference.outcomes import InferenceOutcome
from tasks.attack.inference.table_inference import AttackedTables, infer_from_table
from tasks.attack.membership.frame import REHEARSED
from tasks.attack.membership.inference import choose_experiment, find_scored_linkage, score_membership
from tasks.attack.membership.law_ratio import LawRatio
from tasks.attack.membership.methods import (
    DEFAULT_TABLE_ATTACKS,
    AnyTableAttack,
    OfDeclaredIntruder,
    create_idle_result,
)
from tasks.attack.methods import Attack
from tasks.attack.threat import intruders, list_membership_intruders
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Schema
from tasks.microdata.units import find_units
from tasks.score.inference import inference_figures
from tasks.score.membership.membership_figures import MembershipOutcome, membership_figures, withdraw_unlike_figures

AttackChoice = bool | Sequence[str | Mapping[str, Any]]
_DEFAULTS = {"membership": DEFAULT_TABLE_ATTACKS, "inference": DEFAULT_INFERENCE_ATTACKS}


def describe_choice(call: str, **chosen: AttackChoice) -> dict[str, Any]:
    """What a release file would say of the attacks that were asked for; nothing of those that were not."""
    content: dict[str, Any] = {}
    for field, asked in chosen.items():
        if asked is True:
            content[field] = [{"method": spec.method} for spec in _DEFAULTS[field]]
        elif asked:
            named = [asked] if isinstance(asked, str) else list(asked)
            content[field] = [{"method": one} if isinstance(one, str) else to_plain(one, call) for one in named]
    return content


def refuse_membership_of_nobody(call: str, masked: MaskedFrame) -> None:
    """InputError where nobody is known who is not in the table, and nobody here can make such a table again."""
    if "released" in masked.content and masked.control is None:
        what = (
            "This table was masked elsewhere, so that its masking cannot be repeated on other people, and nobody is named who "
            "is not in it. So nothing shows how often others would be taken for its people."
        )
        remedy = "give a data frame of people of the same kind who are not in the source: `control=...`"
        raise InputError("membership-without-control", f"{call}: membership", what, "a table masked here, or a control", remedy)


def estimate_membership(
    found: MaskedFrame, release: ReleaseSpec, schema: Schema, linkages: tuple[Attack, ...], *, insiders: bool
) -> tuple[Estimate, ...]:
    """The figures of every attack that tells by the masked table who is in it, as in a certified release.

    linkages: among them is the one whose scores an attack uses; none: the masking's own. Where nobody is known who is not in
    the table, the masking is repeated on a random half of the rows, and each figure says so.
    """
    outcomes = _ask_who_is_in_it(found, release, schema, linkages or release.attacks_to_run, insiders=insiders)
    figures = membership_figures(outcomes, schema, find_units(found.original, schema).counts)
    return figures if release.control_plan is None else withdraw_unlike_figures(figures)


def _ask_who_is_in_it(
    found: MaskedFrame, release: ReleaseSpec, schema: Schema, linkages: tuple[Attack, ...], *, insiders: bool
) -> Iterator[MembershipOutcome]:
    specs = [one for one in release.membership_attacks if isinstance(one, AnyTableAttack)]
    tables = (found.original, found.control, found.masked, found.alignment)
    try:
        people = choose_experiment(*tables, schema, found.mechanisms, seed=found.seed, address=found.address)
    except NotApplicable as answer:
        evaluates = REHEARSED if found.control is None else "this file"
        yield from (MembershipOutcome(create_idle_result(one, evaluates, answer.reason, answer.status)) for one in specs)
        return
    declared, *others = list_membership_intruders(release.intruder, schema)
    who = (declared, *others) if insiders else (declared,)
    for spec in specs:
        linkage = find_scored_linkage(spec, linkages)
        by, steps = who if isinstance(spec, OfDeclaredIntruder) else (), found.mechanisms if isinstance(spec, LawRatio) else ()
        yield MembershipOutcome(score_membership(spec, people, schema, linkage, by, steps), people.frame, people.table)


def estimate_inference(found: MaskedFrame, release: ReleaseSpec, schema: Schema) -> tuple[Estimate, ...]:
    """The figures of every attack that infers confidential values, as in a certified release.

    Where nobody is known who is not in the table, what is inferred of others comes from a rehearsal, and the figures say so.
    """
    return inference_figures(tuple(_infer_each(found, release, schema)), schema, find_units(found.original, schema).counts)


def _infer_each(found: MaskedFrame, release: ReleaseSpec, schema: Schema) -> Iterator[InferenceOutcome]:
    tables = AttackedTables(found.original, found.control, found.masked, found.alignment)
    for attack in release.inference_attacks:
        for who in intruders(release.intruder, schema):
            if not (attack.is_by(who.name) and list_secrets(schema, who.knows)):
                continue
            for is_rehearsal in (False,) if found.control is not None else (False, True):
                yield infer_from_table(
                    attack,
                    tables,
                    schema,
                    found.mechanisms,
                    who,
                    is_rehearsal=is_rehearsal,
                    can_be_rehearsed=release.released is None,
                    seed=found.seed,
                    address=found.address,
                )

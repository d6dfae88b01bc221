"""The attacks: which there are, what each intruder does and knows, and one door to run them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, assert_never

from pydantic import Field

from tasks.attack.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.links import Links
from tasks.attack.outcome import AttackResult, outcomes_of
from tasks.attack.threat import Intruder, attack_id
from tasks.attack.transparency import Transparency, link_by_mechanism
from tasks.mask.images import Knowledge
from tasks.mask.methods import Mechanism
from tasks.mask.microaggregation import Microaggregation
from tasks.mask.rank_swapping import RankSwapping
from tasks.mask.released import Undeclared
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata

Attack = Annotated[DistanceLinkage | Transparency, Field(discriminator="method")]


def attack(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Attack,
    intruder: Intruder,
    *,
    targets: Integers,
) -> AttackResult:
    """Let one intruder attack a masked table, and score how the targets fare.

    Every record is attacked; `targets` chooses whose outcome is scored.

    Parameters
    ----------
    original, masked: n rows each; row i of `masked` is the released form of row i of `original`. The attack itself does not
        use that order, the scoring does.
    mechanisms: the masking steps as they were applied. targets: rows, shape (m,), m >= 1.

    Returns the result; an attack that cannot run has a status and a reason instead of outcomes, never a rate of 0.
    Raises ValueError where the tables differ in length, InputError where an attribute cannot be compared.
    """
    if original.n != masked.n:
        raise ValueError(f"the original has {original.n} rows, the masked table {masked.n}")
    blank = _unanswered(spec, intruder, mechanisms, original.n)
    try:
        links, remark = _links(original, masked, schema, mechanisms, spec, intruder)
    except NotApplicable as answer:
        return replace(blank, status="not_applicable", reason=answer.reason)
    except AttackFailed as answer:
        return replace(blank, status="failed", reason=answer.reason)
    by_record = links.inverted() if blank.direction == "to_original" else links
    secrets = tuple(name for name in schema.with_role(Role.CONFIDENTIAL) if name not in intruder.knows)
    guesses, sound = links.guesses(targets), intruder.participation_known
    outcomes = outcomes_of(original, masked, secrets, guesses, by_record, targets, sound=sound)
    return replace(blank, knows_mechanism=blank.knows_mechanism + remark, outcomes=outcomes)


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods attack`."""
    return (
        {
            "method": "distance_linkage",
            "what it does": _INFERS["distance_linkage"],
            "knows of the data": "the original values of the known attributes",
            "knows of the masking": "nothing",
            "parameters": "id, scale_by (release, original, own), direction (to_release, to_original)",
        },
        {
            "method": "transparency",
            "what it does": _INFERS["transparency"],
            "knows of the data": "the original values of the known attributes, of all records",
            "knows of the masking": "the steps and their parameters, not the seed",
            "parameters": "id",
        },
    )


_INFERS = {
    "distance_linkage": "links each record to the released rows that are nearest to it, ties shared",
    "transparency": "leaves out every released row that cannot be the record's image, and links it to the nearest of the rest",
}


def _links(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Attack,
    intruder: Intruder,
) -> tuple[Links, str]:
    """The links of the whole file, and what else is to be said of the intruder's knowledge of the masking."""
    match spec:
        case DistanceLinkage():
            return link_by_distance(original, masked, schema, spec, intruder.knows), ""
        case Transparency():
            links, knowledge = link_by_mechanism(original, masked, schema, mechanisms, intruder.knows)
            return links, _remark(knowledge, intruder)
        case _:
            assert_never(spec)


def _unanswered(spec: Attack, intruder: Intruder, mechanisms: tuple[Mechanism, ...], n: int) -> AttackResult:
    """The result of an attack before it has run."""
    plain = isinstance(spec, DistanceLinkage)
    return AttackResult(
        attack=attack_id(spec),
        method=spec.method,
        intruder=intruder.name,
        status="ok",
        infers=_INFERS[spec.method],
        knows_data=_known_data(intruder),
        knows_mechanism="nothing" if plain else _known_steps(mechanisms),
        direction=spec.direction if isinstance(spec, DistanceLinkage) else "to_release",
        scale_by=spec.scale_by if isinstance(spec, DistanceLinkage) else "release",
        n_release=n,
        chance=1 / n,
    )


def _known_data(intruder: Intruder) -> str:
    there = "that each of them is in the release" if intruder.participation_known else "not whether a record is in the release"
    return f"the original {_listed(intruder.knows)} of every record, and {there}"


def _known_steps(mechanisms: tuple[Mechanism, ...]) -> str:
    steps = ", then ".join(_in_words(step) for step in mechanisms) or "no step"
    return f"the masking steps and their parameters, not the seed: {steps}"


def _in_words(step: Mechanism) -> str:
    match step:
        case Microaggregation():
            blocks = " and of ".join(_listed(block) for block in step.groups)
            return f"microaggregation of {blocks}, each group of {step.k} or more"
        case RankSwapping():
            return f"rank swapping of {_listed(step.attributes or ())} within {step.window_percent:g} percent of the ranks"
        case Undeclared():
            return f"a method that nobody declared, which changed {_listed(step.attributes)}"
        case _:
            assert_never(step)


def _remark(knowledge: Knowledge, intruder: Intruder) -> str:
    unclear = (
        f"; heuristic in {_listed(knowledge.unclear)}, of which nothing is concluded and only the distance is used"
        if knowledge.unclear
        else ""
    )
    sound = (
        "; the candidate sets are sound: the true row is never left out"
        if intruder.participation_known
        else "; the candidate sets are not sound, because the record may not be in the release"
    )
    return unclear + sound


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

"""The attacks: which there are, what each intruder does and knows, and one door to run them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, assert_never

import numpy as np
from pydantic import Field

from tasks.attack.distance_linkage import DistanceLinkage, Pairs, link_by_distance, permuted_chance
from tasks.attack.linkage.holding import held, in_words
from tasks.attack.links import Links
from tasks.attack.outcome import AttackResult, Scene, outcomes_of, searching_records
from tasks.attack.row_position import RowPosition, link_by_position
from tasks.attack.threat import Intruder, attack_id
from tasks.attack.transparency import Transparency, link_by_mechanism
from tasks.mask.images import Knowledge
from tasks.mask.methods import Mechanism
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.words import listed

Attack = Annotated[DistanceLinkage | Transparency | RowPosition, Field(discriminator="method")]


def attack(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Attack,
    intruder: Intruder,
    *,
    alignment: Alignment,
    targets: Integers,
) -> AttackResult:
    """Let one intruder attack a masked table, and score how the targets fare.

    The intruder holds every record; `targets` chooses whose outcome is scored. Where the schema names a person key, the targets
    are the persons of these rows, of whom the intruder holds all rows (see `fare`).

    Parameters
    ----------
    original, masked: n and m <= n rows; row i of `masked` is the released form of record `alignment.record[i]`. The attack does
        not use this, the scoring does; of `alignment.place` an attack may use the order of the released file.
    mechanisms: the masking steps as they were applied. targets: rows of the original, shape (t,), t >= 1, absent ones included.

    Returns the result; an attack that cannot run has a status and a reason instead of outcomes, never a rate of 0. So has one
    whose steps rule out the true row of a record that is released: they are not what was done, and its rate would say
    nothing. A target that is not in the release has credit 0.
    Raises ValueError where the tables do not fit their alignment, InputError where an attribute cannot be compared, or it is
    not clear which rows are whose.
    """
    scene = Scene.of(original, masked, schema, alignment)
    blank = _unanswered(spec, intruder, mechanisms, scene)
    try:
        links, remark = links_of(scene, schema, mechanisms, spec, intruder, targets)
        _check_that_true_rows_are_left(links, scene.alignment)
    except NotApplicable as answer:
        return replace(blank, status="not_applicable", reason=answer.reason)
    except AttackFailed as answer:
        return replace(blank, status="failed", reason=answer.reason)
    hidden = () if intruder.greedy else schema.with_role(Role.CONFIDENTIAL)
    secrets = tuple(name for name in hidden if name not in intruder.knows)
    sound = intruder.participation_known and (alignment.complete or _is_sampled(mechanisms))
    outcomes = outcomes_of(scene, links, secrets, targets, searched=blank.direction == "to_original", sound=sound)
    done = replace(blank, knows_mechanism=blank.knows_mechanism + remark, outcomes=outcomes)
    if isinstance(spec, DistanceLinkage) and spec.is_fitted:
        own = held(original, schema, intruder.holds)
        chance = permuted_chance(own, masked, schema, spec, intruder.knows, _pairs(scene))
        return replace(done, chance=chance, chance_kind="permutation")
    return done


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods attack`."""
    return (
        {
            "method": "distance_linkage",
            "what it does": _INFERS["distance_linkage"],
            "knows of the data": "the original values of the known attributes",
            "knows of the masking": "nothing",
            "parameters": "id, scale_by (release, original, own), direction (to_release, to_original), distance (euclidean, "
            "mahalanobis, kernel, weighted_mean, owa, choquet, choquet_2_additive, bilinear, gower), compare (per attribute: "
            "squared, absolute, rank, equality, hierarchy, date_parts), matching (nearest, one_to_one)",
        },
        {
            "method": "transparency",
            "what it does": _INFERS["transparency"],
            "knows of the data": "the original values of the known attributes, of all records",
            "knows of the masking": "the steps and their parameters, not the seed",
            "parameters": "id",
        },
        {
            "method": "row_position",
            "what it does": _INFERS["row_position"],
            "knows of the data": "the order of the source's records",
            "knows of the masking": "nothing",
            "parameters": "id",
        },
    )


_INFERS = {
    "row_position": "takes the released row that stands where the record stands in the source",
    "distance_linkage": "links each record to the released rows that are nearest to it, ties shared",
    "transparency": "leaves out every released row that cannot be the record's image, then takes the likeliest and nearest",
}


def links_of(
    scene: Scene, schema: Schema, mechanisms: tuple[Mechanism, ...], spec: Attack, intruder: Intruder, targets: Integers
) -> tuple[Links, str]:
    """The links of the targets at least, and what else is to be said of the intruder's knowledge of the masking."""
    original, masked = scene.original, scene.masked
    match spec:
        case DistanceLinkage():
            if spec.is_fitted and scene.units.counts == "persons":
                raise NotApplicable("the covariance of the differences is defined for tables of one row per person")
            own = held(original, schema, intruder.holds)
            return link_by_distance(own, masked, schema, spec, intruder.knows, _pairs(scene)), ""
        case Transparency():
            few = int(scene.released.sizes.max()) if scene.units.counts == "persons" else 0
            needed = searching_records(scene.units, targets)
            complete, sampled = scene.alignment.complete, _is_sampled(mechanisms)
            present = scene.alignment.record if sampled and intruder.participation_known and not complete else None
            links, knowledge = link_by_mechanism(
                original, masked, schema, mechanisms, intruder.knows, few=few, searching=needed, present=present
            )
            return links, _unclear(knowledge) + _soundness(intruder, complete=complete, sampled=sampled)
        case RowPosition():
            return link_by_position(scene.alignment.order, original.n), ""
        case _:
            assert_never(spec)


def _pairs(scene: Scene) -> Pairs:
    return Pairs(scene.alignment.record, np.arange(scene.masked.n))


def _check_that_true_rows_are_left(links: Links, alignment: Alignment) -> None:
    """Raises AttackFailed where the sound set of a released record lacks its own row. Only the evaluator can know this."""
    if links.conditions is None:
        return
    outside = links.rules_out(alignment.record, np.arange(len(alignment.record)))
    if outside.any():
        whose = "records" if alignment.complete else "released records"
        otherwise = "" if alignment.complete else ", or were applied before or after records were left out"
        share = f"{100 * float(outside.mean()):.3g} %"
        raise AttackFailed(
            f"the stated steps rule out the true row of {share} of the {whose}: they are not those that were applied{otherwise}"
        )


def _unanswered(spec: Attack, intruder: Intruder, mechanisms: tuple[Mechanism, ...], scene: Scene) -> AttackResult:
    """The result of an attack before it has run."""
    direction = spec.direction if isinstance(spec, DistanceLinkage) else "to_release"
    return AttackResult(
        attack=attack_id(spec),
        method=spec.method,
        intruder=intruder.name,
        status="ok",
        infers=spec.rule if isinstance(spec, DistanceLinkage) else _INFERS[spec.method],
        knows_data=_known_data(spec, intruder, complete=scene.alignment.complete),
        knows_mechanism=_known_steps(mechanisms) if isinstance(spec, Transparency) else "nothing",
        direction=direction,
        scale_by=spec.scale_by if isinstance(spec, DistanceLinkage) else None if isinstance(spec, RowPosition) else "release",
        n_release=scene.masked.n,
        chance=scene.chance(searched=direction == "to_original"),
        counts=scene.units.counts,
    )


def _known_data(spec: Attack, intruder: Intruder, *, complete: bool) -> str:
    there = "that each of them is in the release" if complete else "of those that are in the release, that they are"
    if not intruder.participation_known:
        there = "not whether a record is in the release"
    if isinstance(spec, RowPosition):
        return f"the order of the source's records, and {there}"
    chosen = " (those that leave the released records least alike, chosen one by one)" if intruder.greedy else ""
    if intruder.holds and isinstance(spec, DistanceLinkage):
        return (
            f"{listed(intruder.knows)} of every record{chosen}, in a file of his own: {in_words(intruder.holds)}; and {there}"
        )
    return f"the original {listed(intruder.knows)} of every record{chosen}, and {there}"


def _known_steps(mechanisms: tuple[Mechanism, ...]) -> str:
    steps = ", then ".join(_in_strata(step) for step in mechanisms) or "no step"
    return f"the masking steps and their parameters, not the seed: {steps}"


def _in_strata(step: Mechanism) -> str:
    return step.rule if step.by is None else f"{step.rule}, within each stratum by {listed(step.by)}"


def _is_sampled(mechanisms: tuple[Mechanism, ...]) -> bool:
    return any(isinstance(step, Sampling) for step in mechanisms)


def _unclear(knowledge: Knowledge) -> str:
    names = listed(knowledge.unclear)
    return f"; heuristic in {names}, of which nothing is concluded and only the distance is used" if names else ""


def _soundness(intruder: Intruder, *, complete: bool, sampled: bool) -> str:
    if sampled and intruder.participation_known and not complete:
        return (
            "; he knows who was sampled, looks for nobody else, and repeats what came after the sampling on these alone; the "
            "candidate sets are sound: the true row of a sampled record is never left out"
        )
    if not complete:
        return (
            "; heuristic, not sound: records of the source are absent from the release, so that what is repeated on all "
            "records need not be what was done to the released ones"
        )
    if not intruder.participation_known:
        return "; the candidate sets are not sound, because the record may not be in the release"
    return "; the candidate sets are sound: the true row is never left out"

"""Attacks on rows that belong to nobody: no link is right or wrong, but the rows nearest to a person show values."""

from __future__ import annotations

from dataclasses import replace

from tasks.attack.descriptions import describe_source_knowledge, describe_synthetic_attack
from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.linkage.holding import apply_holdings
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import AttackResult, searching_records
from tasks.attack.outcomes.synthetic_outcomes import compute_control_credits, compute_linked_credits, compute_synthetic_outcomes
from tasks.attack.threat import AnyAttack, Intruder, attack_id, can_attack_synthetic_rows
from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.errors import NotApplicable
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata

NOTHING_TO_READ = "no confidential attribute is left that the intruder could read off the rows"


def attack_synthetic_table(
    scene: GroundTruth, schema: Schema, spec: AnyAttack, intruder: Intruder, targets: Integers
) -> AttackResult:
    """Let one intruder read confidential values off the rows that are nearest to each target, in a fully synthetic table.

    Meaning: whoever finds the most similar rows of such a table, and takes what they show at its word.
    Formula in words: the links of `link_by_distance`; the guess is the most frequent value of the linked rows.

    Parameters
    ----------
    scene: of rows that belong to nobody, any number of them, in any order. targets: rows of the original; of persons, any.

    Returns outcomes as `compute_synthetic_outcomes`, on all attributes that the intruder does not know. An attack that needs to
    know or find out whose row is whose is not applicable, and so is one by somebody who knows all confidential values. Raises
    InputError as `link_by_distance`. Cost: twice that of the links, for the control. Source: attribute disclosure by the
    Correct Attribution Probability (Elliot 2014; Taub et al. 2018; DiSCO of Raab, Nowok and Dibben 2024). Done otherwise than
    there: the nearest rows are read, not only those that are equal in all keys, and a majority is enough, so that the figure is
    never below DiSCO's over the same keys; ties share the credit. Example: the release is the source, and all its records
    differ in what is known: every value is told.
    """
    blank = AttackResult(
        attack=attack_id(spec),
        method=spec.method,
        intruder=intruder.name,
        status="ok",
        infers=describe_synthetic_attack(spec),
        knows_data=describe_source_knowledge(intruder),
        knows_mechanism="nothing",
        direction=spec.direction if isinstance(spec, DistanceLinkage) else None,
        scale_by=spec.scale_by if isinstance(spec, DistanceLinkage) else None,
        n_release=scene.masked.n,
        chance=None,
        counts=scene.units.counts,
    )
    if not isinstance(spec, DistanceLinkage) or not can_attack_synthetic_rows(spec):
        return replace(blank, status="not_applicable", reason=ROWS_OF_NOBODY)
    secrets = tuple(name for name in schema.find_by_role(Role.CONFIDENTIAL) if name not in intruder.knows)
    if not secrets:
        return replace(blank, status="not_applicable", reason=f"{ROWS_OF_NOBODY}, and {NOTHING_TO_READ}")
    known = apply_holdings(scene.original, schema, intruder.holds)

    def link_nearest_rows(own: Microdata, shown: Microdata) -> Links:
        links = link_by_distance(own, shown, schema, spec, intruder.knows)
        return links.invert_links() if spec.direction == "to_original" else links

    try:
        found = compute_linked_credits(link_nearest_rows(known, scene.masked), scene.original, scene.masked, secrets)
        searching = searching_records(scene.units, targets)
        others = compute_control_credits(
            scene.original, scene.units, secrets, lambda mine, shown: link_nearest_rows(known.take(mine), shown), searching
        )
    except NotApplicable as answer:
        return replace(blank, status=answer.status, reason=answer.reason)
    return replace(blank, outcomes=compute_synthetic_outcomes(scene.units, targets, found, others))

"""Attacks on rows that belong to nobody: no link is right or wrong, but the rows nearest to a person show values."""

from __future__ import annotations

from dataclasses import replace

from tasks.attack.base import AttackSpec
from tasks.attack.descriptions import describe_source_knowledge
from tasks.attack.linkage.holding import apply_holdings
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import AttackResult, searching_records
from tasks.attack.outcomes.synthetic_outcomes import compute_control_credits, compute_linked_credits, compute_synthetic_outcomes
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.errors import NotApplicable
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata

NOTHING_TO_READ = "no confidential attribute is left that the intruder could read off the rows"


def attack_synthetic_table(
    truth: GroundTruth, schema: Schema, spec: AttackSpec, intruder: Intruder, targets: Integers
) -> AttackResult:
    """Let one intruder read confidential values off the rows that are nearest to each target, in a fully synthetic table.

    Meaning: whoever finds the most similar rows of such a table, and takes what they show at its word.
    Formula in words: the links of the attack, the nearest rows; the guess is the most frequent value of the linked rows.

    Parameters
    ----------
    truth: of rows that belong to nobody, any number of them, in any order. targets: rows of the original; of persons, any.

    Returns outcomes as `compute_synthetic_outcomes`, on all attributes that the intruder does not know. An attack that needs to
    know or find out whose row is whose is not applicable, and so is one by somebody who knows all confidential values.
    Raises InputError as `link_synthetic_rows`. Cost: twice that of the links, for the control.
    Source: attribute disclosure by the Correct Attribution Probability (Elliot 2014; Taub et al. 2018; DiSCO of Raab, Nowok and
    Dibben 2024). Done otherwise than there: the nearest rows are read, not only those that are equal in all keys, and a
    majority is enough, so that the figure is never below DiSCO's over the same keys; ties share the credit.
    Example: the release is the source, and all its records differ in what is known: every value is told.
    """
    traits = spec.traits
    reading = "; the most frequent confidential value among them is the guess"
    direction = "to_original" if traits.searches_originals else "to_release"
    blank = AttackResult(
        attack=spec.attack_id,
        method=spec.method,
        intruder=intruder.name,
        status="ok",
        infers=spec.rule + reading if traits.reads_similar_rows else spec.about.infers,
        knows_data=describe_source_knowledge(intruder),
        knows_mechanism="nothing",
        direction=direction if traits.reads_similar_rows else None,
        scale_by=traits.scale_by if traits.reads_similar_rows else None,
        n_release=truth.masked.n,
        chance=None,
        counts=truth.units.counts,
    )
    if not traits.attacks_synthetic_rows:
        return replace(blank, status="not_applicable", reason=ROWS_OF_NOBODY)
    secrets = tuple(name for name in schema.find_by_role(Role.CONFIDENTIAL) if name not in intruder.knows)
    if not secrets:
        return replace(blank, status="not_applicable", reason=f"{ROWS_OF_NOBODY}, and {NOTHING_TO_READ}")
    known = apply_holdings(truth.original, schema, intruder.holds)

    def link_nearest_rows(own: Microdata, shown: Microdata) -> Links:
        links = spec.link_synthetic_rows(own, shown, schema, intruder.knows)
        return links.invert_links() if traits.searches_originals else links

    try:
        found = compute_linked_credits(link_nearest_rows(known, truth.masked), truth.original, truth.masked, secrets)
        searching = searching_records(truth.units, targets)
        others = compute_control_credits(
            truth.original, truth.units, secrets, lambda mine, shown: link_nearest_rows(known.take(mine), shown), searching
        )
    except NotApplicable as answer:
        return replace(blank, status=answer.status, reason=answer.reason)
    return replace(blank, outcomes=compute_synthetic_outcomes(truth.units, targets, found, others))

"""The report's sentences: what each mask did, what each figure says, what each decision means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from tasks.attack.outcome import AttackResult
from tasks.mask.methods import Mechanism
from tasks.mask.microaggregation import Microaggregation
from tasks.mask.rank_swapping import RankSwapping
from tasks.mask.released import Undeclared
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.report.content import Content, extra_knowledge
from tasks.report.numbers import SPACE, beside_limit, count, limit_in_unit, number
from tasks.score.catalogue import MEASURES
from tasks.score.policy import DECLARED, INSIDER, PolicyLine
from tasks.score.verdict import Criterion, Decision


@dataclass(frozen=True, slots=True)
class Meaning:
    """A measure for readers: what it is called, what it says, and (losses) what it means for an analyst."""

    title: str
    sentence: str
    analyst: str = ""


MEANINGS = {
    "reidentification": Meaning(
        "Re-identification rate",
        "Of all attacked records, the share that the intruder links to the right person; where t released records look equally "
        "good, each counts 1/t.",
    ),
    "records_exposed": Meaning(
        "Records exposed",
        "The share of attacked records that are linked to the right released record alone, or to it and one look-alike.",
    ),
    "max_record_risk": Meaning(
        "Maximum record risk",
        "The risk of the person who is easiest to find: 100"
        + SPACE
        + "% means that there is a person who is linked to their own record alone.",
    ),
    "truth_among_nearest": Meaning(
        "Truth among the nearest",
        "The share of attacked records whose own released record is among the intruder's guesses, however many those are.",
    ),
    "mean_candidate_set_size": Meaning(
        "Mean candidate set", "How many released records the intruder cannot tell apart, on average; more is safer."
    ),
    "known_links": Meaning(
        "Links that can be asserted",
        "The share of attacked records for which the intruder can rule out every released record but one.",
    ),
    "known_reidentification": Meaning(
        "Asserted and correct", "The share of attacked records for which that one record is the right one."
    ),
    "linked_value_disclosed": Meaning(
        "Confidential value disclosed",
        "The share of attacked records whose confidential value is the most frequent one among the records they are linked to.",
    ),
    "linked_value_control": Meaning(
        "Control",
        "The same with the target's own record left out: what the linked records tell about somebody who is not there.",
    ),
    "rank_interval_disclosure": Meaning(
        "Interval disclosure",
        "The share of records whose original value lies within so many percent of the ranks around the released value: what "
        "somebody learns who has found the record.",
    ),
    "same_value_disclosure": Meaning(
        "Same value",
        "The share of records whose released value is the original one: how often the record can be taken at its word.",
    ),
    "k_anonymity": Meaning(
        "k-anonymity",
        "The smallest number of released records that look alike on all published quasi-identifiers together; more is safer.",
    ),
    "k_anonymity_subset": Meaning(
        "k-anonymity over some attributes",
        "The smallest number of released records that look alike on these attributes, for an intruder who knows no more.",
    ),
    "sse_percent": Meaning(
        "Information loss (SSE)",
        "Squared change of the masked numbers, in percent of their variation: 0 is no change, 100 is what replacing every "
        "value by the mean would lose.",
        "This much of the differences between people is no longer true: single records and small groups are blurred.",
    ),
    "il1s": Meaning(
        "Change per cell (IL1s)",
        "Mean absolute change of a masked number, where 1 is the standard deviation of the difference of two random people.",
        "How far off a single released number is, on average.",
    ),
    "cells_changed": Meaning(
        "Cells changed",
        "The share of the masked cells whose value differs from the original.",
        "Single cells are not to be read as facts about people; counts of exact values move with this share.",
    ),
    "mean_difference": Meaning(
        "Shift of the mean",
        "The distance between the mean of the original and that of the release, in standard deviations of the original.",
        "Averages and totals of the attribute are off by this much.",
    ),
    "covariance_difference": Meaning(
        "Change of covariances",
        "Mean absolute difference of variances and covariances, in units of the original's standard deviations.",
        "Spread and joint variation, and with them standard errors and regression slopes, are off by about this much.",
    ),
    "correlation_difference": Meaning(
        "Change of correlations",
        "Mean absolute difference of the correlations between numeric attributes, over the pairs in which one was masked.",
        "A typical correlation in the release is off by this much.",
    ),
    "largest_correlation_difference": Meaning(
        "Largest change of a correlation",
        "The absolute difference of the correlation between the two numeric attributes that suffered most.",
        "No correlation between numeric attributes is off by more than this.",
    ),
    "rank_correlation_difference": Meaning(
        "Change of rank correlations",
        "Mean absolute difference of Spearman's rank correlations between numeric and ordinal attributes.",
        "Monotone relations, also between ordinal codes, are off by this much on average.",
    ),
}
ATTACKS = {
    "distance_linkage": "Distance-based linkage",
    "transparency": "Transparency attack",
}
_CODE_NAMES = {
    "distance_linkage": "distance-based linkage",
    "rank_swapping": "rank swapping",
    "quasi_identifier": "quasi-identifier",
    "quasi_identifiers": "quasi-identifiers",
}
_CODE_NAME = re.compile(rf"\b({'|'.join(_CODE_NAMES)})\b")
_MOST_NAMES = 8
ROUNDED = (
    "Some figures are rounded on purpose, to two digits and at most three decimals: with more, the release would give exact "
    "statistics of the original."
)
DECISIONS: dict[Decision, str] = {"pass": "kept", "fail": "broken", "undecided": "not decided"}
ROLES = {
    Role.IDENTIFIER: "identifier",
    Role.QUASI_IDENTIFIER: "quasi-identifier",
    Role.CONFIDENTIAL: "confidential",
    Role.WEIGHT: "sampling weight",
    Role.PERSON: "person key",
    Role.GROUP: "group key",
    Role.DERIVED: "derived",
    Role.OTHER: "other",
}


def listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    all_names = tuple(names)
    return " and ".join(filter(None, [", ".join(all_names[:-1]), *all_names[-1:]]))


def mask_in_words(step: Mechanism, schema: Schema) -> str:
    """One masking step for somebody who uses the data."""
    match step:
        case Microaggregation():
            return _microaggregation_in_words(step, schema)
        case RankSwapping():
            apart = ", each attribute by itself," if len(step.attributes or ()) > 1 else ","
            return (
                f"In {listed(step.attributes or ())}{apart} values were exchanged between records whose ranks "
                f"differ by at most {number(step.window_percent)}{SPACE}% of the number of records. Each column keeps exactly "
                "its values; which record holds which value is blurred."
            )
        case Undeclared():
            return f"{listed(step.attributes)} had been masked before, elsewhere, by a method that nobody declared."
        case _:
            assert_never(step)


def mask_title(step: Mechanism) -> str:
    match step:
        case Microaggregation():
            return f"Microaggregation, groups of at least {step.k}"
        case RankSwapping():
            return f"Rank swapping, window {number(step.window_percent)}{SPACE}%"
        case Undeclared():
            return "Masked elsewhere, method not declared"
        case _:
            assert_never(step)


def mask_of_attribute(step: Mechanism, attribute: Attribute) -> str:
    """What a step did to one attribute, in a phrase."""
    match step:
        case Microaggregation():
            centre = "median category" if attribute.scale is Scale.ORDINAL else "mean"
            return f"replaced by the {centre} of a group of at least {step.k} records"
        case RankSwapping():
            return f"exchanged within {number(step.window_percent)}{SPACE}% of the ranks"
        case Undeclared():
            return "masked elsewhere; the method was not declared"
        case _:
            assert_never(step)


def why_unpublished(attribute: Attribute) -> str:
    """The reason why a column is not in the released table."""
    match attribute.role:
        case Role.IDENTIFIER:
            return "it names a unit by itself"
        case Role.PERSON:
            return "it is the key that joins the rows of one person"
        case Role.GROUP:
            return "it is the key of a group of units, such as a household"
        case Role.DERIVED:
            return f"it is computed from {listed(attribute.derived_from)} and would undo what was done there"
        case _:
            raise ValueError(f"{attribute.name} is published: its role is {attribute.role}")


def intruder_in_words(intruder: str) -> str:
    """Who attacked: the declared intruder, or one who knows one attribute more."""
    extra = extra_knowledge(intruder)
    return f"insider who also knows {extra}" if extra else "declared intruder"


def attack_title(method: str) -> str:
    return ATTACKS.get(method, method.replace("_", " ").capitalize())


def attack_named(attack: str | None) -> str:
    """An attack within a sentence, by its id: `transparency attack`."""
    known = ATTACKS.get(attack or "")
    return f"attack \u201c{attack}\u201d" if known is None else known[:1].lower() + known[1:]


def somebody(content: Content, intruder: str, attack: str | None) -> str:
    """An intruder by what he knows: `somebody who knows age and educ and how the masking works`."""
    extra = extra_knowledge(intruder)
    if extra:
        return f"an insider who also knows {extra}"
    knows = content.known
    names = listed(knows) if len(knows) <= _MOST_NAMES else f"{count(len(knows))} attributes of a person"
    return f"somebody who knows {names}{' and how the masking works' if uses_the_masking(content, attack) else ''}"


def uses_the_masking(content: Content, attack: str | None) -> bool:
    return content.method_of(attack) == "transparency"


def in_plain_words(text: str) -> str:
    """A text of an earlier stage with the code names of methods and roles written out."""
    return _CODE_NAME.sub(lambda found: _CODE_NAMES[found[1]], text)


def linkage_settings(result: AttackResult) -> str:
    """Direction, scale and credit of an attack: a linkage figure means nothing without them."""
    ways = {
        "to_release": "each original record is linked to the release",
        "to_original": "each released record is linked to the originals",
    }
    scales = {
        "release": "both files are scaled by the release's mean and standard deviation",
        "original": "both files are scaled by the original's mean and standard deviation",
        "own": "each file is scaled by its own mean and standard deviation",
    }
    direction = ways.get(result.direction or "", "no direction")
    scale = scales.get(result.scale_by or "", "no scale")
    return f"Direction: {direction}. Scale: {scale}. Credit: a tie of t records earns 1/t."


def requirement(line: PolicyLine) -> str:
    """A policy line as a sentence: what it demands of which figure."""
    unit = MEASURES[line.measure].unit
    of = f" of {line.attribute}" if line.attribute is not None else ""
    within = "" if line.p_percent is None else f" (within {number(line.p_percent)}{SPACE}% of the ranks)"
    return f"{MEANINGS[line.measure].title}{of}{within} {_bounds(line)} {limit_in_unit(line.limit, unit)}{_scope(line)}"


def _scope(line: PolicyLine) -> str:
    if not MEASURES[line.measure].by_attack:
        return ""
    who = {DECLARED: "", None: "", INSIDER: ", for every insider"}.get(line.intruder, "")
    if line.intruder is not None and line.intruder.startswith(f"{INSIDER}:"):
        who = f", for the {intruder_in_words(line.intruder)}"
    if line.attack is None:
        return f", worst found among the attacks run{who}"
    accepted = f"; other attacks are accepted: {line.accept_other_attacks}" if line.accept_other_attacks else ""
    return f", in the {attack_named(line.attack)}{who}{accepted}"


def found_in_words(criterion: Criterion) -> str:
    """The figure that decided a line, beside its limit."""
    if criterion.deciding_value is None:
        return "no figure"
    return beside_limit(criterion.deciding_value, criterion.limit, MEASURES[criterion.measure].unit)


def by_whom(content: Content, criterion: Criterion) -> str:
    """Whose figure decided: `by somebody who knows age (transparency attack)`, `of popul`; empty for a whole-table measure."""
    asked = criterion.intruder is None or criterion.estimate is None
    who = "" if asked else f"by {somebody(content, criterion.intruder or '', criterion.attack)}"
    attack = "" if criterion.attack is None else f"({attack_named(criterion.attack)})"
    of = "" if criterion.attribute is None else f"of {criterion.attribute}"
    return " ".join(filter(None, [of, who, attack]))


def bound_in_words(criterion: Criterion, estimate: Estimate | None) -> str:
    """The one-sided 95 % bound that was held against the limit, and its sample; empty where the figure itself was."""
    if criterion.deciding_bound in (None, "value"):
        return ""
    targets = None if estimate is None else estimate.n_targets
    return f"{found_in_words(criterion)}, from a sample of {count(targets or 0)} records"


def reason_in_words(line: PolicyLine, criterion: Criterion) -> str:
    """Why a line is kept, broken or not decided."""
    if criterion.deciding_value is None:
        return f"{criterion.reason[:1].upper()}{in_plain_words(criterion.reason[1:])}."
    demand = f"{_bounds(line)} {limit_in_unit(line.limit, MEASURES[line.measure].unit)}"
    blamed = "" if criterion.attack in (None, line.attack) or line.attack is None else _BLAMED
    if criterion.deciding_bound == "value":
        return f"{found_in_words(criterion)} {_VERBS[criterion.decision]} the limit of {demand}.{blamed}"
    bound = f"The one-sided 95{SPACE}% bound, {found_in_words(criterion)},"
    match criterion.decision:
        case "pass":
            return f"{bound} keeps the limit of {demand}.{blamed}"
        case "fail":
            return f"Even the more favourable one-sided 95{SPACE}% bound, {found_in_words(criterion)}, breaks {demand}.{blamed}"
        case "undecided":
            return f"{bound} breaks the limit of {demand}, the other keeps it: more targets would decide.{blamed}"
        case _:
            assert_never(criterion.decision)


_VERBS: dict[Decision, str] = {"pass": "keeps", "fail": "breaks", "undecided": "leaves open"}
_BLAMED = " The line names another attack, and does not say why this one should be accepted."


def _bounds(line: PolicyLine) -> str:
    return "at most" if line.direction == "at_most" else "at least"


def verdict_in_words(content: Content) -> str:
    """The verdict as one plain sentence."""
    decisions = [criterion.decision for criterion in content.verdict.criteria]
    lines = f"{len(decisions)} policy line{'s' if len(decisions) != 1 else ''}"
    match content.verdict.verdict:
        case "certified" if content.not_for_publication:
            return f"Rehearsal: it would be certified, with {_of_all(lines, len(decisions))} kept."
        case "certified":
            return f"Certified: {_of_all(lines, len(decisions))} {'is' if len(decisions) == 1 else 'are'} kept."
        case "refused":
            return f"Not certified: {decisions.count('fail')} of {lines} {_is(decisions.count('fail'))} broken."
        case "undecided":
            return f"Not certified: {decisions.count('undecided')} of {lines} could not be decided."
        case _:
            assert_never(content.verdict.verdict)


def _of_all(lines: str, how_many: int) -> str:
    return "its only policy line" if how_many == 1 else f"all {lines}"


def _is(how_many: int) -> str:
    return "is" if how_many == 1 else "are"


def _microaggregation_in_words(step: Microaggregation, schema: Schema) -> str:
    groups = [listed(block) for block in step.groups]
    together = len(groups) == 1
    alike = "alike in them taken together" if together and len(step.groups[0]) > 1 else "alike in it"
    named = groups[0] if together else f"each of these sets of attributes by itself ({'; '.join(groups)})"
    scales = {schema[name].scale for block in step.groups for name in block}
    centre = {
        frozenset({Scale.NUMERIC}): "mean",
        frozenset({Scale.ORDINAL}): "median category",
    }.get(frozenset(scales), "mean (ordinal codes: their median category)")
    return (
        f"In {named}, records were put into groups of at least {step.k} that are "
        f"{alike if together else 'alike in that set'}, and each value was replaced by its group's {centre}. "
        f"At least {step.k} released records share each combination of these values{'' if together else ' within a set'}."
    )

"""How often confidential values are told: beyond what is told of everybody, and so surely that they can be asserted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tasks.attack.inference.model_based_disclosure import AGREES, FROM, RIGHT, SURE
from tasks.attack.inference.outcomes import InferenceOutcome, InferenceResult, InferredAttribute
from tasks.attack.linkage.assertable_links import compute_assertion_shares
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import ERROR, Interval, compute_bounded_mean_interval
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Floats, Microdata
from tasks.microdata.units import Counts, Units, find_units
from tasks.score.anonymeter_risks import estimate_protocol
from tasks.score.measure import Measure
from tasks.score.measures.inference import (
    INFERENCE_ASSERTED,
    INFERENCE_CONTROL,
    INFERENCE_EXCESS,
    INFERENCE_EXCESS_FROM_FEW,
    INFERENCE_FROM_FEW,
    INFERENCE_FROM_ORIGINAL,
    INFERENCE_SUCCESS,
    INFERENCE_WITHOUT_TARGET,
    MODEL_AGREEMENT,
    MODEL_AGREEMENT_CONTROL,
    SUBGROUP_INFERENCE_ASSERTED,
    SUBGROUP_INFERENCE_EXCESS,
)
from tasks.score.membership.intervals import difference_interval
from tasks.score.membership.membership_figures import REHEARSED
from tasks.score.subgroups import Subgroup, find_subgroups

INPUTS = "inputs"  # parameter of a figure: from how many known attributes
Columns = dict[str, Floats]  # see `infer_values`


def inference_figures(outcomes: tuple[InferenceOutcome, ...], schema: Schema, counts: Counts) -> tuple[Estimate, ...]:
    """All figures of the inference attacks.

    Of an attack on this file: what is asserted, and what is inferred of members; with people who are not in the release the
    excess as well. Of a rehearsal: the excess, which says that it was rehearsed. counts: what is asked about, where no attack
    ran.
    """
    return tuple(figure for one in outcomes for figure in _estimate(one, schema, counts))


def _estimate(one: InferenceOutcome, schema: Schema, counts: Counts) -> Iterator[Estimate]:
    rehearsed = one.result.evaluates != "this file"
    if one.people is None or one.fates is None:
        measures = (INFERENCE_EXCESS,) if rehearsed else (INFERENCE_EXCESS, INFERENCE_ASSERTED)
        for secret in one.result.secrets:
            idle = replace(secret, status=one.result.status, reason=one.result.reason)
            yield from (_create_idle_estimate(one.result, idle, measure, counts) for measure in measures)
        return
    units = find_units(one.people, schema)
    yield from estimate_protocol(one.result, units.counts)
    subgroups = find_subgroups(one.people, schema, units)
    for place, secret in enumerate(one.result.secrets):
        figures = _estimate_attribute(one.result, secret, place, one.fates, units, subgroups)
        yield from (replace(figure, reason=figure.reason or REHEARSED) for figure in figures) if rehearsed else figures


def _estimate_attribute(
    result: InferenceResult,
    secret: InferredAttribute,
    place: int,
    fates: Microdata,
    units: Units,
    subgroups: tuple[Subgroup, ...],
) -> Iterator[Estimate]:
    rehearsed = result.evaluates != "this file"
    measures = [] if rehearsed else [INFERENCE_ASSERTED]
    measures += [INFERENCE_EXCESS] if result.has_control else []
    if secret.status != "ok":
        yield from (_create_idle_estimate(result, secret, measure, units.counts) for measure in measures)
        return
    judged = JudgedPeople.create_from_fates(result, secret.name, place, fates, units.counts)
    if result.has_control:
        yield from estimate_excess(judged)
    if not rehearsed:
        yield estimate_asserted(judged)
        yield from estimate_members(judged)
    yield from estimate_few(judged, of_file=not rehearsed)
    yield from estimate_agreement(judged, of_file=not rehearsed)
    yield from estimate_subgroups(judged, subgroups, has_asserted=not rehearsed)


@dataclass(frozen=True)
class JudgedPeople:
    """The people of whom one attribute was inferred and is known: how they fared with each way to infer it.

    columns: of `infer_values`, shape (n_units,) each. known: shape (n_units,): is the value known? member: is it in the
    release?
    """

    result: InferenceResult
    attribute: str
    columns: Columns
    member: Booleans
    known: Booleans
    counts: Counts

    @classmethod
    def create_from_fates(
        cls, result: InferenceResult, attribute: str, place: int, fates: Microdata, counts: Counts
    ) -> JudgedPeople:
        """Read one attribute's columns off the table that the attack left."""
        prefix = f"{place}|"
        columns = {name.removeprefix(prefix): fates.floats(name) for name in fates.names if name.startswith(prefix)}
        known = ~np.isnan(next(values for name, values in columns.items() if name.startswith(RIGHT)))
        return cls(result, attribute, columns, np.asarray(fates.floats("member") == 1), known, counts)

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to infer the value, in the order of the attack."""
        return tuple(name.removeprefix(RIGHT) for name in self.columns if name.startswith(RIGHT))

    @property
    def right(self) -> Columns:
        """By way, shape (n_units,): is the value inferred?"""
        return {way: self.columns[f"{RIGHT}{way}"] for way in self.ways}

    @cached_property
    def assertion_shares(self) -> Columns:
        """By way, shape (n_units,): how often the value of each member is asserted, see `compute_assertion_shares`."""
        members, shares = self.known & self.member, {}
        for way, right in self.right.items():
            shares[way] = np.zeros(len(self.member))
            sure = self.columns[f"{SURE}{way}"][members]
            shares[way][members] = compute_assertion_shares(sure, right[members] == 1)
        return shares

    def choose_best(self, values: Columns, people: Booleans, less: Booleans | None = None) -> Floats:
        """Shape (n_units,): of each person the value by that way whose mean over some people of the other half is largest.

        So no person has a say in how they are judged themselves. Of several best ways the first counts. less: people whose
        mean, in the other half as well, is subtracted before ways are compared; None: nothing is.
        """
        chosen = np.full(len(self.member), np.nan)
        for half in (0.0, 1.0):
            mine, other = self.columns["half"] == half, self.columns["half"] != half
            gains = {way: _mean(found[people & other]) for way, found in values.items()}
            if less is not None:
                gains = {way: gain - _mean(values[way][less & other]) for way, gain in gains.items()}
            best = max(gains, key=lambda way: gains[way])
            chosen[mine] = values[best][mine]
        return chosen

    def estimate(self, measure: Measure, value: float, interval: Interval, n: int, inside: int) -> Estimate:
        return Estimate(
            measure=measure.name,
            attack=self.result.attack,
            intruder=self.result.intruder,
            attribute=self.attribute,
            value=value,
            low=min(interval.low, value),
            high=max(interval.high, value),
            unit=measure.unit,
            basis="control_group",
            credit_rule="indicator",
            n_targets=n,
            n_in_release=inside,
            counts=self.counts,
        )


def estimate_excess(of: JudgedPeople, part: Booleans | None = None, low_error: float = ERROR) -> Iterator[Estimate]:
    """`inference_excess` of all people or of a part, and `inference_control`.

    Formula in words: the share of members whose value is inferred, less that of people who are not in the release. The way to
    infer it is the one with the largest excess in the other half: one that succeeds more with everybody may tell less of
    the members. part: shape (n_units,). low_error: of the lower bound, smaller where it is one of several that are looked at.
    The control is what `inference_success` stands beside: of the way that does best with members, which may be another one.

    Two-sample bounds (Newcombe): see `difference_interval`. Chance 0. Cost: O(n) for each way.
    Source: docs/SCIENCE.md section 5b. Example: 50 of 100 members and 40 of 100 others: 0.1.
    """
    people = of.known if part is None else of.known & part
    chosen = of.choose_best(of.right, people & of.member, less=people & ~of.member)
    inside, others = chosen[people & of.member], chosen[people & ~of.member]
    if not len(inside) or not len(others):
        return
    yield _compare_people(of, INFERENCE_EXCESS, inside, others, low_error)
    of_best = of.choose_best(of.right, people & of.member)[people & ~of.member]
    control = math.fsum(of_best) / len(of_best)
    yield _take_exact(of.estimate(INFERENCE_CONTROL, control, Interval(control, control), len(others), 0))


def estimate_asserted(of: JudgedPeople, part: Booleans | None = None) -> Estimate:
    """`inference_asserted`: the share of members whose value is asserted, of all or of a part.

    Meaning: an intruder asserts a value where guesses of which they were as sure were right of at least 95 % of 20 or more
    other people (`compute_assertion_shares`, by halves). The way to infer it is the one by which most is asserted in the other
    half.
    Nothing is subtracted: where everybody has the same value, it is asserted of everybody.

    Exact where all people of the release are asked about; else bounds for a mean of a simple random sample.
    Cost: 100 passes over the members for each way.
    """
    people = of.known & of.member & (True if part is None else part)
    return _mean_of_members(of, INFERENCE_ASSERTED, of.choose_best(of.assertion_shares, people)[people])


def estimate_members(of: JudgedPeople) -> Iterator[Estimate]:
    """`inference_success`, `inference_from_original`, `inference_without_target`: shares of members, which decide nothing."""
    members = of.known & of.member
    success = of.choose_best(of.right, members)
    for measure, values in (
        (INFERENCE_SUCCESS, success),
        (INFERENCE_FROM_ORIGINAL, of.columns["original"]),
        (INFERENCE_WITHOUT_TARGET, of.columns["left_out"]),
    ):
        present = values[members & ~np.isnan(values)]
        if len(present):
            found = _mean_of_members(of, measure, present)
            chance = {"chance": _mean(of.columns["guess"][members]), "chance_kind": "majority"}
            yield replace(found, **chance) if measure is INFERENCE_SUCCESS else found  # type: ignore[arg-type]  # by name


def estimate_few(of: JudgedPeople, *, of_file: bool) -> Iterator[Estimate]:
    """`inference_from_few` and `inference_excess_from_few`, from 1, 2, ... attributes (the parameter `inputs`).

    Meaning: a good guess from many attributes may be good use; one from few of them many people can make. See `infer_from_few`
    for the attributes. One half of the people chose them: the figures are of the other half, so that the share has bounds of
    a sample. of_file: is this about this file? Of a rehearsal there is the excess alone.
    """
    rungs = sorted(int(name.removeprefix(FROM)) for name in of.columns if name.startswith(FROM))
    for count in rungs:
        right = of.columns[f"{FROM}{count}"]
        judged = of.known & ~np.isnan(right)
        inside, others = right[judged & of.member], right[judged & ~of.member]
        found = [_mean_of_members(of, INFERENCE_FROM_FEW, inside)] if of_file and len(inside) else []
        found += [_compare_people(of, INFERENCE_EXCESS_FROM_FEW, inside, others)] if len(inside) and len(others) else []
        yield from (replace(figure, parameters=((INPUTS, float(count)),)) for figure in found)


def estimate_agreement(of: JudgedPeople, *, of_file: bool) -> Iterator[Estimate]:
    """`model_agreement` of members (of_file: of a rehearsal it is none of theirs), and of people who are not in the release.

    See `compare_models`. It decides nothing: it rises with the simplicity of the learner.
    """
    agrees = of.columns[AGREES]
    present = ~np.isnan(agrees)
    members, others = agrees[of.known & of.member & present], agrees[of.known & ~of.member & present]
    if of_file and len(members):
        yield _mean_of_members(of, MODEL_AGREEMENT, members)
    if len(others):
        share = math.fsum(others) / len(others)
        yield _take_exact(of.estimate(MODEL_AGREEMENT_CONTROL, share, Interval(share, share), len(others), 0))


def estimate_subgroups(of: JudgedPeople, subgroups: tuple[Subgroup, ...], *, has_asserted: bool) -> Iterator[Estimate]:
    """`subgroup_inference_excess` and `subgroup_inference_asserted` of the parts that are large enough.

    A lower bound of the excess errs in 5 % divided by the number of parts, because a limit is broken if any of them breaks it;
    an upper bound needs no such correction, because all of them have to keep it.
    """
    fewest = of.result.fewest_of_subgroup
    inside = [part for part in subgroups if (part.members & of.known & of.member).sum() >= fewest]
    compared = [part for part in inside if (part.members & of.known & ~of.member).sum() >= fewest]
    for part in compared:
        for figure in estimate_excess(of, part.members, ERROR / len(compared)):
            if figure.measure == INFERENCE_EXCESS.name:
                yield _name_part(figure, SUBGROUP_INFERENCE_EXCESS, part)
    for part in inside if has_asserted else ():
        yield _name_part(estimate_asserted(of, part.members), SUBGROUP_INFERENCE_ASSERTED, part)


def compute_smallest_excess_limit(members: int, others: int) -> float:
    """The smallest limit on `inference_excess` that a release which tells nothing keeps, with so many people.

    Meaning: the upper 95 % bound of an excess of 0 where half of the values are inferred, which makes it widest.
    Example: 755 and 189 people: 0.07.
    """
    return difference_interval(members / 2, members, others / 2, others).high


def _compare_people(of: JudgedPeople, measure: Measure, inside: Floats, others: Floats, low_error: float = ERROR) -> Estimate:
    """The mean of members less that of others, with two-sample bounds."""
    sums = (math.fsum(inside), len(inside), math.fsum(others), len(others))
    within = Interval(difference_interval(*sums, low_error).low, difference_interval(*sums).high)
    value = float(inside.mean() - others.mean())
    found = of.estimate(measure, value, within, len(inside) + len(others), len(inside))
    return replace(found, chance=0.0, chance_kind="uniform_guess")


def _name_part(figure: Estimate, measure: Measure, part: Subgroup) -> Estimate:
    return replace(figure, measure=measure.name, subgroup=f"{part.attribute}: {part.name}")


def _mean_of_members(of: JudgedPeople, measure: Measure, values: Floats) -> Estimate:
    """A mean over members: exact, or of a sample of those in the release. values: of members, or of a random half of them."""
    members = int((of.known & of.member).sum()) if measure is INFERENCE_FROM_FEW else len(values)
    asked = int(of.member.sum())
    population = members if asked == of.result.population else round(members * of.result.population / asked)
    found = of.estimate(measure, math.fsum(values) / len(values), Interval(0.0, 1.0), len(values), len(values))
    if population == len(values):
        return _take_exact(found)
    within = compute_bounded_mean_interval(values, population)
    return replace(found, basis="sampled_targets", low=within.low, high=within.high)


def _take_exact(found: Estimate) -> Estimate:
    return replace(found, basis="exact", low=found.value, high=found.value)


def _create_idle_estimate(result: InferenceResult, secret: InferredAttribute, measure: Measure, counts: Counts) -> Estimate:
    return Estimate(
        measure=measure.name,
        attack=result.attack,
        intruder=result.intruder,
        attribute=secret.name,
        value=None,
        unit=measure.unit,
        basis="control_group",
        status=secret.status,
        reason=secret.reason,
        counts=counts,
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0

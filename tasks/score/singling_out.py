"""How many people the release singles out beyond chance, from what `tasks/attack/singling_out` counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tasks.attack.singling_out.outcomes import ATTACK, IsolationCounts, SinglingOutResult
from tasks.microdata.estimate import Estimate, join_attributes
from tasks.microdata.interval import ERROR, Interval
from tasks.microdata.units import Counts
from tasks.score.measure import Measure
from tasks.score.measures.singling_out import PREDICATES_ISOLATING, SINGLED_OUT, SINGLED_OUT_BY_ANY, SINGLING_OUT
from tasks.score.membership.intervals import difference_interval
from tasks.score.membership.membership_figures import REHEARSED
from tasks.score.policy import DECLARED

MOST_BY_CHANCE = 1 / math.e  # of a predicate: n w (1 - w)^(n - 1) at w = 1/n


def singling_out_figures(results: Iterable[SinglingOutResult], counts: Counts) -> tuple[Estimate, ...]:
    """All figures of singling out. counts: what is counted.

    Of this file: how many people any predicate isolates, and what is below if people are known who are not in it. Of a
    rehearsal, or with those people: for each number of attributes the set that singles out most beyond chance, with its chance,
    and the share of predicates that isolate.
    """
    return tuple(figure for one in results for figure in _estimate(one, counts))


def _estimate(result: SinglingOutResult, counts: Counts) -> Iterator[Estimate]:
    rehearsed = result.evaluates != "this file"
    if result.status != "ok":
        idle = _create_estimate(SINGLING_OUT, result, counts, result.quasi_identifiers, None)
        yield replace(idle, status=result.status, reason=result.reason, n_targets=None)
        return
    if not rehearsed:
        yield replace(estimate_singled_out_by_any(result), counts=counts)
    if not result.others:
        return
    found = [*estimate_singling_out(result), *estimate_singled_out(result), estimate_predicates_isolating(result)]
    yield from (replace(one, counts=counts, reason=REHEARSED if rehearsed else None) for one in found)


def estimate_singling_out(result: SinglingOutResult) -> Iterator[Estimate]:
    """`singling_out` of the worst set of each size.

    Formula in words: the share of people whom predicates over one set of attributes isolate, less the share that the same
    predicates isolate of as many people who are not in the release; for each number of attributes the set where that is
    largest.

    Two-sample bounds (`difference_interval`): the second share is taken for one of as many people as are known who are not in
    the release. The upper bound is the largest of any set of that size. A lower bound errs in 5 % divided by the number of
    sets, because a limit is broken if any of them breaks it. Chance 0.
    Example: 90 of 100 people, by chance 10: 0.8. Source: docs/SCIENCE.md section 5b.
    """
    for worst, group in _choose_worst_sets(result):
        highs = [_find_bounds(result, one).high for one in group]
        value = _compute_excess(result, worst)
        found = _create_estimate(SINGLING_OUT, result, "records", worst.attributes, value)
        low = _find_bounds(result, worst, ERROR / len(result.sets)).low
        yield replace(
            found,
            low=min(low, value),
            high=max(value, *highs),
            chance=0.0,
            chance_kind="uniform_guess",
            basis="control_group",
            n_targets=result.people + result.others,
            n_in_release=result.people,
        )


def estimate_singled_out(result: SinglingOutResult) -> Iterator[Estimate]:
    """`singled_out`, with its chance, of the sets of `estimate_singling_out`, and of all published attributes at once.

    Exact: all people of the source are counted.
    """
    sets = [worst for worst, _ in _choose_worst_sets(result)]
    if result.every is not None and all(set(result.every.attributes) != set(one.attributes) for one in sets):
        sets.append(result.every)
    for one in sets:
        found = _create_estimate(SINGLED_OUT, result, "records", one.attributes, one.isolated / result.people)
        yield replace(found, chance=_compute_chance(result, one))


def estimate_singled_out_by_any(result: SinglingOutResult) -> Estimate:
    """`singled_out_by_any`: the share of people whom at least one predicate over at most three quasi-identifiers isolates."""
    return _create_estimate(SINGLED_OUT_BY_ANY, result, "records", None, result.singled_out / result.people)


def estimate_predicates_isolating(result: SinglingOutResult) -> Estimate:
    """`predicates_isolating`: of the predicates over all sets together the share that isolates one person, and by chance."""
    predicates = sum(one.predicates for one in result.sets)
    value = sum(one.isolating for one in result.sets) / predicates
    chance = min(sum(one.expected or 0.0 for one in result.sets) / predicates, 1.0)
    return replace(_create_estimate(PREDICATES_ISOLATING, result, "records", None, value), chance=chance, n_targets=predicates)


def compute_smallest_singling_out_limits(people: int, others: int) -> tuple[float, float]:
    """The smallest limits on `singling_out` that a release which tells nothing keeps, with so many people.

    Meaning: the upper 95 % bound of an excess of 0, if chance isolates nobody, and if it isolates as many as it can: 1/e of the
    people by the predicates over one set. The fewer people chance isolates, the tighter a limit can be decided.
    Example: 756 and 188 people: 0.004 and 0.066.
    """
    none, most = (difference_interval(rate * people, people, rate * others, others).high for rate in (0.0, MOST_BY_CHANCE))
    return none, most


def _choose_worst_sets(result: SinglingOutResult) -> Iterator[tuple[IsolationCounts, list[IsolationCounts]]]:
    """For each number of attributes the set that singles out most beyond chance (of several the first), and all sets."""
    for size in range(1, result.largest + 1):
        group = [one for one in result.sets if len(one.attributes) == size]
        if group:
            yield max(group, key=lambda one: _compute_excess(result, one)), group


def _compute_chance(result: SinglingOutResult, one: IsolationCounts) -> float:
    return min((one.people_by_chance or 0.0) / result.people, 1.0)


def _compute_excess(result: SinglingOutResult, one: IsolationCounts) -> float:
    return one.isolated / result.people - _compute_chance(result, one)


def _find_bounds(result: SinglingOutResult, one: IsolationCounts, error: float = ERROR) -> Interval:
    by_chance = _compute_chance(result, one) * result.others
    return difference_interval(one.isolated, result.people, by_chance, result.others, error)


def _create_estimate(
    measure: Measure, result: SinglingOutResult, counts: Counts, attributes: tuple[str, ...] | None, value: float | None
) -> Estimate:
    return Estimate(
        measure=measure.name,
        attack=ATTACK,
        intruder=DECLARED,
        attribute=None if attributes is None else join_attributes(attributes),
        value=value,
        low=value,
        high=value,
        unit=measure.unit,
        credit_rule="indicator",
        n_targets=result.people,
        counts=counts,
    )

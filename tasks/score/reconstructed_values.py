"""Figures of what follows from the group means of this release and earlier ones together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tasks.attack.together.value_reconstruction import ReconstructionResult
from tasks.microdata.estimate import Estimate
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import VALUES_APPROXIMATED, VALUES_APPROXIMATED_CONTROL, VALUES_RECONSTRUCTED
from tasks.score.policy import PolicyLine
from tasks.score.verdict import is_about

MEASURED = (VALUES_RECONSTRUCTED, VALUES_APPROXIMATED, VALUES_APPROXIMATED_CONTROL)
NO_SECOND_MEANS = "no earlier release that counts publishes means of the same groups' values, so that nothing follows from both"


def estimate_reconstruction(
    result: ReconstructionResult | None, policy: Iterable[PolicyLine], n_records: int
) -> tuple[Estimate, ...]:
    """Shares of the records of which a masked value follows from several releases, or is estimated closely.

    `values_reconstructed`: the records of which the equations of all group means determine the value, and the estimate is right
    up to half a step of the grid or 5 % of a standard deviation, over all records with a value; of the table: of which at least
    one attribute is so. `values_approximated`: the same whether determined or not; `values_approximated_control`: by this
    release alone. Range [0, 1], exact.

    result: None where no earlier release counts. There are no figures then, but for lines of the policy on
    `values_reconstructed`: what they ask for is 0, because one release alone determines no value. Where an earlier release
    counts whose tables are gone, `values_reconstructed` is a lower bound (`not_followed`). n_records: of the source.
    Source: `tasks.attack.together.value_reconstruction`.

    Example: of 4 records 2 follow: 0.5.
    """
    found = () if result is None else tuple(_estimate_shares(result))
    asked = (
        Estimate(
            measure=line.measure,
            attribute=line.attribute,
            value=0.0,
            low=0.0,
            high=0.0,
            unit="share",
            credit_rule="indicator",
            n_targets=n_records,
            reason=NO_SECOND_MEANS,
        )
        for line in policy
        if line.measure == VALUES_RECONSTRUCTED.name and not any(is_about(one, line) for one in found)
    )
    return _bound_unread(result, (*found, *dict.fromkeys(asked)))


def _estimate_shares(result: ReconstructionResult) -> Iterator[Estimate]:
    table = (result.any_reconstructed, result.any_near, result.any_near_alone)
    for measure, count in zip(MEASURED, table, strict=True):
        yield _create_share(measure, count, result.n, None)
    for one in result.attributes:
        for measure, count in zip(MEASURED, (one.reconstructed, one.near, one.near_alone), strict=True):
            yield _create_share(measure, count, one.n, one.attribute)


def _create_share(measure: Measure, count: int, n: int, attribute: str | None) -> Estimate:
    value = count / n if n else None
    return Estimate(
        measure=measure.name,
        attribute=attribute,
        value=value,
        low=value,
        high=value,
        unit=measure.unit,
        status="ok" if n else "not_applicable",
        reason=None if n else "no record has a value",
        chance=0.0 if measure is VALUES_RECONSTRUCTED else None,
        credit_rule="indicator",
        n_targets=n,
    )


def _bound_unread(result: ReconstructionResult | None, found: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """As lower bounds where a release counts that nobody can read."""
    if result is None or not result.unread:
        return found
    unread = f"{len(result.unread)} earlier release{'s' if len(result.unread) > 1 else ''}"
    reason = f"the tables of {unread} cannot be read any more, and what they tell together with this one is not known"
    return tuple(
        replace(one, status="not_followed", reason=reason, high=1.0)
        if one.measure == VALUES_RECONSTRUCTED.name and one.value is not None
        else one
        for one in found
    )

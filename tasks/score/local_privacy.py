"""Local differential privacy: how little the released categories of one record can tell about its true ones."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.mask.categories.pram import SCALES, Pram
from tasks.mask.categories.promise import Epsilon, compute_record_epsilon, randomisations
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Role, Schema
from tasks.microdata.spec import Spec
from tasks.score.measures.local_privacy import EPSILON
from tasks.score.policy import PolicyLine
from tasks.score.table_pair import RowwiseTablePair

NOT_FINITE = (
    "epsilon is infinite: a released category rules a true one out, a gap shows who has no value, or the probabilities were "
    "computed from the data"
)


def epsilon(tables: RowwiseTablePair) -> tuple[Estimate, ...]:
    """The epsilons of local differential privacy of the PRAM steps: of one record, and of each attribute.

    Meaning: whatever category is released, no true category makes it more than e^epsilon times as probable as another one.
    Formula in words: of one step on one attribute the maximum over the released categories of ln(largest / smallest
    probability) over the true ones (`compute_epsilon`); of an attribute the sum over its PRAM steps; of a record the sum over
    the attributes that PRAM draws anew, where attributes that are drawn together count once. Attributes that no PRAM step masks
    are not in the sum: it is about those steps, never about the release.

    Returns the record's figure first, then one for each attribute; exact, 0 and up; nothing where no step is PRAM. An epsilon
    without bound is `not_applicable` (no number says it), and breaks every limit.
    Cost: O(c^2) for the c categories of each attribute.
    Source: docs/SCIENCE.md section 6; Torra (2026).
    Example: randomised response with epsilon 1 on two attributes has 1 for each, and 2 for a record.
    """
    source, schema, applied = tables.all_records, tables.schema, tables.mechanisms
    whole = compute_record_epsilon(source, schema, applied)
    if whole is None:
        return ()
    of_each = ((one.attribute, one.epsilon) for one in randomisations(source, schema, applied))
    return tuple(_estimate(name, found) for name, found in ((None, whole), *of_each))


def refuse_limit_without_pram(policy: Iterable[PolicyLine], schema: Schema, steps: Iterable[Spec]) -> None:
    """Raises InputError for a limit on the epsilon of what no PRAM step draws anew: no figure would answer it."""
    of_steps = [step for step in steps if isinstance(step, Pram)]
    default = tuple(one.name for one in schema.attributes if one.role is Role.QUASI_IDENTIFIER and one.scale in SCALES)
    drawn = dict.fromkeys(name for step in of_steps for name in step.attributes or default)
    for position, line in enumerate(policy):
        if line.measure == EPSILON.name and (not drawn or (line.attribute is not None and line.attribute not in drawn)):
            of, it = ("this release", "a column") if line.attribute is None else (f"`{line.attribute}`", "it")
            raise InputError(
                code="epsilon-without-pram",
                where=f"policy[{position}]" + (".measure" if line.attribute is None else ".attribute"),
                what=f"{of} has no epsilon, because no step draws {it} anew by PRAM",
                allowed=", ".join(drawn) or "a release with a PRAM step (`sdcert methods mask`)",
                remedy="mask the column by PRAM (`epsilon: 1`, for example), or take the line out",
                value=line.attribute or EPSILON.name,
            )


def _estimate(attribute: str | None, found: Epsilon) -> Estimate:
    unit = EPSILON.unit
    if isinstance(found, str):
        return Estimate(
            measure=EPSILON.name, attribute=attribute, value=None, unit=unit, status="not_applicable", reason=NOT_FINITE
        )
    return Estimate(measure=EPSILON.name, attribute=attribute, value=found, low=found, high=found, unit=unit)

"""People who are alone in the source with what an intruder may know, and whose combination a fully synthetic release shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.microdata.codes import count_units, joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate, join_attributes
from tasks.microdata.schema import Role
from tasks.microdata.spec import Names, Public, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.microdata.units import Units, find_units
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import REPLICATED_UNIQUES, UNIQUES_RELEASED
from tasks.score.table_pair import TablePair

NO_KEY = "no quasi-identifier is published, so that nobody is alone with a combination of them"


class Uniques(Spec):
    """Parameters of both measures of uniques over some quasi-identifiers: what somebody finds who knows no more than these."""

    measure: Public[Literal["uniques_released", "replicated_uniques"]]
    attributes: Public[Names]


@dataclass(frozen=True, slots=True)
class _Classes:
    """Combinations of values in both tables: their codes by record and by row, and how often the release shows each."""

    of_record: Integers
    of_row: Integers
    shown: Integers


def uniques(tables: TablePair, names: tuple[str, ...] | None = None) -> tuple[Estimate, Estimate]:
    """`uniques_released` and `replicated_uniques` over ALL published quasi-identifiers, or over the named ones.

    Meaning: somebody who knows a person's quasi-identifiers, and that nobody else in the source has them, finds rows of just
    this combination in the synthetic table: it looks as if the person stood in it, though no row was made from their record.
    Formula in words: of all people of the source (records; persons where the schema names a person key) the share that have a
    combination of values which nobody else of the source has, and which the release shows in any row; for the second measure
    in exactly one. A missing value is a value of its own, as in k-anonymity.

    Few of coarse attributes are always shown again, and hardly any of fine ones: what is alike in both tables has to be
    equal to the last digit. Nothing follows from a low figure over many numeric attributes.

    Returns shares in [0, 1], exact. `chance` is the same expected for as many rows whose values are drawn column by column
    from the release's own frequencies, each column by itself: what the frequencies alone replicate. A synthesis that
    keeps how attributes go together replicates more than that, without having copied anybody; the chance is no level below
    which, nor the figure above it a proof that, somebody was learned by heart. Not applicable without a quasi-identifier.
    Raises InputError for a name that is no published quasi-identifier.
    Cost: O((n + m) log (n + m)) for each attribute.
    Source: Raab, Nowok and Dibben 2024 (arXiv 2406.16826): UiOiS and repU of synthpop, there in percent of the records too, and
    without a chance level. repU leaves out whom several rows replicate; who looks for them finds them all the same, so that the
    first measure is the more cautious one.

    Example: the release is the source: both are the share of people who are alone in it.
    """
    known = tables.schema.find_by_role(Role.QUASI_IDENTIFIER)
    for name in names or ():
        if name not in known:
            remedy = did_you_mean(name, known, "take it out of the list, or declare its role")
            what, allowed = "uniques are counted over quasi-identifiers", ", ".join(known) or "none"
            raise InputError("not-a-quasi-identifier", "measures: uniques_released.attributes", what, allowed, remedy, name)
    units, attribute = find_units(tables.original, tables.schema), None if names is None else join_attributes(names)
    if not (names or known):
        return _nothing(UNIQUES_RELEASED), _nothing(REPLICATED_UNIQUES)
    classes = _classes(tables, names or known)
    alone = _alone(classes, units)
    independent = _compute_independent_chance(tables, names or known)
    m = tables.masked.n
    any_row, one_row = -np.expm1(m * np.log1p(-independent)), m * independent * (1 - independent) ** (m - 1)
    return (
        _estimate(UNIQUES_RELEASED, units, attribute, alone & (classes.shown[classes.of_record] > 0), alone, any_row),
        _estimate(REPLICATED_UNIQUES, units, attribute, alone & (classes.shown[classes.of_record] == 1), alone, one_row),
    )


def _classes(tables: TablePair, names: tuple[str, ...]) -> _Classes:
    n = tables.original.n
    codes = joint_codes([np.concatenate(tables.codes(name)) for name in names], n + tables.masked.n)
    shown = np.bincount(codes[n:], minlength=int(codes.max()) + 1)
    return _Classes(codes[:n], codes[n:], shown)


def _alone(classes: _Classes, units: Units) -> Booleans:
    """Shape (n,): has nobody but the record's own unit its combination?"""
    return np.asarray(count_units(classes.of_record, units)[classes.of_record] == 1)


def _compute_independent_chance(tables: TablePair, names: tuple[str, ...]) -> Floats:
    """Shape (n,): how likely a row drawn column by column shows a record's values: the product of their shares."""
    product: Floats = np.ones(tables.original.n)
    for name in names:
        before, after = (codes + 1 for codes in tables.codes(name))
        product *= np.bincount(after, minlength=int(before.max()) + 1)[before] / tables.masked.n
    return np.minimum(product, 1 - 1e-12)  # a release of one value throughout: log1p(-1) is no number


def _estimate(
    measure: Measure, units: Units, attribute: str | None, found: Booleans, alone: Booleans, expected: Floats
) -> Estimate:
    """Of a unit with several combinations of its own any of them counts; by chance as if they were independent."""
    hit, missed = np.zeros(units.n_units, dtype=bool), np.zeros(units.n_units)
    hit[units.of_row[found]] = True
    np.add.at(missed, units.of_row[alone], np.log1p(-np.minimum(expected[alone], 1 - 1e-12)))
    share = float(hit.mean())
    return Estimate(
        measure=measure.name,
        attribute=attribute,
        value=share,
        low=share,
        high=share,
        unit=measure.unit,
        chance=float(-np.expm1(missed).mean()) + 0.0,
        chance_kind="independent_columns",
        credit_rule="indicator",
        n_targets=units.n_units,
        counts=units.counts,
    )


def _nothing(measure: Measure) -> Estimate:
    return Estimate(measure=measure.name, value=None, unit=measure.unit, status="not_applicable", reason=NO_KEY)

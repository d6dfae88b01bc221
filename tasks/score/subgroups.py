"""Parts of the targets that are easier to find than the mean says: people with extreme values and in rare categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tasks.microdata.codes import find_first_rows, joint_codes
from tasks.microdata.schema import CATEGORICAL, Attribute, Role, Schema
from tasks.microdata.table import Booleans, Floats, Microdata, encode_jointly
from tasks.microdata.units import Units
from tasks.score.measure import HIGHEST, LOWEST, RARE

TAIL, WIDEST_TAIL = 0.05, 0.10
RARE_BELOW, WIDEST_RARE = 0.05, 0.50
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Subgroup:
    """Some of the units, by the original values of one attribute. members: shape (n_units,)."""

    attribute: str
    name: str
    members: Booleans


def find_subgroups(original: Microdata, schema: Schema, units: Units) -> tuple[Subgroup, ...]:
    """The subgroups of all published quasi-identifiers and confidential attributes.

    Numbers, dates, times and ordinal attributes have a tail at each end: the most extreme values, each with everybody who has
    it, as long as these are at most 5 % of the units that have a value. Where the most extreme value alone has more, it is the
    tail up to 10 %; beyond that there is none: half a table of zeros is no tail.
    Nominal attributes and codes have their rare categories: those that less than 5 % of the units have, taken together, unless
    they are more than half of all units (then being rare is the rule). A missing value is neither extreme nor a category.
    Of persons with several rows the highest value counts for the upper tail, the lowest for the lower, and every category.
    A subgroup of fewer than 10 units is left out: its rate would be about single people.

    Returns them in the order of the table. Their names hold no value. Cost: O(n) for each attribute, and a sort of the tails.
    Example: 100 different ages: the tails are the five lowest and five highest, and are left out, being fewer than ten.
    """
    looked_at = schema.select(schema.find_by_role(Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL))
    found = (subgroup for attribute in looked_at for subgroup in _list_attribute_subgroups(original, attribute, units))
    return tuple(subgroup for subgroup in found if subgroup.members.sum() >= FEWEST)


def _list_attribute_subgroups(original: Microdata, attribute: Attribute, units: Units) -> Iterator[Subgroup]:
    if attribute.scale in CATEGORICAL:
        yield Subgroup(attribute.name, RARE, _flag_rare_category_members(original, attribute.name, units))
        return
    if original.missing(attribute.name).all():
        return
    positions = original.positions(attribute)
    for name, members in zip((LOWEST, HIGHEST), _find_tails(positions, units), strict=True):
        yield Subgroup(attribute.name, name, members)


def _find_tails(positions: Floats, units: Units) -> tuple[Booleans, Booleans]:
    """Shape (n_units,) each: who is among the lowest, and who among the highest. positions: shape (n,), not all missing."""
    if units.n_units < len(units.of_row):  # of persons with several rows
        lowest, highest = np.full((2, units.n_units), np.nan)
        np.fmin.at(lowest, units.of_row, positions)
        np.fmax.at(highest, units.of_row, positions)
    else:
        lowest = highest = np.empty(units.n_units)
        highest[units.of_row] = positions
    n_present = int(np.count_nonzero(~np.isnan(highest)))
    n_looked_at = min(int(WIDEST_TAIL * n_present) + 2, n_present)  # of more equal ones the share is too large
    last = n_present - n_looked_at
    ordered = highest.copy()
    ordered.partition(last)  # NaN comes last
    most = _find_end_of_tail(np.sort(ordered[last:n_present]), n_present)
    if lowest is not highest:
        ordered[:] = lowest
    ordered.partition(n_looked_at - 1)
    least = -_find_end_of_tail(np.sort(-ordered[:n_looked_at]), n_present)
    return np.asarray(lowest <= least), np.asarray(highest >= most)


def _find_end_of_tail(ascending: Floats, n_present: int) -> float:
    """The least value of the upper tail, of the largest ones of `n_present`; NaN where there is no tail."""
    first = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    counts = np.diff(np.append(first, len(ascending)))
    shares = np.cumsum(counts[::-1]) / n_present
    n_values = max(int((shares <= TAIL).sum()), int(shares[0] <= WIDEST_TAIL))
    return float(ascending[first[-n_values]]) if n_values else float("nan")


def _flag_rare_category_members(original: Microdata, name: str, units: Units) -> Booleans:
    (codes,) = encode_jointly(original.column(name))
    there = np.flatnonzero(codes >= 0)
    code, unit = codes[there], units.of_row[there]
    has_one_row = units.n_units == len(codes)
    counted = code if has_one_row else code[find_first_rows(joint_codes([code, unit], len(code)))]
    holders = np.zeros(units.n_units, dtype=bool)
    holders[unit] = True
    rare = np.bincount(counted, minlength=1) < RARE_BELOW * int(np.count_nonzero(holders))
    members = np.zeros(units.n_units, dtype=bool)
    members[unit[rare[code]]] = True
    return members if members.sum() <= WIDEST_RARE * units.n_units else np.zeros_like(members)

"""Attribute disclosure: how near is the masked value to the original one, seen by somebody who found the record?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tasks.microdata.compiled import njit
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import MEASURED, Attribute, Scale
from tasks.microdata.spec import Names, Percent, Public, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Booleans, Floats
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import RANK_INTERVAL_DISCLOSURE, SAME_VALUE_DISCLOSURE, SD_INTERVAL_DISCLOSURE
from tasks.score.sorted_columns import COMPARED, ColumnPair, SortedColumn, find_places
from tasks.score.table_pair import RowwiseTablePair

SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
Percents = Annotated[tuple[Percent, ...], Field(min_length=1)]


class RankIntervalDisclosure(Spec):
    """Parameters of rank interval disclosure.

    p_percent: widths of the interval, in percent of the ranks. attributes: which masked ones; default: all but nominal ones.
    """

    measure: Public[Literal["rank_interval_disclosure"]] = "rank_interval_disclosure"
    p_percent: Public[Percents] = (5.0, 10.0)
    attributes: Public[Names | None] = None


def rank_interval_disclosure(tables: RowwiseTablePair, spec: RankIntervalDisclosure) -> tuple[Estimate, ...]:
    """Share of records whose original value lies within p/2 percent of the ranks on either side of its masked value (rid).

    Meaning: somebody who found the masked record knows the original value up to p/2 percent of all people on either side. The
    masked value is looked up among the sorted ORIGINAL values, and the interval reaches w ranks to both sides.
    Formula in words: with R the n sorted originals, i the place of the masked value in R and w = floor(p n / 200), the record
    is disclosed where its original lies in [R[max(i - w, 0)], R[min(i + w, n - 1)]].
    A masked value that occurs several times in R stands in the middle of its places, one that does not occur between its two
    neighbours. Half places are rounded inwards: the interval begins at the first place not below i - w and ends at the last one
    not above i + w. So with w = 0 a value that occurs discloses the records that have it, however often it occurs, and an
    absent one discloses nothing.

    Missing values: records whose original is missing are left out (there is nothing to disclose); a masked value that is
    missing discloses nothing. Unmasked attributes are not measured: there every record is disclosed.

    Returns one estimate per masked attribute and p, unit `share` in [0, 1], exact. `chance` is the rate over all pairs of an
    original and a masked record: what the same intervals would hold if they were dealt out blindly; about p / 100.
    Raises InputError for a named attribute that is not masked, or nominal.
    Cost: O(n log n).
    Source: Torra (2024), algorithm 7; there and in the slides of 2020 the ends are misprinted as min(i - w, 0) and
    max(i + w, n - 1). Domingo-Ferrer and Torra 2001 define it in words.

    Example: all eight masked values lie below the smallest original: i = -1/2, and p = 12.5 (w = 0) discloses nobody.
    """
    attributes = _choose_attributes(tables, spec, SCALES)
    how = RANK_INTERVAL_DISCLOSURE, LookedUpValues.disclose_within_ranks
    return tuple(one for attribute in attributes for one in _interval_estimates(tables, attribute, spec.p_percent, *how))


class SdIntervalDisclosure(Spec):
    """Parameters of interval disclosure by standard deviations.

    p_percent: half widths of the interval, in percent of the original's standard deviation. 5 is the half width by which
        sdcMicro's dRisk counts, 10 twice as much: two random people of a normal attribute are so near each other with a
        probability of 3 and of 6 percent, so that chance hides little, and nobody calls a value so near unknown.
    attributes: which masked ones; default: all whose differences mean something.
    """

    measure: Public[Literal["sd_interval_disclosure"]] = "sd_interval_disclosure"
    p_percent: Public[Percents] = (5.0, 10.0)
    attributes: Public[Names | None] = None


def sd_interval_disclosure(tables: RowwiseTablePair, spec: SdIntervalDisclosure) -> tuple[Estimate, ...]:
    """Share of records whose original value lies within p percent of a standard deviation around its masked value (sdid).

    Meaning: who found the masked record knows the original value up to that much. Unlike a rank interval it has one width in
    all parts of the distribution: wide where values are dense, narrow in the tails.
    Formula in words: with sd the standard deviation of the n present originals (n - 1), the record is disclosed where
    masked - t <= original <= masked + t, t = p / 100 * sd.

    Missing values: as in `rank_interval_disclosure`. One record alone has no spread: t is 0.

    Returns one estimate per masked numeric, date or time attribute and p, unit `share` in [0, 1], exact. `chance` is the rate
    over all pairs of an original and a masked record: what the same intervals would hold if they were dealt out blindly.
    Raises InputError for a named attribute that is not masked, or whose differences mean nothing.
    Cost: O(n log n).
    Source: Torra (2024), algorithm 8, which leaves open which standard deviation is meant.

    Example: originals 10..80 in steps of 10, masked 20 three times and 60 five times: sd 24.49, p = 50: t = 12.247, six of
    eight disclosed, chance 24 / 64.
    """
    attributes = _choose_attributes(tables, spec, tuple(MEASURED))
    how = SD_INTERVAL_DISCLOSURE, LookedUpValues.disclose_within_deviations
    return tuple(one for attribute in attributes for one in _interval_estimates(tables, attribute, spec.p_percent, *how))


def same_value_disclosure(tables: RowwiseTablePair) -> tuple[Estimate, ...]:
    """Share of records whose masked value is the original one (simple attribute disclosure risk, SADR).

    Meaning: who found the masked record and takes its value at its word is right so often.
    Formula in words: the number of records with equal values over the number of records whose original is present.

    Missing values: as in `rank_interval_disclosure`: a missing original is left out, a missing masked value is not equal.

    Returns one estimate per masked attribute of any scale, unit `share` in [0, 1], exact. `chance` is the rate over all pairs:
    the sum over the values v of (share of v among the originals) * (share of v among all masked records).
    Cost: O(n log n).
    Source: Torra (2024), SADR, there for nominal attributes. It can mislead where the mask changes what a value means.

    Example: a column that the mask left as it was gives 1, with a chance below 1 unless the column is constant.
    """
    return tuple(_same_value_estimate(tables, attribute) for attribute in tables.select_masked_attributes(*Scale))


def _choose_attributes(
    tables: RowwiseTablePair, spec: RankIntervalDisclosure | SdIntervalDisclosure, scales: tuple[Scale, ...]
) -> tuple[Attribute, ...]:
    possible = tables.select_masked_attributes(*scales)
    if spec.attributes is None:
        return possible
    names = [attribute.name for attribute in possible]
    unfit = [name for name in spec.attributes if name not in names]
    if unfit:
        raise InputError(
            code="attribute-not-measurable",
            where=f"measures: {spec.measure}.attributes",
            what=f"{spec.measure} is measured on masked attributes of a fitting scale only",
            allowed=", ".join(names) or "none: no such attribute is masked",
            remedy=did_you_mean(unfit[0], names, "take it out of the list, or mask it"),
            value=unfit[0],
        )
    return tuple(attribute for attribute in possible if attribute.name in spec.attributes)


def _interval_estimates(
    tables: RowwiseTablePair,
    attribute: Attribute,
    widths: tuple[float, ...],
    measure: Measure,
    disclose: Callable[[LookedUpValues, float], tuple[Booleans, float]],
) -> Iterator[Estimate]:
    pair = tables.pair_columns(attribute)
    looked_up = LookedUpValues.create_from_columns(pair) if pair.original.n_present else None
    for p_percent in widths:
        if looked_up is None:
            yield _nothing_to_disclose(measure, attribute.name, (("p_percent", p_percent),))
            continue
        hits, chance = disclose(looked_up, p_percent)
        n_hits = int(np.count_nonzero(hits))
        yield _rate(measure, attribute.name, p_percent, n_hits, pair.original.n_present, chance)


def _rate(measure: Measure, name: str, p_percent: float, n_hits: int, n: int, chance: float) -> Estimate:
    rate = n_hits / n
    return Estimate(
        measure=measure.name,
        attribute=name,
        parameters=(("p_percent", p_percent),),
        value=rate,
        low=rate,
        high=rate,
        unit="share",
        chance=chance,
        chance_kind="all_pairs",
        credit_rule="indicator",
        n_targets=n,
        n_in_release=n,
    )


def sd_interval_hits(original: Floats, masked: Floats, p_percent: float) -> tuple[Booleans, float]:
    """Shape (n,): which records intervals of p percent of a standard deviation disclose, and the share of all pairs they would.

    original: shape (n,), no NaN. masked: shape (n,), NaN discloses nothing.
    """
    pair = ColumnPair(SortedColumn(original), SortedColumn(masked))
    looked_up = LookedUpValues.create_from_columns(pair)
    hits, chance = looked_up.disclose_within_deviations(p_percent)
    return looked_up.spread(hits), chance


def rank_interval_hits(original: Floats, masked: Floats, p_percent: float) -> tuple[Booleans, float]:
    """Shape (n,): which records rank intervals disclose, and the share of all pairs that they would.

    original: shape (n,), no NaN. masked: shape (n,), NaN discloses nothing.
    """
    looked_up = LookedUpValues.create_from_columns(ColumnPair(SortedColumn(original), SortedColumn(masked)))
    hits, chance = looked_up.disclose_within_ranks(p_percent)
    return looked_up.spread(hits), chance


@dataclass(frozen=True, slots=True)
class LookedUpValues:
    """The masked values that are there, ascending, looked up among the sorted originals.

    originals: the n that are there. own, masked: shape (m,), the original value, which may be missing, and the masked one of
    each record whose masked value is not missing, by ascending masked values: what lies in a row then is found and read several
    times as fast.
    rows: the records. below, up_to: shape (m,), how many originals are below each masked value, and how many are not above it.
    """

    originals: SortedColumn
    own: Floats
    masked: Floats
    rows: npt.NDArray[np.int32]
    below: npt.NDArray[np.int32]
    up_to: npt.NDArray[np.int32]

    @property
    def ranked(self) -> Floats:
        """Shape (n,), the sorted originals."""
        return self.originals.ascending

    @classmethod
    def create_from_columns(cls, pair: ColumnPair) -> LookedUpValues:
        rows, own = pair.masked.order, np.empty(pair.masked.n_present)
        _look_up_rows(pair.original.values, rows, own)
        return cls(pair.original, own, pair.masked.ascending, rows, *pair.places)

    def disclose_within_ranks(self, p_percent: float) -> tuple[Booleans, float]:
        """Shape (m,): which records rank intervals disclose, and the share of all pairs that they would."""
        n = len(self.ranked)
        window = int(Fraction(str(p_percent)) * n // 200)
        begins, ends = find_places(self.ranked, self.ranked)
        hits = np.zeros(len(self.own), dtype=bool)
        pairs = _look_within_ranks(self.ranked, begins, ends, self.own, self.below, self.up_to, window, hits)
        return hits, int(pairs) / n**2

    def disclose_within_deviations(self, p_percent: float) -> tuple[Booleans, float]:
        """Shape (m,): which records intervals of p percent of a standard deviation disclose, and the share of all pairs."""
        hits = np.zeros(len(self.own), dtype=bool)
        pairs = _look_within(self.ranked, self.own, self.masked, p_percent / 100 * self.originals.sd, hits)
        return hits, int(pairs) / len(self.ranked) ** 2

    def spread(self, hits: Booleans) -> Booleans:
        """Shape (n,): the hits by record, where all have an original value; of a missing masked value nothing is disclosed."""
        found = np.zeros(len(self.ranked), dtype=bool)
        found[self.rows] = hits
        return found


_COPIED = {"values": "any number, which is only copied", "found": "any number, which is written over"}


@njit(missing=_COPIED, infinite=_COPIED)
def _look_up_rows(values: Floats, rows: npt.NDArray[np.int32], found: Floats) -> None:
    for i in range(len(rows)):
        found[i] = values[rows[i]]


_OWN_MISSING = {"own": "a missing value: of its record nothing is disclosed"}


@njit(missing=_OWN_MISSING, infinite=dict.fromkeys(("ranked", "own"), COMPARED))
def _look_within_ranks(
    ranked: Floats,
    begins: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    own: Floats,
    below: npt.NDArray[np.int32],
    up_to: npt.NDArray[np.int32],
    window: int,
    hits: Booleans,
) -> int:
    """Finds whose own value lies within so many ranks around the middle of the originals that are equal to the masked value.

    begins, ends: shape (n,), where the run of equal originals begins and ends in which each of `ranked` is. hits: shape (m,),
    all False; it takes what is found. Originals equal to an end of an interval count.

    Returns the number of originals within the intervals, summed over all masked values.
    """
    n, pairs = len(ranked), 0
    for i in range(len(own)):
        if np.isnan(own[i]):
            continue
        twice_middle = np.int64(below[i]) + up_to[i] - 1
        first = max(-((2 * window - twice_middle) >> 1), 0)  # half a place is rounded inwards
        last = min((twice_middle + 2 * window) >> 1, n - 1)
        if first < n and last >= 0:
            hits[i] = ranked[first] <= own[i] <= ranked[last]
            pairs += max(ends[last] - begins[first], 0)
    return pairs


@njit(missing=_OWN_MISSING, infinite=dict.fromkeys(("ranked", "own", "masked"), COMPARED))
def _look_within(ranked: Floats, own: Floats, masked: Floats, reach: float, hits: Booleans) -> int:
    """Finds whose own value is at most `reach` away from the masked one. ranked, masked: ascending.

    hits: shape (m,), all False; it takes what is found. Returns the number of originals within reach, summed over all masked
    values.
    """
    n, pairs, begin, end = len(ranked), 0, 0, 0
    for i in range(len(own)):
        if np.isnan(own[i]):
            continue
        low, high = masked[i] - reach, masked[i] + reach
        while begin < n and ranked[begin] < low:
            begin += 1
        while end < n and ranked[end] <= high:
            end += 1
        hits[i] = low <= own[i] <= high
        pairs += end - begin
    return pairs


def _same_value_estimate(tables: RowwiseTablePair, attribute: Attribute) -> Estimate:
    n, n_hits, pairs = _count_same_values(tables, attribute)
    if n == 0:
        return _nothing_to_disclose(SAME_VALUE_DISCLOSURE, attribute.name, ())
    rate = n_hits / n
    return Estimate(
        measure=SAME_VALUE_DISCLOSURE.name,
        attribute=attribute.name,
        value=rate,
        low=rate,
        high=rate,
        unit="share",
        chance=pairs / n**2,
        chance_kind="all_pairs",
        credit_rule="indicator",
        n_targets=n,
        n_in_release=n,
    )


def _count_same_values(tables: RowwiseTablePair, attribute: Attribute) -> tuple[int, int, int]:
    """How many records have an original value, of how many it is the masked one, and of how many pairs of both it is."""
    if tables.compares_as_numbers(attribute):
        pair = tables.pair_columns(attribute)
        below, up_to = pair.places
        pairs = int(_count_equal_pairs(pair.original.present, pair.masked.order, below, up_to))
        return pair.original.n_present, int(np.count_nonzero(pair.original.values == pair.masked.values)), pairs
    original, masked = tables.codes(attribute.name)
    counted = original >= 0
    original, masked = original[counted], masked[counted]
    if not len(original):
        return 0, 0, 0
    frequencies = np.bincount(original, minlength=int(masked.max()) + 1)
    return len(original), int(np.count_nonzero(original == masked)), int(frequencies[masked[masked >= 0]].sum())


@njit
def _count_equal_pairs(
    is_counted: Booleans, rows: npt.NDArray[np.int32], below: npt.NDArray[np.int32], up_to: npt.NDArray[np.int32]
) -> int:
    pairs = 0
    for i in range(len(rows)):
        if is_counted[rows[i]]:
            pairs += np.int64(up_to[i]) - below[i]
    return pairs


def _nothing_to_disclose(measure: Measure, name: str, parameters: tuple[tuple[str, float], ...]) -> Estimate:
    return Estimate(
        measure=measure.name,
        attribute=name,
        parameters=parameters,
        value=None,
        unit="share",
        status="not_applicable",
        reason="every original value is missing: there is nothing to disclose",
    )

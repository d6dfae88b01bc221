"""Attribute disclosure: how near is the masked value to the original one, seen by somebody who found the record?"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import MEASURED, Attribute, Scale
from tasks.microdata.spec import Names, Percent, Public, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import RANK_INTERVAL_DISCLOSURE, SAME_VALUE_DISCLOSURE, SD_INTERVAL_DISCLOSURE
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
    return tuple(_rank_interval_estimate(tables, attribute, p) for attribute in attributes for p in spec.p_percent)


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
    return tuple(_sd_interval_estimate(tables, attribute, p) for attribute in attributes for p in spec.p_percent)


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


def _rank_interval_estimate(tables: RowwiseTablePair, attribute: Attribute, p_percent: float) -> Estimate:
    original, masked = tables.positions(attribute)
    counted = ~np.isnan(original)
    if not counted.any():
        return _nothing_to_disclose(RANK_INTERVAL_DISCLOSURE, attribute.name, (("p_percent", p_percent),))
    hits, chance = rank_interval_hits(original[counted], masked[counted], p_percent)
    return _rate(RANK_INTERVAL_DISCLOSURE, attribute.name, p_percent, hits, chance)


def _sd_interval_estimate(tables: RowwiseTablePair, attribute: Attribute, p_percent: float) -> Estimate:
    original, masked = tables.positions(attribute)
    counted = ~np.isnan(original)
    if not counted.any():
        return _nothing_to_disclose(SD_INTERVAL_DISCLOSURE, attribute.name, (("p_percent", p_percent),))
    hits, chance = sd_interval_hits(original[counted], masked[counted], p_percent)
    return _rate(SD_INTERVAL_DISCLOSURE, attribute.name, p_percent, hits, chance)


def sd_interval_hits(original: Floats, masked: Floats, p_percent: float) -> tuple[Booleans, float]:
    """Shape (n,): which records intervals of p percent of a standard deviation disclose, and the share of all pairs they would.

    original: shape (n,), no NaN. masked: shape (n,), NaN discloses nothing.
    """
    ranked = np.sort(original)
    reach = p_percent / 100 * float(np.std(ranked, ddof=1)) if ranked[0] < ranked[-1] else 0.0
    low, high = masked - reach, masked + reach
    hits = (low <= original) & (original <= high)
    centres = np.sort(
        masked[~np.isnan(masked)]
    )  # of the counts only the sum is asked, and places of sorted values are found fast
    inside = np.searchsorted(ranked, centres + reach, side="right") - np.searchsorted(ranked, centres - reach, side="left")
    return hits, int(inside.sum()) / len(ranked) ** 2


def _rate(measure: Measure, name: str, p_percent: float, hits: Booleans, chance: float) -> Estimate:
    rate = float(hits.mean())
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
        n_targets=len(hits),
        n_in_release=len(hits),
    )


def rank_interval_hits(original: Floats, masked: Floats, p_percent: float) -> tuple[Booleans, float]:
    """Shape (n,): which records rank intervals disclose, and the share of all pairs that they would.

    original: shape (n,), no NaN. masked: shape (n,), NaN discloses nothing.
    """
    ranked = np.sort(original)
    first, last = _window(ranked, masked, p_percent)
    some = first >= 0
    hits = some & (ranked[first] <= original) & (original <= ranked[last])
    begins, ends = _find_runs(ranked)
    pairs = int(np.maximum(ends[last] - begins[first], 0)[some].sum())
    return hits, pairs / len(ranked) ** 2


def _window(ranked: Floats, masked: Floats, p_percent: float) -> tuple[Integers, Integers]:
    """First and last place of each interval in the sorted originals; (-1, -1) where it holds no place."""
    n = len(ranked)
    w = int(Fraction(str(p_percent)) * n // 200)
    order = np.argsort(masked)  # places of sorted values are found several times as fast
    ascending, twice_i = masked[order], np.empty(len(masked), dtype=np.int64)
    twice_i[order] = np.searchsorted(ranked, ascending, side="left") + np.searchsorted(ranked, ascending, side="right") - 1
    first = np.maximum(-((2 * w - twice_i) // 2), 0)  # the half places are rounded inwards
    last = np.minimum((twice_i + 2 * w) // 2, n - 1)
    holds_none = np.isnan(masked) | (first > n - 1) | (last < 0)
    return np.where(holds_none, -1, first), np.where(holds_none, -1, last)


def _find_runs(ranked: Floats) -> tuple[Integers, Integers]:
    """Of each place in sorted numbers: where those that are equal to it begin, and the place after the last of them."""
    new = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    lengths = np.diff(np.append(new, len(ranked)))
    return np.repeat(new, lengths), np.repeat(new + lengths, lengths)


def _same_value_estimate(tables: RowwiseTablePair, attribute: Attribute) -> Estimate:
    original, masked = tables.codes(attribute.name)
    counted = original >= 0
    n = int(counted.sum())
    if n == 0:
        return _nothing_to_disclose(SAME_VALUE_DISCLOSURE, attribute.name, ())
    original, masked = original[counted], masked[counted]
    rate = float((original == masked).mean())
    frequencies = np.bincount(original, minlength=int(masked.max()) + 1)
    return Estimate(
        measure=SAME_VALUE_DISCLOSURE.name,
        attribute=attribute.name,
        value=rate,
        low=rate,
        high=rate,
        unit="share",
        chance=int(frequencies[masked[masked >= 0]].sum()) / n**2,
        chance_kind="all_pairs",
        credit_rule="indicator",
        n_targets=n,
        n_in_release=n,
    )


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

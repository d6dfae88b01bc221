"""The law of one attribute, learned from simulated maskings: what a record's value becomes, by value or by rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.simulated.displacements import DisplacementLaw, estimate_displacements, find_centres
from tasks.attack.simulated.maskings import SimulatedColumn
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.microdata.value_ranks import count_below_and_up_to

FEW_VALUES = 80  # up to so many different ones are taken one by one
PAIRS_OF_A_GROUP = 6_000
MOST_GROUPS = 12
COMPARED = 700  # records by which the forms of a law are compared
FINE = (0.1, 0.7)  # shares of displacements within which the cells of a law may be evenly spaced
JUDGE = 0  # the masking by which laws are compared: they are learned from the others


@dataclass(frozen=True, slots=True)
class ColumnLaw:
    """log P(shown | record) of one attribute, up to a term of the row.

    form: by what (value, rank, logarithm, or the usual image). centre, group: shape (n,), of each record. place: shape (m,), of
    each row; NaN is missing. law: of displacements, place less centre; or a table of logarithms, group x place. missing: shape
    (2, 2): the logarithm of how often what is present or missing is shown as present or missing.
    """

    form: str
    centre: Floats
    group: Integers
    place: Floats
    law: DisplacementLaw | Floats
    own_missing: Booleans
    missing: Floats

    def evaluate(self, records: Integers, rows: Integers) -> tuple[Floats, Floats]:
        """log P, and normal quantiles, of pairs; records and rows are broadcast against each other."""
        return self.evaluate_places(self.centre[records], self.group[records], self.place[rows], self.own_missing[records])

    def evaluate_places(self, centre: Floats, group: Integers, place: Floats, own_missing: Booleans) -> tuple[Floats, Floats]:
        if not isinstance(self.law, DisplacementLaw):
            found = self.law[np.broadcast_arrays(group, place.astype(np.int64))[0], place.astype(np.int64)]
            return found, np.zeros(found.shape)
        gone = np.isnan(place)
        score, normal = self.law.evaluate(np.where(gone, 0.0, place) - centre, group)
        state = self.missing[own_missing.astype(np.int64), gone.astype(np.int64)]
        unknown = gone | own_missing
        return np.where(unknown, state, score + state), np.where(unknown, 0.0, normal)


@dataclass(frozen=True, slots=True)
class LearnedColumn:
    """A law, and the simulated pairs that it was learned from.

    centres, groups: shape (maskings, n), of each record without that masking. places: shape (maskings, n), of its image. gain:
    the mean logarithm of how much likelier a record's own image is than others' (of the judging masking).
    """

    law: ColumnLaw
    centres: Floats
    groups: Integers
    places: Floats
    kept: Booleans
    gain: float = 0.0

    def evaluate_images(self, masking: int, records: Integers, others: Integers) -> tuple[Floats, Floats]:
        """The law of records (first axis) and the images of others in one masking."""
        return self.law.evaluate_places(
            self.centres[masking, records],
            self.groups[masking, records],
            self.places[masking, others],
            self.law.own_missing[records],
        )


def learn_column(column: SimulatedColumn, kept: Booleans) -> LearnedColumn:
    """The law that tells the most records from the others, among several forms.

    Forms: by value, by rank, by logarithm, each as displacements of a centre, alike for all or by groups of records; and one
    probability for each pair of values where there are few. They are compared by what they say of the images of one simulated
    masking: the logarithm of a record's share among others.
    """
    learned = list(_list_forms(column, kept))
    if len(learned) == 1:
        return learned[0]
    there = np.flatnonzero(kept[JUDGE])
    some = there[:: max(len(there) // COMPARED, 1)]
    gains = [_compute_gain(one, some) for one in learned]
    best = int(np.argmax(np.round(gains, 6)))
    return replace(learned[best], gain=gains[best])


def _compute_gain(one: LearnedColumn, some: Integers) -> float:
    score, _ = one.evaluate_images(JUDGE, some[:, None], some[None, :])
    top = score.max(axis=0)
    return float(np.mean(np.diag(score) - top - np.log(np.exp(score - top).mean(axis=0))))


def _list_forms(column: SimulatedColumn, kept: Booleans) -> Iterator[LearnedColumn]:
    there = np.isfinite(column.images)
    if not column.is_ordered:
        yield from _list_tables(column, kept)
        return
    n_values = len(np.unique(column.own)), len(np.unique(column.images[there])) if there.any() else 0
    if max(n_values) <= FEW_VALUES:
        yield from _list_tables(column, kept)
    for form in ("value", "rank", "logarithm"):
        placed = _place(column, form)
        if placed is not None:
            yield from _list_displacements(kept, form, *placed)


def _place(column: SimulatedColumn, form: str) -> tuple[Floats, Floats, Floats] | None:
    """Where values stand: themselves, mid-ranks in their own table as shares, or logarithms, where all have one."""
    own, shown, images = column.own, column.shown, column.images
    if form == "value":
        return own, shown, images
    if form == "logarithm":
        least = min(np.nanmin(one, initial=np.inf) for one in (own, shown, images))
        if least <= 0:
            return None
        return np.log(own), np.log(shown), np.log(images)
    return _rank(own), _rank(shown), np.stack([_rank(one) for one in images])


def _rank(values: Floats) -> Floats:
    present = np.sort(values[~np.isnan(values)])
    below, up_to = count_below_and_up_to(present, values)
    return np.where(np.isnan(values), np.nan, (below + up_to) / 2 / max(len(present), 1))


def _list_displacements(kept: Booleans, form: str, base: Floats, shown: Floats, images: Floats) -> Iterator[LearnedColumn]:
    n = len(base)
    there, own_missing = ~np.isnan(images) & kept, np.isnan(base)
    present = base[~own_missing]
    filled = np.where(own_missing, np.median(present) if len(present) else 0.0, base)
    order = np.argsort(filled, kind="stable")
    n_pairs = int(there.sum())
    most = int(np.clip(n_pairs // PAIRS_OF_A_GROUP, 1, MOST_GROUPS))
    spread = float(np.ptp(np.concatenate([filled, images[there], shown[~np.isnan(shown)]]))) or 1.0
    still = 1e-7 * spread if form != "rank" else 0.25 / n
    missing = np.zeros((2, 2))
    for state in (0, 1):
        gone = np.isnan(images)[kept & (own_missing == state)]
        share = (float(gone.sum()) + 0.5) / (len(gone) + 1)
        missing[state] = np.log([1 - share, share])
    # a record without a value shows anything: as likely as over all that is shown
    missing[1, 0] -= np.log(spread)
    for groups in sorted({1, most}):
        group = np.empty(n, dtype=np.int64)
        group[order] = np.arange(n) * groups // n
        centre, without = find_centres(filled, np.where(there, images, 0.0), there, group)
        usable = there & ~own_missing
        usable[JUDGE] = False
        of_all = np.broadcast_to(group, images.shape)
        for fine in FINE:
            law = estimate_displacements((images - without)[usable], of_all[usable], groups, still, fine)
            column_law = ColumnLaw(form, centre, group, shown, law, own_missing, missing)
            yield LearnedColumn(column_law, without, of_all, images, kept)


def _list_tables(column: SimulatedColumn, kept: Booleans) -> Iterator[LearnedColumn]:
    """One probability for each pair of a value (or of a record's most frequent image) and what is shown for it."""
    n = len(column.own)
    _, codes = np.unique(np.concatenate([column.shown, column.images.ravel()]), return_inverse=True)
    shown, images = codes[: len(column.shown)], codes[len(column.shown) :].reshape(column.images.shape)
    n_codes = int(codes.max(initial=0)) + 1
    _, own = np.unique(column.own, return_inverse=True)
    counts = np.zeros((n, n_codes))
    for masking in range(len(kept)):
        rows = np.flatnonzero(kept[masking])
        counts[rows, images[masking, rows]] += 1
    never = np.zeros(n, dtype=bool)
    if int(own.max(initial=0)) + 1 <= max(n // 5, FEW_VALUES):
        yield _create_table("value", own, np.broadcast_to(own, images.shape), shown, images, kept, n_codes, never)
    if n * n_codes <= 40_000_000:
        usual = counts.argmax(axis=1)
        without = np.empty(images.shape, dtype=np.int64)
        for masking in range(len(kept)):
            less = counts.copy()
            rows = np.flatnonzero(kept[masking])
            less[rows, images[masking, rows]] -= 1
            without[masking] = less.argmax(axis=1)
        yield _create_table("image", usual, without, shown, images, kept, n_codes, never)


def _create_table(
    form: str,
    group: Integers,
    groups: Integers,
    shown: Integers,
    images: Integers,
    kept: Booleans,
    n_codes: int,
    never: Booleans,
) -> LearnedColumn:
    n_groups = int(max(group.max(initial=0), groups.max(initial=0))) + 1
    taught = kept.copy()
    taught[JUDGE] = False
    pairs = groups[taught] * n_codes + images[taught]
    counts = np.bincount(pairs, minlength=n_groups * n_codes).reshape(n_groups, n_codes).astype(np.float64)
    overall = counts.sum(axis=0) + 0.5
    table = np.log(counts + 0.5 * overall / overall.sum()) - np.log(counts.sum(axis=1, keepdims=True) + 0.5)
    law = ColumnLaw(form, np.zeros(len(group)), group, shown.astype(np.float64), table, never, np.zeros((2, 2)))
    return LearnedColumn(law, np.zeros(images.shape), groups, images.astype(np.float64), kept)

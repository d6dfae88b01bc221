"""Was a table that was masked elsewhere made by the declared steps? They are simulated, and the laws of both compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tasks.mask.external_release.released import Aspect, FalseDeclaration
from tasks.mask.external_release.shown_digits import SAME_TO, match_column_types
from tasks.mask.methods import Masking, mask
from tasks.mask.precision_grid import find_precision
from tasks.mask.sampling import Sampling
from tasks.microdata.codes import joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import CATEGORICAL, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly

LEVEL = 1e-6  # the chance that a table is refused that the declared steps made
LEAST_DIFFERENCE = 0.02  # shares that differ by less are alike: programs draw partners and round in their own ways
FEWEST_RECORDS = 20  # of fewer a share says nothing
MOST_MASKINGS, FEWEST_MASKINGS = 60, 12
WANTED_VALUES = 1_000_000  # masked in all maskings together
FEWEST_FOR_SPREAD = 3  # maskings
MOST_CATEGORIES = 30
MOST_TOGETHER = 8  # attributes of which pairs are compared
CUTS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.995)  # quantiles of the simulated displacements
COPIES = (1, 2, 3, 5, 9, 19)  # rows that show the same
_SEED = hashlib.sha256(b"declared steps").digest()  # anybody's: it has nothing to do with that of a release


@dataclass(frozen=True, slots=True)
class _Images:
    """What the records of the source show of one attribute, in the released table and in simulated maskings.

    own: shape (n,). shown: shape (1 + maskings, n): first the released table. kept: the same shape, who has a row. NaN is
    missing. is_ordered: are they positions, or codes of categories?
    """

    name: str
    own: Floats
    shown: Floats
    kept: Booleans
    is_ordered: bool

    @property
    def present(self) -> Booleans:
        return self.kept & ~np.isnan(self.shown) & ~np.isnan(self.own)

    def is_same(self, one: Floats, other: Floats) -> Booleans:
        """Are numbers equal, but for the digits that another program writes?"""
        return np.abs(one - other) <= SAME_TO * np.maximum(np.abs(one), np.abs(other))

    def snap(self) -> Floats:
        """What is shown, each the source's value that it can only be, if there is one."""
        held = np.unique(self.own[~np.isnan(self.own)])
        if not len(held):
            return self.shown
        above = np.clip(np.searchsorted(held, self.shown), 1, max(len(held) - 1, 1)) % len(held)
        below = np.maximum(above - 1, 0)
        nearest = np.where(np.abs(held[below] - self.shown) <= np.abs(held[above] - self.shown), held[below], held[above])
        return np.where(self.is_same(nearest, self.shown), nearest, self.shown)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of records, in the released table and in each simulated masking.

    names: the attributes that they are of. aspect: what they are shares of. counts, totals: shape (s, 1 + maskings).
    """

    names: tuple[str, ...]
    aspect: Aspect
    counts: Integers
    totals: Integers

    @classmethod
    def create_from_records(cls, name: str, aspect: Aspect, *shares: tuple[Booleans, Booleans]) -> _Shares:
        """shares: pairs of shape (1 + maskings, n): which records count, among which."""
        counts = np.array([(which & among).sum(axis=1) for which, among in shares])
        return cls((name,), aspect, counts, np.array([among.sum(axis=1) for _, among in shares]))


def find_false_declaration(
    original: Microdata, released: Microdata, schema: Schema, steps: tuple[Masking, ...], record: Integers
) -> FalseDeclaration | None:
    """The attributes of which a table masked elsewhere does not show what the declared steps produce; None: there is none.

    Meaning: the steps are carried out many times on the source, with seeds of their own, and shares of records are compared:
    how far values move (among all records and by thirds of the values), how many stay, occur in the source, were exchanged in
    pairs, are missing or shared with other rows; of categories, which become which; and how attributes move together.
    Formula in words: a share differs if both a t-test of its arc sine, against the simulated maskings, and a binomial test
    refuse it at 1e-6 divided by the number of shares, and it differs by 0.02 at least. The t-test allows for records that
    depend on each other, the binomial one for rare events.

    original: the source, all columns. released: row i is the released form of record record[i]. steps: resolved. Where records
    are absent and no step left them out, they may have been left out before the steps or after: a table that either explains is
    not refused. Steps that cannot be carried out on the source are not judged.
    Cost: 12 to 60 maskings of the source; one where the steps draw nothing at random. Source: none published.
    Example: a rank swap that is declared as noise: all released values occur in the source, and after noise hardly any.
    """
    names = tuple(name for name in released.names if any(name in step.target_attributes for step in steps))
    if not names:
        return None
    source = _match_columns(original, released)
    left_out = len(record) < original.n and not any(isinstance(step, Sampling) for step in steps)
    scenes = [(source, record)] + ([(source.take(record), np.arange(len(record)))] if left_out else [])
    found = [_judge(table, released, schema, steps, names, rows) for table, rows in scenes]
    return None if None in found else found[0]


def _match_columns(original: Microdata, released: Microdata) -> Microdata:
    """The source with decimals where the released table has decimals."""
    matched = match_column_types(original.select(released.names), released)
    table = original.arrow
    for name in released.names:
        table = table.set_column(original.names.index(name), name, matched.column(name))
    return Microdata(table)


def _judge(
    source: Microdata,
    released: Microdata,
    schema: Schema,
    steps: tuple[Masking, ...],
    names: tuple[str, ...],
    record: Integers,
) -> FalseDeclaration | None:
    number = int(np.clip(WANTED_VALUES // max(source.n * len(names), 1), FEWEST_MASKINGS, MOST_MASKINGS))
    if all(step.randomness == "none" for step in steps):
        number = 1
    precision = find_precision(released, names)
    try:
        done = [mask(source, schema, steps, seed=_SEED, path=(str(i),), precision=precision) for i in range(number)]
    except InputError:
        return None  # whoever follows the steps says so
    tables = [released, *(one.data for one in done)]
    rows = np.full((len(tables), source.n), -1, dtype=np.int64)
    rows[0, record] = np.arange(released.n)
    for row, one in zip(rows[1:], done, strict=True):
        row[one.record] = np.arange(one.data.n)
    if not any(isinstance(step, Sampling) for step in steps):
        rows[1:, rows[0] < 0] = -1
    images = [part for name in names if (part := _create_images(source, tables, rows, schema, name)) is not None]
    shares = [*(one for part in images for one in _list_shares(part)), *_compare_together(images)]
    number_of_shares = sum(len(one.counts) for one in shares)
    differing = [one for one in shares if _differs(one, LEVEL / max(number_of_shares, 1)).any()]
    if not differing:
        return None
    contradicted = {name for one in differing for name in one.names}
    aspects = tuple(dict.fromkeys(one.aspect for one in differing))
    return FalseDeclaration(attributes=tuple(name for name in names if name in contradicted), aspects=aspects)


def _create_images(source: Microdata, tables: list[Microdata], rows: Integers, schema: Schema, name: str) -> _Images | None:
    """None where the steps turn numbers into classes that the released table has no names of."""
    attribute = schema[name]
    is_ordered = attribute.scale not in CATEGORICAL
    if len({table.is_text(name) for table in (source, *tables)}) > 1:
        return None
    if is_ordered:
        try:
            own, *shown = (table.positions(attribute) for table in (source, *tables))
        except TypeError:  # classes that a step has made of values
            is_ordered = False
    if not is_ordered:
        codes = encode_jointly(*(table.column(name) for table in (source, *tables)))
        own, *shown = (np.where(one < 0, np.nan, one).astype(np.float64) for one in codes)
    images = np.stack([np.where(row >= 0, values[np.maximum(row, 0)], np.nan) for values, row in zip(shown, rows, strict=True)])
    return _Images(name, own, images, rows >= 0, is_ordered)


def _list_shares(images: _Images) -> Iterator[_Shares]:
    missing, own_missing = np.isnan(images.shown), np.isnan(images.own)
    among = (images.kept & ~own_missing, images.kept & own_missing)
    yield _Shares.create_from_records(images.name, "missing", *((missing, one) for one in among))
    yield _count_copies((images.name,), [images.shown], images.present)
    if not images.is_ordered:
        yield _count_categories(images)
        return
    present = images.present
    lower, upper = np.nanquantile(images.own, (1 / 3, 2 / 3)) if not own_missing.all() else (0.0, 0.0)
    thirds = (images.own <= lower, (images.own > lower) & (images.own <= upper), images.own > upper)
    groups = [present, *(present & one for one in thirds)]
    moved = np.where(present, images.shown - images.own, np.nan)
    simulated = moved[1:][present[1:]]
    cuts = np.unique(np.quantile(simulated, CUTS)) if len(simulated) else np.empty(0)
    room = SAME_TO * np.fmax(np.abs(images.own), np.abs(images.shown))
    yield _Shares.create_from_records(
        images.name, "displacements", *((moved <= cut + room, one) for cut in cuts for one in groups)
    )
    yield _Shares.create_from_records(images.name, "unchanged", *((np.abs(moved) <= room, one) for one in groups))
    snapped = images.snap()
    yield _Shares.create_from_records(images.name, "source values", (np.isin(snapped, images.own), present))
    yield _Shares.create_from_records(images.name, "exchanges", (_find_exchanged(images.own, snapped, present), present))


def _find_exchanged(own: Floats, shown: Floats, present: Booleans) -> Booleans:
    """Shape (1 + maskings, n): is there another record that has the place of this one's row, and whose row has its place?

    Places in the order of the column, off by one at most.
    """
    found = np.zeros(shown.shape, dtype=bool)
    for row, one in enumerate(present):
        there = np.flatnonzero(one)
        n = len(there)
        order, rank, shown_rank = np.argsort(own[there], kind="stable"), np.empty(n, np.int64), np.empty(n, np.int64)
        rank[order] = np.arange(n)
        shown_rank[np.argsort(shown[row, there], kind="stable")] = np.arange(n)
        for off in (-1, 0, 1):
            partner = order[np.clip(shown_rank + off, 0, n - 1)] if n else order
            mutual = (np.abs(shown_rank[partner] - rank) <= 1) & (partner != np.arange(n))
            found[row, there] |= mutual
    return found


def _count_copies(names: tuple[str, ...], shown: list[Floats], among: Booleans) -> _Shares:
    """How many different rows have so few copies. Rows, for the records that share one are one event of chance."""
    counts = np.zeros((len(COPIES), len(among)), dtype=np.int64)
    for row, one in enumerate(among):
        codes = joint_codes([np.unique(values[row, one], return_inverse=True)[1] for values in shown], int(one.sum()))
        copies = np.bincount(codes)
        counts[:, row] = [((copies > 0) & (copies <= most)).sum() for most in COPIES]
    return _Shares(names, "copies", counts, np.broadcast_to(among.sum(axis=1), counts.shape))


def _count_categories(images: _Images) -> _Shares:
    """What the records of each frequent category show."""
    there = images.present
    pairs = np.broadcast_arrays(images.own, images.shown)
    own, shown = (np.where(there, values, 0).astype(np.int64) for values in pairs)
    size = int(max(own.max(initial=0), shown.max(initial=0))) + 1
    frequent = np.argsort(-np.bincount(own[there], minlength=size), kind="stable")[:MOST_CATEGORIES]
    usual = np.argsort(-np.bincount(shown[there], minlength=size), kind="stable")[:MOST_CATEGORIES]
    tables = [np.bincount(own[row, one] * size + shown[row, one], minlength=size**2) for row, one in enumerate(there)]
    counts = np.stack([table.reshape(size, size)[np.ix_(frequent, usual)] for table in tables], axis=-1)
    totals = np.stack([table.reshape(size, size)[frequent].sum(axis=1) for table in tables], axis=-1)
    flat = counts.reshape(-1, len(there))
    return _Shares((images.name,), "categories", flat, np.repeat(totals, len(usual), axis=0))


def _compare_together(images: list[_Images]) -> Iterator[_Shares]:
    """How attributes move together, two by two, and how many rows are equal in all of them."""
    if len(images) < 2:
        return
    everywhere = np.logical_and.reduce([one.present for one in images])
    yield _count_copies(tuple(one.name for one in images), [one.shown for one in images], everywhere)
    for one, other in combinations(images[:MOST_TOGETHER], 2):
        alike = _find_upward(one) == _find_upward(other)
        found = _Shares.create_from_records(one.name, "together", (alike, one.present & other.present))
        yield replace(found, names=(one.name, other.name))


def _find_upward(images: _Images) -> Booleans:
    """Which values move up more than most simulated ones; of categories, which change."""
    moved: Floats = np.where(images.present, images.shown - images.own, np.nan)
    simulated = moved[1:][images.present[1:]]
    usual = float(np.median(simulated)) if len(simulated) else 0.0
    upward: Booleans = moved > usual if images.is_ordered else moved != 0
    return upward


def _differs(shares: _Shares, level: float) -> Booleans:
    """Shape (s,): which shares of the released table are none that the simulated maskings explain, at a level for each."""
    from scipy.stats import binom

    counts, totals = shares.counts.astype(np.float64), shares.totals.astype(np.float64)
    enough = totals.min(axis=1, initial=np.inf) >= FEWEST_RECORDS
    expected = (counts[:, 1:].sum(axis=1) + 0.5) / (totals[:, 1:].sum(axis=1) + 1)
    found = counts[:, 0] / np.maximum(totals[:, 0], 1)
    by_chance = np.minimum(binom.cdf(counts[:, 0], totals[:, 0], expected), binom.sf(counts[:, 0] - 1, totals[:, 0], expected))
    apart = np.abs(found - expected) >= LEAST_DIFFERENCE
    refused: Booleans = (by_chance <= level / 2) & (_compare_with_spread(counts, totals) <= level / 2)
    return np.asarray(enough & apart & refused, dtype=np.bool_)


def _compare_with_spread(counts: Floats, totals: Floats) -> Floats:
    """Shape (s,): the chance of a share as far from the simulated ones, by their own spread; 0 where they are too few."""
    from scipy.stats import t as student

    angles = np.arcsin(np.sqrt(counts / np.maximum(totals, 1)))
    simulated, n = angles[:, 1:], angles.shape[1] - 1
    if n < FEWEST_FOR_SPREAD:
        return np.zeros(len(counts))
    spread = np.maximum(simulated.std(axis=1, ddof=1), 1e-12) * np.sqrt(1 + 1 / n)
    return np.asarray(student.sf(np.abs(angles[:, 0] - simulated.mean(axis=1)) / spread, n - 1), dtype=np.float64)

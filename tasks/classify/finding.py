"""What all searches for dependences between columns share: columns as codes and numbers, screening, the test against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tasks.microdata.schema import Attribute, Scale, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly

Relation = Literal["copy", "one_to_one", "function_of_masked", "masked_is_function", "rank_correlation", "sum", "linear"]

HOLDS = 0.99  # the share of rows in which a relation has to hold
LUCK = 1e-6
ENOUGH_ROWS = 10
SLACK = 0.04  # what a screened part of the rows may miss of HOLDS
SCREEN_ROWS = 20_000
_LARGEST_HASH = 2**64 - 1
_ENOUGH_HASHES = 2  # times as many of the smallest as are wanted, about, are put in order

Codes = npt.NDArray[np.int32] | Integers


@dataclass(frozen=True, slots=True)
class Dependence:
    """One relation between masked and published unmasked columns.

    share: of the rows that could show the relation, how many do; the size of the rank correlation. identity: the sum in words.
    """

    relation: Relation
    masked: tuple[str, ...]
    unmasked: tuple[str, ...]
    share: float
    identity: str = ""

    def describe(self) -> str:
        masked, unmasked = " and ".join(self.masked), " and ".join(self.unmasked)
        match self.relation:
            case "copy":
                return f"{unmasked} is a copy of {masked} (in {self.share:.2%} of the rows)"
            case "one_to_one":
                return f"{unmasked} is a one-to-one recoding of {masked} (in {self.share:.2%} of the rows)"
            case "function_of_masked":
                return f"{unmasked} is a function of {masked} (in {self.share:.2%} of the rows)"
            case "masked_is_function":
                return f"{masked} is a function of {unmasked} (in {self.share:.2%} of the rows)"
            case "rank_correlation":
                return f"{unmasked} has the order of {masked} (rank correlation {self.share:.4f} in size)"
            case "sum":
                return f"{self.identity} (in {self.share:.2%} of the rows; masked: {masked})"
            case "linear":
                return f"{unmasked} and {masked} are linked by a linear identity (in {self.share:.2%} of the rows)"


@dataclass(frozen=True, slots=True)
class DependenceColumn:
    """One column for the search.

    codes: 0.. for the values, missing -1, in 32 bits where the table has so few rows. mode: the most frequent code.
    has_numbers: False for text without an order. summable: stored as numbers (dates and times as those they count), and not
    constant. calendar: dates, moments or times.
    """

    attribute: Attribute
    values: pa.Array
    codes: Codes
    mode: int
    has_numbers: bool
    summable: bool
    calendar: bool

    @property
    def name(self) -> str:
        return self.attribute.name

    def read_numbers(self, rows: Integers | None = None) -> Floats:
        """The numbers of the given rows, or of all, missing NaN: a fresh array, so that large tables are held once."""
        data = Microdata(pa.table({self.name: self.values if rows is None else self.values.take(pa.array(rows))}))
        return data.positions(self.attribute) if data.is_text(self.name) else data.floats(self.name)


def create_dependence_column(data: Microdata, schema: Schema, name: str) -> DependenceColumn:
    attribute, values = schema[name], data.column(name)
    (codes,) = encode_jointly(values)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    ordered = attribute.scale is Scale.ORDINAL and attribute.order is not None
    is_text = data.is_text(name)
    return DependenceColumn(
        attribute=attribute,
        values=values,
        codes=codes.astype(np.int32) if data.n <= np.iinfo(np.int32).max else codes,
        mode=int(counts.argmax()),
        has_numbers=not is_text or ordered,
        summable=not is_text and len(counts) > 1,
        calendar=data.is_calendar(name),
    )


def screen_rows(n: int) -> Integers:
    """Up to 20,000 rows spread over the table without regard to its order: those with the smallest hash of their number."""
    mixed = np.arange(n, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    few = np.flatnonzero(mixed <= np.uint64(min(_LARGEST_HASH * _ENOUGH_HASHES * SCREEN_ROWS // n, _LARGEST_HASH)))
    few = few if len(few) >= min(SCREEN_ROWS, n) else np.arange(n)
    return few[np.argsort(mixed[few])[:SCREEN_ROWS]].astype(np.int64)  # no two hashes are equal


def share_if_holding(holds: Booleans) -> float | None:
    if len(holds) < ENOUGH_ROWS:
        return None
    share = float(holds.mean())
    return share if share >= HOLDS else None


def is_no_luck(holds: Booleans, chance: float) -> bool:
    """Would rows that hold with at most this chance each, independently, hold so often with chance under one in a million?"""
    if len(holds) == 0 or chance == 0:
        return False
    return bool(log_luck(len(holds), int((~holds).sum()), len(holds), chance) <= np.log(LUCK))


def log_luck(rows: int, errors: int, repeats: int, chance: float) -> float:
    """Logarithm of a bound: (ways to choose the errors among the rows) * chance^(repeats - errors)."""
    ways = errors * (1 + np.log(rows / errors)) if errors else 0.0
    return float(ways + (repeats - errors) * np.log(chance))


def create_dependence(
    relation: Relation, columns: Sequence[DependenceColumn], positions: Sequence[int], n_hidden: int, share: float
) -> Dependence:
    masked = tuple(columns[i].name for i in sorted(positions) if i < n_hidden)
    return Dependence(relation, masked, tuple(columns[i].name for i in sorted(positions) if i >= n_hidden), share)

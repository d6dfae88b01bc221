"""The categories of one attribute, or of several that are drawn together: their combinations, gaps among them, as codes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.words import join_with_and

MOST_CATEGORIES = 1000
MOST_COMBINATIONS = 2000  # a gap counted as one more category of each attribute: the matrix has the square of it


@dataclass(frozen=True, slots=True)
class CategoryCoding:
    """Codes 0..size-1 of the combinations of categories; `size` itself is what is no combination.

    categories: of each of `names`, c_j of them. In the combinations each attribute has c_j + 1 places, the last for a gap, so
    that one attribute has the codes 0..c-1 and c where its value is missing. The last attribute changes fastest.
    """

    names: tuple[str, ...]
    categories: tuple[pa.Array, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many places each attribute has: its categories and the gap."""
        return tuple(len(categories) + 1 for categories in self.categories)

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def codes(self, table: Microdata) -> Integers:
        """Shape (n,): the code of each row; `size` where a value is none of the categories."""
        joint, strange = np.zeros(table.n, dtype=np.int64), np.zeros(table.n, dtype=bool)
        for name, categories in zip(self.names, self.categories, strict=True):
            codes = _codes(table.column(name), categories)
            strange |= codes > len(categories)
            joint = joint * (len(categories) + 1) + codes
        joint[strange] = self.size
        return joint

    def columns(self, codes: Integers) -> tuple[pa.Array, ...]:
        """The values that codes below `size` stand for, one column for each attribute."""
        parts = np.unravel_index(codes, self.sizes)
        return tuple(
            categories.take(pa.array(part, mask=part == len(categories)))
            for part, categories in zip(parts, self.categories, strict=True)
        )

    def texts(self, code: int) -> tuple[str, ...]:
        """The values that one code stands for as a release file writes them; a gap is `missing`."""
        return tuple("missing" if one is None else _as_text(one) for (one,) in (c.to_pylist() for c in self._one(code)))

    def blocks(self) -> list[Integers]:
        """The codes with the same attributes missing, ascending: first those without a gap, last the one of gaps alone."""
        parts = [np.arange(locations) for locations in self.sizes]
        present = [(part[:-1], part[-1:]) for part in parts]
        return [np.ravel_multi_index(np.meshgrid(*chosen, indexing="ij"), self.sizes).ravel() for chosen in product(*present)]

    def _one(self, code: int) -> tuple[pa.Array, ...]:
        return self.columns(np.array([code], dtype=np.int64))


def create_category_coding(schema: Schema, table: Microdata, names: tuple[str, ...], location: str) -> CategoryCoding:
    """The categories of the attributes: their declared order, or the values that occur in the table, ascending.

    Of several attributes all combinations count, not only those that occur: which occur is a fact about the data, and who
    drew among them alone would publish it, and could promise no epsilon.

    location: of the attributes in the release file. Raises InputError for fewer than 2 or more than 1,000 categories, and for
    more than 2,000 combinations (gaps counted as one more category).
    """
    categories = tuple(_categories(schema[name], table, f"{location}: {name}") for name in names)
    coding = CategoryCoding(names, categories)
    if len(names) > 1 and coding.size > MOST_COMBINATIONS:
        what = f"{join_with_and(names)} have {coding.size:,} combinations of categories, a gap counted as one"
        remedy = "draw fewer attributes together, or group their categories in the source"
        raise InputError("combinations", location, what, f"at most {MOST_COMBINATIONS:,} combinations", remedy)
    return coding


def category_texts(categories: pa.Array) -> tuple[str, ...]:
    """Categories as a release file writes them: whole numbers without decimals, `true` and `false`."""
    return tuple(map(_as_text, categories.to_pylist()))


def _categories(attribute: Attribute, source: Microdata, location: str) -> pa.Array:
    found = pc.unique(source.column(attribute.name).drop_null())
    if attribute.order is None:
        found = found.take(pc.sort_indices(found))
    elif len(found) > 1:
        found = pa.array(attribute.order, type=pa.string())
    if not 2 <= len(found) <= MOST_CATEGORIES:
        what = f"`{attribute.name}` has {len(found):,} categories"
        remedy = (
            "take it out of the step" if len(found) < 2 else "group its categories in the source, or take it out of the step"
        )
        raise InputError("categories", location, what, f"2 to {MOST_CATEGORIES:,} categories", remedy)
    return found


def _codes(column: pa.Array, categories: pa.Array) -> Integers:
    """Shape (n,): 0..c-1, c where the value is missing, c + 1 where it is none of the categories."""
    if column.type != categories.type:  # a table that was read from another format
        column = column.cast(categories.type, safe=False)
    index = pc.fill_null(pc.index_in(column, value_set=categories), len(categories) + 1)
    codes = np.array(index.to_numpy(zero_copy_only=False), dtype=np.int64)
    if column.null_count:
        codes[np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)] = len(categories)
    return codes


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)

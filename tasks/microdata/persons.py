"""Tell whether two tables hold rows of the same persons, and which row of one is which row of the other.

A column that identifies rows or persons across versions says it, where both tables have one under the same name. Otherwise
only whole rows do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.alignment import ABSENT
from tasks.microdata.codes import find_first_rows, joint_codes
from tasks.microdata.table import Integers, Microdata, write_plain_texts

WHOLE_ROW = "row:"  # before a digest of the names of its columns: rows of other columns are not compared
KEY_COLUMN = "key:"  # before the name of a column that tells persons apart
DIGEST_BYTES = 8  # two tables of a million rows share one by chance once in 20 million times
_ROWS_AT_ONCE = 1 << 16  # whose texts are in memory
LEAST_SHARE = 0.01  # of the rows of the smaller table: in some columns alone a few strangers agree by chance
ComputeDigest = Callable[[bytes], bytes]


def digest_persons(data: Microdata, columns: Sequence[str], digest: ComputeDigest) -> Microdata:
    """What tells the persons of a table from others, as digests under a key, so that no value can be read or guessed from it.

    columns: those that identify rows or persons, of which the table may lack some. digest: keyed; at least 8 bytes.
    Returns a table with one column of whole numbers for each of `columns` that the table has, missing where its value is; where
    it has none, one column for the whole row, whose digest does not depend on the order of the columns.
    Equal numbers have equal digests, whatever their type, and so have a number and its text.
    Cost: one digest for each distinct value and row; about 5 s for 1,000,000 rows of 10 columns.
    """
    present = [name for name in columns if name in data.names]
    if present:
        return Microdata.from_columns({f"{KEY_COLUMN}{name}": _digest_values(data.column(name), digest) for name in present})
    shape = digest("\n".join(sorted(data.names)).encode()).hex()[:16]
    rows = pa.array(digest_rows(data, data.names, digest), pa.int64())
    return Microdata.from_columns({f"{WHOLE_ROW}{shape}": rows})


def digest_rows(data: Microdata, names: Sequence[str], digest: ComputeDigest) -> Integers:
    """Shape (n,): the keyed digest of each row over some columns with their names."""
    ordered = sorted(names)
    if not ordered:
        return np.zeros(data.n, dtype=np.int64)
    codes, values = zip(*(_encode_texts(data.column(name)) for name in ordered), strict=True)
    joint = joint_codes(codes, data.n)
    first = find_first_rows(joint)
    cells = [
        pa.array([_write_cell(name, text) for text in texts], pa.large_binary())
        for name, texts in zip(ordered, values, strict=True)
    ]
    distinct = np.empty(len(first), dtype=np.int64)
    for begin in range(0, len(first), _ROWS_AT_ONCE):
        rows = first[begin : begin + _ROWS_AT_ONCE]
        written = [of_column.take(pa.array(code[rows])) for of_column, code in zip(cells, codes, strict=True)]
        joined = pc.binary_join_element_wise(*written, pa.scalar(b"", pa.large_binary()))
        distinct[begin : begin + len(rows)] = [_to_number(digest(row)) for row in joined.to_pylist()]
    return distinct[joint]


def count_common_persons(one: Microdata, other: Microdata) -> int | None:
    """How many digests of persons two tables of `digest_persons` share; None where they were not told apart by the same thing.

    Of several common columns the one that shares most counts.
    """
    common = [name for name in one.names if name in other.names]
    if not common:
        return None
    return max(len(np.intersect1d(_list_values(one, name), _list_values(other, name))) for name in common)


def have_common_rows(one: Microdata, other: Microdata) -> bool | None:
    """Do two tables hold the same persons, by their rows over the columns of both? None where they have no common column.

    Rows count that no other row of their table equals, and at least 1 % of the smaller table must be shared: a few strangers
    agree in a few columns by chance.
    """
    names = tuple(name for name in one.names if name in other.names)
    if not names or not min(one.n, other.n):
        return None
    here, there = (_find_single_values(codes) for codes in _encode_rows(one, other, names))
    return len(np.intersect1d(here, there)) > LEAST_SHARE * min(one.n, other.n)


def match_rows(newer: Microdata, older: Microdata, column: str | None = None) -> Integers:
    """Shape (n,): the row of the older table that belongs to the person of each row of the newer one, -1 where none does.

    column: identifies rows or persons, and both tables have it; None: whole rows do, over the columns of both tables.
    Of several rows with one value, or of equal rows, the k-th of the newer table is matched with the k-th of the older one.
    A row whose identifying value is missing is nobody's.
    Cost: O(n log n) for each column. Example: of the keys (7, 7, 9) and (9, 7) the rows are (1, -1, 0).
    """
    names = tuple(name for name in newer.names if name in older.names) if column is None else (column,)
    if not names:
        return np.full(newer.n, ABSENT, dtype=np.int64)
    here, there = _encode_rows(newer, older, names)
    if column is not None:
        here[newer.missing(column)] = ABSENT
        there[older.missing(column)] = ABSENT
    times, others = _number_occurrences(here), _number_occurrences(there)
    most = max(int(times.max(initial=0)), int(others.max(initial=0))) + 1
    asked, known = (np.flatnonzero(codes != ABSENT) for codes in (here, there))
    pairs = (here[asked] * most + times[asked], there[known] * most + others[known])
    _, left, right = np.intersect1d(*pairs, assume_unique=True, return_indices=True)
    found = np.full(newer.n, ABSENT, dtype=np.int64)
    found[asked[left]] = known[right]
    return found


def _number_occurrences(codes: Integers) -> Integers:
    """How many times each code stood before in its array."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.searchsorted(ordered, ordered)
    times = np.empty(len(codes), dtype=np.int64)
    times[order] = np.arange(len(codes)) - first
    return times


def _encode_rows(one: Microdata, other: Microdata, names: tuple[str, ...]) -> tuple[Integers, Integers]:
    """Numbers for the rows of two tables over the same columns: equal rows have equal ones."""
    columns = []
    for name in names:
        (codes, texts), (others, more) = _encode_texts(one.column(name)), _encode_texts(other.column(name))
        numbers = {text: i for i, text in enumerate(dict.fromkeys((*texts, *more)))}
        columns.append(np.r_[_translate(codes, texts, numbers), _translate(others, more, numbers)])
    joint = joint_codes(columns, one.n + other.n)
    return joint[: one.n].copy(), joint[one.n :].copy()


def _translate(codes: Integers, texts: list[bytes | None], numbers: dict[bytes | None, int]) -> Integers:
    return np.array([numbers[text] for text in texts], dtype=np.int64)[codes]


def _find_single_values(codes: Integers) -> Integers:
    values, times = np.unique(codes, return_counts=True)
    return np.asarray(values[times == 1], dtype=np.int64)


def _list_values(table: Microdata, name: str) -> Integers:
    return np.asarray(table.column(name).drop_null().to_numpy(zero_copy_only=False), dtype=np.int64)


def _digest_values(column: pa.Array, digest: ComputeDigest) -> pa.Array:
    codes, texts = _encode_texts(column)
    numbers = [None if text is None else _to_number(digest(text)) for text in texts]
    return pa.array(numbers, pa.int64()).take(pa.array(codes))


def _encode_texts(column: pa.Array) -> tuple[Integers, list[bytes | None]]:
    """Codes of the values of a column, and each distinct value as its plainest text; None for missing."""
    encoded = column.dictionary_encode(null_encoding="encode")
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    return codes, [None if text is None else text.encode() for text in write_plain_texts(encoded.dictionary)]


def _write_cell(name: str, text: bytes | None) -> bytes:
    """A cell with its column so that no two cells are written alike."""
    value = b"" if text is None else b"%d:%b" % (len(text), text)
    return b"%d:%b=%b;" % (len(name.encode()), name.encode(), value)


def _to_number(digest: bytes) -> int:
    return int.from_bytes(digest[:DIGEST_BYTES], "big", signed=True)

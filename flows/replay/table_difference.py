"""How two tables differ, in numbers: how many rows came, went or changed, and in which columns. Never a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.microdata.codes import joint_codes
from tasks.microdata.table import Integers, Microdata, encode_jointly


@dataclass(frozen=True, slots=True)
class RowChange:
    """What became of a table.

    added, removed, changed: rows. columns: those in which a changed row differs, with how many do. columns_added,
    columns_removed, columns_retyped: what the header tells. reordered: the same rows, in another order.
    """

    added: int = 0
    removed: int = 0
    changed: int = 0
    columns: tuple[tuple[str, int], ...] = ()
    columns_added: tuple[str, ...] = ()
    columns_removed: tuple[str, ...] = ()
    columns_retyped: tuple[str, ...] = ()
    reordered: bool = False

    def __str__(self) -> str:
        numbers = (("added", self.added), ("removed", self.removed))
        parts = [f"{_format_count(number, 'row')} {what}" for what, number in numbers if number]
        if self.changed:
            where = ", ".join(f"{name} ({number})" for name, number in self.columns)
            parts.append(f"{_format_count(self.changed, 'row')} changed, in {where}")
        named = (("added", self.columns_added), ("removed", self.columns_removed), ("of another type", self.columns_retyped))
        parts += [f"{_format_count(len(names), 'column', names)} {what}" for what, names in named if names]
        parts += ["the rows are in another order"] if self.reordered else []
        return "; ".join(parts) or "the same rows"


def row_change(old: Microdata, new: Microdata, key: str | None = None) -> RowChange:
    """What became of a table, its rows matched by a key or, where there is none that tells rows apart, by what they hold.

    Without a key, a row in which one cell changed is told from a row removed and another added only where the two tables are
    as long as each other and differ at as many places as they have rows that the other lacks.
    About 0.1 s a column for 1,000,000 rows.
    """
    types = {name: new.arrow.schema.field(name).type for name in new.names}
    common = [name for name in old.names if types.get(name) == old.arrow.schema.field(name).type]
    header = RowChange(
        columns_added=tuple(name for name in new.names if name not in old.names),
        columns_removed=tuple(name for name in old.names if name not in new.names),
        columns_retyped=tuple(name for name in old.names if name in types and name not in common),
    )
    columns = {name: encode_jointly(old.column(name), new.column(name)) for name in common}
    matched = _match_by_key(columns[key]) if key in columns else None
    if matched is None:
        matched = _match_by_content(columns.values(), old.n, new.n)
    return _count_changes(header, columns, *matched)


Matched = tuple[Integers, Integers, int, int]  # rows of the old and of the new that belong together, removed, added


def _count_changes(
    header: RowChange, columns: dict[str, tuple[Integers, ...]], before: Integers, after: Integers, removed: int, added: int
) -> RowChange:
    differs = {name: old[before] != new[after] for name, (old, new) in columns.items()}
    counts = tuple((name, int(found.sum())) for name, found in differs.items() if found.any())
    changed = int(np.logical_or.reduce([*differs.values(), np.zeros(len(before), dtype=bool)]).sum())
    reordered = not (changed or added or removed) and not np.array_equal(before, after)
    return replace(header, added=added, removed=removed, changed=changed, columns=counts, reordered=reordered)


def _match_by_key(codes: tuple[Integers, ...]) -> Matched | None:
    """Rows with the same key; None where a key is missing or repeated."""
    old, new = codes
    if any((one < 0).any() or len(np.unique(one)) < len(one) for one in codes):
        return None
    _, before, after = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    return before, after, len(old) - len(before), len(new) - len(after)


def _match_by_content(columns: Iterable[tuple[Integers, ...]], n_old: int, n_new: int) -> Matched:
    """Equal rows belong together; what is left at the same places of two tables of one length was changed."""
    codes = joint_codes(map(np.concatenate, columns), n_old + n_new)
    old, new = codes[:n_old], codes[n_old:]
    if n_old == n_new and 0 < np.count_nonzero(old != new) == _missing(old, new):
        rows = np.arange(n_old, dtype=np.int64)
        return rows, rows, 0, 0
    before, after = _pair_equal_rows(old, new)
    return before, after, n_old - len(before), n_new - len(after)


def _missing(old: Integers, new: Integers) -> int:
    """How many rows of the old table the new one lacks, each counted as often as it is lacking."""
    size = int(max(old.max(initial=0), new.max(initial=0))) + 1
    return int(np.maximum(np.bincount(old, minlength=size) - np.bincount(new, minlength=size), 0).sum())


def _pair_equal_rows(old: Integers, new: Integers) -> tuple[Integers, Integers]:
    """Rows with equal codes, paired one to one: the first with the first, the second with the second."""
    most = max(len(old), len(new)) + 1
    earlier, later = (codes * most + _occurrence(codes) for codes in (old, new))
    _, before, after = np.intersect1d(earlier, later, assume_unique=True, return_indices=True)
    return before, after


def _occurrence(codes: Integers) -> Integers:
    """How many equal codes stand before each."""
    order = np.argsort(codes, kind="stable")
    in_order = codes[order]
    occurrence = np.empty(len(codes), dtype=np.int64)
    occurrence[order] = np.arange(len(codes)) - np.searchsorted(in_order, in_order, side="left")
    return occurrence


def _format_count(number: int, thing: str, names: Sequence[str] = ()) -> str:
    text = f"{number:,} {thing}{'' if number == 1 else 's'}"
    return f"{text} ({', '.join(names)})" if names else text

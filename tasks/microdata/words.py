"""Write lists in words: `a, b and c`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def join_with_and(names: Iterable[str]) -> str:
    """`a, b and c`."""
    all_names = tuple(names)
    return " and ".join(filter(None, [", ".join(all_names[:-1]), *all_names[-1:]]))


def join_first(names: Sequence[str], most: int) -> str:
    """`a, b, c and 2,997 more`: the first `most` names, and how many there are besides."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

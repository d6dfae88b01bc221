"""Lists in words."""

from __future__ import annotations

from collections.abc import Iterable


def listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    all_names = tuple(names)
    return " and ".join(filter(None, [", ".join(all_names[:-1]), *all_names[-1:]]))

"""Suggest the name that somebody probably meant who wrote one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import PurePath

_LIKE_STEMS = 0.7


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """`did you mean `x`?` for the nearest known name, ignoring case; `otherwise` where none is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[near[0]]}`?" if near else otherwise


def did_you_mean_file(name: str, beside: Iterable[str], otherwise: str) -> str:
    """As `did_you_mean`, of the names of files: names that share little but their suffix are not alike.

    Example: `surevy.csv` is near `survey.csv`, and `nosuch.yaml` is not near `census.yaml`.
    """
    stem = PurePath(name).stem.lower()
    near = [one for one in beside if difflib.get_close_matches(stem, [PurePath(one).stem.lower()], cutoff=_LIKE_STEMS)]
    return did_you_mean(name, near, otherwise)

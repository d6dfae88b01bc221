"""The word of a verdict wherever it is shown. Light to import: the commands that list things need it."""

from __future__ import annotations

from collections.abc import Iterable

CERTIFIED = "certified"


def format_verdict(verdict: str, exceptions: Iterable[str]) -> str:
    """The verdict as it is shown: a certified release names what it excepts.

    Example: `certified`, `certified except membership, transparency`, `refused`.
    """
    named = ", ".join(exceptions)
    return f"{verdict} except {named}" if named and verdict == CERTIFIED else verdict


def capitalise_verdict(word: str) -> str:
    """The verdict in capitals; what it excepts keeps its own letters: `CERTIFIED EXCEPT membership`."""
    verdict, excepting, names = word.partition(" except ")
    return f"{verdict}{excepting}".upper() + names

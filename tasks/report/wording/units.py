"""What the units of a table are called: persons, unless `context.unit` of the release file says otherwise."""

from __future__ import annotations

import re

_PEOPLE = re.compile(r"\b(a )?(person|persons|people)\b", re.IGNORECASE)
_WITH_AN = re.compile(r"[aeiou]", re.IGNORECASE)


def substitute_unit(text: str, unit: str | None) -> str:
    """A text of ours on persons, said of the units of the table; for texts in which no name of a column stands.

    Example: "the risk of the person who is easiest to find" with the unit `company`: "the risk of the company who ...".
    """
    if unit is None:
        return text

    def replace_match(found: re.Match[str]) -> str:
        article, word = found[1] or "", found[2]
        name = unit if word.lower() == "person" else plural(unit)
        name = name[:1].upper() + name[1:] if word[0].isupper() else name
        return f"{'an ' if article and _WITH_AN.match(name) else article}{name}"

    return _PEOPLE.sub(replace_match, text)


def add_article(unit: str) -> str:
    """Example: a person; an enterprise."""
    return f"{'an' if _WITH_AN.match(unit) else 'a'} {unit}"


def plural(unit: str) -> str:
    """Example: company, companies; household, households; branch, branches."""
    if re.search(r"[^aeiou]y$", unit):
        return f"{unit[:-1]}ies"
    return f"{unit}es" if re.search(r"(s|x|z|ch|sh)$", unit) else f"{unit}s"

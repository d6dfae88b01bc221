"""Names and texts as MLflow takes them, and the figures that are told there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tasks.microdata.escaping import escape_terminal
from tasks.microdata.estimate import Estimate

LONGEST_NAME = 250
LONGEST_PARAMETER = 6000
AT_LEAST = "|at_least"
_FORBIDDEN = re.compile(r"[^\w\-. :]|:(?=[0-9a-f]*(?:[^\w\-. ]))")
_MARKUP = re.compile(r"[\\`*_{}\[\]<>&!#|~@$:]|(?<=www)\.", re.IGNORECASE)  # MLflow makes a link of `www.` too


def metrics(estimates: Iterable[Estimate]) -> Iterable[tuple[str, float]]:
    """Name and value of every figure that has one; the bounds beside it where the figure was sampled.

    A lower bound is called so (`AT_LEAST`): nobody can compare it with a figure by taking it for one.
    """
    found: dict[str, float] = {}
    for estimate in estimates:
        name = AT_LEAST * estimate.is_lower_bound
        for suffix, value in ((name, estimate.value), ("|low", estimate.low), ("|high", estimate.high)):
            if value is not None and (suffix == name or value != estimate.value):
                found[estimate.id + suffix] = value
    return ((name, found[one]) for one, name in name_distinctly(found).items())


def encode_name(name: str) -> str:
    """A name that people type and that MLflow takes: the parts of `a|b` with a dot between them.

    What MLflow forbids is `:hex:`: every character but letters and digits of any language, `_-. :` (`/` makes folders), a
    dot at the start, and a colon that could be taken for the beginning of such a code. A name that would be too long ends in
    its digest. Two that differ in more than dots and bars stay different; `name_distinctly` sees to the others.
    """
    joined = _FORBIDDEN.sub(lambda found: f":{ord(found[0]):x}:", name.replace("|", "."))
    if joined.startswith("."):
        joined = f":2e:{joined[1:]}"
    if not joined:
        return "::"
    return joined if len(joined) <= LONGEST_NAME else _shorten_name(joined, name)


def name_distinctly(names: Iterable[str]) -> dict[str, str]:
    """The encoded name of each: the second of two that would be the same (a column called `a.b`) ends in its digest."""
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        code = encode_name(name)
        given[name] = _shorten_name(code, name) if code in taken else code
        taken.add(given[name])
    return given


def _shorten_name(code: str, name: str) -> str:
    return f"{code[:180]}:{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()}:"


def flatten_parameters(content: Any) -> Iterable[tuple[str, str]]:
    """The leaves of a nested structure as (`masking.0.k`, text)."""
    leaves = dict(_list_leaves(content, ""))
    return ((name, leaves[one]) for one, name in name_distinctly(leaves).items())


def _list_leaves(content: Any, name: str) -> Iterable[tuple[str, str]]:
    if not isinstance(content, Mapping | list | tuple):
        text = content if isinstance(content, str) else json.dumps(content)
        yield name, text if len(text) <= LONGEST_PARAMETER else f"{text[: LONGEST_PARAMETER - 20]} ... (cut)"
        return
    for key, child in content.items() if isinstance(content, Mapping) else enumerate(content):
        inside = str(key).replace("~", "~0").replace("|", "~1")  # a key may be any text: it is one part, as in an id
        yield from _list_leaves(child, f"{name}|{inside}" if name else inside)


def escape_markdown(text: str) -> str:
    """The text as MLflow's Markdown shows it as it is: a name of a column in it is no link, no picture and no HTML."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", escape_terminal(text))

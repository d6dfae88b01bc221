"""Names of attacks, intruders and methods as they stand in a sentence."""

from __future__ import annotations

import re

from tasks.attack.methods import ATTACKS
from tasks.attack.threat import is_on_knowledge_curve
from tasks.report.charts.knowledge import parse_attribute_count
from tasks.report.content import extract_extra_knowledge, parse_external_file

_CODE_NAMES = {
    "distance_linkage": "distance-based linkage",
    "rank_swapping": "rank swapping",
    "rank_jitter": "rank jitter",
    "reverse_mapping": "reverse mapping",
    "pram": "PRAM",
    "quasi_identifier": "quasi-identifier",
    "quasi_identifiers": "quasi-identifiers",
}
_CODE_NAME = re.compile(rf"\b({'|'.join(_CODE_NAMES)})\b")


def attack_title(method: str) -> str:
    kind = ATTACKS.get(method)
    return method.replace("_", " ").capitalize() if kind is None else kind.about.title


def attack_named(attack: str | None) -> str:
    """An attack within a sentence, by its id: `transparency attack`."""
    method, _, earlier = (attack or "").partition(":")
    if earlier and method in ATTACKS:
        return f"attack on the rows of the earlier release {earlier}"
    known = ATTACKS.get(attack or "")
    return f"attack \u201c{attack}\u201d" if known is None else known.about.title[:1].lower() + known.about.title[1:]


def intruder_in_words(intruder: str) -> str:
    """Who attacked: the declared intruder, one who knows one attribute more, or one who holds an external file."""
    extra, file = extract_extra_knowledge(intruder), parse_external_file(intruder)
    if file:
        return f"holder of the external file{'s' if '+' in file else ''} {file.replace('+', ' and ')}"
    if is_on_knowledge_curve(intruder):
        return f"somebody who knows {parse_attribute_count(intruder)} of the declared intruder's attributes"
    return f"insider who also knows {extra}" if extra else "declared intruder"


def expand_code_names(text: str) -> str:
    """A text of an earlier stage with the code names of methods and roles written out."""
    return _CODE_NAME.sub(lambda found: _CODE_NAMES[found[1]], text)


def capitalise(text: str) -> str:
    """A text with a capital first letter, the others as they are."""
    return text[:1].upper() + text[1:]


def end_as_sentence(text: str) -> str:
    """A reason of an earlier stage as a sentence: `The file is empty.`"""
    return f"{capitalise(expand_code_names(text))}."

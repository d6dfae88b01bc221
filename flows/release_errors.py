"""Messages on a release file, brought nearer to the field that they speak of."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tasks.mask.control import FEWEST, LARGEST_SHARE
from tasks.microdata.document import Document, Path_, read_document, value_at
from tasks.microdata.errors import InputError

WHOLE_FILE = "(the whole file)"
_WORD = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*")
_LISTS = ("attacks", "membership", "measures")  # of parts that a message may name by their own names
_NAMES = ("method", "measure", "id")
# As pydantic says it; what is allowed stands in a line of its own.
_UNKNOWN = re.compile(r"input tag '([^']*)' found using '(\w+)' does not match any of the expected tags: [^()]*[^() ]")
_NO_SHARE = re.compile(r"(?:input should be (?:less|greater)|a number is expected)[^()]*[^() ]")
_SHARE = f"a share above 0 and less than or equal to {LARGEST_SHARE:g}, of {FEWEST} records or more, or a table: {{table: ...}}"
_SYNTHETIC = "if the table is fully synthetic, say so (`released: {table: ..., align: none}`); else name one of these"


def refine_error(error: InputError, path: Path) -> InputError:
    """The error with the line of the field that it means instead of the whole file, and with the way out that it lacks.

    Meaning: what does not fit together is told of the file as a whole; the first field of the file that the message names is
    where its author looks. A message that names none keeps its place.
    Example: a file with `seed: 1` on line 7: `release.yaml, line 7: seed`.
    """
    if error.code == "measure-of-nobody":
        error = replace(error, remedy=_SYNTHETIC)
    error = _shorten_message(error)
    if not error.where.endswith(WHOLE_FILE):
        return error
    document = read_document(path)
    places = (_place(word, document) for word in _WORD.findall(error.what))
    found = next((place for place in places if place is not None), None)
    return error if found is None else replace(error, where=document.where(found))


def _shorten_message(error: InputError) -> InputError:
    """An unknown method, and a `control` out of range, without what is allowed, which the error says besides.

    Example: `release.model.learner: unknown method `random_forrest``.
    """
    if error.where.endswith(": control") and _NO_SHARE.search(error.what):
        return replace(error, what=_NO_SHARE.sub("no share that can be set aside", error.what), allowed=_SHARE)
    if _UNKNOWN.search(error.what) is None:
        return error
    return replace(error, what=_UNKNOWN.sub(r"unknown \2 `\1`", error.what), allowed=error.allowed.replace("'", ""))


def _place(word: str, document: Document) -> Path_ | None:
    """Where the file has this field, or a part of this name; None: nowhere."""
    field = tuple(word.split("."))
    if field in document.lines:
        return field
    named = (place for place in document.lines if place and place[0] in _LISTS and place[-1] in _NAMES)
    return next((place for place in named if value_at(document.content, place) == word), None)

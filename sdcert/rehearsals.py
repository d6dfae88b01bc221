"""The release file that a rehearsal stands for: what is given as arguments is read as a release file is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from flows.release import ReleaseSpec
from flows.release_file import load_release_document
from tasks.microdata.document import Document
from tasks.microdata.errors import InputError

Content = dict[str, Any]  # of a release file, as it would be written
_ANY_LIMIT = [{"measure": "k_anonymity", "at_least": 1.0}]  # a release file has a policy; a rehearsal gets its own later


def create_release_content(declare: Mapping[str, Any] | None, **fields: Any) -> Content:
    """What a release file would say of a data frame.

    declare: its `attributes`. fields: others; those that are None are left out.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    named = {"name": "rehearsal", "source": {"table": "data frame"}, "not_for_publication": True, "policy": _ANY_LIMIT}
    return {**named, **({} if declare is None else {"attributes": declare}), **given}


def create_rehearsed_release(call: str, content: Content) -> ReleaseSpec:
    """The release of a file with this content; InputError as of a release file, with the function that was called as its place.

    call: the name of that function.
    """
    written = to_plain(content, call)
    with relocate_to_call(call):
        return load_release_document(Document(Path(call), written, {}))


@contextmanager
def relocate_to_call(call: str) -> Iterator[None]:
    """Errors name the function that was called in place of a file and its line."""
    try:
        yield
    except InputError as error:
        raise replace(error, where=error.where.replace(f"{call}, line 1: ", f"{call}: ", 1)) from None


@contextmanager
def compute_as_stages_do() -> Iterator[None]:
    """With one thread for each native library, as the stages compute: sums of products come out otherwise on two."""
    with threadpool_limits(limits=1):
        yield


def to_plain(value: Any, call: str) -> Any:
    """The value as a YAML file would give it: NumPy's numbers as numbers, tuples as lists. InputError for anything else."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if hasattr(value, "tolist"):
        return to_plain(value.tolist(), call)
    match value:
        case str():
            return str(value)
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): to_plain(part, call) for key, part in value.items()}
        case Sequence() | set() | frozenset():
            return [to_plain(part, call) for part in value]
    what, allowed = "a parameter is nothing that a release file can hold", "texts, numbers, true/false, lists and mappings"
    raise InputError("parameter", call, what, allowed, "convert it", value=type(value).__name__)


def refuse_fields(call: str, given: Iterable[str], refused: Mapping[str, str]) -> None:
    """InputError for a field that a rehearsal does not take. refused: by field why not."""
    for name in given:
        if name in refused:
            remedy = "take it out, or write a release file and certify it: `sdcert.certify(...)`"
            raise InputError("not-rehearsed", f"{call}: {name}", refused[name], "the other fields", remedy, value=name)

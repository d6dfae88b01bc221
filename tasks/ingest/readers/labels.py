"""The codebook inside a data file of SPSS, Stata or SAS, as pyreadstat hands it over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tasks.ingest.codebooks.categories import Category
from tasks.ingest.codebooks.codebook_file import Codebook, CodebookEntry

_LONGEST = 300


def create_codebook(meta: Any, names: Sequence[str], label: str) -> Codebook:
    """Labels of variables and values. Codes that the file calls missing are missing codes; their labels are the reasons."""
    return Codebook(label, tuple(_entry(meta, name) for name in names if len(name) <= _LONGEST))


def is_called_missing(value: object, name: str, meta: Any) -> bool:
    """Is a stored value one that the file calls missing: a tag (.a) in a column of numbers, or a value in a missing range?"""
    if isinstance(value, str) and meta.readstat_variable_types.get(name) != "string":
        return True
    return value is not None and any(_inside(value, span) for span in meta.missing_ranges.get(name, ()))


def _inside(value: Any, span: dict[str, Any]) -> bool:
    if isinstance(value, str) or isinstance(span["lo"], str):
        return bool(value == span["lo"])
    return bool(span["lo"] <= value <= span["hi"])


def _entry(meta: Any, name: str) -> CodebookEntry:
    labels = {value: text for value, text in (meta.variable_value_labels.get(name) or {}).items() if _writable(value)}
    listed = [value for value in _discrete_missing(meta, name) if value not in labels]
    missing = [value for value in (*labels, *listed) if is_called_missing(value, name, meta)]
    valid = [value for value in labels if value not in missing]
    return CodebookEntry(name=name, label=meta.column_names_to_labels.get(name) or None,
                 categories=_categories(valid, labels) or None, missing=_categories(missing, labels))  # fmt: skip


def _discrete_missing(meta: Any, name: str) -> Iterator[Any]:
    yield from (span["lo"] for span in meta.missing_ranges.get(name, ()) if span["lo"] == span["hi"])
    yield from meta.missing_user_values.get(name, ())


def _categories(values: Sequence[Any], labels: dict[Any, str]) -> tuple[Category, ...]:
    return tuple(Category(code=_code(value), label=labels.get(value) or None) for value in values)


def _writable(value: object) -> bool:
    return not isinstance(value, str) or 0 < len(value) <= _LONGEST


def _code(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

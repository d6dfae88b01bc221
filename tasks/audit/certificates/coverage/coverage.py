"""Find what the certificate of a table does not cover in its file: comments, metadata, labels, members of an archive.

The table is compared by its values. A file can hold more than its table: comments, metadata, labels, members of an archive that
no directory lists. What is named here is whatever cannot be shown to be the table or to carry nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tasks.audit.certificates.coverage.packing import list_unexplained_packing
from tasks.audit.certificates.coverage.parquet_file import list_unexplained_parquet
from tasks.audit.certificates.coverage.statistical_file import list_unexplained_statistical
from tasks.ingest.readers.raw import RawTable

_SURE_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252")
_BLANK_LINES = re.compile(r"\A[\r\n]|(\r\n|\n|\r(?!\n))[\r\n]+\Z")
_MOST = 20


def list_uncovered(content: bytes, plain: bytes, raw: RawTable, names: tuple[str, ...]) -> tuple[str, ...]:
    """What the file holds beside its table, in words; empty where every byte is accounted for.

    Parameters
    ----------
    content, plain: the bytes of the file, and of what is packed in it (the same where nothing is). raw: the table as read.
    names: what a file may be called that is packed inside, without its ending.
    """
    found = list(list_unexplained_packing(content, names)) if plain is not content else []
    found += _examine(plain, raw)
    return (*found[:_MOST], f"{len(found) - _MOST} more of the kind") if len(found) > _MOST else tuple(found)


def list_stems(*names: str) -> tuple[str, ...]:
    """Names of files without their endings, one by one: `a.csv.gz`, `a.csv`, `a`."""
    found: dict[str, None] = {}
    for name in names:
        path = Path(name).name
        while path not in found:
            found[path] = None
            path = Path(path).stem
    return tuple(found)


def _examine(plain: bytes, raw: RawTable) -> list[str]:
    if raw.format == "csv":
        return list(_list_unexplained_text(plain, raw))
    kind, examine = (
        ("Parquet", list_unexplained_parquet) if raw.format == "parquet" else (raw.format, list_unexplained_statistical)
    )
    try:
        return list(examine(plain))
    except Exception:  # a spoiled file can make a parser throw anything: then nothing is known of what else it holds
        return [f"what a file of {kind} holds beside its values: its structure is not understood"]


def _list_unexplained_text(plain: bytes, raw: RawTable) -> Iterator[str]:
    """A text table is its header and its rows, which were compared, unless lines stand before or behind them."""
    if raw.encoding not in _SURE_ENCODINGS:
        yield f"its encoding is a guess ({raw.encoding}): other programs may show other letters"
    if _BLANK_LINES.search(plain.decode(raw.encoding or "utf-8")):
        yield "blank lines before or behind the table"

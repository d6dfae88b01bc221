"""The audit trail as one HTML page to browse: it needs nothing but itself, and fetches nothing.

Its one script and its styles are allowed by their digests in the content security policy. What it shows stands in the page as
JSON, each text once, and reaches the screen as text alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tasks.report.interactive_page import create_environment, render_page

Section = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class PageOrigin:
    """Where the page is from. ledger, size, root: of the ledger; of: which runs, in words.

    doubts, noted: how many entries must not be believed, or are of a key that was revoked later.
    """

    ledger: str
    size: int
    root: str
    written_at: str
    of: str
    doubts: int
    noted: int


@dataclass(frozen=True, slots=True)
class PageRun:
    """One run on the page. began: seconds since 1970; verdict: one word, and in more words.

    doubt: why it is not believed; note: what else is to be known of its signatures.
    """

    run: str
    began: int
    release: str
    series: str
    verdict: str
    words: str
    dataset: str
    asker: str
    doubt: str
    note: str
    sections: tuple[Section, ...]


@dataclass(slots=True)
class _Once:
    """Things by their place in a list that holds each of them once."""

    positions: dict[Any, int] = field(default_factory=dict)

    def get_or_add(self, thing: Any) -> int:
        return self.positions.setdefault(thing, len(self.positions))


def page(origin: PageOrigin, runs: Iterable[PageRun]) -> str:
    """The page. All texts are escaped. Memory: some 1.5 kB a run."""
    return render_page(create_environment("tasks.audit", "lookup/templates"), "browse", json=_data(runs), told=origin)


def _data(runs: Iterable[PageRun]) -> str:
    """The runs as JSON that can stand inside a script element: it holds no `<`."""
    texts, sections, rows = _Once(), _Once(), []
    for run in runs:
        words = (run.release, run.series, run.verdict, run.words, run.dataset, run.asker, run.doubt, run.note)
        rows.append(
            [run.run, run.began, *map(texts.get_or_add, words), [sections.get_or_add(section) for section in run.sections]]
        )
    value = {"texts": list(texts.positions), "sections": list(sections.positions), "runs": rows}
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")

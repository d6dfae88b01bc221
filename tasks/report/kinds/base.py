"""What report and certificate say of one kind of release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.attack.outcomes.outcome import AttackResult
from tasks.report.content import Content
from tasks.report.wording.attack_settings import linkage_settings
from tasks.score.release_kinds import ReleaseKind

Sentences = Callable[[Content], tuple[str, ...]]
Descriptions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the page that only some kinds of release have. id: its anchor, and the file of its template."""

    id: str
    title: str

    @property
    def template(self) -> str:
        return f"chapters/{self.id}.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindReport:
    """The parts of the report, the terminal and the certificate that depend on what is released.

    summarize: what was found, under the verdict. describe_briefly: terms and descriptions beside it.
    describe_unlimited: alarming figures that no line limits. describe_risks, describe_fitness, list_limits: what remains, what
    the release is fit for, and what the report does not say.
    count_rows: the fact about the rows of what is released.
    first_chapters: before the chapter on membership; last_chapters: after it.
    describe_settings: how the figures of a linkage attack are counted.
    describe_criteria: a note on the three criteria of WP29 in the certificate; None: there is none.
    """

    kind: ReleaseKind
    summarize: Sentences
    describe_briefly: Callable[[Content], Descriptions]
    describe_unlimited: Sentences
    describe_risks: Sentences
    describe_fitness: Sentences
    list_limits: Sentences
    count_rows: Callable[[Content], tuple[str, str]]
    first_chapters: tuple[Chapter, ...]
    last_chapters: tuple[Chapter, ...] = ()
    describe_settings: Callable[[AttackResult], str] = linkage_settings
    describe_criteria: Callable[[Content], str] | None = None

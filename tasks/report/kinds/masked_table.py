"""A table whose rows belong to people."""

from __future__ import annotations

from tasks.report.content import Content
from tasks.report.kinds.base import Chapter, KindReport
from tasks.report.views.missing_limits import not_limited
from tasks.report.views.origin import count_released_rows, describe_table_briefly
from tasks.report.views.table_risks import (
    describe_participation,
    describe_table_fitness,
    describe_table_risks,
    describe_unlimited_links,
    list_table_limits,
    summarize_table,
)
from tasks.score.release_kinds import MASKED_TABLE


def describe_unlimited(content: Content) -> tuple[str, ...]:
    return (*describe_unlimited_links(content), *not_limited(content))


def list_limits(content: Content) -> tuple[str, ...]:
    return list_table_limits(content, describe_participation(content))


MASKED_TABLE_REPORT = KindReport(
    kind=MASKED_TABLE,
    summarize=summarize_table,
    describe_briefly=describe_table_briefly,
    describe_unlimited=describe_unlimited,
    describe_risks=describe_table_risks,
    describe_fitness=describe_table_fitness,
    list_limits=list_limits,
    count_rows=count_released_rows,
    first_chapters=(Chapter("masking", "What was done"), Chapter("attacks", "Attacks")),
    last_chapters=(Chapter("disclosure", "Values and groups"), Chapter("losses", "What analysts lose")),
)

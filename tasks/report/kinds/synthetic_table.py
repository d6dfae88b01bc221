"""A table whose rows belong to nobody."""

from __future__ import annotations

from dataclasses import replace

from tasks.report.content import Content
from tasks.report.kinds.masked_table import MASKED_TABLE_REPORT
from tasks.report.views.fully_synthetic import (
    describe_synthetic_results,
    limits_of_nobody,
    nobody_in_words,
    not_limited_of_nobody,
)
from tasks.report.views.table_risks import describe_table_risks, describe_unlimited_links, list_table_limits, summarize_table
from tasks.report.wording.attack_settings import settings_of_nobody
from tasks.report.wording.sentence import say
from tasks.score.release_kinds import SYNTHETIC_TABLE


def summarize(content: Content) -> tuple[str, ...]:
    return (*nobody_in_words(content), *describe_synthetic_results(content), *summarize_table(content))


def describe_unlimited(content: Content) -> tuple[str, ...]:
    return (*describe_unlimited_links(content), *not_limited_of_nobody(content))


def describe_risks(content: Content) -> tuple[str, ...]:
    return (*nobody_in_words(content), *describe_synthetic_results(content), *describe_table_risks(content))


def list_limits(content: Content) -> tuple[str, ...]:
    return list_table_limits(content, say("residual.knowledge_of_nobody"), limits_of_nobody())


SYNTHETIC_TABLE_REPORT = replace(
    MASKED_TABLE_REPORT,
    kind=SYNTHETIC_TABLE,
    summarize=summarize,
    describe_unlimited=describe_unlimited,
    describe_risks=describe_risks,
    list_limits=list_limits,
    describe_settings=settings_of_nobody,
)

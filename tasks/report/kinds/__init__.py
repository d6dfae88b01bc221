"""What report and certificate say of each kind of release: a file for each."""

from __future__ import annotations

from tasks.report.content import Content
from tasks.report.kinds.base import KindReport
from tasks.report.kinds.masked_table import MASKED_TABLE_REPORT
from tasks.report.kinds.model import MODEL_REPORT
from tasks.report.kinds.synthetic_table import SYNTHETIC_TABLE_REPORT

KIND_REPORTS: tuple[KindReport, ...] = (MASKED_TABLE_REPORT, SYNTHETIC_TABLE_REPORT, MODEL_REPORT)
_BY_NAME = {one.kind.name: one for one in KIND_REPORTS}


def find_report(content: Content) -> KindReport:
    """What is said of the kind of release that a content is about."""
    return _BY_NAME[content.kind.name]

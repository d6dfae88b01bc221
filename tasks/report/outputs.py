"""What the report stages return, by address."""

from __future__ import annotations

from typing import TypedDict

from tasks.microdata.refs import PageRef, RecordRef
from tasks.report.content import Content


class ReportOutputs(TypedDict):
    """page, content: the public edition, as a page and as data. internal: the page that must stay private."""

    page: PageRef
    internal: PageRef
    content: RecordRef[Content]

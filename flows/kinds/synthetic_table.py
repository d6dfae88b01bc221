"""A table whose rows belong to nobody: its stages are those of a masked table, and each asks what can be asked of such rows."""

from __future__ import annotations

from dataclasses import replace

from flows.kinds.masked_table import MASKED_TABLE_FLOW
from tasks.report.kinds.synthetic_table import SYNTHETIC_TABLE_REPORT
from tasks.score.release_kinds import SYNTHETIC_TABLE

SYNTHETIC_TABLE_FLOW = replace(MASKED_TABLE_FLOW, kind=SYNTHETIC_TABLE, report_parts=SYNTHETIC_TABLE_REPORT)

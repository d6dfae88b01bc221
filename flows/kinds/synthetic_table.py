"""A table whose rows belong to nobody: its stages are those of a masked table, and each asks what can be asked of such rows."""

from __future__ import annotations

from dataclasses import replace

from flows.kinds.masked_table import MASKED_TABLE_FLOW
from tasks.report.kinds.synthetic_table import SYNTHETIC_TABLE_REPORT

SYNTHETIC_TABLE_FLOW = replace(MASKED_TABLE_FLOW, wording=SYNTHETIC_TABLE_REPORT)

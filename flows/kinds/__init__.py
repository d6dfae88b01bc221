"""The kinds of release, a file for each: a kind is one declaration of its stages, its report and its published file."""

from __future__ import annotations

from flows.kinds.base import KindFlow
from flows.kinds.masked_table import MASKED_TABLE_FLOW
from flows.kinds.model import MODEL_FLOW
from flows.kinds.synthetic_table import SYNTHETIC_TABLE_FLOW
from flows.release import ReleaseSpec

KIND_FLOWS: tuple[KindFlow, ...] = (MASKED_TABLE_FLOW, SYNTHETIC_TABLE_FLOW, MODEL_FLOW)
_BY_NAME = {one.kind.name: one for one in KIND_FLOWS}


def find_kind(release: ReleaseSpec) -> KindFlow:
    """How a release of this kind is made."""
    return _BY_NAME[release.kind.name]

"""What the classify stage returns, by address."""

from __future__ import annotations

from typing import TypedDict

from tasks.microdata.refs import RecordRef
from tasks.microdata.schema import Schema


class ClassifyOutputs(TypedDict):
    """What each attribute is."""

    schema: RecordRef[Schema]

"""What is said of one masking step to somebody who uses the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.microdata.schema import Attribute


@dataclass(frozen=True, slots=True)
class MaskText:
    """One masking step in words for somebody who uses the data; nothing here holds a value or a category of the table.

    title: a heading. text: what was done, in whole sentences. missing: what became of missing values.
    attribute: what the step did to one attribute, in a phrase. analysts: how an analysis can correct for the step.
    """

    title: str
    text: str
    missing: str
    attribute: Callable[[Attribute], str]
    analysts: tuple[str, ...] = ()

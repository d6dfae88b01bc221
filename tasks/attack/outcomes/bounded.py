"""An attack that sdcert could carry out in part alone: what the part finds bounds what the whole attack finds."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.attack.outcomes.links import Links
from tasks.microdata.errors import NotFollowed


@dataclass(eq=False)
class OnlyBounded(NotFollowed):
    """The attack was not followed as a whole; somebody who does only a part of it finds these links at least.

    links: of the targets; with `sampled` of a simple random sample of them alone, each to all rows that are left, among which
    the intruder at least can guess. remark: what else is to be said of the intruder's knowledge of the masking.
    """

    links: Links
    sampled: bool = False
    remark: str = ""

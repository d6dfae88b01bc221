"""A table that another tool masked: what is known of how it was done."""

from __future__ import annotations

from typing import Literal

from tasks.microdata.spec import Names, Spec


class Undeclared(Spec):
    """What stands for the mechanism of a table that was masked elsewhere by a method that nobody declared.

    attributes: those whose values differ from the source's.
    """

    method: Literal["undeclared"] = "undeclared"
    attributes: Names

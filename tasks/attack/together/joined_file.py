"""One of several releases, as an intruder has it who joins them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.mask.methods import Mechanism
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """One of several releases, as an intruder has it who knows some attributes of everybody in its source.

    original: n_t records of the source. masked: m_t rows. record: shape (n_t,): which of the N records of all sources together
    each is. row: shape (n_t,): the masked row of each, -1 where it has none. Whose row is whose is for the law of links alone.
    pseudonym: what its pseudonyms are drawn by, where they are the same in several releases; None: there are none.
    n_records: of the source, where the intruder holds a share of them; None: they hold all.
    """

    name: str
    original: Microdata
    masked: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    record: Integers
    row: Integers
    pseudonym: str | None = None
    n_records: int | None = None

    def spread_rows(self, n: int) -> Integers:
        """Shape (n,): the row of each of the records of all sources, -1 where it has none."""
        rows = np.full(n, -1, dtype=np.int64)
        rows[self.record] = self.row
        return rows

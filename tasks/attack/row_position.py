"""The attack by row position: a released row is taken for the record that stands at the same place of the source."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Integers


class RowPosition(Spec):
    """Parameters of the attack by row position.

    id: what the attack is called in figures and policy lines; default: the method's name.
    """

    method: Public[Literal["row_position"]]
    id: Public[Slug | None] = None


def link_by_position(order: Integers, n_records: int) -> Links:
    """Link each record to the released row that stands where the record stands.

    Meaning: the intruder holds the source's records in the source's order (a register, a list of a firm's customers, ...) and
    takes the release to be in that order too. They look at no value, whatever attributes they know.
    Formula in words: record i of n is at the point (2i + 1) / 2n of its file, row j of m at (2j + 1) / 2m; the row at the
    least distance is the guess, two rows at the same distance are tied. With m = n that is row i.

    order: shape (m,), the masked row in each row of the released file. n_records: n >= m.

    Returns links to masked rows. On a release that keeps the source's order and all its records the credit is 1; on a shuffled
    one it is chance, 1/m for a record in it. Where some records are absent, the rows between them are shifted, and the guess is
    the better the fewer they are. Cost: O(n).

    Example: 4 records, 2 rows: the records 0 and 1 are nearest to row 0, the records 2 and 3 to row 1.
    """
    m = len(order)
    before, rest = np.divmod((2 * np.arange(n_records) + 1) * m - n_records, 2 * n_records)
    tied = rest == n_records
    first = before + (rest > n_records)
    sizes = 1 + tied.astype(np.int64)
    starts = np.append(0, np.cumsum(sizes))
    places = np.repeat(first, sizes)
    places[starts[1:][tied] - 1] += 1
    return Links(np.arange(m), np.arange(n_records), starts, order[places])

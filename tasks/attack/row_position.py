"""The attack by row position: a released row is taken for the record that stands at the same place of the source."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, DataAttack
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.outcomes.links import Links
from tasks.mask.methods import Mechanism
from tasks.microdata.errors import NotApplicable
from tasks.microdata.spec import Public
from tasks.microdata.table import Integers


class RowPosition(DataAttack):
    """Parameters of the attack by row position.

    id: what the attack is called in figures and policy lines; default: the method's name.
    """

    about = AttackDescription(
        title="Attack by row position",
        infers="takes the released row that stands where the record stands in the source",
        note="",
        knows_of_data="the order of the source's records",
        knows_of_masking="nothing",
        parameters="id",
        holder="somebody who has the source's rows in their order",
        is_worst_case=False,
        has_probabilities=False,
        required_by="kept row order",
        required_form="",
    )

    method: Public[Literal["row_position"]]

    @classmethod
    def is_required(cls, steps: tuple[Mechanism, ...], *, keeps_row_order: bool) -> bool:
        return keeps_row_order

    @property
    def rule(self) -> str:
        return self.about.infers

    @property
    def traits(self) -> AttackTraits:
        return AttackTraits(
            searches_originals=False,
            scale_by=None,
            assigns_together=False,
            depends_on_others=False,
            needs_originals=True,
            uses_external_files=False,
            needs_all_records="who carries it out knows where each record stands in the source",
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        return f"the order of the source's records, and {known.participation}"

    def run(self, context: AttackContext) -> AttackFindings:
        if context.held is not None:
            raise NotApplicable("who holds a share of the records does not know where they stand in the source")
        return AttackFindings(link_by_position(context.truth.alignment.order, context.truth.original.n))


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
    positions = np.repeat(first, sizes)
    positions[starts[1:][tied] - 1] += 1
    return Links(np.arange(m), np.arange(n_records), starts, order[positions])

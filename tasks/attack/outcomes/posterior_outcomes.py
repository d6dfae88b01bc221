"""What an attack with probabilities says of the truth: how probable it took the target's own row to be, and its guess."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tasks.attack.outcomes.links import Posterior
from tasks.microdata.table import Floats, Integers
from tasks.microdata.units import RowGroups

_PAIRS_AT_A_TIME = 1 << 20


def posterior_columns(
    posterior: Posterior | None, used: tuple[Integers, Integers], unit_of_record: Integers, released: RowGroups, n: int
) -> dict[str, pa.Array]:
    """`posterior` and `claimed` of n targets (see `AttackResult`); nothing where the attack has no probabilities.

    used: records, and for each the place of its target. released: the rows of each unit; 0 for a unit without.
    By chance, for probabilities that add up to 1 over the rows: 1/n, as for any guess; else `chance_at_truth`.
    Cost: one look-up for each pair of a record that is used and an own row; memory is linear.
    """
    if posterior is None:
        return {}
    records, position = used
    counts = np.bincount(position, minlength=n)
    parts = [
        _compute_own_probabilities(posterior, some, unit_of_record, released)
        for some in _some_at_a_time(records, unit_of_record, released)
    ]
    values = (np.concatenate([np.empty(0), *parts]), posterior.compute_guess_probabilities(records))
    means = (np.bincount(position, weights=one, minlength=n) / np.maximum(counts, 1) for one in values)
    return {name: pa.array(one) for name, one in zip(("posterior", "claimed"), means, strict=True)}


def chance_at_truth(present: Floats, used: tuple[Integers, Integers], released: RowGroups, n_rows: int) -> float:
    """The mean over all units of the probability at the own row, if the released rows were dealt out anew among those there.

    Meaning: what the same probabilities would earn if nothing connected them with whose the rows are.
    Formula in words: a unit with r of the m rows expects of each record that it uses r/m of the sum of its probabilities; which
    records it uses does not depend on whose the rows are (`fare`). Who has how many rows stays: who is absent expects 0.

    present: shape (n,): the sum of each record's probabilities over the rows. used: as for `posterior_columns`, of all units.
    Returns 1/units where all sums are 1 and everybody is there. Example: two persons, one of them with both of two rows, whose
    records take their rows to be there with 0.4 and 0.8, both used alike: (2/2 * 0.6 + 0) / 2.
    """
    records, position = used
    n = len(released.sizes)
    means = np.bincount(position, present[records], n) / np.maximum(np.bincount(position, minlength=n), 1)
    return float((means * released.sizes).sum()) / (n * n_rows)


def _compute_own_probabilities(
    posterior: Posterior, records: Integers, unit_of_record: Integers, released: RowGroups
) -> Floats:
    """Shape (k,): the probability that any of the own unit's rows is the record's."""
    rows, which = released.find_rows(unit_of_record[records])
    return np.bincount(which, weights=posterior.compute_probabilities(records[which], rows), minlength=len(records)).astype(
        np.float64
    )


def _some_at_a_time(records: Integers, unit_of_record: Integers, released: RowGroups) -> Iterator[Integers]:
    before = np.cumsum(released.sizes[unit_of_record[records]])
    cuts = np.flatnonzero(np.diff(before // _PAIRS_AT_A_TIME)) + 1
    yield from np.split(records, cuts)

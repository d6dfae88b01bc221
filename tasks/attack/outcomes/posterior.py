"""What an attack with probabilities says of the truth: how probable it took the target's own row to be, and its guess."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tasks.attack.outcomes.links import Posterior
from tasks.microdata.table import Floats, Integers
from tasks.microdata.units import Grouped

_PAIRS_AT_A_TIME = 1 << 20


def posterior_columns(
    posterior: Posterior | None, used: tuple[Integers, Integers], unit_of_record: Integers, released: Grouped, n: int
) -> dict[str, pa.Array]:
    """`posterior` and `claimed` of n targets (see `AttackResult`); nothing where the attack has no probabilities.

    used: records, and for each the place of its target. released: the rows of each unit; 0 for a unit without.
    By chance, for probabilities that add up to 1 over the rows: 1/n, as for any guess.
    Cost: one look-up for each pair of a record that is used and an own row; memory is linear.
    """
    if posterior is None:
        return {}
    records, place = used
    counts = np.bincount(place, minlength=n)
    parts = [_at_own(posterior, some, unit_of_record, released) for some in _some_at_a_time(records, unit_of_record, released)]
    values = (np.concatenate([np.empty(0), *parts]), posterior.claimed(records))
    means = (np.bincount(place, weights=one, minlength=n) / np.maximum(counts, 1) for one in values)
    return {name: pa.array(one) for name, one in zip(("posterior", "claimed"), means, strict=True)}


def _at_own(posterior: Posterior, records: Integers, unit_of_record: Integers, released: Grouped) -> Floats:
    """Shape (k,): the probability that any of the own unit's rows is the record's."""
    rows, which = released.of(unit_of_record[records])
    return np.bincount(which, weights=posterior.at(records[which], rows), minlength=len(records)).astype(np.float64)


def _some_at_a_time(records: Integers, unit_of_record: Integers, released: Grouped) -> Iterator[Integers]:
    before = np.cumsum(released.sizes[unit_of_record[records]])
    cuts = np.flatnonzero(np.diff(before // _PAIRS_AT_A_TIME)) + 1
    yield from np.split(records, cuts)

"""How much likelier a release is with a record among its originals than without, by a law learned from simulated maskings."""

from __future__ import annotations

import numpy as np

from tasks.attack.simulated.simulated_law import learn_release
from tasks.mask.methods import Mechanism
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Microdata

_BLOCK = 4_000_000  # pairs of a record and a row that are held in memory at a time
_LEAST = 1e-12  # of what a row's other records have in common, as a share of the whole


def compare_by_simulation(
    held: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    n_masked: int,
) -> Floats:
    """The log-likelihood ratio of the release with each record among its originals and without, shape (n,).

    Meaning: who asks holds the records, and does not know which were masked. They mask random parts of them, as large as the
    source of the release, with seeds of their own, and learn what becomes of a record. The law is an estimate (heuristic).
    Formula in words: as `compare_with_absence`, with the learned law for P.

    n_masked: how many records were masked. knows: published attributes, at least one.

    Raises as `learn_release`.
    Cost: O(n m d) for n distinct records and m distinct rows.
    """
    release = learn_release(held, released, schema, mechanisms, knows, n_masked=n_masked)
    records, rows = (np.bincount(kinds) for kinds in (release.both.own_of_record, release.both.shown_of_row))
    blocks = np.array_split(np.arange(len(records)), max(-(-len(records) * len(rows) // _BLOCK), 1))
    top, total = np.full(len(rows), -np.inf), np.zeros(len(rows))
    for block in blocks:
        logs = release.law.compare_all_rows(block)
        larger = np.maximum(top, logs.max(axis=0))
        total = total * np.exp(top - larger) + records[block] @ np.exp(logs - larger)
        top = larger
    ratios = np.empty(len(records))
    for block in blocks:
        own = np.exp(release.law.compare_all_rows(block) - top)
        with np.errstate(divide="ignore"):
            ratios[block] = np.log((own / np.maximum(total - own, _LEAST * total)) @ rows)
    found: Floats = ratios[release.both.own_of_record] + np.log((held.n - 1) / released.n)
    return found

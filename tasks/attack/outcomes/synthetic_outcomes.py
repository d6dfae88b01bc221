"""What the rows nearest to a target say of its confidential values where the released rows belong to nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import list_persons
from tasks.attack.outcomes.person_outcomes import fewest
from tasks.attack.outcomes.value_disclosure import compute_value_credits
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.units import RowGroups, Units

PARTS = 10  # of the source, each of which is linked to the others
LinkedTo = Callable[[Integers, Microdata], Links]  # records of the source, a table with its columns -> their links to its rows


@dataclass(frozen=True, slots=True)
class ValueCredits:
    """What links say of n records: how many rows each is linked to, and by attribute the credit of the modal value."""

    sizes: Integers
    credits: Mapping[str, Floats]


def compute_synthetic_outcomes(units: Units, targets: Integers, found: ValueCredits, others: ValueCredits | None) -> Microdata:
    """The outcomes of an attack on rows that belong to nobody, one row per target, as `AttackResult` says; no credit.

    Meaning: no link can be right or wrong, but the linked rows show values, and the modal one may be the target's.
    Formula in words: as for other releases, `compute_value_credits` of the records that the intruder uses (of a person those
    with fewest linked rows), averaged over them. The control of other releases leaves out the target's own rows; here no row is
    anybody's, and it would say the same as what it controls. Its place takes what the records of other people tell, had they
    been released as they are (`compute_control_credits`): what no synthesis can be blamed for.

    targets: rows of the original; of persons, any. found: read off the released rows. others: off the source's; None: there is
    nobody else.
    Returns target, candidates (how many rows are linked to a record that is used, averaged), linked:A and control:A.
    """
    persons = list_persons(units, targets)
    rows = units.rows()
    records, position = rows.find_rows(persons)
    columns = {"target": pa.array(rows.rows[rows.starts[persons]])}
    columns["candidates"] = pa.array(_average_over_used(found.sizes.astype(np.float64), found, records, position, len(persons)))
    for kind, read in (("linked", found), ("control", others)):
        for name, credit in (read.credits if read is not None else {}).items():
            assert read is not None  # noqa: S101  else there are no credits
            columns[f"{kind}:{name}"] = pa.array(_average_over_used(credit, read, records, position, len(persons)))
    return Microdata.from_columns(columns)


def compute_linked_credits(links: Links, original: Microdata, shown: Microdata, secrets: tuple[str, ...]) -> ValueCredits:
    """What the rows that records are linked to say of them. links: of all records of `original` to the rows of `shown`."""
    records = np.arange(original.n, dtype=np.int64)
    nobody = RowGroups(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int64))
    unit = np.zeros(original.n, dtype=np.int64)
    credits = {
        name: compute_value_credits(links, original.column(name), shown.column(name), records, nobody, unit)[0]
        for name in secrets
    }
    return ValueCredits(links.guesses(records).tie_sizes().astype(np.int64), credits)


def compute_control_credits(
    original: Microdata, units: Units, secrets: tuple[str, ...], linked_to: LinkedTo, searching: Integers
) -> ValueCredits | None:
    """The same read off the records of other people, as they stand in the source.

    Meaning: how well a confidential value follows from what the intruder knows, in people like the target; a table that tells
    it no better than this has told nothing of the target that it does not tell of somebody who is not in it.
    Formula in words: the people are dealt into ten parts, the same in every run; the records of each part are linked, by the
    attack's own rule, to those of the nine others. Fewer people: as many parts as there are people.

    linked_to: the attack's rule. searching: the records that are asked about; the others have 0.
    Returns None where there is one person alone.
    Cost: that of ten searches in nine tenths of the records, by a tenth each. Source: the cross-fitted form of anonymeter's
    control, which needs people who were held back from the synthesis; here they are held back from the comparison.
    """
    n_parts = min(PARTS, units.n_units)
    if n_parts < 2:
        return None
    dealt = stream(bytes(SEED_BYTES), "parts of the source", str(units.n_units)).permutation(units.n_units) % n_parts
    part_of_record = dealt[units.of_row]
    sizes = np.zeros(original.n, dtype=np.int64)
    credits = {name: np.zeros(original.n) for name in secrets}
    for part in range(n_parts):
        mine, others = searching[part_of_record[searching] == part], original.take(np.flatnonzero(part_of_record != part))
        if not len(mine):
            continue
        found = compute_linked_credits(linked_to(mine, others), original.take(mine), others, secrets)
        sizes[mine] = found.sizes
        for name in secrets:
            credits[name][mine] = found.credits[name]
    return ValueCredits(sizes, credits)


def _average_over_used(values: Floats, read: ValueCredits, records: Integers, position: Integers, n: int) -> Floats:
    """Shape (n,): the mean over the records of each target that the intruder uses."""
    used = fewest(read.sizes[records], position, n)
    counts = np.bincount(position[used], minlength=n)
    means: Floats = np.bincount(position[used], weights=values[records[used]], minlength=n) / counts
    return means

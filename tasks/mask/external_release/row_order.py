"""Does row i of a table that was masked elsewhere belong to record i of its source? What can be told without being told."""

from __future__ import annotations

import numpy as np

from tasks.microdata.codes import row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.table import Integers, Microdata, encode_jointly

ENOUGH_ROWS = 30  # below, a masked column and its source may be unrelated by chance
MOST_CATEGORIES = 50
BY_CHANCE = 1e-4  # a relation that chance shows more often than this is none
_ALLOWED = "the masked form of record i in row i"
_REMEDY = (
    "align by a key (`key: <column>` and `align: key`), or give the table in the order of the source; a fully synthetic table, "
    "whose rows belong to nobody, has `align: none`"
)


def refuse_other_order(original: Microdata, given: Microdata, data: Microdata) -> None:
    """Refuse a table whose rows stand in another order than the source's: every risk would be measured on strangers.

    given: the table with all its columns. data: its published ones.

    Three signs, each enough: a column that is not published (an identifier, the key of a person) stands in both tables and
    differs in a row; the rows are the source's own, in another order; of 30 rows or more, no published column is related to
    its source at all (no dependence of categories, no rank correlation, no more equal values than chance shows once in 10,000).

    Raises InputError. Cost: O(n log n) per column. Example: an unmasked table with its rows as they were passes.
    """
    for name in (name for name in given.names if name not in data.names and name in original.names):
        if given.arrow.schema.field(name).type == original.arrow.schema.field(name).type and _differ(original, given, name):
            raise _other_order(f"`{name}`, which is not published, stands in both tables and differs between them row by row.")
    both = Microdata(original.select(data.names).arrow)
    if _same_kinds(both, data) and not _equal_rows(both, data) and _same_multiset(both, data):
        raise _other_order("The released table holds exactly the rows of the source, in another order.")
    if data.n >= ENOUGH_ROWS and not any(_is_related(original, data, name) for name in data.names):
        raise _other_order("No column of the released table is related to the source's, row by row.")


def _other_order(what: str) -> InputError:
    return InputError("rows-in-another-order", "released.align", what, _ALLOWED, _REMEDY)


def _differ(original: Microdata, given: Microdata, name: str) -> bool:
    before, after = encode_jointly(original.column(name), given.column(name))
    return bool((before != after).any())


def _same_kinds(original: Microdata, data: Microdata) -> bool:
    return all(original.arrow.schema.field(name).type == data.arrow.schema.field(name).type for name in data.names)


def _equal_rows(original: Microdata, data: Microdata) -> bool:
    return not any(_differ(original, data, name) for name in data.names)


def _same_multiset(original: Microdata, data: Microdata) -> bool:
    whole = Microdata.from_columns(
        {name: [*original.column(name).to_pylist(), *data.column(name).to_pylist()] for name in data.names}
    )
    codes = row_codes(whole, data.names)
    return bool(np.array_equal(np.sort(codes[: original.n]), np.sort(codes[original.n :])))


def _is_related(original: Microdata, data: Microdata, name: str) -> bool:
    """Does a column tell something of its source? By categories where they are few, else by ranks or equal values."""
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import crosstab

    before, after = encode_jointly(original.column(name), data.column(name))
    if len(np.unique(before)) < 2 or len(np.unique(after)) < 2:
        return False
    if np.array_equal(before, after):
        return True
    if max(len(np.unique(before)), len(np.unique(after))) <= MOST_CATEGORIES:
        return float(chi2_contingency(crosstab(before, after).count).pvalue) < BY_CHANCE
    return _equal_beyond_chance(before, after) or (not original.is_text(name) and _ranks_related(original, data, name))


def _equal_beyond_chance(before: Integers, after: Integers) -> bool:
    from scipy.stats import binomtest

    size = int(max(before.max(), after.max())) + 2
    chance = float(np.bincount(before + 1, minlength=size) @ np.bincount(after + 1, minlength=size)) / len(before) ** 2
    equal = int((before == after).sum())
    return float(binomtest(equal, len(before), chance, alternative="greater").pvalue) < BY_CHANCE


def _ranks_related(original: Microdata, data: Microdata, name: str) -> bool:
    from scipy.stats import spearmanr

    found = spearmanr(original.floats(name), data.floats(name), nan_policy="omit")
    return float(found.pvalue) < BY_CHANCE

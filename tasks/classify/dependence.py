"""What undoes a mask: published unmasked columns that are functions of masked ones.

Found are copies, one-to-one recodings and functions in either direction, (near-)perfect rank correlation, sums and differences
of two columns, and exact linear identities of more. What holds among masked columns alone, or among unmasked ones alone, tells
an intruder nothing about a mask. A finding has to be more than luck: at least ten rows, and a chance under one in a million
that an unrelated column would agree as well.

Not found: products and ratios, functions of several columns that are not linear, dependence that holds in part of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tasks.classify.finding import ENOUGH_ROWS, Dependence, DependenceColumn, create_dependence_column, screen_rows
from tasks.classify.identities import linear_identity, sums
from tasks.classify.pairs import pair_dependence
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata, encode_jointly

FIRST_SCREEN_ROWS = 512


def find_dependences(data: Microdata, schema: Schema, masked: Sequence[str]) -> tuple[Dependence, ...]:
    """The relations by which published unmasked columns undo the mask of `masked` columns.

    Parameters
    ----------
    data: n rows. schema: says which columns are published, and which is the group or person: what is shared inside one counts
        once. masked: names of published columns; the other published ones are the unmasked.

    Returns
    -------
    At most one dependence per pair, then sums of two, then at most one linear identity of more columns; an unmasked column
    found in one is not searched again in the next. Empty where nothing is masked, nothing unmasked, or under ten rows.

    Cost: candidates are screened on up to 20,000 rows and confirmed on all: for m masked and u unmasked columns m u pairs, and
    of order (m + u)^3 sums on 512 rows. 1,000,000 rows with 3 + 3 columns take about 2 s.
    """
    unmasked = [name for name in schema.release_columns if name not in masked]
    if not masked or not unmasked or data.n < ENOUGH_ROWS:
        return ()
    hidden, shown = ([create_dependence_column(data, schema, name) for name in names] for names in (masked, unmasked))
    screen, clusters = screen_rows(data.n), _clusters(data, schema)
    found = [pair_dependence(m, u, screen, clusters) for m, u in product(hidden, shown)]
    pairs = tuple(dependence for dependence in found if dependence is not None)
    left = _drop_dependent_columns(shown, pairs)
    totals = sums(hidden, left, screen[:FIRST_SCREEN_ROWS])
    return pairs + totals + linear_identity(hidden, _drop_dependent_columns(left, totals))


def _drop_dependent_columns(columns: Sequence[DependenceColumn], found: Sequence[Dependence]) -> list[DependenceColumn]:
    taken = {name for dependence in found for name in dependence.unmasked}
    return [column for column in columns if column.name not in taken]


def _clusters(data: Microdata, schema: Schema) -> Integers | None:
    shared = (*schema.find_by_role(Role.GROUP), *schema.find_by_role(Role.PERSON))
    return encode_jointly(data.column(shared[0]))[0] if shared else None

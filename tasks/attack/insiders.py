"""How much insiders know, and which sets of columns are tried where they know more than one.

An insider knows the quasi-identifiers and some of the other published columns. There is one for each such column. Where
insiders know up to n columns, all sets of up to n are tried as long as they are few. Beyond that the sets are chosen greedily:
the worst set so far, with each other column in turn. Greedy is not proven to find the worst set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from math import comb, fsum
from typing import Annotated

from pydantic import AfterValidator, Field

from tasks.microdata.errors import InputError
from tasks.microdata.spec import Public, Spec
from tasks.microdata.table import Microdata

INSIDER = "insider"
SEPARATOR = " + "
SETS_PER_COLUMN = 4  # all sets of up to so many columns are tried while they are at most this many times the columns

ColumnNames = tuple[str, ...]


class InsidersSpec(Spec):
    """How much insiders know.

    know: up to so many published columns besides the quasi-identifiers: confidential ones, weights and others. From 1 to the
        number of these columns. Policy lines with `intruder: insider` decide over all insiders that are tried.
    """

    know: Public[Annotated[int, Field(ge=1)]] = 1


def _drop_default(given: InsidersSpec | None) -> InsidersSpec | None:
    """One column is what insiders know by default: who writes it down asks for the same release."""
    return None if given is None or given.know == 1 else given


MaybeInsiders = Annotated[InsidersSpec | None, AfterValidator(_drop_default)]


def name_insider(columns: ColumnNames) -> str:
    """`insider:vote`, or `insider:vote + party`, the columns in the order of the table."""
    return f"{INSIDER}:{SEPARATOR.join(columns)}"


def list_columns(intruder: str, names: Collection[str]) -> ColumnNames:
    """The columns that an insider's name lists; none for anybody else. names: of the table's columns.

    A column whose own name holds the separator is one column: where insiders know several, such a column is refused.
    """
    kind, _, columns = intruder.partition(":")
    if kind != INSIDER or not columns:
        return ()
    return (columns,) if columns in names else tuple(columns.split(SEPARATOR))


def check_knowledge(know: int, columns: ColumnNames) -> None:
    """Refuse more knowledge than there is, and columns that the names of insiders could not tell apart.

    Raises InputError where `know` is above the number of columns, or a column's name holds the separator.
    """
    if know == 1:
        return
    where = "intruder.insiders.know"
    if know > len(columns):
        there = f"{len(columns)}: {', '.join(columns)}" if columns else "none"
        raise InputError(
            "insiders-know-too-many",
            where,
            f"insiders are to know {know} published columns besides the quasi-identifiers, and there are {there}",
            f"1 to {len(columns)}" if columns else "1, which is the default: nobody is an insider here",
            "lower it" if columns else "take `insiders` out",
            know,
        )
    for name in columns:
        if SEPARATOR in name:
            what = f"the column `{name}` has `{SEPARATOR}` in its name, which stands between the columns of an insider"
            remedy = "rename the column, or take `insiders` out"
            raise InputError("ambiguous-insider", where, what, "names without it", remedy, name)


def largest_complete_size(know: int, n_columns: int) -> int:
    """Of how many columns at most all sets are tried: as long as they are at most SETS_PER_COLUMN times the columns.

    Example: of 6 columns 6 single ones and 15 pairs, which are 21 <= 24; with the 20 triples they would be 41.
    """
    complete, n_sets = 1, n_columns
    while complete < know and (n_sets := n_sets + comb(n_columns, complete + 1)) <= SETS_PER_COLUMN * n_columns:
        complete += 1
    return complete


def list_greedy_sizes(know: int, n_columns: int) -> tuple[int, ...]:
    """Of how many columns each set is that the rates of others choose: in each round one more, with every column left.

    Example: know = 4 of 6 columns: all sets of up to 2, then 4 triples with the worst pair, then 3 sets with the worst triple.
    """
    rounds = range(largest_complete_size(know, n_columns), know)
    return tuple(size + 1 for size in rounds for _ in range(n_columns - size))


def list_set_sizes(know: int, n_columns: int) -> tuple[int, ...]:
    """The same of all sets that are tried."""
    complete = range(1, largest_complete_size(know, n_columns) + 1)
    planned = (size for size in complete for _ in range(comb(n_columns, size)))
    return (*planned, *list_greedy_sizes(know, n_columns))


def list_complete_sets(know: int, columns: ColumnNames) -> Iterator[ColumnNames]:
    """All sets of 2 columns or more that are planned before anybody attacks, small ones first."""
    for size in range(2, largest_complete_size(know, len(columns)) + 1):
        yield from combinations(columns, size)


def extend_worst_set(know: int, columns: ColumnNames, rates: Mapping[ColumnNames, float]) -> tuple[ColumnNames, ...]:
    """The sets of one more column to try next: the worst of the largest ones so far with each other column in turn.

    rates: of every set of columns that was tried, the re-identification rate. Of equal rates the first decides.
    Returns none where insiders know no more, or where nothing was tried.
    """
    size = max(map(len, rates), default=know)
    if size >= know:
        return ()
    worst = max((names for names in rates if len(names) == size), key=lambda names: rates[names])
    grown = ({*worst, name} for name in columns if name not in worst)
    return tuple(tuple(name for name in columns if name in names) for names in grown)


def compute_rate(outcomes: Microdata | None) -> float:
    """The re-identification rate of one attack, by which sets of columns are compared; 0 where it gave none."""
    if outcomes is None or "credit" not in outcomes.names or not outcomes.n:
        return 0.0
    return fsum(outcomes.floats("credit")) / outcomes.n

"""Computes the measures that compare the original with the masked table, by the functions that they declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tasks.microdata.estimate import Estimate
from tasks.score.catalogue import MEASURES
from tasks.score.measure import Measure
from tasks.score.table_pair import RowwiseTablePair, TablePair

# loaded here, and not at the first call, so that no thread imports anything
FUNCTIONS = {measure.name: measure.load_function() for measure in MEASURES.values() if measure.compares_tables}


def compute_family(family: Iterable[Measure], tables: TablePair) -> Iterator[Estimate]:
    """The figures of those measures of a family that apply to the tables, in the order of their declarations.

    A function that several measures declare is called once. If the released rows belong to nobody, only `of_nobody`
    measures apply; otherwise all except `only_of_nobody`.
    """
    of_records = isinstance(tables, RowwiseTablePair)
    fitting = (one for one in family if (not one.only_of_nobody if of_records else one.of_nobody))
    for function in dict.fromkeys(FUNCTIONS[one.name] for one in fitting if one.compares_tables):
        found = function(tables)
        yield from (found,) if isinstance(found, Estimate) else found

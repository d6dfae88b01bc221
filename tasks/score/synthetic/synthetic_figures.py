"""All figures of a release whose rows belong to nobody, but for those of the attacks."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.score.anonymity import KAnonymitySubset, k_anonymity_subset
from tasks.score.catalogue import DISCLOSURE, LOSS
from tasks.score.declared_rules import ResultsHidden
from tasks.score.hidden_results import results_hidden
from tasks.score.measure import Measure
from tasks.score.synthetic.uniques import Uniques, uniques
from tasks.score.table_measures import compute_family
from tasks.score.table_pair import TablePair


def compute_synthetic_figures(tables: TablePair, measures: tuple[object, ...]) -> tuple[Estimate, ...]:
    """What the two tables say as wholes; every measure that compares a record with its row is not applicable, and says so.

    measures: those of the release file. Raises InputError for one that compares records with rows, or does not fit the table.
    """
    chosen = dict.fromkeys(one for spec in measures for one in _compute_synthetic_measure(tables, spec))
    return (
        *_create_unanswered_estimates(DISCLOSURE),
        *compute_family(DISCLOSURE, tables),
        *chosen,
        *_create_unanswered_estimates(LOSS),
        *compute_family(LOSS, tables),
    )


def _compute_synthetic_measure(tables: TablePair, spec: object) -> tuple[Estimate, ...]:
    if isinstance(spec, KAnonymitySubset):
        return (k_anonymity_subset(tables, spec),)
    if isinstance(spec, Uniques):
        return uniques(tables, spec.attributes)
    if isinstance(spec, ResultsHidden):
        return results_hidden(tables, spec)
    named = getattr(spec, "measure", "a measure")
    what = f"{named} compares records with their rows: {ROWS_OF_NOBODY}"
    allowed = "k_anonymity_subset, uniques_released, results_hidden"
    raise InputError("measure-of-somebody", "measures", what, allowed, "take it out", named)


def _create_unanswered_estimates(catalogue: tuple[Measure, ...]) -> Iterator[Estimate]:
    for measure in catalogue:
        if not measure.of_nobody:
            yield Estimate(measure=measure.name, value=None, unit=measure.unit, status="not_applicable", reason=ROWS_OF_NOBODY)

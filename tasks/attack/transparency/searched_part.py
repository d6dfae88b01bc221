"""The part of a large table in which the records that are searched for can be: all others have nothing to do with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.transparency.code_components import find_code_components
from tasks.attack.transparency.image_marginals import Marginals
from tasks.attack.transparency.intersection import Conditions
from tasks.attack.transparency.scores import ImageScores
from tasks.microdata.table import Booleans, Integers

MOST_SEARCHED_WHOLE = 30_000  # records of a table: figures of smaller ones do not depend on who is searched for
_MOST = 0.5  # of the records: a larger part is not worth its copies


@dataclass(frozen=True, slots=True)
class FoundImages:
    """What is found of r distinct records.

    starts, classes: the distinct rows that each is linked to. sizes: shape (r,), of the whole sets of possible images. small:
    starts and rows of the small ones of these. scores: what speaks for the rows. marginals: where rows were weighed together.
    """

    starts: Integers
    classes: Integers
    sizes: Integers
    small: tuple[Integers, Integers]
    scores: ImageScores
    marginals: Marginals | None = None


@dataclass(frozen=True, slots=True)
class SearchedPart:
    """Distinct records and rows, ascending, where no row of the part can be the image of a record outside, nor the other way.

    both, conditions: those of the part by itself, whose records and rows are numbered anew.
    """

    records: Integers
    rows: Integers
    both: Comparison
    conditions: Conditions

    def expand_images(self, found: FoundImages, both: Comparison) -> FoundImages:
        """What was found in the part, in the numbers of the whole comparison; of records outside nothing was found."""
        n, marginals = len(both.own), found.marginals
        if marginals is not None:
            marginals = replace(
                marginals,
                record_class=_number(self.records, n)[both.own_of_record],
                row_class=_number(self.rows, len(both.shown))[both.shown_of_row],
                largest=np.append(marginals.largest, 0.0),
            )
        starts, classes = self._expand_lists(found.starts, found.classes, n)
        small = self._expand_lists(*found.small, n)
        return FoundImages(starts, classes, self._expand(found.sizes, n), small, found.scores, marginals)

    def _expand(self, values: Integers, n: int) -> Integers:
        whole = np.zeros(n, dtype=np.int64)
        whole[self.records] = values
        return whole

    def _expand_lists(self, starts: Integers, rows: Integers, n: int) -> tuple[Integers, Integers]:
        return np.concatenate([[0], np.cumsum(self._expand(np.diff(starts), n))]), self.rows[rows]


def find_searched_part(both: Comparison, conditions: Conditions, searching: Booleans) -> SearchedPart | None:
    """The records and rows that show what is certain of a searching record, as a group of microaggregation does.

    What is certain of a record leaves it some codes of the first list (`Conditions.allowed[0]`), often one alone. Its images
    are rows with these codes, which are images of records that are left one of them, and so on (`find_code_components`). What
    is concluded of all these records, also by laws of randomised attributes, by noise, or because every record has one row,
    follows from records and rows with their codes.

    searching: shape (r,). None: nobody is searched for, the table has at most `MOST_SEARCHED_WHOLE` records, or what is certain
    does not keep half of them apart. Cost: O(n).
    """
    begins, ends, allowed = conditions.begins[0], conditions.ends[0], conditions.allowed[0]
    if len(both.own_of_record) <= MOST_SEARCHED_WHOLE or not searching.any() or not len(allowed):
        return None
    shown = conditions.shown[0]
    n_codes = int(max(allowed.max(), shown.max(initial=0))) + 1
    component, of_record = find_code_components(begins, ends, allowed, n_codes)
    is_asked = np.zeros(len(component) + 1, dtype=bool)  # the last place is of records that nothing can be an image of
    is_asked[of_record[searching]] = True
    is_asked[-1] = False
    records, rows = np.flatnonzero(is_asked[of_record]), np.flatnonzero(is_asked[component[shown]])
    counts = np.bincount(both.own_of_record)
    if not len(records) or counts[records].sum() > _MOST * counts.sum():
        return None
    return SearchedPart(records, rows, _select_comparison(both, records, rows), conditions.select(records, rows))


def _select_comparison(both: Comparison, records: Integers, rows: Integers) -> Comparison:
    own = _number(records, len(both.own))[both.own_of_record]
    shown = _number(rows, len(both.shown))[both.shown_of_row]
    return replace(
        both,
        own=both.own[records],
        own_of_record=own[own < len(records)],
        shown=both.shown[rows],
        shown_of_row=shown[shown < len(rows)],
    )


def _number(kept: Integers, n: int) -> Integers:
    """Shape (n,): the place of each of the kept ones among them; of the others a number more than there are."""
    position = np.full(n, len(kept), dtype=np.int64)
    position[kept] = np.arange(len(kept))
    return position

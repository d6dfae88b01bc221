"""Codes of rows that hang together, because a record may have shown one or another of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from tasks.microdata.table import Integers


def find_code_components(begins: Integers, ends: Integers, allowed: Integers, n_codes: int) -> tuple[Integers, Integers]:
    """Shape (n_codes,): which component each code is in, where the codes that one record is allowed are in one component; and
    shape (r,): in which the codes of each record are, -1 for a record that is allowed none.

    Equal records can be in different groups of microaggregation; each of them is then allowed the codes of all these groups.
    Where no record is allowed several codes, each code is a component of its own, with the same number.
    begins, ends: shape (r,), record i is allowed the codes allowed[begins[i]:ends[i]], all below n_codes.
    Cost: O(r + len(allowed) + n_codes).
    """
    opened, several = np.zeros(len(allowed) + 1, dtype=np.int64), ends - begins > 1
    np.add.at(opened, begins[several], 1)
    np.add.at(opened, ends[several] - 1, -1)
    linked = np.flatnonzero(np.cumsum(opened)[:-1] > 0)  # some record is allowed this code and the next one in the list
    edges = (np.ones(len(linked), dtype=bool), (allowed[linked], allowed[linked + 1]))
    graph = scipy.sparse.coo_matrix(edges, shape=(n_codes, n_codes))
    component = scipy.sparse.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    of_record, has_codes = np.full(len(begins), -1, dtype=np.int64), ends > begins
    of_record[has_codes] = component[allowed[begins[has_codes]]]
    return component, of_record

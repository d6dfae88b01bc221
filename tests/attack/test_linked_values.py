"""What the linked rows say of a confidential attribute."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.value_disclosure import compute_value_credits as values_of_units
from tasks.microdata.units import group_rows


def linked_values(links, original, released, targets, units=None):
    """Of records that are all released, each a unit of its own unless `units` says whose it is."""
    units = np.arange(len(released)) if units is None else units
    return values_of_units(links, original, released, targets, group_rows(units, len(released)), units[targets])


def links_of(search_class, sets, found_class):
    starts = np.cumsum([0, *(len(s) for s in sets)])
    return Links(np.array(found_class), np.array(search_class), starts, np.array([c for s in sets for c in s], dtype=np.int64))


def guessed(counts, truth, otherwise):
    counts = counts if counts else otherwise
    modal = [v for v, c in counts.items() if c == max(counts.values())]
    return (truth in modal) / len(modal)


def slowly(links, original, released, targets, units):
    linked, control, everywhere = [], [], Counter(released)
    for t in targets:
        s = links.search_class[t]
        rows = [r for r in range(len(released)) if links.found_class[r] in links.classes[links.starts[s] : links.starts[s + 1]]]
        linked.append(guessed(Counter(released[r] for r in rows), original[t], everywhere))
        control.append(guessed(Counter(released[r] for r in rows if units[r] != units[t]), original[t], everywhere))
    return linked, control


def test_worked_table():
    # records 0, 1 are linked to rows 0, 1, 2; record 2 to row 2 alone; record 3 to rows 3, 4; record 4 to nothing
    links = links_of([0, 0, 1, 2, 3], [[0, 1, 2], [2], [3, 4], []], [0, 1, 2, 3, 4])
    values = ["yes", "yes", "no", "yes", None]
    linked, control = linked_values(links, pa.array(values), pa.array(values), np.arange(5))
    assert linked.tolist() == [1, 1, 1, 0.5, 0]  # record 4: the release's "yes" is guessed, a missing value is the truth
    # without row 0: yes and no tie; row 2 struck out leaves nothing, so the release's "yes"; row 3 struck out leaves missing
    assert control.tolist() == [0.5, 0.5, 0, 0, 0]


def test_the_original_is_the_truth_not_what_was_published():
    links = links_of([0, 1], [[0], [1]], [0, 1])
    linked, _ = linked_values(links, pa.array([1, 2]), pa.array([1, 1]), np.arange(2))
    assert linked.tolist() == [1, 0]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(1, 6), st.integers(1, 5))
def test_slow_twin(seed, n, n_classes, n_values):
    rng = np.random.default_rng(seed)
    found = np.unique(rng.integers(0, n_classes, n), return_inverse=True)[1]
    search = np.unique(rng.integers(0, n_classes, n), return_inverse=True)[1]
    sets = [np.flatnonzero(rng.random(found.max() + 1) < 0.5).tolist() for _ in range(search.max() + 1)]
    links = links_of(search, sets, found)
    columns = [[None if v == 0 else int(v) for v in rng.integers(0, n_values + 1, n)] for _ in range(2)]
    targets = rng.permutation(n)[: max(1, n // 2)]
    for units in (np.arange(n), rng.integers(0, max(1, n // 3), n)):
        fast = linked_values(links, *(pa.array(c, type=pa.int64()) for c in columns), targets, units)
        for ours, twin in zip(fast, slowly(links, *columns, targets, units), strict=True):
            assert ours.tolist() == pytest.approx(twin)


def test_inverted_links_are_the_transpose():
    links = links_of([0, 1, 1], [[1], [0, 1]], [0, 1, 1])
    back = links.invert_links()
    assert [back.classes[back.starts[c] : back.starts[c + 1]].tolist() for c in range(2)] == [[1], [0, 1]]
    assert back.search_class.tolist() == [0, 1, 1]
    assert back.found_class.tolist() == [0, 1, 1]

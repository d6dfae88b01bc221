"""Codes that hang together: a worked example, and a slow twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.attack.transparency.code_components import find_code_components


def test_a_worked_example():
    # the list: 4 1 2 0; record 0 is allowed 4, record 1 code 1 or 2, record 2 code 2 or 0, record 3 none; nobody is allowed 3
    allowed = np.array([4, 1, 2, 0])
    component, of_record = find_code_components(np.array([0, 1, 2, 4]), np.array([1, 3, 4, 4]), allowed, 5)
    assert component.tolist() == [0, 0, 0, 1, 2]
    assert of_record.tolist() == [2, 0, 0, -1]


@given(st.data())
def test_each_code_by_itself_keeps_its_number(data):
    codes = data.draw(st.lists(st.integers(0, 9), min_size=1))
    places = np.arange(len(codes))
    component, of_record = find_code_components(places, places + 1, np.array(codes), 10)
    assert component.tolist() == list(range(10))
    assert of_record.tolist() == codes


@given(st.data())
def test_a_slow_twin(data):
    n_codes = data.draw(st.integers(1, 12))
    allowed = np.array(data.draw(st.lists(st.integers(0, n_codes - 1), max_size=20)), dtype=np.int64)
    cuts = st.tuples(st.integers(0, len(allowed)), st.integers(0, len(allowed))).map(sorted)
    spans = np.array(data.draw(st.lists(cuts, min_size=1, max_size=12)))
    component, of_record = find_code_components(spans[:, 0], spans[:, 1], allowed, n_codes)
    slow = list(range(n_codes))
    for first, last in spans:
        together = {slow[code] for code in allowed[first:last]}
        slow = [min(together) if one in together else one for one in slow]
    assert [[a == b for b in component] for a in component] == [[a == b for b in slow] for a in slow]
    for (first, last), found in zip(spans, of_record, strict=True):
        assert found == (component[allowed[first]] if last > first else -1)

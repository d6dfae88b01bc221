"""What an intruder computes, against what a table shows that was rounded elsewhere."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.attack.transparency import belief_conditions
from tasks.mask import methods
from tasks.mask.external_release import shown_digits
from tasks.mask.external_release.shown_digits import as_shown
from tasks.microdata.table import Microdata, holds_same_values


def shown(values, released):
    return as_shown(Microdata.from_columns({"x": np.array(values)}), Microdata.from_columns({"x": np.array(released)})).floats(
        "x"
    )


def test_a_mean_is_found_in_its_rounded_form():
    # the first record of Census, MDAV k = 3: the mean of three weights, as R's write.csv prints it
    assert shown([265865.0 + 2 / 3], [265865.67, 265865.33]).tolist() == [265865.67]


def test_what_is_not_near_stays():
    assert shown([1.0, 2.0, np.nan], [1.1, 2.1, 3.0])[:2].tolist() == [1.0, 2.0]
    assert np.isnan(shown([1.0, np.nan], [1.0])[1])


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30))
def test_what_is_shown_stays_as_it_is(values):
    assert shown(values, values).tolist() == values


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (pa.array([0.0, 1.5]), pa.array([0.0, 1.5]), True),
        (pa.array([0.0, 1.5]), pa.array([-0.0, 1.5]), False),  # two values in a file
        (pa.array([1.5, 0.0]), pa.array([0.0, 1.5]), False),
        (pa.array([1, 2]), pa.array([1.0, 2.0]), False),
        (pa.array([1.0]), pa.array([1.0, 1.0]), False),
        (pa.array(["a", None]), pa.array(["a", None]), True),
        (pa.array([1.0, None]), pa.array([1.0, None]), False),  # not asked of numbers with gaps
    ],
)
def test_columns_of_the_same_values(one, other, same):
    assert holds_same_values(one, other) == same


ZEROS = st.sampled_from([0.0, -0.0, 1.25, 7.0, 1e17])


@given(st.lists(st.tuples(ZEROS, st.sampled_from("ab"), ZEROS), min_size=1, max_size=12))
def test_equal_columns_are_compared_once_with_the_same_result(rows):
    columns = {"x": [row[0] for row in rows], "t": [row[1] for row in rows], "y": [row[2] for row in rows]}
    table, names = Microdata.from_columns(columns), ("x", "t", "y")
    found = [of(table) for of in _COMPARISONS]
    with pytest.MonkeyPatch.context() as patch:
        for module in (shown_digits, methods):
            patch.setattr(module, "holds_same_values", lambda *_: False)
        whole = [of(table) for of in _COMPARISONS]
    for one, other in zip(found, whole, strict=True):
        assert one == other
    codes, shown_codes = belief_conditions._encode_rows(names, table, table)
    assert codes.tolist() == shown_codes.tolist()


_COMPARISONS = (
    lambda table: [np.signbit(as_shown(table, table).floats("x")).tolist(), as_shown(table, table).floats("x").tolist()],
    lambda table: methods._find_precision_of_both(table, table),
    lambda table: [codes.tolist() for codes in belief_conditions._encode_rows(("x", "t", "y"), table, table)],
)

"""What an intruder computes, against what a table shows that was rounded elsewhere."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.mask.external_release.shown_digits import as_shown
from tasks.microdata.table import Microdata


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

"""Numbers at the ends of what a double can hold: a mask or an attack gives a result or refuses, and the process lives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.attack.neighbours.distances import euclidean
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import create_comparison
from tasks.mask.methods import Masking, mask
from tasks.microdata.compiled import LARGEST
from tasks.microdata.errors import InputError
from tasks.microdata.scaling import LARGEST_VALUE, LEAST_DEVIATION, is_comparable
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

STEP = TypeAdapter(Masking)
EXTREME = st.one_of(
    st.floats(allow_nan=False),
    st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e-308, 1e-160, 1e-45, 1e45, 1e46, 1e100, 1e155, 1.7e308, -1.7e308, 2.0**53]),
)
STEPS = {
    **{
        f"microaggregation by {partition}": {"method": "microaggregation", "k": 3, "partition": partition}
        for partition in ("mdav", "v_mdav", "refined", "individual_ranking", "projection")
    },
    "swapping": {"method": "rank_swapping", "window_percent": 20},
    "jitter": {"method": "rank_jitter", "window_percent": 20},
    "noise": {"method": "noise", "kind": "independent", "sd_percent": 10},
}
SCHEMA = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in "ab"))


@pytest.mark.parametrize("parameters", STEPS.values(), ids=STEPS)
@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.tuples(EXTREME, EXTREME), min_size=12, max_size=16))
def test_masks_and_the_nearest_record(parameters, values):
    data = Microdata.from_columns({"a": [one for one, _ in values], "b": [other for _, other in values]})
    try:
        with np.errstate(all="ignore"):
            masked = mask(data, SCHEMA, (STEP.validate_python(parameters, strict=False),), seed=bytes(32), path=()).data
            both = create_comparison(data, masked, SCHEMA, ("a", "b"), "release")
            search = Search(both.own, both.shown, both.columns, euclidean(2))
            for links in (search.nearest(), search.find_nearest_by_pairs()):
                assert ((links.found >= 0) & (links.found < len(both.shown))).all()
    except InputError as refused:
        assert refused.remedy


def test_the_bounds_of_a_column_keep_the_distances_below_that_of_compiled_code():
    assert LARGEST_VALUE**2 < LARGEST
    assert 1 / LEAST_DEVIATION**2 < LARGEST


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([0.0, 1e45], True),
        ([0.0, 1.1e45], False),
        ([0.0, 3e-45], True),
        ([0.0, 1e-46], False),
        ([1e45] * 3, True),
        ([1e46] * 3, False),
        ([np.inf, 1.0], False),
        ([np.nan, np.nan], True),
        ([], True),
        ([5e-324, 5e-324], True),
    ],
)
def test_which_columns_can_be_compared(values, fits):
    assert is_comparable(np.array(values, dtype=float)) is fits

"""A table with dates through masking, attacking and scoring: its figures are those of the day numbers."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.neighbours.record_comparison import create_comparison
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.catalogue import LOSS
from tasks.score.interval_disclosure import RankIntervalDisclosure, rank_interval_disclosure, same_value_disclosure
from tasks.score.loss import sse_percent
from tasks.score.table_measures import compute_family
from tasks.score.table_pair import RowwiseTablePair

SEED = bytes(32)
BORN = [date(1960, 1, 1), date(1960, 1, 3), date(1960, 1, 11), date(1960, 1, 13)]
RNG = np.random.default_rng(8)
DAYS = RNG.integers(-4000, 12_000, 60)
SECONDS = RNG.integers(0, 86_400, 60)
CODES = [f"{code:03}" for code in RNG.integers(1, 6, 60)]
HEIGHT = RNG.integers(150, 200, 60)


def schema_of(**scales):
    return Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared") for name, scale in scales.items()))


def both_ways():
    """The same table once with dates, times and codes, and once with the numbers and categories they stand for."""
    times = [(datetime(1970, 1, 1) + (np.timedelta64(int(s), "s")).astype(object)).time() for s in SECONDS]
    dated = Microdata.from_columns({"born": DAYS.astype("datetime64[D]"), "seen": times, "height": HEIGHT, "code": CODES})
    plain = Microdata.from_columns({"born": DAYS, "seen": SECONDS, "height": HEIGHT, "code": CODES})
    first = schema_of(born=Scale.DATE, seen=Scale.TIME, height=Scale.NUMERIC, code=Scale.CODE)
    second = schema_of(born=Scale.NUMERIC, seen=Scale.NUMERIC, height=Scale.NUMERIC, code=Scale.NOMINAL)
    return (dated, first), (plain, second)


def test_the_loss_of_dates_by_hand():
    """Means 2 and 12 January: every date moves by one day, so SSE is 4; the deviations from the 7th are 6, 4, 4, 6: SST 104."""
    data, schema = Microdata.from_columns({"born": BORN}), schema_of(born=Scale.DATE)
    done = mask(data, schema, (Microaggregation(method="microaggregation", k=2),), seed=SEED, path=("test",))
    assert done.data.column("born").to_pylist() == [date(1960, 1, 2)] * 2 + [date(1960, 1, 12)] * 2
    whole, part = sse_percent(RowwiseTablePair(data, done.data, schema, done.mechanisms))
    assert whole.value == part.value == pytest.approx(100 * 4 / 104)
    links = link_by_distance(data, done.data, schema, DistanceLinkage(method="distance_linkage"), ("born",))
    assert links.guesses(np.arange(4)).tie_sizes().tolist() == [2, 2, 2, 2]


STEPS = [
    (Microaggregation(method="microaggregation", k=3, attributes=("born", "seen", "height")),),
    (RankSwapping(method="rank_swapping", window_percent=10, attributes=("born", "seen")),),
]


@pytest.mark.parametrize("steps", STEPS)
def test_every_figure_of_dates_is_that_of_the_numbers_they_count(steps):
    figures, linked, sizes = [], [], []
    for data, schema in both_ways():
        done = mask(data, schema, steps, seed=SEED, path=("test",))
        tables = RowwiseTablePair(data, done.data, schema, done.mechanisms)
        found = (*compute_family(LOSS, tables), *same_value_disclosure(tables))
        figures.append((*found, *rank_interval_disclosure(tables, RankIntervalDisclosure())))
        names = schema.names
        linked.append(create_comparison(data, done.data, schema, names, "release").weight)
        attack, _ = link_by_mechanism(data, done.data, schema, done.mechanisms, names)
        sizes.append(attack.guesses(np.arange(data.n)).tie_sizes())
    assert len(figures[0]) > 15
    for one, other in zip(*figures, strict=True):
        assert (one.measure, one.attribute, one.status) == (other.measure, other.attribute, other.status)
        assert one.value == pytest.approx(other.value, abs=1e-12)
    np.testing.assert_allclose(*linked)
    np.testing.assert_array_equal(*sizes)

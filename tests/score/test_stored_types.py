"""Categories have the same figures however they are written: as whole numbers, decimals or text."""

import numpy as np
import pyarrow as pa
import pytest

from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.methods import score

WRITTEN = {"whole numbers": pa.int64(), "decimals": pa.float64(), "text": pa.string()}
STEPS = {
    "groups": Microaggregation(method="microaggregation", attributes=("kind", "group"), k=2),
    "PRAM": Pram(method="pram", attributes=("kind", "group"), retention=0.6),
}


def figures(scale: Scale, method: str, written: str):
    rng = np.random.default_rng(3)
    columns = {
        name: [None if rng.random() < 0.1 else int(code) for code in rng.integers(1, 6, 90)] for name in ("kind", "group")
    }
    if method == "groups":  # who misses a value is grouped with those who miss the same
        columns = {name: [code or 3 for code in codes] for name, codes in columns.items()}
    data = Microdata(pa.table({name: pa.array(codes, pa.int64()) for name, codes in columns.items()}))
    schema = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared") for name in columns))
    done = mask(data, schema, (STEPS[method],), seed=bytes(32), path=())
    alignment = Alignment(done.record, np.argsort(done.order), data.n)
    as_written = (
        Microdata(pa.table({name: one.column(name).cast(WRITTEN[written]) for name in one.names})) for one in (data, done.data)
    )
    found = score(*as_written, schema, done.mechanisms, (), (), alignment=alignment, n_targets=data.n)
    return {(one.measure, one.attribute, one.parameters): (one.value, one.low, one.high, one.chance) for one in found}


@pytest.mark.parametrize("method", STEPS)
@pytest.mark.parametrize("scale", [Scale.NOMINAL, Scale.CODE])
def test_how_categories_are_written_changes_no_figure(scale, method):
    expected = figures(scale, method, "text")
    assert len(expected) > 5
    for written in ("whole numbers", "decimals"):
        assert figures(scale, method, written) == expected

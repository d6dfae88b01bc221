"""What the tests of masking share: tables of numbers and their schemas."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata


@pytest.fixture(scope="session")
def numbers():
    """A function: columns by name -> (table, schema) with every column a numeric quasi-identifier."""

    def made(columns, **scales):
        data = Microdata.from_columns({name: np.asarray(values) for name, values in columns.items()})
        attributes = (
            Attribute(name, Role.QUASI_IDENTIFIER, scales.get(name, Scale.NUMERIC), "declared") for name in data.names
        )
        return data, Schema(tuple(attributes))

    return made

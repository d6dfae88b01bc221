"""What the tests of the attacks share: small tables, their schemas, and the credit matrix of an attack."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def census(reference, table):
    """Census: (table, schema), all 13 columns quasi-identifiers."""
    frame = pd.read_csv(reference / "census.csv")
    return table({name: frame[name].to_numpy() for name in frame})


@pytest.fixture(scope="session")
def credits():
    """A function: links -> matrix of credits, one row per searching record, one column per found one."""

    def matrix(links):
        n = len(links.search_class)
        guesses = links.guesses(np.arange(n))
        credit = np.zeros((n, len(links.found_class)))
        for i in range(n):
            mine = guesses.classes[guesses.starts[i] : guesses.starts[i + 1]]
            credit[i] = np.isin(links.found_class, mine)
        return credit / credit.sum(axis=1, keepdims=True)

    return matrix

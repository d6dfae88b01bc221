"""Whose linkage is scored: all rows, a sample of records, a sample of persons with all their rows."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.task import scored_targets
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.runtime.draws import keep_chosen_seed


@pytest.fixture
def data(home):
    return Microdata.from_columns({"who": np.arange(300) % 90, "x": np.arange(300)})


def schema_of(role):
    return Schema((Attribute("who", role, Scale.NUMERIC, "declared"), Attribute("x", role, Scale.NUMERIC, "declared")))


def test_everybody(data):
    for role in (Role.OTHER, Role.QUASI_IDENTIFIER):
        assert scored_targets(data, schema_of(role), 1.0, "not needed").tolist() == [*range(300)]


def test_a_sample_of_records(data):
    draw = keep_chosen_seed(11)
    found = scored_targets(data, schema_of(Role.OTHER), 0.2, draw)
    assert len(found) == len(set(found.tolist())) == 60
    assert found.tolist() != sorted(found.tolist())
    assert found.tolist() == scored_targets(data, schema_of(Role.OTHER), 0.2, draw).tolist()
    assert len(scored_targets(data, schema_of(Role.OTHER), 1e-6, draw)) == 1


def test_a_sample_of_persons(data):
    persons = Schema((Attribute("who", Role.PERSON, Scale.NUMERIC, "declared"), schema_of(Role.OTHER)["x"]))
    found = scored_targets(data, persons, 0.1, keep_chosen_seed(11))
    who = np.arange(300) % 90
    drawn = set(who[found].tolist())
    assert len(drawn) == 9
    assert sorted(found.tolist()) == np.flatnonzero(np.isin(who, list(drawn))).tolist()
    # all rows of a person stand together, so that the order of the rows is that of the draw
    assert len(np.flatnonzero(np.diff(who[found]))) == 8


@pytest.mark.parametrize("kind", ["euclidean", "mahalanobis", "gower", "kernel"])
def test_the_links_of_targets_depend_on_nobody_else(table, kind):
    rng, n = np.random.default_rng(9), 60
    group = [None if code == 3 else "abc"[code] for code in rng.integers(0, 4, n)]
    columns = {"x": rng.integers(0, 12, n), "y": rng.integers(0, 5, n), "group": group}
    data, schema = table(columns, scales={"group": Scale.NOMINAL})
    masked, targets = data.replace_column("x", data.column("x").take(rng.permutation(n))), np.array([41, 3, 17])
    spec = DistanceLinkage.model_validate({"method": "distance_linkage", "distance": {"kind": kind}}, strict=False)
    some = link_by_distance(data, masked, schema, spec, schema.names, searching=targets)
    whole = link_by_distance(data, masked, schema, spec, schema.names)
    for part in ("starts", "classes"):
        np.testing.assert_array_equal(getattr(some.guesses(targets), part), getattr(whole.guesses(targets), part))
    np.testing.assert_array_equal(some.margins(targets), whole.margins(targets))
    assert some.n_given == len(targets)
    others = np.setdiff1d(np.arange(n), targets)
    assert not some.guesses(others).tie_sizes().any() and not some.margins(others).any()

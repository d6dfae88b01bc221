"""Small releases: a table, what a mask made of it, and what an attack found."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.outcomes.outcome import AttackResult
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.alignment import Alignment
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.table_pair import RowwiseTablePair


def grouped(*names):
    """A masking step on these attributes."""
    return Microaggregation(method="microaggregation", attributes=names, k=2)


def attribute(name, *, role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC, order=None):
    return Attribute(name=name, role=role, scale=scale, decided_by="declared", order=order)


@pytest.fixture
def pair_of():
    """Two tables of the same columns side by side; every attribute is a numeric quasi-identifier unless it is described."""

    def make(original, masked, described=(), steps=None):
        by_name = {one.name: one for one in described}
        schema = Schema(tuple(by_name.get(name, attribute(name)) for name in original))
        steps = (grouped(*masked),) if steps is None else steps
        return RowwiseTablePair(Microdata.from_columns(original), Microdata.from_columns(masked), schema, tuple(steps))

    return make


@pytest.fixture
def scene_of():
    """The scene of a pair of tables whose records are all released: (scene, schema)."""

    def make(pair):
        alignment = Alignment.complete_in(np.arange(pair.original.n))
        return GroundTruth.create_from_tables(pair.original, pair.masked, pair.schema, alignment), pair.schema

    return make


@pytest.fixture
def result_of():
    """The result of an attack from columns of its outcomes; None: it did not run."""

    def make(outcomes, *, attack="distance_linkage", intruder="declared", status="ok", n_release=4, reason=None):
        return AttackResult(
            attack=attack,
            method="distance_linkage",
            intruder=intruder,
            status=status,
            reason=reason,
            infers="the row of each record",
            knows_data="all quasi-identifiers",
            knows_mechanism="nothing",
            direction="to_release",
            scale_by="release",
            n_release=n_release,
            chance=1 / n_release,
            outcomes=None if outcomes is None else Microdata.from_columns(_complete(outcomes)),
        )

    return make


def _complete(outcomes):
    """Outcomes with the columns that follow from the others where every record is released."""
    sound, among = outcomes["sound_candidates"], outcomes["among_nearest"]
    known = [bool(s == 1 and a) for s, a in zip(sound, among, strict=True)]
    return {"in_release": [True] * len(known), "known": known, **outcomes}

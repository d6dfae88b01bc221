"""Small releases: a table, what a mask made of it, and what an attack found."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tasks.attack.outcome import AttackResult
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.aligned import Aligned


@dataclass(frozen=True)
class Step:
    """A masking step as the measures see it."""

    attributes: tuple[str, ...]
    method: str = "microaggregation"


def attribute(name, *, role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC, order=None):
    return Attribute(name=name, role=role, scale=scale, decided_by="declared", order=order)


@pytest.fixture
def pair_of():
    """Two tables of the same columns side by side; every attribute is a numeric quasi-identifier unless it is described."""

    def make(original, masked, described=(), steps=None):
        by_name = {one.name: one for one in described}
        schema = Schema(tuple(by_name.get(name, attribute(name)) for name in original))
        steps = (Step(tuple(masked)),) if steps is None else steps
        return Aligned(Microdata.of(original), Microdata.of(masked), schema, tuple(steps))

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
            outcomes=None if outcomes is None else Microdata.of(outcomes),
        )

    return make

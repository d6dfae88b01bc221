"""Whose rows an attack by earlier releases links, and which people are new, have left, or have changed since."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.together.earlier_release import EarlierView
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, encode_jointly
from tasks.score.subgroups import Subgroup

NEW, LEFT, CHANGED = "new people", "people who left", "people whose confidential values changed"


@dataclass(frozen=True, slots=True)
class JoinedTruth:
    """Whose rows are linked: the ground truth and schema of a release, and those of its people who are judged apart."""

    truth: GroundTruth
    schema: Schema
    changes: tuple[Subgroup, ...]


def judge_newest(truth: GroundTruth, schema: Schema, views: tuple[EarlierView, ...]) -> JoinedTruth:
    """Of this release: who is in no earlier one that was joined, and whose confidential values differ from one of these."""
    if not views:
        return JoinedTruth(truth, schema, ())
    new = np.all([view.record < 0 for view in views], axis=0)
    changed = np.any([find_changed(truth, schema, view) for view in views], axis=0)
    return JoinedTruth(truth, schema, _list_parts(truth, ((NEW, new), (CHANGED, changed))))


def judge_earlier(view: EarlierView) -> JoinedTruth:
    """Of an earlier release: who is not in this one."""
    truth = GroundTruth.create_from_tables(view.original, view.masked, view.schema, view.alignment)
    left = ~np.isin(np.arange(view.original.n), view.record)
    return JoinedTruth(truth, view.schema, _list_parts(truth, ((LEFT, left),)))


def find_changed(truth: GroundTruth, schema: Schema, view: EarlierView) -> Booleans:
    """Shape (n,): is the record in both sources, with another value of a confidential attribute that both publish?"""
    there = np.flatnonzero(view.record >= 0)
    changed = np.zeros(truth.original.n, dtype=bool)
    for name in schema.find_by_role(Role.CONFIDENTIAL):
        if name in view.original.names:
            now, then = encode_jointly(truth.original.column(name), view.original.column(name))
            changed[there] |= now[there] != then[view.record[there]]
    return changed


def _list_parts(truth: GroundTruth, parts: tuple[tuple[str, Booleans], ...]) -> tuple[Subgroup, ...]:
    """The parts that hold somebody, but not everybody, as units: a person belongs to one with any of their rows."""
    found = []
    for name, records in parts:
        members = np.zeros(truth.units.n_units, dtype=bool)
        members[truth.units.of_row[records]] = True
        if 0 < members.sum() < len(members):
            found.append(Subgroup("", name, members))
    return tuple(found)

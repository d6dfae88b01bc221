"""Whose rows an attack by earlier releases links, and which people are new, have left, or have changed since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tasks.attack.together.earlier_release import EarlierView
from tasks.mask.personal_laws import is_personal
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, encode_jointly
from tasks.score.subgroups import Subgroup

NEW, LEFT, CHANGED = "new people", "people who left", "people whose confidential values changed"
DRAWN = "people of whom a value was drawn anew"
CHANGES = (NEW, LEFT, CHANGED, DRAWN)


@dataclass(frozen=True, slots=True)
class JoinedTruth:
    """Whose rows are linked: the ground truth and schema of a release, and those of its people who are judged apart."""

    truth: GroundTruth
    schema: Schema
    changes: tuple[Subgroup, ...]


def judge_releases(truth: GroundTruth, schema: Schema, views: tuple[EarlierView, ...]) -> dict[str | None, JoinedTruth]:
    """Whose rows the attacks by earlier releases link: those of this release (None), or of an earlier one, by its name."""
    return {None: judge_newest(truth, schema, views), **{view.name: judge_earlier(view) for view in views}}


def judge_newest(truth: GroundTruth, schema: Schema, views: tuple[EarlierView, ...]) -> JoinedTruth:
    """Of this release: who is in no earlier one that was joined, and whose values differ from one of these.

    Confidential values and those that are drawn per person are looked at apart.
    """
    if not views:
        return JoinedTruth(truth, schema, ())
    new = np.all([view.record < 0 for view in views], axis=0)
    confidential = schema.find_by_role(Role.CONFIDENTIAL)
    changed = np.any([find_changed(truth, confidential, view) for view in views], axis=0)
    drawn = np.any([find_changed(truth, _list_personal(view), view) for view in views], axis=0)
    return JoinedTruth(truth, schema, _list_parts(truth, ((NEW, new), (CHANGED, changed), (DRAWN, drawn))))


def judge_earlier(view: EarlierView) -> JoinedTruth:
    """Of an earlier release: who is not in this one."""
    truth = GroundTruth.create_from_tables(view.original, view.masked, view.schema, view.alignment)
    left = ~np.isin(np.arange(view.original.n), view.record)
    return JoinedTruth(truth, view.schema, _list_parts(truth, ((LEFT, left),)))


def find_changed(truth: GroundTruth, names: Iterable[str], view: EarlierView) -> Booleans:
    """Shape (n,): is the record in both sources, with another value of one of the attributes?"""
    there = np.flatnonzero(view.record >= 0)
    changed = np.zeros(truth.original.n, dtype=bool)
    for name in names:
        if name in view.original.names and name in truth.original.names:
            now, then = encode_jointly(truth.original.column(name), view.original.column(name))
            changed[there] |= now[there] != then[view.record[there]]
    return changed


def _list_personal(view: EarlierView) -> tuple[str, ...]:
    """The attributes whose draws belong to a person and a value, so that another value shows another one."""
    return tuple(name for step in view.mechanisms if is_personal(step) for name in step.target_attributes)


def _list_parts(truth: GroundTruth, parts: tuple[tuple[str, Booleans], ...]) -> tuple[Subgroup, ...]:
    """The parts that hold somebody, but not everybody, as units: a person belongs to one with any of their rows."""
    found = []
    for name, records in parts:
        members = np.zeros(truth.units.n_units, dtype=bool)
        members[truth.units.of_row[records]] = True
        if 0 < members.sum() < len(members):
            found.append(Subgroup("", name, members))
    return tuple(found)

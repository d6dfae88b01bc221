"""Masked attributes that an attack by the mechanism could not follow, and whether the intruder or sdcert is the reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tasks.attack.consistency.consistency import Consistency, find_exchanged, select_swapped_attributes
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency, follow_steps, why_lost
from tasks.mask.methods import Mechanism
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import AttackFailed
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers
from tasks.microdata.words import join_with_and

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Masked attributes that an intruder knows and cannot follow through the steps.

    lost: nor can somebody who holds all records and knows all published attributes; reason: why. hidden: somebody who holds all
    records, and knows the same attributes, can.
    """

    lost: Names = frozenset()
    hidden: Names = frozenset()
    reason: str = ""


def find_gaps(
    scene: GroundTruth,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Transparency | Consistency,
    intruder: Intruder,
    held: Integers | None,
) -> Gaps:
    """What an intruder cannot follow of the steps, who holds some of the records.

    scene: of all records. held: rows of the source, ascending; None: all.
    Where the steps cannot be repeated on all records, whatever a holder of a share cannot follow counts as hidden from them.
    Cost: that of `conclusions`, three times at the most.
    """
    if not mechanisms:
        return Gaps()
    cannot_follow = partial(_list_unfollowed_attributes, scene, schema, mechanisms, spec, intruder)
    try:
        own = cannot_follow(intruder.knows, held)
    except AttackFailed:
        return Gaps()  # the attack fails too, and says so
    if not own:
        return Gaps()
    try:
        with_all = own if held is None else cannot_follow(intruder.knows, None)
        lost = own & cannot_follow(scene.masked.names, None)
    except AttackFailed:
        return Gaps(hidden=own if held is not None else frozenset())
    names = tuple(name for name in intruder.knows if name in lost)
    if isinstance(spec, Transparency):
        return Gaps(lost, own - with_all, why_lost(mechanisms, names))
    why = (
        f"what was rank-swapped in {join_with_and(names)} was masked again, or not known for sure before: no pairs "
        "to look for there"
    )
    return Gaps(lost, own - with_all, why)


def find_known_participants(
    scene: GroundTruth, mechanisms: tuple[Mechanism, ...], intruder: Intruder, held: Integers | None
) -> Integers | None:
    """Places among the intruder's records of those that they know to be released; None: they do not know, or all are."""
    if scene.alignment.complete or not (is_sampled(mechanisms) and intruder.participation_known):
        return None
    record = scene.alignment.record
    return record if held is None else np.flatnonzero(np.isin(held, record))


def is_sampled(mechanisms: tuple[Mechanism, ...]) -> bool:
    """Did a step leave out records?"""
    return any(isinstance(step, Sampling) for step in mechanisms)


def _list_unfollowed_attributes(
    scene: GroundTruth,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Transparency | Consistency,
    intruder: Intruder,
    knows: tuple[str, ...],
    held: Integers | None,
) -> Names:
    original = scene.original if held is None else scene.original.take(held)
    steps = (original, scene.masked, schema, mechanisms, knows)
    present, n_records = find_known_participants(scene, mechanisms, intruder, held), scene.alignment.n_records
    if isinstance(spec, Consistency):
        return frozenset(select_swapped_attributes(mechanisms, knows)).difference(
            find_exchanged(*steps, present=present, n_records=n_records)
        )
    told = follow_steps(*steps, present=present, n_records=n_records, window_at_most=spec.window_at_most)
    return frozenset(told.unclear)

"""The cached tasks that attack a release together with the earlier ones about the same people."""

from __future__ import annotations

import dataclasses

import numpy as np

from tasks.attack.memory_needs import estimate_attack_bytes
from tasks.attack.outputs import AttackOutputs, ReconstructionOutputs
from tasks.attack.task import ROOMS, scored_targets
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierRelease, EarlierView, read_earlier_view
from tasks.attack.together.earlier_releases import create_spec, create_unfollowed_result
from tasks.attack.together.joint_attack import attack_together
from tasks.attack.together.value_reconstruction import reconstruct_values
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import read_alignment, require_alignment
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Store
from tasks.runtime.memory_gate import memory_gate
from tasks.runtime.stages import stage


@stage("attack", rooms=ROOMS)
def attack_with_earlier_releases(
    data: TableRef,
    masked: TableRef,
    alignment: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    intruder: RecordRef[Intruder],
    share: float,
    draw: str,
    series: str,
    earlier: list[RecordRef[EarlierRelease]],
    of: RecordRef[EarlierRelease] | None,
) -> AttackOutputs:
    """Let one intruder join the release with earlier ones.

    earlier: the releases that count, those that cannot be attacked among them. of: the earlier release whose rows are linked;
    None: the rows of this one. If it cannot be attacked, the result says why. Other arguments: as `attack_release`.
    """
    store = Store()
    releases = [store.record(one, EarlierRelease) for one in earlier]
    who, attacked = store.record(intruder, Intruder), None if of is None else store.record(of, EarlierRelease)
    spec = create_spec(None if attacked is None else attacked.name)
    if attacked is not None and attacked.tables is None:
        return {"result": store.put_record(create_unfollowed_result(spec, attacked, who))}
    usable = [(one, one.tables) for one in releases if one.tables is not None]
    original = store.table(data)
    rows = read_alignment(store.table(alignment), original.n)
    newest = EarlierView(
        name="",
        original=original,
        masked=store.table(masked),
        schema=store.record(schema, Schema),
        mechanisms=store.record(mechanisms, Mechanisms),
        alignment=require_alignment(rows),
        record=np.arange(original.n, dtype=np.int64),
        series=series,
    )
    needed = estimate_attack_bytes(spec, newest.mechanisms, original.n, len(who.knows)) * (len(usable) + 1)
    with memory_gate.hold(needed):
        found = attack_together(
            newest,
            tuple(read_earlier_view(store, one, tables) for one, tables in usable),
            spec,
            who,
            of=None if attacked is None else attacked.name,
            names={one.name: one.release for one in releases},
            choose_targets=lambda truth, about, part: scored_targets(truth.original, about, part, draw, truth.units),
            share=share,
        )
    produced: AttackOutputs = {"result": store.put_record(dataclasses.replace(found, outcomes=None))}
    if of is not None:
        produced["earlier"] = of
    if found.outcomes is not None:
        produced["outcomes"] = store.put_table(found.outcomes)
    return produced


@stage("reconstruction", rooms=ROOMS)
def reconstruct_from_releases(
    data: TableRef,
    masked: TableRef,
    alignment: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    earlier: list[RecordRef[EarlierRelease]],
) -> ReconstructionOutputs:
    """Solve the equations of the group means of this release and of earlier ones about the same people together."""
    store = Store()
    original = store.table(data)
    counted = [store.record(one, EarlierRelease) for one in earlier]
    views = tuple(
        read_earlier_view(store, one, one.tables)
        for one in counted
        if one.tables is not None and "record" in store.table(one.tables.alignment).names  # else its rows are nobody's
    )
    found = reconstruct_values(
        original,
        store.table(masked),
        require_alignment(read_alignment(store.table(alignment), original.n)),
        store.record(schema, Schema),
        store.record(mechanisms, Mechanisms),
        views,
    )
    unread = tuple(sorted(one.name for one in counted if one.tables is None))
    return {"reconstruction": store.put_record(dataclasses.replace(found, unread=unread))}

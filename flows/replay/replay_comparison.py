"""Explain which stages of a run come out otherwise in a replay: changed inputs, code, lock, data or platform."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from flows.kinds import find_kind
from flows.kinds.model import FITTED_MODEL
from flows.mask_stages import CONTROL_TABLE, RELEASED_TABLE
from flows.replay.environment_changes import Changes
from flows.replay.past_run import PastRun
from flows.replay.rerun import Rerun, describe_failure, strip_token
from flows.replay.table_difference import compare_rows
from flows.run.publish import digest_file
from tasks.attack.linkage.external_files import FILE
from tasks.audit.ledger.entries import ReleasedTable
from tasks.microdata.errors import SdcertError
from tasks.microdata.refs import TableRef
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.failures import StageFailure

CauseKind = Literal["data", "code", "lock", "packages", "platform", "inputs", "unknown", "unexplained"]
RELEASED_FILE = "released file"
ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a stage came out otherwise, in words that hold no value of the data."""

    kind: CauseKind
    text: str


@dataclass(frozen=True, slots=True)
class StageFound:
    """One stage. `follows`: it differs because its inputs do. outputs: which of its products differ."""

    stage: str
    outcome: Literal["identical", "differs", "follows", "not reached"]
    outputs: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """Every stage that the run came through, in its order, then the released file and how the run ended, where they apply.

    changes: what has changed since, whether it made a difference or not. remarks: what else a reader should know.
    """

    stages: tuple[StageFound, ...]
    changes: Changes
    remarks: tuple[str, ...] = ()

    @property
    def differs(self) -> tuple[str, ...]:
        return tuple(found.stage for found in self.stages if found.outcome != "identical")

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Every cause once, those of consequences left out."""
        causes = [cause for found in self.stages for cause in found.causes if cause.kind != "inputs"]
        return tuple(dict.fromkeys(causes))


def compare_with_replay(run: PastRun, again: Rerun, changes: Changes, *, moved: tuple[str, ...] = ()) -> ReplayComparison:
    """Compare a run with its replay.

    moved: `source`, `released`, `file:<name>`: what was read from another place, so that its path is no difference.
    """
    found = tuple(_stage(name, run, again, changes, moved) for name in run.stages)
    if run.ended is not None and run.ended.released is not None:
        found += (_compare_released_file(run.ended.released, again, changes),)
    return ReplayComparison((*found, *_compare_endings(run, again, changes)), changes, tuple(_list_remarks(run, again)))


def _stage(name: str, run: PastRun, again: Rerun, changes: Changes, moved: tuple[str, ...]) -> StageFound:
    then, now = run.stages[name], again.stages.get(name)
    if now is None:
        return StageFound(name, "not reached", causes=(Cause("inputs", "the replay ended before it"),))
    outputs = tuple(sorted(part for part in then.keys() | now.keys() if then.get(part) != now.get(part)))
    if not outputs:
        return StageFound(name, "identical")
    inputs = _compare_inputs(name, run, again)
    if inputs.products:
        return StageFound(name, "follows", outputs, (Cause("inputs", ", ".join(inputs.products)),))
    given = inputs.given - _find_moved_arguments(name, run, moved)
    data = tuple(_compare_data(name, run, again) for position in given if position == _digest_position(name, run))
    plan = given - {_digest_position(name, run)}
    return StageFound(name, "differs", outputs, (*data, *_find_causes(again.rooms[name], changes, bool(plan), bool(data))))


def _find_causes(rooms: tuple[str, ...], changes: Changes, plan: bool, explained: bool) -> Iterator[Cause]:
    """What has changed of all that a stage depends on besides its inputs.

    plan: it was told something else to do, so that the flow counts as well. explained: another cause is known.
    """
    files = (*(changes.flow_files if plan else ()), *changes.list_room_files(rooms))
    causes = [Cause(kind, explanation) for kind, explanation in changes.describe_by_kind(files).items()]
    yield from causes
    if not changes.known:
        yield Cause("unknown", "what the run was made by was not kept, or the store has lost it")
    elif not (causes or explained):
        yield Cause(
            "unexplained", "nothing that it depends on has changed: it is not deterministic, or depends on what is not kept"
        )


@dataclass(frozen=True, slots=True)
class _Inputs:
    """products: the stages whose differing products it was given. given: the places of its other arguments that differ."""

    products: tuple[str, ...]
    given: frozenset[int]


def _compare_inputs(name: str, run: PastRun, again: Rerun) -> _Inputs:
    """What a stage was given otherwise. A manifest that kept no inputs: whatever differs before the stage."""
    origin = {address: stage for stage, produced in run.stages.items() for address in produced.values()}
    if name not in run.inputs:
        names = list(run.stages)
        before = [stage for stage in names[: names.index(name)] if again.stages.get(stage) != run.stages[stage]]
        return _Inputs(tuple(before), frozenset({_digest_position(name, run)} if name == "ingest" else ()))
    pairs = list(zip_longest(_flatten_texts(run.inputs[name]), _flatten_texts(again.inputs[name])))
    unlike = [position for position, (then, now) in enumerate(pairs) if then != now]
    products = dict.fromkeys(origin[pairs[position][0]] for position in unlike if pairs[position][0] in origin)
    return _Inputs(tuple(products), frozenset(position for position in unlike if pairs[position][0] not in origin))


def _flatten_texts(arguments: Any) -> Iterator[str]:
    """The texts of nested arguments, in an order that does not depend on how a dict was built."""
    match arguments:
        case dict():
            for name in sorted(arguments):
                yield from _flatten_texts(arguments[name])
        case list() | tuple():
            for part in arguments:
                yield from _flatten_texts(part)
        case _:
            yield arguments


def _digest_position(name: str, run: PastRun) -> int:
    """Which argument of a stage is the digest of a file that it reads; -1: it reads none."""
    if name in ("ingest", CONTROL_TABLE, RELEASED_TABLE) or is_file_stage(name):
        return 1
    if name == FITTED_MODEL:
        return 3
    return 3 if name == "mask" and run.release.adoption_plan is not None else -1


def is_file_stage(name: str) -> bool:
    """Is it the stage in which an external file of the intruder is read?"""
    return name.startswith(f"ingest {FILE}:")


def _find_moved_arguments(name: str, run: PastRun, moved: tuple[str, ...]) -> frozenset[int]:
    """Which argument of a stage differs for no other reason than that a file is at another place."""
    position, file = (
        _digest_position(name, run) - 1,
        {"ingest": "source", "mask": "released"}.get(name, name.removeprefix("ingest ")),
    )
    return frozenset({position}) if position >= 0 and file in moved else frozenset()


def _compare_data(name: str, run: PastRun, again: Rerun) -> Cause:
    part, whose, key = (
        "masked" if name == "mask" else "data",
        _name_stage_file(name),
        run.release.key if name in ("ingest", RELEASED_TABLE) else None,
    )
    if name == FITTED_MODEL:
        return Cause("data", f"the file of {whose} has other bytes")
    store, now = Store(), again.stages[name][part]
    if run.stages[name][part] == now:
        return Cause("data", f"the file of {whose} has other bytes, and the same rows")
    try:
        then = store.table(TableRef(run.stages[name][part]))
    except Damaged:
        return Cause("data", f"{whose} has other content; which rows is not known, the store no longer has the earlier table")
    return Cause("data", f"{whose}: {compare_rows(then, store.table(TableRef(now)), key)}")


def _name_stage_file(stage: str) -> str:
    """What a stage reads from a file."""
    if is_file_stage(stage):
        return f"the intruder's {stage.removeprefix('ingest ')}"
    names = dict.fromkeys(("mask", RELEASED_TABLE), "the released table")
    return {**names, CONTROL_TABLE: "the control", FITTED_MODEL: "the model"}.get(stage, "the source")


def _compare_released_file(then: ReleasedTable, again: Rerun, changes: Changes) -> StageFound:
    if again.made is None:
        return StageFound(RELEASED_FILE, "not reached", causes=(Cause("inputs", "the replay ended before it"),))
    kind = find_kind(again.recorded.release)
    file = kind.write_file(again.made, again.recorded.release, digest_file)
    parts = {"sha256": file.sha256 == then.sha256, "content_address": file.content_address == then.content_address}
    unlike = tuple(name for name, same in parts.items() if not same)
    if not unlike:
        return StageFound(RELEASED_FILE, "identical")
    made_by = next(name for name in kind.made_by if name in again.recorded.stages)
    if again.stages.get(made_by) != again.recorded.stages[made_by]:
        return StageFound(RELEASED_FILE, "follows", unlike, (Cause("inputs", made_by),))
    causes = tuple(_find_causes(again.rooms["report"], changes, True, False))
    return StageFound(RELEASED_FILE, "differs", unlike, causes)


def _compare_endings(run: PastRun, again: Rerun, changes: Changes) -> Iterator[StageFound]:
    """How it ended, where the run or its replay ended otherwise than with its last stage."""
    then = None if run.failure is None or run.status != "failed" else strip_token(run.failure)
    now = None if again.failure is None else describe_failure(again.failure)
    further = bool(again.stages.keys() - run.stages.keys())
    if then == now or (now is None and not further):
        if then is not None and then == now:
            yield StageFound(ENDING, "identical")
        return
    first = next((stage for stage in run.stages if again.stages.get(stage) != run.stages[stage]), None)
    if first is not None and first in again.stages:
        yield StageFound(ENDING, "follows", (), (Cause("inputs", first),))
        return
    stuck = _find_last_stage(again if again.failure else run)
    explanation = (
        f"the replay ended with {_describe_publicly(again.failure)}"
        if again.failure
        else "the run failed, and its replay does not"
    )
    rooms = again.rooms.get(stuck) or tuple({name.split("/")[1] for name in changes.files})
    data = (Cause("data", f"{_name_stage_file(stuck)} has other content"),) if _has_read_other_data(stuck, run, again) else ()
    yield StageFound(ENDING, "differs", (explanation,), (*data, *_find_causes(rooms, changes, True, bool(data))))


def _find_last_stage(run: PastRun | Rerun) -> str:
    """The stage in which a run ended; empty: between two."""
    return next((name for name in run.inputs if name not in run.stages), "")


def _has_read_other_data(stage: str, run: PastRun, again: Rerun) -> bool:
    """Did a stage read a file with other content?"""
    position = _digest_position(stage, run)
    then, now = (inputs.get(stage, []) for inputs in (run.inputs, again.inputs))
    return 0 <= position < min(len(then), len(now)) and then[position] != now[position]


def _describe_publicly(error: Exception) -> str:
    match error:
        case StageFailure():
            return str(error)
        case SdcertError():
            return error.public
        case _:
            return type(error).__name__


def _list_remarks(run: PastRun, again: Rerun) -> Iterator[str]:
    """What a reader should know besides."""
    released = RELEASED_TABLE if RELEASED_TABLE in run.inputs else "mask"  # earlier versions read it where it is aligned
    for name in ("ingest", CONTROL_TABLE, released, *(name for name in run.inputs if is_file_stage(name))):
        if _has_read_other_data(name, run, again) and again.stages.get(name) == run.stages.get(name, {}):
            yield f"the file of {_name_stage_file(name)} has other bytes than then, and the same content"
    if run.ended is None:
        yield "the ledger does not say how this run ended: that its manifest is unchanged is not proved"
    if run.status in ("interrupted", "killed"):
        yield f"the run was {run.status}: it is compared as far as it came ({len(run.stages)} stages)"

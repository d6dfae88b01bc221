"""Find the release of a series whose groups or draws a newer release keeps: its tables in the private store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flows.release import ReleaseSpec
from flows.run.history import manifest_path
from flows.run.stage_runner import store_part
from tasks.audit.series.past_releases import KEEP_RELEASED as KEEP_RELEASED
from tasks.audit.series.series import Series
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.frozen_groups import continues_groups
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, resolve_steps
from tasks.mask.noise.noise import Noise
from tasks.mask.outputs import Mechanisms
from tasks.mask.personal_laws import is_personal
from tasks.mask.task import Steps
from tasks.microdata.errors import InputError
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.regular_files import read_file
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Damaged, Store

WHERE = "masking"


@dataclass(frozen=True, slots=True)
class KeptRelease:
    """data: what was masked. masked, alignment: what came of it. All are None where the series has released nothing yet.

    drawn: the steps of all releases that drew per person, newest first. history: who had been released by then, and in which
    cohort; None: the release kept no groups itself.
    """

    drawn: RecordRef[Steps]
    data: TableRef | None = None
    masked: TableRef | None = None
    alignment: TableRef | None = None
    history: TableRef | None = None


def find_kept_release(release: ReleaseSpec, schema: Schema) -> KeptRelease:
    """What the release keeps of the certified tables of its series: the groups of the newest that has them, and all laws.

    A revoked one counts: nobody can recall a file. Raises InputError where the series has released tables, and none with these
    groups, or where the private folder has lost what it needs of one.
    """
    steps = resolve_steps(release.masking or (), schema, WHERE)
    kept: tuple[TableRef, TableRef, TableRef, TableRef | None] | None = None
    drawn: list[Masking] = []
    others, keeps_groups = 0, any(isinstance(step, Microaggregation) and step.frozen for step in steps)
    for run, given, made, history in _list_released_tables(release.series_name):
        try:
            mechanisms = Store().record(RecordRef[Mechanisms](made["mechanisms"]), Mechanisms)
        except (Damaged, OSError):
            raise _create_lost_error(run) from None
        drawn += [step for step in mechanisms if isinstance(step, Noise | Pram) and is_personal(step)]
        if kept is None and keeps_groups and continues_groups(steps, mechanisms):
            gone = None if history is None else TableRef(history)
            kept = (TableRef(given[0]), TableRef(made["masked"]), TableRef(made["alignment"]), gone)
        others += 1
    if keeps_groups and others and kept is None:
        what = "the releases of this series have other groups than the step that is to keep them: other attributes or another k"
        remedy = "give the step the attributes, blocks and k of the last release, or take `frozen` out"
        raise InputError("no-groups-to-keep", WHERE, what, "the groups of a release of this series", remedy)
    laws = store_part(tuple(drawn), Steps)
    return KeptRelease(laws) if kept is None else KeptRelease(laws, *kept)


def _list_released_tables(series: str) -> Iterator[tuple[str, list[Any], dict[str, str], str | None]]:
    """Of each certified release of a table, newest first: the run, what its mask stage was given, what that made, and
    who had been released by then."""
    for found in Series(series).list_serious_runs():
        ended = found.ending
        if ended is None or ended.outcome != "certified" or ended.manifest is None:
            continue
        try:
            content = read_file(manifest_path(found.run))
            if Store().digest(content) != ended.manifest:
                raise ValueError
            manifest = json.loads(content)
            if manifest["spec"].get("release") is None:  # else a model was released, and not the table that taught it
                stages = manifest["stages"]
                history = stages[KEEP_RELEASED]["produced"].get("history") if KEEP_RELEASED in stages else None
                yield found.run, manifest["inputs"]["mask"], stages["mask"]["produced"], history
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise _create_lost_error(found.run) from None


def _create_lost_error(run: str) -> InputError:
    what = "an earlier release of this series is to be kept, and its manifest or a table of it is gone or was changed"
    remedy = "restore it from a backup of the private folder"
    return InputError("lost-release", WHERE, what, "the manifest and the tables of the run", remedy, run)

"""Find the release of a series whose groups or draws a newer release keeps: its tables in the private store."""

from __future__ import annotations

from dataclasses import dataclass

from flows.earlier.counting import is_of_model
from flows.release import ReleaseSpec
from flows.run.stage_runner import store_part
from tasks.audit.series.past_releases import KEEP_RELEASED, PastRelease, list_past_releases
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.frozen_groups import continues_groups
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, resolve_steps
from tasks.mask.noise.noise import Noise
from tasks.mask.outputs import Mechanisms
from tasks.mask.personal_laws import is_personal, keep_laws
from tasks.mask.task import Steps
from tasks.microdata.errors import InputError
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
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

    A revoked one counts, for nobody can recall a file; one that was never published does not.
    Raises InputError where the series has released tables, and none with these groups, or where the private folder has lost
    what it needs of one.
    """
    steps = resolve_steps(release.masking or (), schema, WHERE)
    kept: PastRelease | None = None
    drawn: list[Masking] = []
    others, keeps_groups = 0, any(isinstance(step, Microaggregation) and step.frozen for step in steps)
    for past in list_released_tables(release.series_name):
        mechanisms = _read_mechanisms(past)
        drawn += [step for step in mechanisms if isinstance(step, Noise | Pram) and is_personal(step)]
        if kept is None and keeps_groups and continues_groups(steps, mechanisms):
            kept = past
        others += 1
    if keeps_groups and others and kept is None:
        what = "the releases of this series have other groups than the step that is to keep them: other attributes or another k"
        remedy = "give the step the attributes, blocks and k of the last release, or take `frozen` out"
        raise InputError("no-groups-to-keep", WHERE, what, "the groups of a release of this series", remedy)
    laws = store_part(tuple(drawn), Steps)
    return KeptRelease(laws) if kept is None else KeptRelease(laws, *_find_kept_tables(kept))


def refuse_other_laws(release: ReleaseSpec, source: Microdata, schema: Schema) -> None:
    """InputError as `keep_laws` for steps that cannot draw per person as the releases of the series did."""
    steps = resolve_steps(release.masking or (), schema, WHERE)
    if any(is_personal(step) for step in steps):
        drawn: Steps = Store().record(find_kept_release(release, schema).drawn, Steps)
        keep_laws(source, schema, steps, release.key, drawn)


def list_released_tables(series: str) -> list[PastRelease]:
    """The tables that a series released, newest first: no models, and not what nobody outside was given."""
    found = (one for one in list_past_releases() if one.series == series and not one.never_published)
    return [one for one in found if not is_of_model(one)][::-1]


def _read_mechanisms(past: PastRelease) -> Mechanisms:
    try:
        return Store().record(RecordRef[Mechanisms](past.tables["mechanisms"]), Mechanisms)
    except (Damaged, KeyError, OSError, ValueError):
        raise _create_lost_error(past.run) from None


def _find_kept_tables(past: PastRelease) -> tuple[TableRef, TableRef, TableRef, TableRef | None]:
    """What was masked, what came of it, and the history of the groups, where there is one."""
    history = past.made.get(KEEP_RELEASED, {}).get("history")
    tables = tuple(past.tables.get(name) for name in ("data", "masked", "alignment"))
    store = Store()
    if any(one is None or not store.intact(one) for one in tables) or (history is not None and not store.intact(history)):
        raise _create_lost_error(past.run)
    data, masked, alignment = (TableRef(str(one)) for one in tables)
    return data, masked, alignment, None if history is None else TableRef(history)


def _create_lost_error(run: str) -> InputError:
    what = "an earlier release of this series is to be kept, and a table of it is gone or was changed"
    remedy = "restore it from a backup of the private folder; if nobody outside was given it: `sdcert revoke --never-published`"
    return InputError("lost-release", WHERE, what, "the tables of the run", remedy, run)

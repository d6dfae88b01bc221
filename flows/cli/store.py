"""`sdcert store ...`: verify the store, and find or remove what nobody needs any more."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import create_group
from flows.cli.terminal import terminal
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.settings import prepare_environment

if TYPE_CHECKING:
    from tasks.audit.maintenance.collection import RemovalPlan
    from tasks.audit.maintenance.retention import History, KnownRun, RetentionReason
    from tasks.audit.maintenance.store_verification import StoreFinding, StoreVerification

group = create_group("store", "The store of artifacts in the private folder.")

_NAMED = 20
DAYS = 30  # as the command has it
WHY: dict[RetentionReason, str] = {
    "certified": "certified for publication, and not revoked",
    "in progress": "in progress",
    "newest of its series": "the newest of its series",
    "released": "revoked, and its file is still out: kept for attacks on later releases about the same persons",
    "young": "younger than asked for",
}


@group.command()
def verify(as_json: JsonOption = False) -> int:
    """Is the store sound: intact, private and complete?

    Reads everything and changes nothing: is each artifact what its address says, readable by you alone, and there where a
    run needs it; are the seeds and manifests there? Exit code 0 if so, 1 if something is wrong.
    """
    from tasks.audit.maintenance.retention import read_history
    from tasks.audit.maintenance.store_verification import verify_store
    from tasks.audit.maintenance.use import use_store

    home = prepare_environment()
    with use_store(), _show_progress() as progress:
        found = verify_store(home, read_history(home), progress)
    if as_json:
        write_json(_serialise_verification(found))
        return int(bool(found.findings))
    say = _say()
    for kind in dict.fromkeys(finding.kind for finding in found.findings):
        alike = [finding for finding in found.findings if finding.kind == kind]
        for finding in alike[:_NAMED]:
            _tell_finding(say, finding)
        if len(alike) > _NAMED:
            say(f"{kind:<10} {len(alike) - _NAMED:,} more; `sdcert store verify --json` lists them")
    if found.findings:
        say("")
    for sentence in _summarise_verification(found, home.root):
        say(sentence)
    return int(bool(found.findings))


@group.command()
def gc(
    yes: Annotated[bool, typer.Option("--yes", help="remove it; without this, it is only listed")] = False,
    older_than: Annotated[int, typer.Option(help="days: what is younger is kept", min=0, max=36500, metavar="DAYS")] = 30,
    as_json: JsonOption = False,
) -> int:
    """List what nobody needs any more; --yes removes it.

    That is artifacts of old runs, and what killed ones left. Kept is what certified releases need that are not revoked,
    what the newest run of each series needs, and what is young. Keys, seeds, manifests and the ledger are never touched.
    Exit code 1 where nothing may be removed now.
    """
    from tasks.audit.maintenance.collection import plan_removal, remove_files
    from tasks.audit.maintenance.retention import read_history
    from tasks.audit.maintenance.use import lock_store, use_store

    home = prepare_environment()
    age = timedelta(days=older_than)
    if not yes:
        with use_store():
            past = read_history(home)
            found = plan_removal(home, past.runs, now=datetime.now(UTC), younger_than=age)
        return _print_removal_plan(
            found, past, older_than, home.root, removed=False, hindered=_explain_lost_history(past), as_json=as_json
        )
    with lock_store() as free:
        past = read_history(home)
        found = plan_removal(home, past.runs, now=datetime.now(UTC), younger_than=age)
        hindered = _explain_lost_history(past) if free else _describe_runs_in_progress(past)
        if not hindered:
            remove_files(found)
    return _print_removal_plan(found, past, older_than, home.root, removed=not hindered, hindered=hindered, as_json=as_json)


def _describe_runs_in_progress(past: History) -> str:
    named = ", ".join(f"{run.run} ({run.release})" for run in past.runs if run.in_progress)
    what = f"a run is in progress: {named}" if named else "the store is in use (a run that begins, a replay, `store verify`)"
    return f"{what}; call this again when it has ended"


def _explain_lost_history(past: History) -> str:
    if past.doubt:
        return f"{past.doubt}, so what runs need is not known; restore it from a backup (`sdcert audit verify` says more)"
    if not past.unreadable:
        return ""
    named = ", ".join(f"runs/{run}" for run in past.unreadable[:_NAMED])
    return f"the manifest in {named} cannot be read, so what it needs is not known; restore it from a backup, or move it away"


def _print_removal_plan(
    found: RemovalPlan, past: History, older_than: int, root: Path, *, removed: bool, hindered: str, as_json: bool
) -> int:
    if as_json:
        write_json(_plan_as_dict(found, past, root, removed=removed, hindered=hindered))
        return int(bool(hindered))
    say = _say()
    _tell_going(say, found, older_than, removed=removed)
    _tell_kept(say, found, past.runs, older_than)
    say("")
    if hindered:
        say(f"Nothing was removed: {hindered}.")
    elif not any(found.files):
        say("There was nothing to remove." if removed else "There is nothing to remove.")
    elif removed:
        say(f"Removed: {_size(found.removal_bytes)}.")
    else:
        days = "" if older_than == DAYS else f" --older-than {older_than}"
        say(f"Nothing was removed. To remove what is listed first: sdcert store gc --yes{days}")
    return int(bool(hindered))


def _tell_going(say: Callable[[str], None], found: RemovalPlan, older_than: int, *, removed: bool) -> None:
    from tasks.audit.maintenance.inventory import PrivateFile

    groups: dict[str, Iterable[PrivateFile]] = {
        f"artifacts that no kept run needs and that are older than {older_than} days": found.artifacts.values(),
        "records of the cache that point to such artifacts or to nothing, tell of a failure, or have no seal": found.records,
        "drafts of writers that were killed (they may hold values or secrets)": found.drafts,
        f"details of failures older than {older_than} days": found.traces,
        "locks that nobody uses": found.locks,
    }
    say("What goes:" if not removed else "What went:")
    for what, files in groups.items():
        if listed := list(files):
            say(f"  {len(listed):>7,}  {_size(sum(file.size for file in listed)):>9}  {what}")
    if not any(found.files):
        say("  nothing")


def _tell_kept(say: Callable[[str], None], found: RemovalPlan, runs: tuple[KnownRun, ...], older_than: int) -> None:
    from tasks.runtime.seals import STORE_URL_VARIABLE

    say("What stays:")
    if found.needed or found.reasons:
        say(f"  {found.needed:>7,}  artifacts, for {len(found.reasons):,} of {_count(len(runs), 'run')}:")
    for reason, count in Counter(found.reasons.values()).items():
        why = WHY[reason] if reason != "young" else f"younger than {older_than} days"
        say(f"           {count:>5,}  {why}")
    if STORE_URL_VARIABLE in os.environ:
        say("           all artifacts: several homes share the store, and one does not know what the others need")
    if found.young:
        say(f"  {found.young:>7,}  artifacts that no run needs, but that are younger than {older_than} days")
    say(f"           together {_size(found.kept_bytes)}; keys, seeds, manifests and the ledger are never touched")


def _plan_as_dict(found: RemovalPlan, past: History, root: Path, *, removed: bool, hindered: str) -> dict[str, Any]:
    from tasks.audit.maintenance.inventory import PrivateFile

    names = {run.run: (run.release, run.series) for run in past.runs}

    def paths(files: Iterable[PrivateFile]) -> list[str]:
        return [file.path.relative_to(root).as_posix() for file in files]

    return {
        "removed": removed,
        "hindered": hindered or None,
        "going": {
            "artifacts": list(found.artifacts),
            "records": paths(found.records),
            "drafts": paths(found.drafts),
            "failures": paths(found.traces),
            "locks": paths(found.locks),
            "bytes": found.removal_bytes,
        },
        "kept": {
            "runs": [
                {"run": run, "release": names[run][0], "series": names[run][1], "why": why}
                for run, why in found.reasons.items()
            ],
            "artifacts_needed": found.needed,
            "artifacts_young": found.young,
            "bytes": found.kept_bytes,
        },
    }


def _tell_finding(say: Callable[[str], None], finding: StoreFinding) -> None:
    say(f"{finding.kind:<10} {finding.says}")
    if finding.runs:
        more = f" and {len(finding.runs) - _NAMED} more" if len(finding.runs) > _NAMED else ""
        say(f"{'':<10} needed by: {', '.join(finding.runs[:_NAMED])}{more}")
    say(f"{'':<10} to do: {finding.to_do}")


def _summarise_verification(found: StoreVerification, root: Path) -> Iterator[str]:
    from tasks.runtime.seals import STORE_URL_VARIABLE

    if not found.artifacts and not found.runs:
        yield f"The store in {root} is empty: nothing was released here yet."
        return
    wrong = Counter(finding.kind for finding in found.findings)
    progress = ", ".join(f"{count} {kind}" for kind, count in wrong.items())
    where = os.environ.get(STORE_URL_VARIABLE) or root / "store"
    yield f"{_count(found.artifacts, 'artifact')}, {_size(found.bytes)}, in {where}"
    yield f"  {found.needed:,} of them are needed by {_count(found.runs, 'run')}: certified ones, and the newest of each series"
    if found.emptied:
        yield f"  {_count(found.emptied, 'older run')} had some removed: nothing needs them, and a replay computes them again"
    if found.dangling:
        yield f"  {_count(found.dangling, 'record')} of the cache point to what is not there: harmless, it is computed again"
    if found.torn:
        yield f"  {_count(found.torn, 'record')} of the cache are cut off, as by a full disk: harmless, nothing reads them"
    if found.unsealed:
        yield f"  {_count(found.unsealed, 'record')} of the cache are of an older version, which made no seals: harmless"
    if found.findings:
        yield f"{_count(len(found.findings), 'finding')}: {progress}"
    else:
        yield "Everything is what its address says, is readable by you alone, and is there where a run needs it."


def _serialise_verification(found: StoreVerification) -> dict[str, Any]:
    return {
        "sound": not found.findings,
        "findings": [finding.as_dict() for finding in found.findings],
        "artifacts": found.artifacts,
        "bytes": found.bytes,
        "artifacts_needed": found.needed,
        "runs": found.runs,
        "runs_emptied": found.emptied,
        "records_dangling": found.dangling,
        "records_torn": found.torn,
        "records_unsealed": found.unsealed,
    }


@contextmanager
def _show_progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal while artifacts are read; nothing where stderr is no terminal."""
    from rich.progress import Progress

    console = terminal(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading artifacts", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def _say() -> Callable[[str], None]:
    console = terminal(soft_wrap=True)
    return lambda text: console.print(escape_terminal(text))


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _size(count: int) -> str:
    """Bytes in the unit that fits: 0 B, 12.3 kB, 4.5 MB."""
    size, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:,.0f} B" if units[0] == "B" else f"{size:,.1f} {units[0]}"

"""Replay: compute a run again from its private manifest and its seed, compare every address, and record it in the ledger."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flows.replay.environment_changes import changes
from flows.replay.past_run import ManifestChanged, check_or_restore_secrets, load_past_run
from flows.replay.replay_comparison import Cause, ReplayComparison, compare_with_replay
from flows.replay.rerun import GivenPaths, rerun
from flows.run.run_entries import identify_requester
from tasks.audit.ledger.entries import RunReplayed
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.maintenance.use import use_store
from tasks.audit.signing.keys import hold_signing_key, open_signing_key
from tasks.report.predicate import MadeBy
from tasks.runtime.artifacts import Store
from tasks.runtime.provenance import describe_process, summarise_provenance

ReplayOutcome = Literal["identical", "differs", "failed"]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of a replay. `failed`: it ended with an error that the run did not end with.

    comparison: None where the manifest is not the run's, so that nothing was computed.
    """

    run: str
    outcome: ReplayOutcome
    differs: tuple[str, ...]
    causes: tuple[str, ...]
    comparison: ReplayComparison | None = None


def replay(
    name: str, source: Path | None = None, released: Path | None = None, files: Mapping[str, Path] | None = None
) -> ReplayResult:
    """Compute a run again, beside the cache, and compare it with what was written down. Writes nothing in the ledger.

    source, released: where the source and the adopted table are now, if they were moved. files: by name, where external files
    of the intruder are.

    Raises InputError where the run cannot be replayed: it, its manifest, seed, a file that it read or the store's key is not
    there, or the key that signs the ledger cannot be opened.
    """
    with use_store():
        try:
            run = load_past_run(name)
        except ManifestChanged as changed:
            return ReplayResult(changed.run, "differs", ("manifest",), (str(changed),))
        check_or_restore_secrets(run)
        Store().put_record(run.release)  # the ledger names the release file by its address
        Ledger.current().refuse_clock_behind()
        open_signing_key()  # whoever cannot sign what came of it is told before the work, not after it
        given = GivenPaths(source, released, files or {})
        again = rerun(run, given)
        moved = given.files_moved
        found = compare_with_replay(run, again, changes(run.provenance, describe_process()), moved=moved)
    failed = again.failure is not None and run.status != "failed"
    outcome: ReplayOutcome = "identical" if not found.differs else "failed" if failed else "differs"
    return ReplayResult(run.run, outcome, found.differs, tuple(map(format_cause, found.causes)), found)


def write_down(done: ReplayResult) -> None:
    """Append to the ledger that a run was replayed, and what came of it."""
    who, what = identify_requester(), MadeBy(**summarise_provenance())
    event = RunReplayed(
        run=done.run, outcome=done.outcome, differs=done.differs, causes=done.causes, asked_by=who, made_by=what
    )
    with hold_signing_key() as key:
        Ledger.current().append(event, key)


def format_cause(cause: Cause) -> str:
    return f"{cause.kind}: {cause.text}"

"""What one run writes in the ledger: that it began, each attempt before it is made, and what became of it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from typing import Any

from prefect.runtime import deployment, flow_run

from flows.release import ReleaseSpec
from flows.run.history import manifest_path
from tasks.audit.ledger.checkpoint import refuse_unsound_ledger
from tasks.audit.ledger.entries import AskedBy, AttemptMade, EntryEvent, RunBegan, RunEnded
from tasks.audit.ledger.ledger import Appended, Ledger
from tasks.audit.lookup.index import Index
from tasks.audit.series.attempts import count_attempts
from tasks.audit.series.series import Series
from tasks.audit.signing.keys import SigningKey, signing, signing_key
from tasks.microdata.errors import SdcertError
from tasks.microdata.regular_files import read_file
from tasks.report.predicate import LedgerClaim, MadeBy
from tasks.report.statement import policy_digest
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import read_seed
from tasks.runtime.failures import StageFailure
from tasks.runtime.processes import user_name
from tasks.runtime.provenance import summarise_provenance
from tasks.runtime.settings import Home

WITH_PSEUDONYM_KEY = 6  # so many things the stage is given that masks by steps, the key last
ASKED_BY_DEPLOYMENT, ASKED_BY_FLOW_RUN = "SDCERT_ASKED_BY_DEPLOYMENT", "SDCERT_ASKED_BY_FLOW_RUN"


class Trail:
    """The entries of one run. Nothing in them is a value of the data.

    recorded: what the ledger held when the attempt was written down; attempts: how many the series had made by then.
    """

    def __init__(self, run: str, release: ReleaseSpec) -> None:
        self.run = run
        self.release = release
        self.series = Series(release.series_name)
        signing_key()  # a key that cannot be opened is told before anything is computed
        refuse_unsound_ledger(Home.current())  # and so is a ledger on which nothing can be built
        self.made_by = MadeBy(**summarise_provenance())
        self.recorded: LedgerClaim | None = None
        self.attempts = 0
        self._ledger = Ledger.current()

    def record_start(self) -> None:
        began = RunBegan(
            run=self.run,
            release=self.release.name,
            series=self.series.name,
            spec=Store().put_record(self.release),
            dataset=self.release.source.dataset,
            asked_by=identify_requester(),
            made_by=self.made_by,
        )
        self._append(began)

    def attempt(self, *, source: str, source_file: str, masking: str, draw: str) -> int:
        """Write an attempt down before it is made; returns how many different ones the series has made on this source."""
        policy = policy_digest(self.release.policy)

        def create_attempt(_: Ledger) -> AttemptMade:
            self.attempts = count_attempts(self.series.list_attempts(), source_file, (source, masking, draw, policy))
            return AttemptMade(
                run=self.run,
                series=self.series.name,
                source=source,
                source_file=source_file,
                masking=masking,
                draw=draw,
                policy=policy,
                attempts=self.attempts,
            )

        done = self._append(create_attempt)
        self.recorded = LedgerClaim(
            ledger=done.entry.ledger,
            attempt_entry=done.index,
            attempt_digest=done.leaf,
            tree_size=done.size,
            root=done.root,
        )
        return self.attempts

    def refuse_lost_draw(self) -> None:
        """InputError where the seed of the series' last attempt is not in the home: it was restored from an older backup.

        A first draw or an older one would otherwise be used in silence, and one table published under two masks.
        """
        draw = self.series.find_last_draw()
        if draw is not None:
            read_seed(draw)

    def record_end(self, ending: Callable[[SigningKey], RunEnded]) -> None:
        """Write down what became of the run; `ending` says it, and may sign with the key, while nobody else can write.

        Raises InputError where the ledger is not what was written: nothing is signed then.
        """

        def create_ending(_: Ledger) -> RunEnded:
            refuse_unsound_ledger(Home.current(), is_held=True)
            return ending(key)

        with signing() as key:
            self._ledger.append(create_ending, key)

    @property
    def has_ended(self) -> bool:
        """Whether the ledger says already what became of the run; False where that cannot be told."""
        try:
            with Index.current() as index:
                return index.begin_so(self.run) == [self.run] and index.run(self.run).ending is not None
        except (SdcertError, OSError):
            return False

    def record_failure(self, error: BaseException, manifest: str) -> None:
        """The run ended without a verdict: where, and with which kind of error."""
        ended = RunEnded(
            run=self.run,
            release=self.release.name,
            series=self.series.name,
            outcome="failed" if isinstance(error, Exception) else "interrupted",
            not_for_publication=self.release.not_for_publication,
            stage=error.stage if isinstance(error, StageFailure) else None,
            code=find_error_code(error),
            manifest=manifest,
        )
        self._append(ended)

    def _append(self, event: EntryEvent | Callable[[Ledger], EntryEvent]) -> Appended:
        """Append with the key that is current now: it may have been rotated since the run began."""
        with signing() as key:
            return self._ledger.append(event, key)


def last_pseudonym_key(series: str) -> str | None:
    """The key of pseudonyms that the series' last run with one was given, by the private manifest that the ledger names."""
    for found in Series(series).list_serious_runs():
        if found.ending is not None and found.ending.manifest is not None:
            given = _read_mask_inputs(found.run, found.ending.manifest)
            if len(given) == WITH_PSEUDONYM_KEY and given[-1]:
                return str(given[-1])
    return None


def _read_mask_inputs(run: str, digest: str) -> list[Any]:
    try:
        content = read_file(manifest_path(run))
        given = json.loads(content)["inputs"]["mask"] if Store().digest(content) == digest else []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return given if isinstance(given, list) else []


def identify_requester() -> AskedBy:
    """The user and host of this process, and the deployment of Prefect's that started it, if one did.

    A deployment's flow run starts a command in a process of its own, and names itself there in two variables.
    """
    of = os.environ.get(ASKED_BY_DEPLOYMENT) or deployment.name
    run = os.environ.get(ASKED_BY_FLOW_RUN) or flow_run.id
    return AskedBy(user=user_name(), host=socket.gethostname(), deployment=of, flow_run=run)


def find_error_code(error: BaseException) -> str:
    """The kind and place of an error, without any value."""
    match error:
        case StageFailure():
            return error.code
        case SdcertError():
            return error.public
        case _:
            return type(error).__name__

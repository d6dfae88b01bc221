"""One look of a watch: find the newest version of a source, decide by the ledger, and certify it if that is due."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

from prefect import flow

from flows.limits import REFUSALS, refuse_silence_of_decided
from flows.release import ReleaseSpec
from flows.run.publish import settle_latest
from flows.run.run_entries import ASKED_BY_FLOW_RUN
from flows.run.stage_runner import expected_digests
from flows.watch import quarantine
from flows.watch.decide import Look, decide_action, find_overdue
from flows.watch.identity import find_past_release_key, release_key
from flows.watch.quarantine import QuarantineRecord
from flows.watch.source_poll import SourceSnapshot, SourceUnavailable, Version, is_away, poll_source
from flows.watch.spec import WatchDefinition
from tasks.audit.maintenance.use import use_store
from tasks.audit.series.past_attempts import PastAttempt
from tasks.audit.series.series import Series
from tasks.ingest.outputs import IngestOutputs
from tasks.ingest.task import ingest_source
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.refs import RecordRef
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import current_draw
from tasks.runtime.failures import StageFailure, hide_exceptions
from tasks.runtime.files import try_lock
from tasks.runtime.settings import Home

Certify = Callable[[ReleaseSpec], dict[str, str]]
WatchEvent = Literal["certified", "refused", "undecided", "quarantined", "review_due"]
DECIDED = ("unchanged", "refused_before", "revoked_before", "review_due")
AT_REST = {"source-changed", "released-changed"}
UNREACHABLE = {"no-server", "ledger-busy"}
UNREAD = {"file-name", "file-too-large"}  # nothing of such a file is read
STAGES = (
    *("ingest", "ingest released", "match persons", "classify", "control", "fit control", "keep released", "mask", "adopt"),
    *("train", "adopt model", "people", "ask", "shadows", "attack", "membership", "model membership", "reconstruction"),
    *("score", "score model", "report", "report model"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchResult:
    """What came of a look. Nothing in it is a value of the source, but `error`, which is for the person at the terminal.

    version: the file's name, or what messages call the source. run: what was run, or the earlier run that decided the look.
    exceptions: of the verdict.
    verdict, folder: of what was run. code: kind and place of what is wrong. quarantine: id of the record. review_due: the run
    whose review is overdue. passed_over: older files that came since the last run; waiting: files still being written;
    ignored: what is no plain file.
    """

    watch: str
    release: str
    series: str
    action: str
    reason: str
    version: str | None = None
    run: str | None = None
    verdict: str | None = None
    exceptions: tuple[str, ...] = ()
    folder: str | None = None
    code: str | None = None
    quarantine: str | None = None
    review_due: str | None = None
    events: tuple[WatchEvent, ...] = ()
    passed_over: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    error: InputError | None = None

    @property
    def exit_code(self) -> int:
        """0 certified or nothing to do, 1 refused or undecided, 2 quarantined, 3 what is needed is not there."""
        if self.action == "away":
            return 3
        if "quarantined" in self.events:
            return 2
        return int(self.verdict is not None and self.verdict != "certified")


def poll_once(watch: WatchDefinition, certify: Certify, *, again: bool = False, now: datetime | None = None) -> WatchResult:
    """Look once, and certify with `certify` what is due. One look of a series at a time: a second one comes back as `busy`.

    again: a person asks to try what is there, whatever became of it before; the draw stays the same all the same.

    Raises InputError for what is wrong with the release file or the home, and StageFailure where something broke.
    """
    blank = WatchResult(
        watch=watch.spec.name, release=watch.release.name, series=watch.release.series_name, action="nothing", reason=""
    )
    with _hold_series(watch.release.series_name) as mine, use_store():
        if not mine:
            return replace(blank, action="busy", reason="another look of the series is going on")
        try:
            return _add_review_event(_poll_and_certify(watch, certify, blank, again=again, now=now or datetime.now(UTC)))
        except SourceUnavailable as away:
            return replace(blank, action="away", reason=away.error.what, code=away.error.public, error=away.error)


def _poll_and_certify(
    watch: WatchDefinition, certify: Certify, blank: WatchResult, *, again: bool, now: datetime
) -> WatchResult:
    there, past = poll_source(watch, now), Series(watch.release.series_name).list_past_attempts()
    version = there.version
    _settle(watch.output / watch.release.name, watch.release.name)
    here = [] if version is None else _find_runs_on_version(watch.release, version, past)
    look = Look("nothing", there.reason) if version is None else _decide_version(watch, version, here, again=again, now=now)
    late = find_overdue(past, now)
    looked = replace(_fill_result(blank, look, there, past), review_due=None if late is None else late.run)
    if version is None or not (look.action == "certify" or (look.action == "review_due" and watch.spec.review == "certify")):
        if version is not None and look.action in DECIDED:  # by a run that may be older than the rule
            refuse_silence_of_decided(watch.release.model_copy(update={"source": version.source}))
        return looked
    return _certify_version(watch, version, watch.release, certify, looked)


def _fill_result(blank: WatchResult, look: Look, there: SourceSnapshot, past: Sequence[PastAttempt]) -> WatchResult:
    last = past[-1].began_at if past else datetime.min.replace(tzinfo=UTC)
    return replace(
        blank,
        action=look.action,
        reason=look.reason,
        run=look.run,
        version=None if there.version is None else there.version.label,
        passed_over=tuple(name for name, came in there.older if came > last),
        waiting=there.waiting,
        ignored=there.ignored,
    )


def _add_review_event(looked: WatchResult) -> WatchResult:
    """An overdue review is in every look, and is an event once: when a look has come to its end.

    To a scheduled look it is one each time: who tells of it knows what was told (`flows.notifications.outbox`), and a look that
    was killed before it could say so, or one by hand, must not take the message with it.
    """
    if looked.review_due is None:
        return looked
    scheduled = ASKED_BY_FLOW_RUN in os.environ
    if not scheduled and not quarantine.is_first_report(looked.series, looked.review_due):
        return looked
    return replace(looked, events=("review_due", *looked.events))


def _settle(parent: Path, release: str) -> None:
    """What a run that was killed left undone is mended by the next look."""
    try:
        settle_latest(parent, release)
    except OSError as error:
        what, remedy = f"the link `latest` cannot be mended ({error.strerror})", "make `output` writable, or mount it again"
        raise SourceUnavailable(
            InputError("output", "output", what, "a folder that can be written", remedy, str(parent))
        ) from None


def _find_runs_on_version(release: ReleaseSpec, version: Version, past: Sequence[PastAttempt]) -> list[PastAttempt]:
    """The earlier runs on this version: of the same bytes or, where there is none, of the same table in other bytes."""
    tried = [one for one in past if one.source is not None and one.adopted == version.adopted]
    same = [one for one in tried if one.source_file == version.source_file]
    if (
        same
        or not tried
        or version.refusal is not None
        or quarantine.is_quarantined(release.series_name, _create_record_id(release, version))
    ):
        return same
    address = _find_address(release.model_copy(update={"source": version.source}), version.source_file)
    return [one for one in tried if one.source == address]


def _find_address(release: ReleaseSpec, digest: str) -> str | None:
    """The address of the table; None where it cannot be made: the run that follows says why."""
    return compute_table_address(Store().put_record(release.ingest_plan), digest)


@flow(name="look", persist_result=False)
@hide_exceptions("look")
def compute_table_address(plan: str, digest: str) -> str | None:
    """The address of a source's table by the cached stage, so that a run that follows need not read it again."""
    state = ingest_source.bind(RecordRef(plan), digest).run("ingest", refresh=False)
    outputs: IngestOutputs | None = state.result() if state.is_completed() else None
    return None if outputs is None else outputs["data"]


def _decide_version(
    watch: WatchDefinition, version: Version, here: Sequence[PastAttempt], *, again: bool, now: datetime
) -> Look:
    release = watch.release
    if again:
        return Look("certify", "somebody asked for it again")
    if quarantine.is_quarantined(release.series_name, _create_record_id(release, version)):
        return Look("quarantined_before", "this version is in quarantine with this release file")
    key = release_key(release)

    @cache
    def same_release(one: PastAttempt) -> bool | None:
        known = None if one.spec is None else find_past_release_key(one.spec, one.run)
        return None if known is None else known == key

    of_this = [one for one in here if one.release in (None, release.name)]  # a series may have several releases
    return decide_action(of_this, same_release, draw=current_draw(release.series_name), now=now)


def _certify_version(
    watch: WatchDefinition, version: Version, release: ReleaseSpec, certify: Certify, looked: WatchResult
) -> WatchResult:
    series, name = watch.release.series_name, _create_record_id(watch.release, version)
    refusal = _explain_no_run(version, quarantine.count_deaths(series, name))
    if refusal is not None:
        return _quarantine_version(watch, version, refusal, None, looked)
    release, began = release.model_copy(update={"source": version.source}), datetime.now(UTC)
    quarantine.count_start(series, name)
    try:
        with _as_seen(version):
            done = certify(release)
    except StageFailure as failure:
        refusal = _find_refusal(failure, version)
        return _quarantine_version(watch, version, refusal, _find_run(release, began), looked)
    except InputError as error:
        if error.code in UNREACHABLE or is_away(error):
            raise SourceUnavailable(error) from None
        raise
    finally:
        quarantine.clear_starts(series, name)
    quarantine.lift(series, name)
    verdict: Any = done["verdict"]
    if verdict == "certified":
        quarantine.close_older_records(series, watch.spec.name, done["run"])
    return replace(
        looked, run=done["run"], verdict=verdict, exceptions=_parse_exceptions(done), folder=done["folder"], events=(verdict,)
    )


def _parse_exceptions(done: dict[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, done.get("exceptions", "").split(",")))


@contextmanager
def _as_seen(version: Version) -> Iterator[None]:
    """What comes in the place of the version before it is read is neither certified nor quarantined under its name."""
    known = {} if version.refusal is not None else {"source": version.source_file, "released": version.adopted}
    token = expected_digests.set({name: digest for name, digest in known.items() if digest is not None})
    try:
        yield
    finally:
        expected_digests.reset(token)


def _explain_no_run(version: Version, deaths: int) -> InputError | None:
    """Why a version goes into quarantine without a run."""
    if version.refusal is not None and version.refusal.code in UNREAD:
        return version.refusal
    if deaths < quarantine.DEATHS:
        return None
    what = f"{deaths} runs on it were killed without a word"
    remedy = "see whether the memory suffices and who killed them; then `sdcert quarantine retry`"
    return InputError("runs-killed", "source", what, "a run that ends", remedy)


def _find_refusal(failure: StageFailure, version: Version) -> InputError:
    """What a version is quarantined for; raises where the failure is not about it."""
    cause = failure.cause
    if not isinstance(cause, InputError):
        raise failure
    if is_away(cause) or cause.code in AT_REST:
        raise SourceUnavailable(cause) from None
    if cause.code in REFUSALS:  # of the release file, whatever the version holds
        raise failure
    about_it = failure.stage in STAGES or version.refusal is not None or cause.where.startswith("policy")
    if not about_it or cause.where == "SDCERT_HOME":
        raise failure
    return cause


def _quarantine_version(
    watch: WatchDefinition, version: Version, error: InputError, run: str | None, looked: WatchResult
) -> WatchResult:
    record = QuarantineRecord(
        id=_create_record_id(watch.release, version),
        watch=watch.spec.name,
        release=watch.release.name,
        series=watch.release.series_name,
        label=escape_terminal(version.label),
        code=error.public,
        reason=str(error),
        run=run,
        at=datetime.now(UTC),
        times=1,
    )
    quarantine.put(record)
    return replace(looked, run=run, code=error.public, quarantine=record.id, events=("quarantined",), error=error)


def _find_run(release: ReleaseSpec, since: datetime) -> str | None:
    """The run of this release file that began last; None where it broke off before one was written down."""
    spec = Store().put_record(release)
    found = [one.run for one in Series(release.series_name).list_past_attempts() if one.spec == spec and one.began_at >= since]
    return found[-1] if found else None


def _create_record_id(release: ReleaseSpec, version: Version) -> str:
    return quarantine.record_id(release, version)


@contextmanager
def _hold_series(series: str) -> Iterator[bool]:
    """Whether this is the only look of the series; for as long as it lasts."""
    descriptor = try_lock(Home.current().locks / f"watch-{series}.lock")
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)

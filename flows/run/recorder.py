"""The recorder of one run: it runs the stages, and when one ends writes the private manifest and what goes to MLflow.

The flow writes, not the cached task, so a run that was served from the cache is recorded as completely as a fresh one.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from prefect.client.schemas.objects import State

from flows.clock import find_clock_warnings
from flows.home_server.connection import find_kept_tracker
from flows.release import ReleaseSpec
from flows.run.history import LATER, MANIFEST
from flows.run.progress import listener
from flows.run.run_entries import Trail
from flows.run.series_registry import read_series_state
from flows.run.stage_sentences import describe_stage
from tasks.audit.maintenance.use import use_store
from tasks.microdata.regular_files import read_file
from tasks.runtime import provenance
from tasks.runtime.artifacts import Store
from tasks.runtime.caching import platform_fingerprint
from tasks.runtime.files import write_whole
from tasks.runtime.processes import user_name
from tasks.runtime.settings import Home
from tasks.runtime.stages import StageCall
from tasks.runtime.tracking import Tracking

Outputs = TypeVar("Outputs", bound=Mapping[str, object])

SOURCE_STAGE, SHOWN = "ingest", b"source, as MLflow shows it: "
KEY_MARK = b"which key of the store"  # its digest tells a replay whether the key is still the run's


def _get_record_name(state: State[Any]) -> str | None:
    """The name of the record of the cache that says what a stage returned."""
    metadata = getattr(state.data, "metadata", None)
    return None if metadata is None or metadata.storage_key is None else Path(metadata.storage_key).name


def create_run_id() -> str:
    """A name that sorts by time and that no two runs share: `20261121T093000Z-1f2e3d`."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


class RunRecorder:
    """Runs the stages of one release and writes down what they did. Use as a context."""

    def __init__(self, release: ReleaseSpec, *, refresh: bool) -> None:
        self.run_id = create_run_id()
        self.started = datetime.now(UTC)
        self.computed: list[str] = []
        self.cached: list[str] = []
        self._refresh = refresh
        self._in_use = ExitStack()
        self._final = False
        self._later: dict[str, Any] = {}
        self._manifest: dict[str, Any] = {
            "run": self.run_id,
            "release": release.name,
            "series": release.series_name,
            "status": "running",
            "started_at": self.started.isoformat(),
            "process": os.getpid(),
            "user": user_name(),
            "host": socket.gethostname(),
            "platform": platform_fingerprint(),
            "provenance": provenance.store_provenance(Store()),
            "store": Store().digest(KEY_MARK),
            "spec": release.model_dump(mode="json", by_alias=True),
            "inputs": {},
            "stages": {},
        }
        self.trail = Trail(self.run_id, release)
        self._tracking = Tracking(
            series=release.series_name, run=self.run_id, read_state=read_series_state, kept=find_kept_tracker()
        )
        self._tracking.parameters(release.public())
        self._tracking.tag("sdcert.release", release.name)

    @property
    def folder(self) -> Path:
        """The private folder of this run."""
        return Home.current().folder("runs", self.run_id)

    def __enter__(self) -> RunRecorder:
        self._in_use.enter_context(use_store())
        self._save()
        self.trail.record_start()
        late = tuple(find_clock_warnings())
        if late:
            self.warn(late)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._in_use:
            try:
                if error is not None:
                    self._record_failure(error)
            finally:
                self._finish("FINISHED" if error is None else "FAILED")

    def run(self, name: str, call: StageCall[Outputs]) -> Outputs:
        """Run one stage and wait for it."""
        listener.get().begin_step(name)
        started = time.monotonic()
        outputs = self._record_outputs(name, self._run_call(name, call))
        listener.get().end_step(name, time.monotonic() - started, "cached" if name in self.cached else "computed")
        return outputs

    def run_all(self, title: str, calls: Mapping[str, StageCall[Outputs]], *, each: int = 1) -> list[Outputs]:
        """Run several stages side by side; results in the order of the calls."""
        if not calls:
            return []
        total = each * len(calls)
        listener.get().begin_step(f"{title} ({total})")
        started, cached_before = time.monotonic(), len(self.cached)
        running = {}
        for name, call in calls.items():
            self._record_inputs(name, call)
            running[name] = call.submit(describe_stage(name), refresh=self._refresh)
        outputs = []
        for done, (name, future) in enumerate(running.items(), 1):
            try:
                future.result(raise_on_failure=False)  # `wait` takes any TimeoutError for its own and ends too early
                state: State[Outputs] = future.state
            except TimeoutError:
                state = self._run_call(name, calls[name])
            outputs.append(self._record_outputs(name, state))
            served = each * (len(self.cached) - cached_before)
            listener.get().advance_step(title, each * done, total, time.monotonic() - started, cached=served)
        cached = each * (len(self.cached) - cached_before)
        how = "cached" if cached == total else f"{total - cached} computed{f', {cached} cached' if cached else ''}"
        listener.get().end_step(f"{title} ({total})", time.monotonic() - started, how)
        return outputs

    def note(self, **facts: Any) -> None:
        """Add facts to the private manifest; once it is final, to a file beside it."""
        (self._later if self._final else self._manifest).update(facts)
        self._save()

    def conclude(self, **facts: Any) -> str:
        """Add the last facts: the manifest is final now. Returns its keyed digest, by which the ledger names it."""
        self._final = False
        self.note(**{"status": "finished", "ended_at": datetime.now(UTC).isoformat(), **facts})
        self._final = True
        return Store().digest(read_file(self.folder / MANIFEST))

    def reopen(self) -> None:
        """The manifest is not final after all: the stages run again, and those that do not come again are not of this run."""
        self._final = False
        self._manifest |= {"inputs": {}, "stages": {}}
        self.note(status="running")

    def warn(self, notes: tuple[str, ...]) -> None:
        """Add what a reader should know to the notes of the manifest; they hold no source value."""
        self.note(notes=[*self._manifest.get("notes", []), *notes])

    def recall_inputs(self, name: str) -> None:
        """A new run repeats none."""

    @property
    def stages(self) -> dict[str, Any]:
        """Each stage that has ended: whether it was cached, and the addresses of what it made."""
        return dict(self._manifest["stages"])

    @property
    def inputs(self) -> dict[str, list[Any]]:
        """What each stage was given."""
        return dict(self._manifest["inputs"])

    @property
    def tracking(self) -> Tracking:
        return self._tracking

    def _record_inputs(self, name: str, call: StageCall[Outputs]) -> None:
        self._manifest["inputs"][name] = list(call.arguments)

    def _run_call(self, name: str, call: StageCall[Outputs]) -> State[Outputs]:
        """Run one stage in this thread, a second time where Prefect did not begin it in time.

        What a stage itself raises, a TimeoutError too, is in its state; one that is raised here is of Prefect's own engine.
        """
        self._record_inputs(name, call)
        try:
            return call.run(describe_stage(name), refresh=self._refresh)
        except TimeoutError:
            return call.run(describe_stage(name), refresh=self._refresh)

    def _record_outputs(self, name: str, state: State[Outputs]) -> Outputs:
        outputs: Outputs = state.result()
        cached = state.name == "Cached" and name not in self.computed  # this run computed it, if its stages run again
        (self.cached if cached else self.computed).append(name)
        self._manifest["stages"][name] = {"cached": cached, "produced": outputs, "record": _get_record_name(state)}
        self._save()
        if name == SOURCE_STAGE:
            digest = Store().digest(SHOWN + self._manifest["inputs"][name][-1].encode())  # no address of the store
            self._tracking.source(f"source of {self._manifest['series']}", digest)
        return outputs

    def _save(self) -> None:
        name, facts = (LATER, self._later) if self._final else (MANIFEST, self._manifest)
        write_whole(self.folder / name, json.dumps(facts).encode())

    def _record_failure(self, error: BaseException) -> None:
        """Write down that no verdict came of it; an error here must not hide the one that was met.

        Once the ledger has the verdict, what broke off later cannot take it back: the release folder stands, or will appear.
        """
        if self._final and (Path(self._manifest["folder"]).is_dir() or self.trail.has_ended):
            self.note(broken_off=f"{type(error).__name__}, after the verdict was written down")
            return
        stopped = not isinstance(error, Exception)
        ending = {"status": "interrupted" if stopped else "failed", "failure": f"{type(error).__name__}: {error}"}
        self._tracking.tag("sdcert.verdict", "none")
        try:
            self.trail.record_failure(error, self.conclude(**ending))
        except Exception as also:
            with suppress(OSError):  # no room: what was met first is told
                self.note(ledger=f"not recorded: {type(also).__name__}: {also}")

    def _finish(self, status: str) -> None:
        self._tracking.metric("seconds", (datetime.now(UTC) - self.started).total_seconds())
        self._tracking.tag("sdcert.stages", f"{len(self.computed)} computed, {len(self.cached)} cached")
        self._tracking.follow()
        problem = self._tracking.close(status)
        if problem is not None:
            with suppress(OSError):  # no room: the verdict stands all the same
                self.note(tracking=f"not recorded: {problem}")

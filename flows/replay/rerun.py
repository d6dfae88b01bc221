"""Compute the stages of a run again: by the functions themselves, beside Prefect and its cache.

Nothing is served from the cache and nothing is written to it, no attempt is counted, nothing is issued or published. The store
gets what it has not: nothing, where everything comes out as it was.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from flows.certify import run_stages
from flows.earlier.search import select_releases
from flows.mask_stages import RELEASED_TABLE
from flows.release import ReleaseSpec
from flows.replay.past_run import WHERE, PastRun
from flows.run.progress import listener
from flows.run.stage_runner import ReleaseArtifacts
from tasks.attack.linkage.external_files import FILE, FileSpec, name_files
from tasks.ingest.external_table import relocate_errors
from tasks.ingest.sources import SourceSpec, reachable
from tasks.microdata.errors import InputError
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.failures import StageFailure
from tasks.runtime.memory_gate import ATTACKS_AT_ONCE
from tasks.runtime.records import Produced
from tasks.runtime.settings import Home
from tasks.runtime.stages import StageCall

ONCE_WITHIN = {RELEASED_TABLE: "mask"}  # stages that earlier versions carried out within another one
Outputs = TypeVar("Outputs", bound=Mapping[str, object])
_TOKEN = re.compile(r"(, line \d+)? \([0-9a-f]{16}\)")  # of a failure that keeps its traceback apart


class CameNoFurther(Exception):
    """The run ended here, and so does its replay."""


@dataclass(slots=True)
class Rerun:
    """What came of computing a run again. Runs the stages as a `StageRunner`.

    stages, inputs: as the recorder of a run keeps them. rooms: whose code each stage runs. failure: the error that ended it.
    made: what came of it, None where it ended before the last stage.
    """

    recorded: PastRun
    stages: dict[str, Produced] = field(default_factory=dict)
    inputs: dict[str, list[Any]] = field(default_factory=dict)
    rooms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    failure: Exception | None = None
    made: ReleaseArtifacts | None = None

    def run(self, name: str, call: StageCall[Outputs]) -> Outputs:
        """Compute one stage here and now."""
        return self._compute_all(name, {name: call}, name)[0]

    def run_all(self, title: str, calls: Mapping[str, StageCall[Outputs]], *, each: int = 1) -> list[Outputs]:
        """Compute several stages side by side; results in the order of the calls."""
        if not calls:
            return []
        due = sum(self._is_due(name) for name in calls)
        return self._compute_all(title, calls, f"{title} ({each * due})")

    def _compute_all(self, title: str, calls: Mapping[str, StageCall[Outputs]], line: str) -> list[Outputs]:
        due = [name for name in calls if self._is_due(name)]
        if not due:
            raise CameNoFurther
        listener.get().begin_step(line)
        started = time.monotonic()
        pool = ThreadPoolExecutor(ATTACKS_AT_ONCE, thread_name_prefix=title)
        running = [pool.submit(self._compute, name, calls[name]) for name in due]
        try:
            outputs = [future.result() for future in running]
        except BaseException as error:  # Ctrl-C does not wait for compiled work, as in `flows.run.task_runner`
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            raise
        pool.shutdown()
        same = all(self.stages[name] == self.recorded.stages.get(name) for name in due if self._find_recorded(name) == name)
        listener.get().end_step(line, time.monotonic() - started, "identical" if same else "differs")
        if not {self._find_recorded(name) for name in calls} <= self.recorded.stages.keys():
            raise CameNoFurther
        return outputs

    def _is_due(self, name: str) -> bool:
        return self._find_recorded(name) in self.recorded.stages or self.recorded.status == "failed"

    def _find_recorded(self, name: str) -> str:
        """The stage of the run in which this one was carried out: its own, or in a run of an earlier version another one."""
        return name if name in self.recorded.stages else ONCE_WITHIN.get(name, name)

    def warn(self, notes: tuple[str, ...]) -> None:
        """A run that is over warns nobody."""

    def recall_inputs(self, name: str) -> list[Any] | None:
        """What the run gave a stage; nothing, where it did not come to it."""
        return self.recorded.inputs.get(name)

    def use_past_draw(self, source: str, source_file: str, masking: str) -> str:
        """The draw of the run; no attempt is written down or counted."""
        if self.recorded.draw is None:
            raise CameNoFurther
        return self.recorded.draw

    def _compute(self, name: str, call: StageCall[Outputs]) -> Outputs:
        self.inputs[name], self.rooms[name] = list(call.arguments), call.stage.rooms
        outputs = call.compute()
        self.stages[name] = cast("Produced", outputs)
        return outputs


@dataclass(frozen=True, slots=True)
class GivenPaths:
    """Where the files of a run are now; None, or no entry: where they were. files: of the intruder, by their names."""

    source: Path | None = None
    released: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def files_moved(self) -> tuple[str, ...]:
        """`source`, `released`, `file:<name>`: which are at other places."""
        own = tuple(name for name in ("source", "released") if getattr(self, name) is not None)
        return (*own, *(f"{FILE}:{name}" for name in self.files))


def rerun(run: PastRun, given: GivenPaths) -> Rerun:
    """Compute every stage again that the run computed, with its draw; its sources may have moved.

    Raises InputError where a source is not there, or a file is placed that the run did not read.
    """
    done = Rerun(run)
    with link_moved_files(run.release, given) as release:
        _refuse_absent(release.source, "source")
        _refuse_absent(release.released, "released")
        for i, (name, file) in enumerate(_find_external_files(release).items()):
            with relocate_errors(f"intruder.files[{i}]"):
                _refuse_absent(file, f"file {name}=")
        try:
            find_past = None if run.earlier is None else partial(select_releases, run.earlier)
            done.made = run_stages(done, _as_attacked(run, release), done.use_past_draw, find_past=find_past)
        except CameNoFurther:
            pass
        except (StageFailure, InputError) as error:
            done.failure = error
    return done


def _as_attacked(run: PastRun, release: ReleaseSpec) -> ReleaseSpec:
    """The release with the attacks that the run carried out.

    Earlier versions did not run what `omit` names, nor the transparency attack on a table masked elsewhere in an unknown way.
    """
    runs_as_planned = not release.omit and release.released is None
    if release.attacks is not None or runs_as_planned or "score" not in run.stages:
        return release
    ran = tuple(one for one in release.attacks_to_run if any(_belongs_to_attack(stage, one.attack_id) for stage in run.stages))
    return release.model_copy(update={"attacks": ran})


def _belongs_to_attack(stage: str, attack: str) -> bool:
    return stage.startswith(f"attack {attack} (")


def describe_failure(error: Exception) -> str:
    """A failure as a manifest writes it down, without what differs from one time to another."""
    return strip_token(f"{type(error).__name__}: {error}")


def strip_token(failure: str) -> str:
    return _TOKEN.sub("", failure)


@contextmanager
def link_moved_files(release: ReleaseSpec, given: GivenPaths) -> Iterator[ReleaseSpec]:
    """The release with its sources at other places, under their old names: a report names its source by its file's name."""
    _refuse_unknown(release, given)
    with tempfile.TemporaryDirectory(prefix=".replay-", dir=Home.current().root) as folder:
        root = Path(folder)
        update: dict[str, Any] = {
            name: _link_file(getattr(release, name), path, root / name, name)
            for name, path in (("source", given.source), ("released", given.released))
            if path is not None
        }
        files = tuple(
            file if name not in given.files else _link_file(file, given.files[name], root / f"file-{i}", f"file {name}=")
            for i, (name, file) in enumerate(_find_external_files(release).items())
        )
        update["intruder"] = release.intruder.model_copy(update={"files": files})
        yield release.model_copy(update=update)


def _find_external_files(release: ReleaseSpec) -> dict[str, FileSpec]:
    """The external files of the intruder, by what `--file` calls them."""
    names = (name.removeprefix(f"{FILE}:") for name in name_files(release.intruder.files))
    return dict(zip(names, release.intruder.files, strict=True))


def _refuse_unknown(release: ReleaseSpec, given: GivenPaths) -> None:
    there = tuple(_find_external_files(release))
    for name, path in given.files.items():
        if name not in there:
            what, allowed = f"this run read no external file `{name}`", ", ".join(there) or "none: leave --file out"
            remedy = did_you_mean(name, there, "`sdcert audit show RUN` says what it read")
            raise InputError("no-such-option", WHERE, what, allowed, remedy, str(path))


def _refuse_absent(one: SourceSpec | None, name: str) -> None:
    """A file that is gone: which of the others is near does not matter, but where it went."""
    try:
        if one is not None:
            reachable(one)
    except InputError as error:
        if one is None or one.table is None or error.code != "no-such-source":
            raise
        option = name if name.endswith("=") else f"{name} "
        raise replace(error, remedy=f"if it was moved, `--{option}FILE` says where it is now") from None


def _link_file(source: SourceSpec | None, path: Path, folder: Path, name: str) -> SourceSpec:
    if source is None or source.table is None:
        what = f"the {name} of this run is no file" if source is not None else "this run adopted no released table"
        raise InputError("no-such-option", WHERE, what, "a run that read a file", f"leave --{name} out", str(path))
    if not path.exists():
        what = "There is no such file or folder."
        raise InputError("no-such-source", f"--{name}", what, "where the source is now", "correct the path", str(path))
    folder.mkdir()
    link = folder / Path(source.table).name
    link.symlink_to(path.absolute())
    return source.model_copy(update={"table": str(link)})

"""Records what was done in MLflow: one run per release or sweep, written in order by one thread of its own.

A tracking server that is away never costs a release: the first failure is kept and told at the end. What is logged is the
public edition of every figure; seeds, paths and values have no way in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.microdata.estimate import Estimate
from tasks.microdata.imports import import_before_threads
from tasks.runtime.processes import user_name
from tasks.runtime.registry import RUN
from tasks.runtime.tracking_calls import (
    METRICS_PER_BATCH,
    OPEN,
    PARAMETERS_PER_BATCH,
    CallFailed,
    LocalTracker,
    ReadState,
    TrackedRun,
    Tracker,
)
from tasks.runtime.tracking_names import encode_name, escape_markdown, flatten_parameters, metrics, name_distinctly
from tasks.runtime.tracking_store import list_needed_modules

LONGEST_NOTE = 4000
LONGEST_DIGEST = 32  # of a dataset; MLflow takes 36 characters
MOST_CHILDREN = 1000  # of one run: they take about a minute
NOTE, USER, PROGRAM = "mlflow.note.content", "mlflow.user", "mlflow.source.name"
AWAY_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRun:
    """A run below another. id: which no other child has; name: as it is shown; parameters may be nested."""

    id: str
    name: str
    parameters: Mapping[str, Any]
    figures: Mapping[str, float]
    tags: Mapping[str, str]


class Tracking:
    """Records one run. Every method returns at once; `close` waits for all that was asked for.

    again: go on with the run of this name where there is one, as a sweep does that was stopped. read_state: what the ledger
    says of a series, for `follow`. kept: another process that is asked, and has MLflow in its memory; None: this one does it,
    as it does where that one vanishes.
    """

    def __init__(
        self,
        *,
        series: str,
        run: str,
        again: bool = False,
        read_state: ReadState | None = None,
        kept: Tracker | None = None,
    ) -> None:
        self._local = LocalTracker(read_state)
        self._tracker = kept or self._local
        if kept is None:
            _import_mlflow()
        self._line = ThreadPoolExecutor(1, thread_name_prefix="tracking")
        self._asked: list[Future[str | None]] = []
        self._late: list[tuple[str, dict[str, Any]]] = []
        self._tracked: TrackedRun | None = None
        self._run, self._name = run, ""
        self._away = self._vanished = False
        self._ask(OPEN, series=series, run=run, tags=_create_tags(run), again=again or kept is not None)

    def parameters(self, content: Mapping[str, Any]) -> None:
        self._ask("parameters", parameters=dict(flatten_parameters(content)))

    def estimates(self, estimates: Iterable[Estimate]) -> None:
        self._ask("metrics", values=dict(metrics(estimates)), at_ms=_now_ms())

    def metric(self, name: str, value: float) -> None:
        self._ask("metrics", values={encode_name(name): value}, at_ms=_now_ms())

    def tag(self, name: str, value: str) -> None:
        self._ask("tag", name=encode_name(name), value=value)

    def artifact(self, path: Path) -> None:
        self._ask("artifact", path=str(path.absolute()))

    def rename(self, name: str) -> None:
        """Name the run as people do; `follow` puts its number in the series behind the name."""
        self._name = name
        self._ask("rename", name=name)

    def describe(self, text: str) -> None:
        """Show a text over the figures of the run, which MLflow would take for Markdown."""
        self.tag(NOTE, escape_markdown(text[:LONGEST_NOTE]))

    def source(self, name: str, digest: str) -> None:
        """Show what the run read as its dataset. digest: a keyed one; nobody can compute it from a table that they guess."""
        self._ask("source", name=name, digest=digest[:LONGEST_DIGEST])

    def children(self, children: Sequence[ChildRun]) -> None:
        """Runs below this one, of which those that are there already are not made again."""
        self._ask("children", children=[_name_as_mlflow_does(child) for child in children], at_ms=_now_ms())

    def follow(self) -> None:
        """Let the registered model of the series follow the ledger, with a version for this run."""
        self._ask("follow", name=self._name)

    def close(self, status: str) -> str | None:
        """Wait, end the run (`FINISHED`, `FAILED`, `KILLED`); returns what went wrong, if anything did."""
        self._ask("end", status=status)
        self._line.shutdown(wait=True)
        kinds = [future.result() for future in self._asked]
        if self._vanished:
            _import_mlflow()
            self._tracker, self._vanished = self._local, False
            kinds += [self._try_call(call, arguments) for call, arguments in self._late]
        failed = [kind for kind in kinds if kind is not None]
        return f"{failed[0]} in {len(failed)} of {len(self._asked)} calls (failures/{self._run}.txt)" if failed else None

    def _ask(self, call: str, **arguments: Any) -> None:
        self._asked.append(self._line.submit(self._try_call, call, arguments))

    def _try_call(self, call: str, arguments: dict[str, Any]) -> str | None:
        """Do it; returns the kind of what it raised.

        After one that waited long and failed nothing more is tried, so that a run waits for no dead server. What the kept
        process did not do waits for the end, when no other thread imports anything.
        """
        if self._away:
            return ConnectionError.__name__
        if self._vanished:
            self._late.append((call, arguments))
            return None
        started = time.monotonic()
        try:
            found = self._tracker.perform(call, self._tracked, arguments)
        except ConnectionError:
            self._vanished = True
            self._late.append((call, arguments | ({"again": True} if call == OPEN else {})))
            return None
        except CallFailed as failed:
            self._away = time.monotonic() - started > AWAY_SECONDS
            return failed.kind
        self._tracked = found or self._tracked
        return None


def _import_mlflow() -> None:
    with suppress(Exception):  # a wrong address, or a driver that is not installed, is told when it is used
        import_before_threads(list_needed_modules())


def _name_as_mlflow_does(child: ChildRun) -> dict[str, Any]:
    """What fits into one batch of MLflow's."""
    parameters = dict(list(flatten_parameters(child.parameters))[:PARAMETERS_PER_BATCH])
    figures = {name: child.figures[one] for one, name in name_distinctly(child.figures).items()}
    return {
        "id": child.id,
        "name": child.name,
        "tags": {**_create_tags(child.id), **child.tags},
        "parameters": parameters,
        "figures": dict(list(figures.items())[: METRICS_PER_BATCH - len(parameters)]),
    }


def _now_ms() -> int:
    return int(time.time() * 1000)


def _create_tags(run: str) -> dict[str, str]:
    return {RUN: run, USER: user_name(), PROGRAM: "sdcert"}

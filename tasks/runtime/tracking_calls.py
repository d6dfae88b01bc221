"""What is asked of MLflow, a call at a time: by this process, or by one that is kept and has MLflow in its memory already.

A call and what it is given can be written as JSON, and a call that was done before changes nothing when it is done again. So
where the process that was asked vanished, another one asks again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tasks.runtime.failures import write_private_trace
from tasks.runtime.files import hold_file_lock
from tasks.runtime.registry import RUN, Registry, SeriesState
from tasks.runtime.settings import Home
from tasks.runtime.tracking_store import choose_artifact_location, open_client

if TYPE_CHECKING:
    from mlflow import MlflowClient

METRICS_PER_BATCH = 1000
PARAMETERS_PER_BATCH = 100
OPEN, PARENT = "open", "mlflow.parentRunId"
ReadState = Callable[[str], SeriesState]


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run of ours in MLflow. series, run: as we call them; experiment, id: as MLflow does."""

    series: str
    run: str
    experiment: str
    id: str


class Tracker(Protocol):
    """Who does a call: this process, or another one.

    Raises ConnectionError where that process vanished, CallFailed where the call did.
    """

    def perform(self, call: str, tracked: TrackedRun | None, arguments: Mapping[str, Any]) -> TrackedRun | None:
        """Do it; returns the run that `open` found or made. tracked: None for that call alone."""


class CallFailed(Exception):
    """MLflow raised something, of which the kind is told and the rest is kept in the private folder."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class LocalTracker:
    """Does the calls in the process that it is in. read_state: what the ledger says of a series."""

    def __init__(self, read_state: ReadState | None = None) -> None:
        self._client: MlflowClient | None = None
        self._read_state = read_state

    def perform(self, call: str, tracked: TrackedRun | None, arguments: Mapping[str, Any]) -> TrackedRun | None:
        try:
            return self._perform(call, tracked, arguments)
        except Exception as error:
            run = tracked.run if tracked is not None else str(arguments.get("run", "tracking"))
            with suppress(OSError):  # no room for details
                _keep_first_trace(run, error)
            failed = CallFailed(type(error).__name__)
        raise failed

    def _perform(self, call: str, tracked: TrackedRun | None, arguments: Mapping[str, Any]) -> TrackedRun | None:
        if call == OPEN:
            self._client = open_client()
            return open_run(self._client, **arguments)
        if tracked is None:
            raise ConnectionError("tracking could not be opened")
        self._client = self._client or open_client()
        if call == "follow":
            follow_series(self._client, tracked, read_state=self._read_state, **arguments)
        else:
            CALLS[call](self._client, tracked, **arguments)
        return None


def _keep_first_trace(run: str, error: Exception) -> None:
    if not (Home.current().folder("failures") / f"{run}.txt").exists():
        write_private_trace("tracking", run, error)


def open_run(client: MlflowClient, *, series: str, run: str, tags: Mapping[str, str], again: bool) -> TrackedRun:
    """Make the run; where it may be there (again), go on with it. The experiment of the series is made if there is none."""
    with hold_file_lock(Home.current().locks / "tracking.lock"):
        experiment = client.get_experiment_by_name(series)
        if experiment is None:
            experiment_id = client.create_experiment(series, artifact_location=choose_artifact_location(series))
        else:
            experiment_id = experiment.experiment_id
        earlier = client.search_runs([experiment_id], f"tags.`{RUN}` = '{run}'", max_results=1) if again else []
        found = earlier[0] if earlier else client.create_run(experiment_id, run_name=run, tags=dict(tags))
    if earlier:
        client.update_run(found.info.run_id, status="RUNNING")
    return TrackedRun(series, run, experiment_id, found.info.run_id)


def log_parameters(client: MlflowClient, tracked: TrackedRun, *, parameters: Mapping[str, str]) -> None:
    from mlflow.entities import Param

    entries = [Param(name, value) for name, value in parameters.items()]
    for start in range(0, len(entries), PARAMETERS_PER_BATCH):
        client.log_batch(tracked.id, params=entries[start : start + PARAMETERS_PER_BATCH])


def log_metrics(client: MlflowClient, tracked: TrackedRun, *, values: Mapping[str, float], at_ms: int) -> None:
    """at_ms: when they were measured; MLflow keeps one value for each time."""
    from mlflow.entities import Metric

    entries = [Metric(name, value, at_ms, 0) for name, value in values.items()]
    for start in range(0, len(entries), METRICS_PER_BATCH):
        client.log_batch(tracked.id, metrics=entries[start : start + METRICS_PER_BATCH])


def set_tag(client: MlflowClient, tracked: TrackedRun, *, name: str, value: str) -> None:
    client.set_tag(tracked.id, name, value)


def rename_run(client: MlflowClient, tracked: TrackedRun, *, name: str) -> None:
    client.update_run(tracked.id, name=name)


def log_source(client: MlflowClient, tracked: TrackedRun, *, name: str, digest: str) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(name=name, digest=digest, source_type="sdcert", source="{}")
    client.log_inputs(tracked.id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "source")])])


def log_artifact(client: MlflowClient, tracked: TrackedRun, *, path: str) -> None:
    """MLflow keeps the rights of what it copies; those of a published file are not for a folder of the home."""
    with tempfile.TemporaryDirectory() as folder:
        private = Path(folder, Path(path).name)
        shutil.copyfile(path, private)
        client.log_artifact(tracked.id, str(private))


def log_children(client: MlflowClient, tracked: TrackedRun, *, children: Sequence[Mapping[str, Any]], at_ms: int) -> None:
    """Runs below this one (id, name, tags, parameters, figures, all in MLflow's names); one that is half made is filled."""
    made = _find_children(client, tracked)
    for child in children:
        id_, status = made.get(child["id"], ("", ""))
        if status == "FINISHED":
            continue
        if not id_:
            tags = {**child["tags"], PARENT: tracked.id}
            id_ = client.create_run(tracked.experiment, run_name=child["name"], tags=tags).info.run_id
        one = TrackedRun(tracked.series, child["id"], tracked.experiment, id_)
        log_parameters(client, one, parameters=child["parameters"])
        log_metrics(client, one, values=child["figures"], at_ms=at_ms)
        client.set_terminated(id_, "FINISHED")


def _find_children(client: MlflowClient, tracked: TrackedRun) -> dict[str, tuple[str, str]]:
    """MLflow's id and the status of each run below this one, by our id."""
    found: dict[str, tuple[str, str]] = {}
    token = None
    while True:
        page = client.search_runs([tracked.experiment], f"tags.`{PARENT}` = '{tracked.id}'", page_token=token)
        found |= {one.data.tags[RUN]: (one.info.run_id, one.info.status) for one in page}
        token = page.token
        if not token:
            return found


def follow_series(client: MlflowClient, tracked: TrackedRun, *, read_state: ReadState | None, name: str) -> None:
    """Let the registered model follow the ledger. name: of the run, behind which its number in the series is put; or empty."""
    if read_state is None:
        raise LookupError("nobody said how the ledger is read")
    registry = Registry(client, tracked.experiment, {tracked.run: tracked.id})
    number = registry.follow(lambda: read_state(tracked.series)).get(tracked.run)
    if name and number:
        client.update_run(tracked.id, name=f"{name} #{number}")


def end_run(client: MlflowClient, tracked: TrackedRun, *, status: str) -> None:
    client.set_terminated(tracked.id, status)


CALLS: Mapping[str, Callable[..., None]] = {
    "parameters": log_parameters,
    "metrics": log_metrics,
    "tag": set_tag,
    "rename": rename_run,
    "source": log_source,
    "artifact": log_artifact,
    "children": log_children,
    "end": end_run,
}

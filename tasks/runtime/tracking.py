"""The only module that knows MLflow: one run per release or sweep, written in order by one thread of its own.

A tracking server that is away never costs a release: the first failure is kept and told at the end. What is logged is the
public edition of every figure; seeds, paths and values have no way in.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.microdata.escaping import escape_terminal
from tasks.microdata.estimate import Estimate
from tasks.microdata.imports import import_before_threads
from tasks.runtime.failures import write_private_trace
from tasks.runtime.files import hold_file_lock
from tasks.runtime.processes import user_name
from tasks.runtime.registry import Registry, SeriesState
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

LONGEST_NAME = 250
AT_LEAST = "|at_least"
LONGEST_NOTE = 4000
LONGEST_DIGEST = 32  # of a dataset; MLflow takes 36 characters
MOST_CHILDREN = 1000  # of one run: they take about a minute
LONGEST_PARAMETER = 6000
METRICS_PER_BATCH = 1000
PARAMETERS_PER_BATCH = 100
PARENT, NOTE, USER, PROGRAM = "mlflow.parentRunId", "mlflow.note.content", "mlflow.user", "mlflow.source.name"
AWAY_SECONDS = 10
LOUD = (
    "mlflow",
    "alembic",
    "sqlalchemy",
)  # they log what they raise, with traceback, SQL and parameters; it is told at the end
WITH_LOCATION = {"http", "https", "databricks"}
_FORBIDDEN = re.compile(r"[^\w\-. :]|:(?=[0-9a-f]*(?:[^\w\-. ]))")
_MARKUP = re.compile(r"[\\`*_{}\[\]<>&!#|~@$:]")


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

    again: go on with the run of this name where there is one, as a sweep does that was stopped.
    """

    def __init__(self, *, series: str, run: str, again: bool = False) -> None:
        with suppress(Exception):  # a wrong address, or a driver that is not installed, is told when it is used
            import_before_threads(_list_needed_modules())
        self._line = ThreadPoolExecutor(1, thread_name_prefix="tracking")
        self._asked: list[Future[Any]] = []
        self._client: MlflowClient | None = None
        self._id = self._experiment = ""
        self._run, self._name = run, ""
        self._away = False
        self._ask(self._open, series, run, again)

    def parameters(self, content: Mapping[str, Any]) -> None:
        self._ask(lambda: self._log_parameters(flatten_parameters(content)))

    def estimates(self, estimates: Iterable[Estimate]) -> None:
        self._ask(lambda: self._log_metrics(dict(metrics(estimates))))

    def metric(self, name: str, value: float) -> None:
        self._ask(self._log_metrics, {encode_name(name): value})

    def tag(self, name: str, value: str) -> None:
        self._ask(lambda: self._mlflow.set_tag(self._id, encode_name(name), value))

    def artifact(self, path: Path) -> None:
        self._ask(self._log_artifact, path)

    def rename(self, name: str) -> None:
        """Name the run as people do; `follow` puts its number in the series behind the name."""
        self._name = name
        self._ask(lambda: self._mlflow.update_run(self._id, name=name))

    def describe(self, text: str) -> None:
        """Show a text over the figures of the run, which MLflow would take for Markdown."""
        self.tag(NOTE, escape_markdown(text[:LONGEST_NOTE]))

    def source(self, name: str, digest: str) -> None:
        """Show what the run read as its dataset. digest: a keyed one; nobody can compute it from a table that they guess."""
        self._ask(self._log_source, name, digest[:LONGEST_DIGEST])

    def children(self, children: Sequence[ChildRun]) -> None:
        """Runs below this one, of which those that are there already are not made again."""
        self._ask(self._log_children, children)

    def follow(self, read: Callable[[], SeriesState]) -> None:
        """Let the registered model of the series follow the ledger, with a version for this run."""
        self._ask(self._follow, read)

    def close(self, status: str) -> str | None:
        """Wait, end the run (`FINISHED`, `FAILED`, `KILLED`); returns what went wrong, if anything did."""
        self._ask(lambda: self._mlflow.set_terminated(self._id, status))
        self._line.shutdown(wait=True)
        errors = [error for future in self._asked if (error := future.exception()) is not None]
        if not errors:
            return None
        with suppress(OSError):  # no room for details
            write_private_trace("tracking", self._run, errors[0])
        return f"{type(errors[0]).__name__} in {len(errors)} of {len(self._asked)} calls (failures/{self._run}.txt)"

    @property
    def _mlflow(self) -> MlflowClient:
        if self._client is None:
            raise ConnectionError("tracking could not be opened")
        return self._client

    def _ask(self, action: Callable[..., Any], *arguments: Any) -> None:
        self._asked.append(self._line.submit(self._try_action, action, *arguments))

    def _try_action(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Do it; after one that waited long and failed nothing more is tried, so that a run waits for no dead server."""
        if self._away:
            raise ConnectionError("tracking did not answer before")
        started = time.monotonic()
        try:
            action(*arguments)
        except Exception:
            self._away = time.monotonic() - started > AWAY_SECONDS
            raise

    def _open(self, series: str, run: str, again: bool) -> None:
        client = open_client()
        with hold_file_lock(Home.current().locks / "tracking.lock"):
            experiment = client.get_experiment_by_name(series)
            if experiment is None:
                experiment_id = client.create_experiment(series, artifact_location=_artifacts(series))
            else:
                experiment_id = experiment.experiment_id
        self._experiment = experiment_id
        earlier = client.search_runs([experiment_id], f"tags.`sdcert.run` = '{run}'", max_results=1) if again else []
        found = earlier[0] if earlier else client.create_run(experiment_id, run_name=run, tags=_create_tags(run))
        self._id = found.info.run_id
        self._client = client
        if earlier:
            client.update_run(self._id, status="RUNNING")

    def _follow(self, read: Callable[[], SeriesState]) -> None:
        number = Registry(self._mlflow, self._experiment, {self._run: self._id}).follow(read).get(self._run)
        if self._name and number:
            self._mlflow.update_run(self._id, name=f"{self._name} #{number}")

    def _log_parameters(self, parameters: Iterable[tuple[str, str]]) -> None:
        from mlflow.entities import Param

        entries = [Param(name, value) for name, value in parameters]
        for start in range(0, len(entries), PARAMETERS_PER_BATCH):
            self._mlflow.log_batch(self._id, params=entries[start : start + PARAMETERS_PER_BATCH])

    def _log_source(self, name: str, digest: str) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        dataset = Dataset(name=name, digest=digest, source_type="sdcert", source="{}")
        self._mlflow.log_inputs(self._id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "source")])])

    def _log_artifact(self, path: Path) -> None:
        """MLflow keeps the rights of what it copies; those of a published file are not for a folder of the home."""
        with tempfile.TemporaryDirectory() as folder:
            private = Path(folder, path.name)
            shutil.copyfile(path, private)
            self._mlflow.log_artifact(self._id, str(private))

    def _log_metrics(self, values: dict[str, float]) -> None:
        entries = _create_metrics(values)
        for start in range(0, len(entries), METRICS_PER_BATCH):
            self._mlflow.log_batch(self._id, metrics=entries[start : start + METRICS_PER_BATCH])

    def _log_children(self, children: Sequence[ChildRun]) -> None:
        """One that a killed process left half made is filled."""
        from mlflow.entities import Param

        made = self._find_children()
        for child in children:
            known, status = made.get(child.id, ("", ""))
            if status == "FINISHED":
                continue
            tags = {**_create_tags(child.id), **child.tags, PARENT: self._id}
            run = known or self._mlflow.create_run(self._experiment, run_name=child.name, tags=tags).info.run_id
            parameters = [Param(*one) for one in flatten_parameters(child.parameters)][:PARAMETERS_PER_BATCH]
            figures = {name_: child.figures[id_] for id_, name_ in name_distinctly(child.figures).items()}
            self._mlflow.log_batch(run, _create_metrics(figures)[: METRICS_PER_BATCH - len(parameters)], parameters)
            self._mlflow.set_terminated(run, "FINISHED")

    def _find_children(self) -> dict[str, tuple[str, str]]:
        """MLflow's id and the status of each run below this one, by our id."""
        found: dict[str, tuple[str, str]] = {}
        token = None
        while True:
            page = self._mlflow.search_runs([self._experiment], f"tags.`{PARENT}` = '{self._id}'", page_token=token)
            found |= {one.data.tags["sdcert.run"]: (one.info.run_id, one.info.status) for one in page}
            token = page.token
            if not token:
                return found


def _create_metrics(values: Mapping[str, float]) -> list[Metric]:
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    return [Metric(name, value, now, 0) for name, value in values.items()]


def _create_tags(run: str) -> dict[str, str]:
    return {"sdcert.run": run, USER: user_name(), PROGRAM: "sdcert"}


def _list_needed_modules() -> Iterator[str]:
    """What MLflow imports only when it is used. The index of the ledger uses SQLAlchemy too, in another thread."""
    yield from ("mlflow.tracking.client", "mlflow.entities.model_registry", "mlflow.store.artifact.local_artifact_repo")
    if _is_server(tracking_uri()):
        yield from ("mlflow.store.tracking.rest_store", "mlflow.store.model_registry.rest_store")
        return
    yield from ("sqlalchemy.orm", "alembic.command", "alembic.config", "alembic.migration", "alembic.script")
    yield from ("mlflow.store.tracking.sqlalchemy_workspace_store", "mlflow.store.model_registry.sqlalchemy_workspace_store")
    from sqlalchemy import make_url

    yield make_url(tracking_uri()).get_dialect().__module__  # with its driver


def open_client() -> MlflowClient:
    """A client of the tracking store (`MLFLOW_TRACKING_URI`, or SQLite in the private folder).

    The tables of a new SQLite store are made by one process alone: two at once would leave it half made.
    """
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    from mlflow import MlflowClient

    with hold_file_lock(Home.current().locks / "tracking.lock"):
        _ask_database_once(tracking_uri())
        client = MlflowClient(tracking_uri=tracking_uri())
        client.search_experiments(max_results=1)
    return client


def _ask_database_once(uri: str) -> None:
    """Raise what a damaged or absent database raises: MLflow would ask it ten times, for 100 seconds."""
    if _is_server(uri):
        return
    from sqlalchemy import create_engine, inspect

    engine = create_engine(uri)
    try:
        if engine.dialect.name != "sqlite" or os.path.lexists(engine.url.database or ""):
            inspect(engine)
    finally:
        engine.dispose()


def _is_server(uri: str) -> bool:
    """Is it a tracking server, not a database?"""
    return uri.partition("://")[0].partition("+")[0] in WITH_LOCATION


def tracking_uri() -> str:
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Home.current().root / 'mlflow.db'}"


def metrics(estimates: Iterable[Estimate]) -> Iterable[tuple[str, float]]:
    """Name and value of every figure that has one; the bounds beside it where the figure was sampled.

    A lower bound is called so (`AT_LEAST`): nobody can compare it with a figure by taking it for one.
    """
    found: dict[str, float] = {}
    for estimate in estimates:
        name = AT_LEAST * estimate.is_lower_bound
        for suffix, value in ((name, estimate.value), ("|low", estimate.low), ("|high", estimate.high)):
            if value is not None and (suffix == name or value != estimate.value):
                found[estimate.id + suffix] = value
    return ((name, found[one]) for one, name in name_distinctly(found).items())


def encode_name(name: str) -> str:
    """A name that people type and that MLflow takes: the parts of `a|b` with a dot between them.

    What MLflow forbids is `:hex:`: every character but letters and digits of any language, `_-. :` (`/` makes folders), a
    dot at the start, and a colon that could be taken for the beginning of such a code. A name that would be too long ends in
    its digest. Two that differ in more than dots and bars stay different; `name_distinctly` sees to the others.
    """
    joined = _FORBIDDEN.sub(lambda found: f":{ord(found[0]):x}:", name.replace("|", "."))
    if joined.startswith("."):
        joined = f":2e:{joined[1:]}"
    if not joined:
        return "::"
    return joined if len(joined) <= LONGEST_NAME else _shorten_name(joined, name)


def name_distinctly(names: Iterable[str]) -> dict[str, str]:
    """The encoded name of each: the second of two that would be the same (a column called `a.b`) ends in its digest."""
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        code = encode_name(name)
        given[name] = _shorten_name(code, name) if code in taken else code
        taken.add(given[name])
    return given


def _shorten_name(code: str, name: str) -> str:
    return f"{code[:180]}:{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()}:"


def flatten_parameters(content: Any) -> Iterable[tuple[str, str]]:
    """The leaves of a nested structure as (`masking.0.k`, text)."""
    leaves = dict(_list_leaves(content, ""))
    return ((name, leaves[one]) for one, name in name_distinctly(leaves).items())


def _list_leaves(content: Any, name: str) -> Iterable[tuple[str, str]]:
    if not isinstance(content, Mapping | list | tuple):
        text = content if isinstance(content, str) else json.dumps(content)
        yield name, text if len(text) <= LONGEST_PARAMETER else f"{text[: LONGEST_PARAMETER - 20]} ... (cut)"
        return
    for key, child in content.items() if isinstance(content, Mapping) else enumerate(content):
        inside = str(key).replace("~", "~0").replace("|", "~1")  # a key may be any text: it is one part, as in an id
        yield from _list_leaves(child, f"{name}|{inside}" if name else inside)


def escape_markdown(text: str) -> str:
    """The text as MLflow's Markdown shows it as it is: a name of a column in it is no link, no picture and no HTML."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", escape_terminal(text))


def _artifacts(series: str) -> str | None:
    """Where the files of a new experiment go: an MLflow server knows; of a database alone MLflow takes `./mlruns`."""
    if _is_server(tracking_uri()):
        return None
    if root := os.environ.get("MLFLOW_DEFAULT_ARTIFACT_ROOT"):
        return f"{root.rstrip('/')}/{series}"
    return Home.current().folder("mlflow-artifacts", series).as_uri()

"""MLflow's registered models: one for each series, a version for each run that ended, the alias `certified` on the newest that
was certified, if that stands.

The ledger decides and this follows: each time it makes what is missing (a tracking server was away) and moves the alias to
where the ledger says, so that a call that failed is made good by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.runtime.files import hold_file_lock
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion, RegisteredModel

ALIAS, RUN, REVOKED = "certified", "sdcert.run", "sdcert.revoked"
LOCK_SECONDS = 30
NEWEST = 100


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that ended. tags: what its version says, none of it private."""

    run: str
    tags: Mapping[str, str] = field(default_factory=dict)
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class SeriesState:
    """A series as the ledger has it.

    ended: its newest runs, oldest first. standing: the newest that was certified; None if its certificate was revoked.
    """

    series: str
    ended: tuple[EndedRun, ...]
    standing: EndedRun | None

    @property
    def runs(self) -> tuple[EndedRun, ...]:
        """Every run that must have a version, oldest first."""
        known = {one.run for one in self.ended}
        return (*(() if self.standing is None or self.standing.run in known else (self.standing,)), *self.ended)


def model_name(series: str) -> str:
    """A series is a slug, so this is a name that MLflow takes and that no other series has."""
    return f"sdcert.{series}"


@dataclass(frozen=True, slots=True)
class Registry:
    """One series in MLflow. experiment: of the series; known: MLflow's ids of runs that need not be looked up."""

    client: MlflowClient
    experiment: str
    known: Mapping[str, str] = field(default_factory=dict)

    def follow(self, read: Callable[[], SeriesState]) -> dict[str, int]:
        """Make the registered model say what the ledger says; returns the number of the version of each run.

        Raises whatever MLflow raises, and TimeoutError.

        read: the state; called when no other process of this home can move the alias any more.
        Cost: two requests, and one to three for each version that is missing.
        """
        with hold_file_lock(Home.current().locks / "registry.lock", timeout_seconds=LOCK_SECONDS):
            state = read()
            name = model_name(state.series)
            alias = self._model(name).aliases.get(ALIAS)
            versions = self._versions(name, state.runs)
            for run in state.runs:
                if run.revoked and REVOKED not in versions[run.run].tags:
                    self.client.set_tag(str(versions[run.run].run_id), REVOKED, "true")
                    self.client.set_model_version_tag(name, versions[run.run].version, REVOKED, "true")
            wanted = None if state.standing is None else str(versions[state.standing.run].version)
            if wanted is not None and wanted != str(alias):
                self.client.set_registered_model_alias(name, ALIAS, wanted)
            if wanted is None and alias is not None:
                self.client.delete_registered_model_alias(name, ALIAS)
            return {run: int(version.version) for run, version in versions.items()}

    def _model(self, name: str) -> RegisteredModel:
        from mlflow.exceptions import MlflowException

        with suppress(MlflowException):  # it is not there yet
            return self.client.get_registered_model(name)
        with suppress(MlflowException):  # another machine made it meanwhile
            return self.client.create_registered_model(name, description="Releases of one series, certified by sdcert")
        return self.client.get_registered_model(name)

    def _versions(self, name: str, runs: tuple[EndedRun, ...]) -> dict[str, ModelVersion]:
        """The version of each of these runs; those that are missing are made."""
        newest = self.client.search_model_versions(f"name='{name}'", max_results=NEWEST, order_by=["version_number DESC"])
        found = {version.tags[RUN]: version for version in newest if RUN in version.tags}
        for run in runs:
            if run.run not in found:
                older = self._older(name, run) if len(newest) == NEWEST else None
                found[run.run] = older or self._create_version(name, run)
        return found

    def _older(self, name: str, run: EndedRun) -> ModelVersion | None:
        found = self.client.search_model_versions(f"name='{name}' and tags.`{RUN}` = '{run.run}'", max_results=1)
        return found[0] if found else None

    def _create_version(self, name: str, run: EndedRun) -> ModelVersion:
        of = self._run(run)
        tags = {**run.tags, RUN: run.run}
        return self.client.create_model_version(name, f"runs:/{of}/scorecard.json", run_id=of, tags=tags, await_creation_for=0)

    def _run(self, run: EndedRun) -> str:
        """MLflow's id of a run; one that was never recorded is made with its tags alone."""
        if run.run in self.known:
            return self.known[run.run]
        found = self.client.search_runs([self.experiment], f"tags.`{RUN}` = '{run.run}'", max_results=1)
        if found:
            return str(found[0].info.run_id)
        made = self.client.create_run(self.experiment, run_name=run.run, tags={**run.tags, RUN: run.run}).info.run_id
        self.client.set_terminated(made)
        return str(made)

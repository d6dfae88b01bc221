"""`prefect.yaml` as `sdcert serve` takes it: the deployments of the project, every path in them made absolute.

Prefect reads the file as YAML 1.1 and passes over what it does not know: an unquoted `off` is then a boolean, a misspelt field
nothing, and the deployment is skipped or deployed without its schedule. Here the file is read as release files are.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from ruamel.yaml import YAML

from tasks.microdata.document import read_document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Slug, Spec

OWN_FILE, FILE = "sdcert.yaml", "prefect.yaml"
POOL = TAG = "sdcert"  # TAG: by which automations know the runs
READ, WRITTEN = ("release", "watch", "sweep"), ("output",)  # parameters that are paths, relative to the file
JOB_VARIABLES = ("labels", "name", "stream_output")  # what a run may choose of its process: nothing that chooses code
WORKING_DIRECTORY = "prefect.deployments.steps.set_working_directory"


class Schedule(Spec):
    """When a deployment runs. slug: names the schedule, so that a changed one replaces it."""

    slug: Slug
    cron: Name
    timezone: Name = "UTC"
    active: bool = True


class Concurrency(Spec):
    """How many runs of a deployment go on at once, and what becomes of one more: it waits, or is cancelled."""

    limit: Annotated[int, Field(ge=1)] = 1
    collision_strategy: Literal["ENQUEUE", "CANCEL_NEW"] = "CANCEL_NEW"
    grace_period_seconds: Annotated[int, Field(ge=60, le=86_400)] | None = None


class WorkPool(Spec):
    name: Annotated[Name, Field(pattern=r"^[^/%&<>]+$")] = POOL  # Prefect takes no others
    work_queue_name: Name | None = None
    job_variables: dict[str, Any] = Field(default_factory=dict)

    @field_validator("job_variables")
    @classmethod
    def _choose_no_code(cls, given: dict[str, Any]) -> dict[str, Any]:
        if others := sorted(set(given) - set(JOB_VARIABLES)):
            what = f"a run may not choose {', '.join(others)} (it may choose {', '.join(JOB_VARIABLES)})"
            raise ValueError(f"{what}; variables of the environment are given to `sdcert serve` itself")
        return given


class Deployment(Spec):
    """One flow with its parameters and schedules."""

    name: Slug
    entrypoint: Name
    description: Name | None = None
    tags: tuple[Name, ...] = ()
    parameters: dict[str, Any] = Field(default_factory=dict)
    schedules: tuple[Schedule, ...] = ()
    concurrency_limit: Concurrency = Concurrency()
    work_pool: WorkPool = WorkPool()

    @model_validator(mode="after")
    def _slugs_differ(self) -> Deployment:
        slugs = [schedule.slug for schedule in self.schedules]
        if len(set(slugs)) < len(slugs):
            raise ValueError("two schedules of one deployment have the same slug")
        return self


class Deployments(Spec):
    """A whole `prefect.yaml`."""

    name: Name = "sdcert"
    prefect_version: Name | None = Field(None, alias="prefect-version")
    deployments: Annotated[tuple[Deployment, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> Deployments:
        names = [deployment.name for deployment in self.deployments]
        if len(set(names)) < len(names):
            raise ValueError("two deployments have the same name")
        return self

    @property
    def pools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(deployment.work_pool.name for deployment in self.deployments))


def load_deployments(path: Path) -> Deployments:
    """Read the file, its paths made absolute. InputError where it is wrong, or names a file that is not there."""
    document = read_document(path)
    found = validate_document(Deployments, document)
    folder = path.absolute().parent
    resolved = []
    for number, deployment in enumerate(found.deployments):
        parameters = {name: _make_absolute(name, value, folder) for name, value in deployment.parameters.items()}
        for name in READ:
            if isinstance(file := parameters.get(name), str) and not Path(file).is_file():
                where = document.where(("deployments", number, "parameters", name))
                raise InputError("no-file", where, "there is no such file", "a file, relative to this one", "correct it", file)
        resolved.append(deployment.model_copy(update={"parameters": parameters}))
    return found.model_copy(update={"deployments": tuple(resolved)})


def format_for_prefect(found: Deployments, folder: Path) -> str:
    """The file as `prefect deploy` is to read it: in YAML 1.1, where `off` is quoted."""
    content = found.model_dump(mode="json", by_alias=True, exclude_none=True)
    for deployment in content["deployments"]:
        deployment["tags"] = list(dict.fromkeys([TAG, *deployment["tags"]]))
    yaml, written = YAML(typ="safe", pure=True), io.StringIO()
    yaml.version, yaml.allow_unicode = (1, 1), False
    yaml.dump({**content, "pull": [{WORKING_DIRECTORY: {"directory": str(folder)}}]}, written)
    return written.getvalue()


def _make_absolute(name: str, value: Any, folder: Path) -> Any:
    return str(folder / value) if name in (*READ, *WRITTEN) and isinstance(value, str) else value

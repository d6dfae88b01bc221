"""With what the blocks of a sweep are computed. Light: it is imported by the command line."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks.microdata.errors import InputError

Runner = Literal["local", "dask"]


@dataclass(frozen=True, slots=True)
class ComputeBackend:
    """workers: processes of this machine. address: of the cluster's scheduler."""

    workers: int
    runner: Runner = "local"
    address: str | None = None

    @classmethod
    def from_options(cls, *, workers: int | None, runner: Runner, address: str | None) -> ComputeBackend:
        """Raises InputError for what does not fit together."""
        if (runner == "dask") != (address is not None):
            what = "`--runner dask` needs the address of a scheduler, and only it has one"
            raise InputError("runner", "--address", what, "--runner dask --address tcp://host:8786", "give both, or neither")
        if runner == "dask":
            _refuse_without_dask()
        return cls(workers or _cores(), runner, address)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse_without_dask() -> None:
    if importlib.util.find_spec("prefect_dask") is None:
        remedy = "install the extra: pip install 'sdcert[dask]'"
        raise InputError("runner", "--runner", "prefect-dask is not installed", "local, or dask with the extra", remedy, "dask")
    if not os.environ.get("PREFECT_API_URL"):
        what = "the workers of a cluster need a Prefect server that they reach; without one each would start its own"
        remedy = "start one with a password (OPERATIONS.md), then set PREFECT_API_URL to its address as the workers see it"
        raise InputError("no-server", "PREFECT_API_URL", what, "the address of a Prefect API", remedy)


def find_storage_url(store: str | None) -> str:
    """The address of the working set: as given, a folder made absolute; default: the folder of sweeps in the home."""
    from tasks.runtime.settings import Home

    if store is None:
        return str(Home.current().folder("sweeps"))
    if "://" in store:
        return store
    folder = Path(store).absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made or used ({error.strerror})"
        raise InputError("store", "--store", what, "a folder that you may write", "choose another", store) from None
    return str(folder)

"""Workers on other machines: a Dask cluster at an address, made ready for the blocks of a sweep.

Knows no Prefect when it is imported: a worker imports it to be prepared, before Prefect is imported there.
"""

from __future__ import annotations

import os
from typing import Any

from distributed import Client, WorkerPlugin

from tasks.microdata.errors import InputError

HANDED_ON = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
SECONDS_TO_CONNECT = 30


class Prepared(WorkerPlugin):
    """Gives every worker, also one that comes later, what tasks need to report to the same Prefect server."""

    name = "sdcert"

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def setup(self, worker: Any) -> None:
        os.environ.update(self.environment)


def create_cluster_runner(address: str) -> Any:
    """The task runner of Prefect for a cluster that was prepared."""
    from prefect_dask import DaskTaskRunner  # type: ignore[attr-defined]  # it does not say that it exports it

    return DaskTaskRunner(address=address, client_kwargs={"set_as_default": False})


def prepare_cluster(address: str, url: str, base: str) -> int:
    """Prepare the workers of a cluster, and see whether they can compute; returns how many there are.

    Raises InputError where nobody answers, no worker is there, or one has other code or does not see the working set.
    """
    from flows.sweep.program_digest import compute_program_digest

    try:
        with Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False) as client:  # type: ignore[no-untyped-call]  # distributed is untyped
            client.register_plugin(Prepared({name: os.environ[name] for name in HANDED_ON if name in os.environ}))
            found = client.run(_probe_worker, url, base)
    except (OSError, ValueError, TypeError) as error:
        what = f"no Dask scheduler answers there ({type(error).__name__})"
        remedy = "start it (`dask scheduler`, `dask worker`), or correct the address"
        raise InputError("no-cluster", "--address", what, "tcp://host:8786", remedy, address) from None
    if not found:
        remedy = "start some: dask worker ADDRESS --nthreads 1"
        raise InputError("no-workers", "--address", "the cluster has no worker", "at least one", remedy, address)
    for code, sees in found.values():
        _refuse_worker(url, same=code == compute_program_digest(), sees=sees)
    return len(found)


def _refuse_worker(url: str, *, same: bool, sees: bool) -> None:
    if not same:
        what, remedy = "a worker has other code or other versions than this process", "install the same on all machines"
        raise InputError("other-code", "--address", what, "the same checkout and lock everywhere", remedy)
    if not sees:
        what, remedy = "a worker does not see the working set", "name a place that all machines share"
        raise InputError("store-not-shared", "--store", what, "a shared folder, s3://bucket/folder", remedy, url)


def _probe_worker(url: str, base: str) -> tuple[str, bool]:
    """By what this worker computes, and whether it sees the table."""
    from flows.sweep.program_digest import compute_program_digest
    from flows.sweep.working_set import WorkingSet

    try:
        return compute_program_digest(), WorkingSet(url).exists(f"{base}/table.arrow")
    except (InputError, OSError):
        return compute_program_digest(), False

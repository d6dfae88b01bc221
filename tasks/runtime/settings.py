"""Where the project keeps its private things, and the environment that its libraries must find before they are imported."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tasks.microdata.errors import InputError
from tasks.runtime.refusals import explain_refusal
from tasks.runtime.server_guard import guard_servers

PRIVATE = 0o077  # umask: whatever is written is readable by its owner alone
OF_MLFLOW = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # it logs errors with their traceback, and SQL with its parameters
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # it would stand before what --json prints
}
# Its allocator would ask for pages of 2 MB, for which a virtual machine may wait: reading then took half as long again.
OF_ARROW = {"MIMALLOC_ALLOW_THP": "0"}
USERS_UMASK = "SDCERT_UMASK"  # the umask of the user, as octal digits: processes that this one starts find the private one


@dataclass(frozen=True, slots=True)
class Home:
    """The private folder: `SDCERT_HOME`, or `.sdcert` in the working directory; 0700, everything in it 0600 or 0400."""

    root: Path

    @classmethod
    def current(cls) -> Home:
        return cls(Path(os.environ.get("SDCERT_HOME") or ".sdcert").absolute())

    def folder(self, *parts: str) -> Path:
        """A private folder inside, made when first asked for."""
        path = self.root.joinpath(*parts)
        for step in [self.root, *(self.root.joinpath(*parts[: i + 1]) for i in range(len(parts)))]:
            step.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    @property
    def store(self) -> Path:
        return self.folder("store")

    @property
    def records(self) -> Path:
        """Prefect's records of what a cached task returned."""
        return self.folder("records")

    @property
    def locks(self) -> Path:
        return self.folder("locks")

    @property
    def keys(self) -> Path:
        return self.folder("keys")

    @property
    def runs(self) -> Path:
        """One folder per run with its private manifest and its full-precision scorecard."""
        return self.folder("runs")


def read_users_umask() -> int:
    """The umask under which this program was started: what is published gets the rights that it leaves."""
    text = os.environ.get(USERS_UMASK, "")
    return int(text, 8) & PRIVATE if re.fullmatch("[0-7]{1,4}", text) else PRIVATE  # the owner can always read it


def _refuse_marks_of_addresses(home: Home) -> None:
    """Prefect and MLflow write the path of a database into an address as it is: what follows `?` or `#` would be cut off."""
    for mark in "?#":
        if mark in str(home.root):
            remedy = "rename the folder, or set SDCERT_HOME to another one"
            raise InputError("home", "SDCERT_HOME", f"the path of the private folder has `{mark}`, which ends a path in the "
                             "addresses of databases", "a path without `?` and `#`", remedy, str(home.root))  # fmt: skip


def prepare_environment() -> Home:
    """Set what Prefect, MLflow and the process need; call before importing them. What the user has set, stays.

    Telemetry is off, Prefect keeps its database in the private folder, results are JSON, every file is private unless it is
    published, a Prefect server that is started asks for a password, Arrow takes memory in small pages, and native libraries use
    one thread a task, so that sums do not depend on the number of cores.
    """
    os.environ.setdefault(USERS_UMASK, f"{os.umask(PRIVATE):03o}")
    home = Home.current()
    _refuse_marks_of_addresses(home)
    try:
        home.folder("runs")
        home.root.chmod(0o700)
    except OSError as error:
        what = f"the private folder cannot be made or used ({explain_refusal(error)})"
        remedy = "set SDCERT_HOME to a folder of your own"
        raise InputError("home", "SDCERT_HOME", what, "a folder that you may write", remedy, str(home.root)) from None
    defaults = {
        "SDCERT_HOME": str(home.root),
        "PREFECT_HOME": str(home.folder("prefect")),
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(home.records),
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
        "PREFECT_CLI_PROMPT": "false",
        "DO_NOT_TRACK": "1",
        **OF_ARROW,
        **OF_MLFLOW,
        "GX_ANALYTICS_ENABLED": "false",
        "MPLCONFIGDIR": str(home.folder("matplotlib")),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    try:
        Path.home()
    except RuntimeError:  # no HOME, and a user whom the machine does not know: libraries look for it when imported
        os.environ["HOME"] = str(home.root)
    guard_servers(home.root)
    return home

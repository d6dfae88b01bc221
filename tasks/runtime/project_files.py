"""Where the files of the project are that are no modules: the lock, the deployments, and the examples with their schemas."""

from __future__ import annotations

from pathlib import Path

from tasks.microdata.fingerprint import TASKS

LOCK, DEPLOYMENTS, EXAMPLES = "requirements.lock", "prefect.yaml", "params"
CHECKOUT = TASKS.parent
WHEEL = CHECKOUT / "sdcert" / "project"  # setup.py puts them there in a wheel; a checkout has no such folder


def find_project_file(name: str) -> Path:
    """The path of a file or folder of the project (`LOCK`, ...), in the wheel that is installed or else in the checkout.

    It need not exist: somebody may have copied the modules alone.
    """
    return (WHEEL if WHEEL.is_dir() else CHECKOUT) / name

"""Where an installation keeps what it makes once, for every home: compiled functions, an empty database of Prefect."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def find_cache_folder() -> Path:
    """`SDCERT_COMPILED`; else a folder of the virtual environment, if it is this user's alone; else one of the home.

    What lies there is run as this user: so nobody else may be able to write it. It need not exist.
    """
    if named := os.environ.get("SDCERT_COMPILED"):
        return Path(named).absolute()
    environment = Path(sys.prefix)
    if sys.prefix != sys.base_prefix and _is_private(environment) and _is_private(environment / "sdcert"):
        return environment / "sdcert" / "compiled"
    return Path(os.environ.get("SDCERT_HOME") or ".sdcert", "compiled").absolute()


def _is_private(folder: Path) -> bool:
    """Can this user, and nobody else, write in the folder? One that is not there will be made so."""
    try:
        found = folder.stat(follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    others_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not others_write and os.access(folder, os.W_OK)

"""The digest of the program that computes a sweep: its code, Python and installed versions, taken at import.

Light to import: every worker compares its own with that of who planned the sweep.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache

from tasks.microdata.fingerprint import TASKS, fingerprint, list_room_files
from tasks.microdata.regular_files import read_text_file
from tasks.runtime.provenance import list_installed_packages, lock_file

ROOMS = ("microdata", "ingest", "classify", "mask", "attack", "score")
_FILES = (*list_room_files(ROOMS), *(TASKS / "sweep" / name for name in ("evaluation.py", "joint_evaluation.py", "layout.py")))
CODE = fingerprint(_FILES)


@cache
def compute_program_digest() -> str:
    """SHA-256 over all that a figure depends on besides its inputs. About 0.2 s once a process."""
    lock = lock_file()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    parts = [CODE, python, *list_installed_packages(), read_text_file(lock) if lock.exists() else "no lock"]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()

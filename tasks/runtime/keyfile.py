"""Secret bytes in a file, made when first asked for."""

from __future__ import annotations

import secrets
from pathlib import Path

from tasks.runtime.files import write_first


def private_key(path: Path) -> bytes:
    """The 32 secret bytes in a file, made by the system's generator when first asked for; two makers agree on the first."""
    if not path.exists():
        write_first(path, secrets.token_bytes(32), mode=0o400)
    return path.read_bytes()

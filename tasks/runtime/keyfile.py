"""Secret bytes in a file, made when first asked for."""

from __future__ import annotations

import secrets
from pathlib import Path

from tasks.runtime.files import write_whole


def private_key(path: Path) -> bytes:
    """The 32 secret bytes in a file, made by the system's generator when first asked for; two makers agree on the first."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        write_whole(draft, secrets.token_bytes(32), mode=0o400)
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_bytes()

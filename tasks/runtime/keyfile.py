"""Keep secret bytes in a file, which is made when they are first asked for."""

from __future__ import annotations

import secrets
from pathlib import Path

from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file
from tasks.runtime.files import write_first

BYTES = 32


def private_key(path: Path) -> bytes:
    """The 32 secret bytes in a file, made by the system's generator when first asked for; two makers agree on the first.

    Raises InputError where there are fewer or more.
    """
    if not path.exists():
        write_first(path, secrets.token_bytes(BYTES), mode=0o400)
    content = read_key(path)
    if len(content) != BYTES:  # a digest under an empty key is one that anybody can make
        found = f"{len(content)} bytes" if len(content) < BYTES else f"more than {BYTES} bytes"
        what = f"the key has {found}: it was cut off, or another file lies in its place"
        raise InputError("damaged-key", "SDCERT_HOME", what, f"{BYTES} bytes", "bring it back from a backup", path.name)
    return content


def read_key(path: Path) -> bytes:
    """What lies there, one byte more than a key has at the most: not checked."""
    with open_regular_file(path) as file:
        return file.read(BYTES + 1)

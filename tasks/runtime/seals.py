"""The key of the store, and seals made with it: whoever cannot read the key cannot make one.

A digest under the key is the address of some content, and whoever can have content stored learns it. A seal is made by another
function, so that no address can pass for a seal. A mark in the store says with which key it was made: another key, or one that
a disk has damaged, is noticed before anything is computed or drawn with it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file
from tasks.runtime.files import write_first
from tasks.runtime.keyfile import private_key
from tasks.runtime.settings import Home

STORE_URL_VARIABLE = "SDCERT_STORE_URL"
MARK = "store.mark"
SAMPLE = 50  # so many seeds and artifacts are looked at where a home of an older version has no mark
LARGEST_SAMPLE = 1 << 20
_DIGESTED_AS_BYTES = {"record": "*/*.json", "page": "*/*.html", "file": "*/*.bin"}
_RESTORE = (
    f"restore keys/store.key from a backup of the private folder; if the key is the right one, restore store/{MARK}. Nothing "
    "was computed or drawn"
)


def store_key(home: Home) -> bytes:
    """The key of the store, made when first asked for.

    Raises InputError where it is gone, damaged, or not the one that the store was made with.
    """
    path = home.root / "keys" / "store.key"
    if not path.exists() and _is_used(home.root) and not path.exists():  # another first run writes its key, and then the mark
        raise _wrong_key("the key is gone, and what the store holds was made with it")
    home.folder("keys")
    key = private_key(path)
    _check(home.root, key)
    return key


def key_fits(home: Home, key: bytes) -> bool:
    """Whether the store was made with this key: by its mark or, where it has none, by what was made with it. Writes nothing."""
    mark = _mark(home.root)
    return _has_made(home.root, key) if mark is None else hmac.compare_digest(mark, create_mark(key))


def create_mark(key: bytes) -> bytes:
    """What says in a store with which key it was made, to whoever has the key."""
    return digest_under(key, b"which key of the store").encode()


def digest_under(key: bytes, content: bytes) -> str:
    """The keyed digest of bytes."""
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def compute_seal(home: Home, *texts: str) -> str:
    """The seal of texts under the key of the store."""
    return hashlib.blake2b(canonical(texts), key=store_key(home), person=b"sdcert seal", digest_size=32).hexdigest()


def is_sealed(home: Home, seal: str, *texts: str) -> bool:
    """Whether this is the seal of these texts."""
    try:
        return hmac.compare_digest(seal.encode(), compute_seal(home, *texts).encode())
    except UnicodeEncodeError:  # a text that this program never wrote
        return False


@cache
def _check(root: Path, key: bytes) -> None:
    """Once a process and key. Of two first runs at once both write the same mark: `private_key` gave them one key."""
    if not key_fits(Home(root), key):
        raise _wrong_key("the key is not the one that the store was made with: it was damaged or exchanged")
    if STORE_URL_VARIABLE not in os.environ:  # a place that several homes share has a mark of its own
        Home(root).folder("store")
        with suppress(OSError):  # a home that may be read alone
            write_first(root / "store" / MARK, create_mark(key))


def _mark(root: Path) -> bytes | None:
    try:
        with open_regular_file(root / "store" / MARK) as file:
            return file.read(LARGEST_SAMPLE).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_used(root: Path) -> bool:
    return (root / "store" / MARK).exists() or any(_samples(root))


def _has_made(root: Path, key: bytes) -> bool:
    """Whether this key made any of what lies there; True where there is nothing. One damaged file says nothing of a key."""
    samples = list(islice(_samples(root), 2 * SAMPLE))
    return not samples or any(digest_under(key, content).startswith(name) for name, content in samples)


def _samples(root: Path) -> Iterator[tuple[str, bytes]]:
    """Keyed digests, as files are named by them, and the content that each was made of."""
    for path in islice((root / "draws" / "seeds").glob("[0-9a-f]*"), SAMPLE):
        yield path.name, b"draw" + _beginning(path)
    for kind, pattern in _DIGESTED_AS_BYTES.items():
        for path in islice((root / "store" / kind).glob(pattern), SAMPLE):
            if path.lstat().st_size < LARGEST_SAMPLE:
                yield path.stem, _beginning(path)


def _beginning(path: Path) -> bytes:
    with open_regular_file(path) as file:
        return file.read(LARGEST_SAMPLE)


def _wrong_key(what: str) -> InputError:
    return InputError("store-key", "SDCERT_HOME", what, "the key with which this store was made", _RESTORE, "keys/store.key")

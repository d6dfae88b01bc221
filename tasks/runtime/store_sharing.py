"""A store that several homes share (`SDCERT_STORE_URL`): artifacts, what stages returned, and which home draws for a series.

Keys, seeds, manifests and the ledger stay in each home. The homes have the same `keys/store.key`: addresses are keyed digests,
so with another key nothing would be found again. A mark in the place says which key it is.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.microdata.errors import InputError, StorageUnreachable
from tasks.microdata.regular_files import read_file, read_text_file
from tasks.runtime.files import write_first, write_whole
from tasks.runtime.records import read_returned
from tasks.runtime.seals import MARK, STORE_URL_VARIABLE, create_mark, digest_under, store_key
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from tasks.runtime.shared_storage import SharedStorage  # fsspec is imported where a place is used

KNOWN = "places.known"
BESIDE_ARTIFACTS = {"cached", "series"}
_COPY = "copy keys/store.key of the home that made the place into this home (0400), or name another place"


def open_shared_storage(home: Home) -> SharedStorage | None:
    """The place that the environment names, looked at once in a process; None where the store is a folder of the home.

    Raises InputError where it cannot be used, or belongs to homes with another key.
    """
    url = os.environ.get(STORE_URL_VARIABLE)
    return _check_storage(url, home.root) if url else None


@cache
def _check_storage(url: str, root: Path) -> SharedStorage:
    from tasks.runtime.shared_storage import SharedStorage

    storage = SharedStorage(url, STORE_URL_VARIABLE).usable()
    if storage.exists(MARK) and not (root / "keys" / "store.key").exists():
        raise _wrong_key("the place was made with a key that this home does not have: it has none yet")
    key = store_key(Home(root))
    mark = create_mark(key)
    known = root / "keys" / KNOWN
    digest = digest_under(key, f"place {url}".encode())
    before = read_text_file(known).split() if known.exists() else []
    if not storage.exists(MARK):
        if digest in before:
            raise _create_lost_mark_error(known)
        storage.write(MARK, mark)
    if not hmac.compare_digest(storage.read(MARK), mark):
        raise _wrong_key("the place was made with another key than that of this home")
    if digest not in before:
        write_whole(known, "\n".join([*before, digest, ""]).encode())
    return storage


def _wrong_key(what: str) -> InputError:
    return InputError("store-key", STORE_URL_VARIABLE, what, "a place that was made with this home's keys/store.key", _COPY)


def _create_lost_mark_error(known: Path) -> InputError:
    what = "this home has used the place before, and its mark is gone: it is not mounted, or was emptied"
    remedy = f"mount it, or bring it back from its backup; to begin it anew, delete {known}"
    return InputError("store-mark", STORE_URL_VARIABLE, what, f"the place as it was left, with `{MARK}` in it", remedy)


def fetch_record(key: str, path: Path) -> None:
    """Put what a cached stage returned on another machine where Prefect looks for it, if the place has it.

    It has its seal, as a record of this home has: whoever calls this looks at it as at any other.
    """
    storage = open_shared_storage(Home.current())
    if storage is None:
        return
    with suppress(StorageUnreachable, OSError, ValueError, KeyError, TypeError):
        record = json.loads(storage.read(_record_name(key)))
        record["metadata"]["storage_key"] = str(path)
        write_whole(path, json.dumps(record).encode())


def share_record(key: str, path: Path) -> None:
    """Put what a cached stage returned into the place, for other machines. A place that is away is passed over."""
    home = Home.current()
    storage = open_shared_storage(home)
    if storage is None:
        return
    with suppress(StorageUnreachable, OSError):
        name = _record_name(key)
        there = read_returned(storage.read(name)) if storage.exists(name) else None
        if there is None or not there.is_of(home, key):
            storage.write(name, read_file(path))


def claim_series(series: str) -> None:
    """Let this home alone draw for a series, where the store is shared. Raises InputError where another one does.

    Two homes would draw two seeds for one release, and each count its own attempts.
    """
    home = Home.current()
    storage = open_shared_storage(home)
    if storage is None:
        return
    name = f"series/{digest_under(store_key(home), b'series' + series.encode())[:32]}"
    own = home_id(home).encode()
    if not storage.exists(name):
        storage.create(name, own)
    if storage.read(name) != own:
        what = "another home that shares this store draws for this series: two would mask one release with two seeds"
        remedy = "certify it there (a work queue for each home), or give it another `series` here"
        raise InputError("series-of-another-home", "series", what, "one home for each series", remedy, series)


def home_id(home: Home) -> str:
    """What tells this home from others; it says nothing of it. A restored backup has the id of the home that it was."""
    path = home.folder("draws") / "home.id"
    if not path.exists():
        write_first(path, secrets.token_hex(16).encode())
    return read_text_file(path)


def _record_name(key: str) -> str:
    return f"cached/{Path(key).name}.json"

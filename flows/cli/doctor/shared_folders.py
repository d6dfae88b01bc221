"""What `sdcert doctor` says of what lies outside the home: the database of the index, and a store that several homes share."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator
from pathlib import Path

from flows.cli.doctor.home import Finding, fail, fine, warn
from tasks.microdata.errors import InputError, StorageUnreachable
from tasks.microdata.regular_files import LARGEST_NOTE, read_file

INDEX, STORE = "SDCERT_INDEX_URL", "SDCERT_STORE_URL"


def check_shared_storage(root: Path) -> Iterator[Finding]:
    """Nothing where neither is asked for."""
    for name, look in ((INDEX, _index), (STORE, _store)):
        if address := os.environ.get(name):
            try:
                yield look(address, root)
            except InputError as error:
                yield fail(name, error.what, error.remedy)


def _index(address: str, root: Path) -> Finding:
    from sqlalchemy import select
    from sqlalchemy.exc import SQLAlchemyError

    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.lookup.ledger_lines import LedgerLineReader
    from tasks.audit.lookup.server import create_server_engine

    engine = create_server_engine(address, LedgerLineReader(Ledger(root / "ledger")))
    try:
        with engine.connect() as connection:
            connection.execute(select(1))
    except SQLAlchemyError as error:
        says = f"its database does not answer ({type(error).__name__}): the index is built in memory for each command"
        return warn(INDEX, says, "start the database, or correct the address")
    finally:
        engine.dispose()
    return fine(INDEX, "the database of the ledger's index answers")


def _store(address: str, root: Path) -> Finding:
    from tasks.runtime.seals import MARK, create_mark
    from tasks.runtime.shared_storage import SharedStorage

    storage, key = SharedStorage(address, STORE).readable(), root / "keys" / "store.key"
    try:
        mark = storage.read(MARK) if storage.exists(MARK) else None
    except StorageUnreachable as error:
        return fail(STORE, str(error), "mend the place, or correct the address")
    if mark is None:
        return fine(STORE, "the shared place answers; no home has used it yet")
    if not key.is_file() or not hmac.compare_digest(mark, create_mark(read_file(key, LARGEST_NOTE))):
        return fail(
            STORE, "the place was made with another key than this home has", "copy keys/store.key of the home that made it"
        )
    return fine(STORE, "the shared place answers, and was made with the key of this home")

"""Do the records of the cache say what the ledger says that the stages of its runs made?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tasks.audit.ledger.entries import Entry, RunEnded
from tasks.audit.ledger.ledger_findings import LedgerFinding
from tasks.audit.maintenance.retention import read_entries
from tasks.microdata.regular_files import read_file
from tasks.runtime.keyfile import read_key
from tasks.runtime.records import LARGEST_RECORD, Produced, read_returned
from tasks.runtime.seals import digest_under, key_fits
from tasks.runtime.settings import Home

_NAME = re.compile(r"[0-9a-f]{32,128}")


def check_call_records(home: Home) -> Iterator[LedgerFinding]:
    """One for each record that is still there and was edited or exchanged since the run of an entry used it.

    Which record a stage had, the private manifest says, if it is the one that the entry names. Nothing is said where the key
    of the store is gone or is another one: `sdcert doctor` and `sdcert store verify` tell that.
    """
    path = home.root / "keys" / "store.key"
    if not path.is_file() or not key_fits(home, key := read_key(path)):
        return
    looked_at: set[str] = set()
    for entry in read_entries(home):
        event = entry.event
        if isinstance(event, RunEnded) and event.manifest is not None:
            for stage, name in _list_records(home, key, event):
                done = event.stages.get(stage)
                if name not in looked_at and done is not None:
                    looked_at.add(name)
                    yield from _check_record(home, name, entry, stage, done.produced)


def _list_records(home: Home, key: bytes, event: RunEnded) -> Iterator[tuple[str, str]]:
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        content = read_file(home.root / "runs" / event.run / "manifest.json")
        if digest_under(key, content) == event.manifest:
            stages: dict[str, dict[str, Any]] = json.loads(content)["stages"]
            for stage, recorded in stages.items():
                if _NAME.fullmatch(name := recorded.get("record") or ""):
                    yield stage, name


def _check_record(home: Home, name: str, entry: Entry, stage: str, produced: Produced) -> Iterator[LedgerFinding]:
    try:
        found = read_returned(read_file(home.root / "records" / name, LARGEST_RECORD))
    except OSError:  # removed: it is computed again
        return
    if found is None or not found.is_of(home, name):
        says = f"records/{name} (stage {stage} of entry {entry.index}) does not have its seal: it was edited or exchanged"
        yield LedgerFinding("record", f"{says}; no run reads it, and `sdcert store gc --yes` removes it", entry.index)
    elif found.produced != produced:
        says = f"records/{name} says that stage {stage} made something else than entry {entry.index} says"
        yield LedgerFinding("record", f"{says}: `sdcert audit replay` computes it anew and compares", entry.index)

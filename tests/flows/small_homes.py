"""Private folders in a few lines: artifacts of any age, runs, entries of the ledger, and records of the cache."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.audit.ledger.entries import Entry
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store
from tasks.runtime.records import SERIALIZER, seal_result
from tasks.runtime.settings import Home

NOW = datetime(2028, 3, 1, 12, tzinfo=UTC)
GONE = 2**22 + 1  # no process has this id
ASKED_BY = {"user": "steward", "host": "here"}


@contextmanager
def home_in(folder: Path) -> Iterator[Home]:
    before = os.environ["SDCERT_HOME"]
    os.environ["SDCERT_HOME"] = str(folder)
    try:
        yield Home.current()
    finally:
        os.environ["SDCERT_HOME"] = before


def path_of(ref: str) -> Path:
    kind, _, address = ref.partition(":")
    suffix = {"table": ".parquet", "record": ".json", "page": ".html"}[kind]
    return Home.current().store / kind / address[:2] / f"{address}{suffix}"


def aged(path: Path, days: float, *, now: datetime = NOW) -> None:
    then = (now - timedelta(days=days)).timestamp()
    os.utime(path, (then, then))


def put(content: object, *, days: float = 0.0, kind: str = "record") -> str:
    """An artifact of some age; content: anything JSON can say."""
    store = Store()
    if kind == "table":
        ref = store.put_table(Microdata(pa.table({"x": pa.array([str(content)])})))
    else:
        ref = store.put_record(content) if kind == "record" else store.put_page(json.dumps(content))
    aged(path_of(ref), days)
    return ref


def put_run(run: str, refs: list[str], *, days: float = 0.0, series: str = "survey", **facts: Any) -> None:
    """A run whose one stage made these artifacts, so long ago."""
    manifest = {"run": run, "release": series, "series": series, "status": "finished", "process": GONE,
                "host": socket.gethostname(), "started_at": (NOW - timedelta(days=days)).isoformat(), "spec": {},
                "stages": {"mask": {"cached": False, "produced": {str(i): ref for i, ref in enumerate(refs)}}},
                **facts}  # fmt: skip
    folder = Home.current().folder("runs", run)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "manifest.json").chmod(0o600)


def put_cache_record(key: str, refs: list[str], serializer: dict[str, Any] = SERIALIZER) -> Path:
    """A record as this version writes it; with another serializer as somebody else does, or an older version."""
    produced = {str(i): ref for i, ref in enumerate(refs)}
    result = seal_result(Home.current(), key, produced).decode() if serializer == SERIALIZER else json.dumps(produced)
    path = Home.current().records / key
    path.write_text(json.dumps({"metadata": {"serializer": serializer}, "result": result}))
    return path


def entry(index: int, at: datetime, **event: Any) -> Entry:
    values = {"ledger": "0" * 32, "index": index, "previous": "0" * 64, "at": at.isoformat(), "event": event}
    return Entry.model_validate_json(json.dumps(values))


def ended(index: int, run: str, *, days: float = 0.0, series: str = "survey", **facts: Any) -> Entry:
    """The entry of a run that was certified for publication, unless told otherwise."""
    event = {"kind": "ended", "run": run, "release": series, "series": series, "outcome": "certified",
             "not_for_publication": False, "certificate": digest_of(run), **facts}  # fmt: skip
    return entry(index, NOW - timedelta(days=days), **event)


def revoked(index: int, run: str, *, days: float = 0.0, **facts: Any) -> Entry:
    event = {"run": run, "certificate": digest_of(run), "revocation": "0" * 64, "reason": "a mistake", "asked_by": ASKED_BY}
    return entry(index, NOW - timedelta(days=days), kind="revoked", **event, **facts)


def digest_of(run: str) -> str:
    return hashlib.sha256(run.encode()).hexdigest()


def there(refs: list[str]) -> list[bool]:
    return [Store().intact(ref) for ref in refs]

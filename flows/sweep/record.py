"""Read and write `sweep.json` and `plan.json`, which describe a sweep beside its results."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import Any

from flows.sweep.basis import SweepBasis
from flows.sweep.blocks import Block
from flows.sweep.file import SweepDefinition
from flows.sweep.program_digest import compute_program_digest
from flows.sweep.working_set import WorkingSet, results_name
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.processes import is_taken

NEEDED = {"id", "name", "base", "files", "status", "started_at", "process", "host"}
RECORD, PLAN, TABLE, PAGE = "sweep.json", "plan.json", "table.parquet", "page.html"


def sweep_id(sweep: SweepDefinition, basis: SweepBasis) -> str:
    """The same for the same files, source, program and earlier releases: a sweep that is started again is the same sweep."""
    kept = {name: part for name, part in sweep.export_files().items() if not name.endswith("_path")}
    base = sweep.base.model_dump(mode="json", by_alias=True)
    read = [holder.table for holder in basis.holders_of(sweep.base)]
    counted = basis.count_earlier(sweep.base)
    earlier = [] if counted is None or not counted.releases else [list(counted.releases)]
    return f"{sweep.spec.name}-{basis.digest(canonical([basis.key, kept, base, *read, *earlier]))[:12]}"


class SweepRecord:
    """The two files of one sweep."""

    def __init__(self, storage: WorkingSet, name: str) -> None:
        self.storage, self.id = storage, name
        self.facts: dict[str, Any] = {}
        self._held = 0
        self._blocks: list[list[Any]] = []

    def begin(self, sweep: SweepDefinition, basis: SweepBasis, **facts: Any) -> None:
        self.facts = {
            "id": self.id,
            "name": sweep.spec.name,
            "base": basis.key,
            "release": sweep.base.name,
            "files": sweep.export_files(),
            "made_by": compute_program_digest(),
            "status": "running",
            "started_at": datetime.now(UTC).isoformat(),
            "process": os.getpid(),
            "host": socket.gethostname(),
            **facts,
        }
        self._save()

    def end(self, status: str, **facts: Any) -> None:
        self.facts |= {"status": status, "ended_at": datetime.now(UTC).isoformat(), **facts}
        self._save()

    def note(self, **facts: Any) -> None:
        self.facts |= facts
        self._save()

    def write_plan(self, held: int, blocks: list[Block]) -> None:
        """Write down which results are awaited, so that `count_done_trials` can tell how far a sweep is that was killed."""
        self._held = max(self._held, held)
        self._blocks += [[results_name(block.keys), len(block.keys)] for block in blocks]
        self.storage.put_json(f"{self.id}/{PLAN}", {"held": self._held, "blocks": self._blocks})

    def _save(self) -> None:
        self.storage.put_json(f"{self.id}/{RECORD}", self.facts)


def read_sweep_records(storage: WorkingSet) -> list[dict[str, Any]]:
    """The records of all sweeps of a place, newest first; one that cannot be read, or is of another folder, is passed over."""
    found = []
    for name in storage.names(""):
        if storage.exists(f"{name}/{RECORD}"):
            try:
                record = storage.json(f"{name}/{RECORD}")
            except InputError:
                continue
            if record.get("id") == name and record.keys() >= NEEDED:
                found.append(record)
    return sorted(found, key=lambda record: str(record["started_at"]), reverse=True)


def read_sweep_record(storage: WorkingSet, asked: str) -> dict[str, Any]:
    """The record of the sweep with this id, a beginning of it that no other has, or this name (its newest)."""
    records = read_sweep_records(storage)
    found = [one for one in records if one["id"] == asked] or [one for one in records if one["name"] == asked][:1]
    found = found or [one for one in records if one["id"].startswith(asked)]
    if len(found) != 1:
        ids = [one["id"] for one in records]
        what = f"{len(found)} sweeps begin with this" if found else "no sweep in this home has this id or name"
        remedy = did_you_mean(asked, ids, "`sdcert sweeps` lists them")
        raise InputError("no-such-sweep", "SWEEP", what, ", ".join(ids[:10]) or "none yet", remedy, asked)
    return found[0]


def count_done_trials(storage: WorkingSet, record: dict[str, Any]) -> int:
    """How many trials of a sweep have results or are wrong in themselves."""
    if "done" in record:
        return int(record["done"])
    if not storage.exists(f"{record['id']}/{PLAN}"):
        return 0
    try:
        plan = storage.json(f"{record['id']}/{PLAN}")
    except InputError:  # how far it is can no longer be told; the next start writes it anew
        return 0
    there = set(storage.names(f"{record['base']}/results"))
    return int(plan["held"]) + sum(int(count) for name, count in plan["blocks"] if name in there)


def compute_sweep_status(record: dict[str, Any]) -> str:
    """The status as written, but `killed` for a sweep whose process on this machine is gone."""
    gone = record["host"] == socket.gethostname() and not is_taken(record["process"])
    return "killed" if record["status"] == "running" and gone else str(record["status"])

"""Compute one block of a sweep in a worker: read the working set, use one thread, write the results to one file.

Light: it is imported by every worker process, and knows neither Prefect nor MLflow.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from flows.sweep.basis import name_external_file, schema_name
from flows.sweep.blocks import GROUP, block_name
from flows.sweep.continuation import CONTINUATION, Continuation, KeptArtifacts
from flows.sweep.program_digest import compute_program_digest
from flows.sweep.working_set import WorkingSet
from tasks.attack.together.earlier_release import EarlierRelease, read_earlier_view
from tasks.mask.pseudonyms import derive_key
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.refs import TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import content_address
from tasks.runtime.draws import pseudonym_secret
from tasks.runtime.settings import PRIVATE
from tasks.sweep.evaluation import ExternalFiles, ReleasedBefore, TrialResult, evaluate
from tasks.sweep.joint_evaluation import CountedEarlier


def run_block(url: str, sweep: str, number: int) -> int:
    """Compute a block and keep its results, unless they are there; returns how many trials it has.

    Raises InputError where this worker runs other code, or other versions, than who planned the sweep.
    """
    threadpool_limits(limits=1)  # sums of products come out otherwise on two threads than on one
    storage = _place(url)
    block = storage.json(block_name(sweep, number))
    if block["made_by"] != compute_program_digest():
        what, remedy = (
            "a worker has other code or other versions than who planned the sweep",
            "install the same on all machines",
        )
        raise InputError("other-code", "--runner", what, "the same checkout and lock everywhere", remedy)
    trials = sum(len(job["group"]["trials"]) for job in block["jobs"])
    if not storage.has_results(block["base"], [trial["key"] for job in block["jobs"] for trial in job["group"]["trials"]]):
        storage.put_rows(block["base"], [row for job in block["jobs"] for row in _compute_job(url, block["base"], job)])
    return trials


def begin_worker(environment: Mapping[str, str]) -> None:
    """Prepare a process of the pool: private files, Ctrl-C left to the parent, and no life after it.

    environment: the parent's own, as it is now; that of the server from which workers are forked is as old as it.
    """
    os.environ.update(environment)
    os.umask(PRIVATE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _compute_job(url: str, base: str, job: dict[str, Any]) -> list[TrialResult]:
    continued = CONTINUATION.validate_json(canonical(job["continuation"])) if "continuation" in job else None
    table, source = _read_table(url, base, None if continued is None else continued.table)
    group = GROUP.validate_json(canonical(job["group"]))
    names = {holder.table for trial in group.trials for holder in trial.holders}
    files = ExternalFiles({name: _read_file(url, base, name) for name in names}, content_address)
    before = None if continued is None else _read_releases(url, base, continued)
    return evaluate(table, _read_schema(url, base, job["schema"]), group, source=source, files=files, before=before)


@cache
def _place(url: str) -> WorkingSet:
    return WorkingSet(url)


@cache
def _read_table(url: str, base: str, kept: TableRef | None = None) -> tuple[Microdata, str]:
    """The table and its content address, which is a plain hash of a private table and therefore nowhere written down.

    kept: what is masked in its place, because groups of an earlier release are kept.
    """
    table = _place(url).table(base) if kept is None else KeptArtifacts(_place(url), base).table(kept)
    return table, content_address(table)


@cache
def _read_releases(url: str, base: str, continued: Continuation) -> ReleasedBefore:
    """The earlier releases that count, from the working set; the secret of draws per person from the private home."""
    kept = KeptArtifacts(_place(url), base)
    releases = tuple(kept.record(one, EarlierRelease) for one in continued.releases)
    earlier = CountedEarlier(
        releases=releases,
        views=tuple(read_earlier_view(kept, one, one.tables) for one in releases if one.tables is not None),
        own=frozenset(continued.own),
        known=frozenset(continued.known),
        series=continued.series,
        lines=continued.lines,
        compute_address=content_address,
    )
    key = continued.key
    secret = None if key is None else derive_key(pseudonym_secret(key), "per person")
    return ReleasedBefore(earlier=earlier, secret=secret)


@cache
def _read_file(url: str, base: str, name: str) -> Microdata:
    return _place(url).table(name_external_file(base, name))


@cache
def _read_schema(url: str, base: str, digest: str) -> Schema:
    schema: Schema = TypeAdapter(Schema).validate_json(_place(url).read(schema_name(base, digest)))
    return schema

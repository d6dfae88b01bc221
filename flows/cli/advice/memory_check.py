"""Refuse a run that would take more memory than there is, before anything is computed."""

from __future__ import annotations

from pathlib import Path

from flows.cli.advice.cost_text import advise_less, format_memory, warn_of_memory
from flows.cost.run_cost import estimate_run
from flows.release import ReleaseSpec
from tasks.ingest.table_size import TableSize, find_table_size
from tasks.microdata.errors import InputError
from tasks.runtime.memory_left import find_memory_left, parse_memory

CLEARLY_MORE = 1.5  # times what there is: an estimate is no measurement, and a wrong refusal is worse than none


def refuse_too_large(release: ReleaseSpec, path: Path, memory: str | None) -> str | None:
    """Compare what a run needs with what there is, before anything is computed. Reads the beginning of the source at most.

    memory: what the user says there is, as `12GB`; None: what the machine, or the control group, has left.
    Returns a warning where it may not suffice; None where it does, or nothing is known.
    Raises InputError where the estimate is clearly more than there is.
    """
    there = find_memory_left() if memory is None else parse_memory(memory)
    if there is None:
        return None
    size = find_table_size(release.source)
    cost = estimate_run(release, size or TableSize(0, 1, is_text=False))
    if cost.least_memory_bytes <= there:
        return None
    if cost.least_memory_bytes <= CLEARLY_MORE * there:
        return warn_of_memory(cost, there)
    of = "" if size is None else f" for a table of {_describe_rows(size)} and {size.columns} columns"
    given = "are there" if memory is None else "are allowed (`--memory`)"
    what = f"the run needs about {format_memory(cost.least_memory_bytes)} of memory{of}, and {format_memory(there)} {given}"
    more = "if more can be used, say so by `--memory`; else use a machine with more"
    remedy = f"{more}, or {advise_less(release, cost)}"
    raise InputError("too-little-memory", str(path), what, f"at least {format_memory(cost.least_memory_bytes)}", remedy)


def _describe_rows(size: TableSize) -> str:
    return f"{size.rows:,} rows" if size.is_exact else f"about {float(f'{size.rows:.2g}'):,.0f} rows"

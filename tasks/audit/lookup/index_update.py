"""Updating the look-up index from new lines of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from sqlalchemy import Connection, func, insert, select

from tasks.audit.ledger.entries import Entry, RunEnded
from tasks.audit.ledger.ledger import LedgerLine
from tasks.audit.lookup.index_rows import (
    IndexRow,
    create_run_row,
    entry_row,
    file_rows,
    find_run,
    join_attributes,
    list_touched_attributes,
    parse_entry,
    update_run_row,
)
from tasks.audit.lookup.ledger_lines import IndexMismatch, LedgerLineReader
from tasks.audit.lookup.tables import ATTRIBUTES, ENTRIES, FACTS, FILES, RUNS, SCHEMA, replace

LINES_AT_ONCE = 2000
UpdateWatch = Callable[[int], None]
Progress = Callable[[int, int], None]  # bytes read, bytes there are
Read = list[tuple[LedgerLine, Entry]]


def catch_up(connection: Connection, reader: LedgerLineReader, progress: Progress) -> int:
    """Read the lines that are new; returns how many. Raises IndexMismatch where the index does not fit what it has read."""
    number, after = find_index_end(connection, reader)
    return fill(connection, reader.ledger.lines(after, index=number), watch(reader, progress))


def watch(reader: LedgerLineReader, progress: Progress) -> UpdateWatch:
    there_are = reader.n_bytes
    return lambda reached: progress(reached, there_are)


def find_index_end(connection: Connection, reader: LedgerLineReader) -> tuple[int, int]:
    """The number and the first byte of the line after the last one in the index; raises IndexMismatch where it does not fit."""
    facts = {row.name: row.value for row in connection.execute(select(FACTS))}
    try:
        (last,) = reader.read_lines([(int(facts["number"]), int(facts["first_byte"]), int(facts["n_bytes"]))])
    except (KeyError, ValueError):
        raise IndexMismatch from None
    n = connection.scalar(select(func.count()).select_from(ENTRIES))
    if facts.get("schema") != SCHEMA or last.leaf.hex() != facts.get("leaf") or n != last.index + 1:
        raise IndexMismatch
    return last.index + 1, last.first_byte + len(last.content) + 1


def fill(connection: Connection, new: Iterable[LedgerLine], watch: UpdateWatch) -> int:
    """Put lines into the index that follow those it has; returns how many. watch: called with the place that was reached."""
    lines, done = iter(new), 0
    while batch := list(islice(lines, LINES_AT_ONCE)):
        _put(connection, batch)
        done += len(batch)
        watch(batch[-1].first_byte)
    return done


def _put(connection: Connection, batch: list[LedgerLine]) -> None:
    entries = [(line, parse_entry(line.content)) for line in batch]
    connection.execute(insert(ENTRIES), [entry_row(line, entry) for line, entry in entries])
    read = [(line, entry) for line, entry in entries if entry is not None]
    _put_runs(connection, read)
    files = [row for line, entry in read for row in file_rows(line.index, entry.event)]
    if files:
        connection.execute(insert(FILES), files)
    _put_attributes(connection, read)
    last = batch[-1]
    facts = {"schema": SCHEMA, "number": last.index, "first_byte": last.first_byte, "n_bytes": len(last.content)}
    facts["leaf"] = last.leaf.hex()
    replace(connection, FACTS, [{"name": name, "value": str(value)} for name, value in facts.items()])


def _put_runs(connection: Connection, read: Read) -> None:
    of_runs = [(line, entry, run) for line, entry in read if (run := find_run(entry.event)) is not None]
    ids = {run for _, _, run in of_runs}
    rows: dict[str, IndexRow] = {
        row.run: dict(row._mapping) for row in connection.execute(select(RUNS).where(RUNS.c.run.in_(ids)))
    }
    for line, entry, run in of_runs:
        row = rows.get(run) or create_run_row(run, line.index, entry)
        rows[run] = update_run_row(row, line.index, entry)
    if rows:
        replace(connection, RUNS, list(rows.values()))


def _put_attributes(connection: Connection, read: Read) -> None:
    sets = {join_attributes(event.attributes): list_touched_attributes(event.attributes) for _, entry in read
            if isinstance(event := entry.event, RunEnded) and event.attributes}  # fmt: skip
    there = set(connection.scalars(select(ATTRIBUTES.c.attributes).where(ATTRIBUTES.c.attributes.in_(sets)).distinct()))
    rows = [{"attributes": key, "name": name} for key, names in sets.items() if key not in there for name in sorted(set(names))]
    if rows:
        connection.execute(insert(ATTRIBUTES), rows)

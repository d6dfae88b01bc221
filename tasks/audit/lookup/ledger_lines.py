"""Reading lines of the ledger's file by their place, without a lock: what is complete ends with a line break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tasks.audit.ledger.ledger import Ledger, LedgerLine
from tasks.audit.signing.envelope import LARGEST_BYTES
from tasks.microdata.regular_files import open_regular_file


class IndexMismatch(Exception):
    """The index and the ledger do not say the same."""


@dataclass(frozen=True, slots=True)
class LedgerLineReader:
    """The lines of a ledger by their places."""

    ledger: Ledger

    @property
    def folder(self) -> Path:
        return self.ledger.folder

    @property
    def n_bytes(self) -> int:
        """How long the file is; 0 where there is none."""
        return self.ledger.path.stat().st_size if self.ledger.path.is_file() else 0

    def read_lines(self, positions: Sequence[tuple[int, int, int]]) -> list[LedgerLine]:
        """The lines of these numbers, first bytes and lengths; raises IndexMismatch where no line stands just there."""
        if not positions:
            return []
        try:
            with open_regular_file(self.ledger.path) as file:
                return [_line(file, *position) for position in positions]
        except (OSError, ValueError, OverflowError):
            raise IndexMismatch from None


def _line(file: BinaryIO, number: int, first_byte: int, n_bytes: int) -> LedgerLine:
    if n_bytes > LARGEST_BYTES:
        raise IndexMismatch
    before = min(first_byte, 1)
    file.seek(first_byte - before)
    found = file.read(before + n_bytes + 1)
    line = found[before:]
    if found[:before] != b"\n" * before or len(line) != n_bytes + 1 or line.find(b"\n") != n_bytes:
        raise IndexMismatch
    return LedgerLine(number, first_byte, line[:-1])

"""Verify the ledger: each line is read once and checked against the one before it, its key, and witnesses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from pydantic import ValidationError

from tasks.audit.ledger.entries import AttemptMade, Entry, RunBegan, RunEnded
from tasks.audit.ledger.head import LARGEST_HEAD, LedgerHead, parse_head
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_findings import LedgerFinding, LedgerFindings
from tasks.audit.ledger.merkle import hash_leaf
from tasks.audit.ledger.order import Order
from tasks.audit.ledger.signers import Signers
from tasks.audit.ledger.witness import Witness
from tasks.audit.signing.envelope import (
    ENTRY_TYPE,
    LARGEST_BYTES,
    NotAnEnvelope,
    NotSignedByGivenKeys,
    open_envelope,
    verify_signature,
)
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.library import SSlibKey
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file

Progress = Callable[[int, int], None]
OPENING_ENTRIES = 2  # the first append writes two lines: a crash there may leave them without head.json


@dataclass(frozen=True, slots=True)
class LedgerVerification:
    """What a check found. entries, n_bytes: whole lines, and their bytes. root: of the Merkle tree over them.

    findings: the first of them; n_findings: all. notes: what is no fault, and good to know.
    """

    ledger: str
    entries: int
    n_bytes: int
    root: str
    first_at: datetime | None
    last_at: datetime | None
    findings: tuple[LedgerFinding, ...]
    n_findings: int
    notes: tuple[str, ...]
    witnesses: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return self.n_findings == 0


def verify_ledger(
    ledger: Ledger,
    trusted: Keyring | None = None,
    witnesses: Sequence[Witness] = (),
    progress: Progress | None = None,
) -> LedgerVerification:
    """Check the whole ledger.

    trusted: the keys that are known from elsewhere; the ledger must have been opened with one of them. progress: called now
    and then with the bytes done and all bytes. Memory: one entry, and the ids of runs that have not ended.
    Raises InputError where there is no ledger file to read, or it cannot be read. Cost: some 0.2 ms for an entry.
    """
    walk = Walk(ledger, trusted, witnesses)
    walk.read(progress or (lambda _done, _all: None))
    walk.compare()
    return walk.result()


@dataclass
class Walk:
    """One reading of a ledger: `read`, then `compare`; `found` has what is wrong. is_held: nobody can append, as we hold
    it."""

    ledger: Ledger
    trusted: Keyring | None
    witnesses: Sequence[Witness]
    is_held: bool = False
    found: LedgerFindings = field(default_factory=LedgerFindings)
    notes: list[str] = field(default_factory=list)
    head: LedgerHead = field(default_factory=LedgerHead)
    runs: dict[str, bool] = field(default_factory=dict)
    states: dict[int, LedgerHead] = field(default_factory=dict)
    leaves: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = Order(self.found)
        self.signers = Signers(self.found, self.trusted)
        self.kept: LedgerHead | None = None
        self.head_there = False
        self.wanted = {witness.size for witness in self.witnesses}
        self.wanted_leaves = {witness.entry for witness in self.witnesses}

    def read(self, progress: Progress) -> None:
        with self.ledger.reading() as file:
            end = self._snapshot(file)
            for content, n_bytes in _read_pieces(file, end):
                self._take(content, n_bytes)
                if self.head.size % 500 == 0:
                    progress(self.head.n_bytes, end)
            progress(end, end)
        self.order.finish(self.kept.size if self.kept else None)
        if end > self.head.n_bytes:
            self._torn(end)

    def _snapshot(self, file: BinaryIO) -> int:
        """The length of the file and its head.json, with no append under way if the lock can be had."""
        with ExitStack() as stack:
            if not self.is_held:
                with suppress(InputError):  # on a medium that cannot be written nobody appends
                    stack.enter_context(self.ledger.hold_lock())
            self.kept, self.head_there = self._head()
            end = os.fstat(file.fileno()).st_size
        if self.kept is not None:
            self.wanted.add(self.kept.size)
        return end

    def _head(self) -> tuple[LedgerHead | None, bool]:
        try:
            with open_regular_file(self.ledger.head_path) as file:
                return parse_head(file.read(LARGEST_HEAD)), True
        except FileNotFoundError:
            return None, False
        except OSError:
            return None, True

    def _take(self, content: bytes, n_bytes: int) -> None:
        index, byte, leaf = self.head.size, self.head.n_bytes, hash_leaf(content)
        try:
            entry = self._verify_line(content, byte)
        except NotAnEnvelope as error:
            self.order.damage(byte, str(error))
        else:
            self.order.take(entry, leaf.hex(), byte)
            self._sequence(entry, byte)
        self.head = self.head.add_leaf(self.order.ledger, leaf, n_bytes)
        if index in self.wanted_leaves:
            self.leaves[index] = leaf.hex()
        if index + 1 in self.wanted:
            self.states[index + 1] = self.head

    def _verify_line(self, content: bytes, byte: int) -> Entry:
        envelope = open_envelope(content, ENTRY_TYPE)
        try:
            entry = Entry.model_validate_json(envelope.payload)
        except ValidationError:
            raise NotAnEnvelope("what is signed is not an entry") from None
        self.signers.check(entry, envelope, byte)
        self.signers.learn(entry, byte)
        return entry

    def _sequence(self, entry: Entry, byte: int) -> None:
        match entry.event:
            case RunBegan(run=run):
                self.runs[run] = False
            case AttemptMade(run=run) if run in self.runs:
                self.runs[run] = True
            case RunEnded(run=run, outcome=outcome):
                attempted = self.runs.pop(run, None)
                if outcome == "certified" and not attempted and not self.found.count:
                    expected = "it had begun, or a second time" if attempted is None else "its attempt was written down"
                    self.found.add("sequence", f"run {run} was certified before {expected}", entry.index, byte)

    def _torn(self, end: int) -> None:
        says = (
            f"the file ends in the middle of an entry, with {end - self.head.n_bytes:,} bytes and no line break: an append was "
            "cut short, and the next one sets it aside; or the end was cut off"
        )
        self.found.add("torn", says, self.head.size, self.head.n_bytes)

    def compare(self) -> None:
        """With head.json, with side files, with the witnesses."""
        self._compare_head()
        self.signers.compare()
        for path in sorted(self.ledger.folder.glob("torn-*.bin")):
            self.notes.append(f"{path.name} holds {path.lstat().st_size:,} bytes of an append that was cut short: no entry")
        for witness in self.witnesses:
            self._compare_witness(witness)
        self.notes.extend(self.order.notes)
        self.notes.extend(self.signers.notes())

    def _compare_head(self) -> None:
        size = self.head.size
        if self.kept is None:
            self._no_head()
        elif self.kept.size > size and self.order.missing and self.order.expected >= self.kept.size:
            return  # the last acknowledged entry is here: what is missing was told where it is missing
        elif self.kept.size > size:
            says = f"{self.kept.size:,} entries were acknowledged, {size:,} lines are here: entries are missing at the end"
            self.found.add("truncated", says, size, self.head.n_bytes)
        elif self.kept != self.states.get(self.kept.size):
            says = f"the first {self.kept.size:,} entries are not those of head.json: one of the two was changed"
            self.found.add("head", says, self.kept.size - 1)
        elif self.kept.size < size:
            self.notes.append(f"head.json is {size - self.kept.size} entries behind: the next append brings it up to date")

    def _no_head(self) -> None:
        if self.head_there:
            self.found.add("head", "head.json cannot be read, or was changed; the next append makes it anew")
        elif self.head.size > OPENING_ENTRIES:
            says = "head.json is missing: whether entries are missing at the end, only a witness tells"
            self.found.add("head", says)

    def _compare_witness(self, witness: Witness) -> None:
        try:
            verify_signature(witness.envelope, self._keys(witness.envelope.key_id))
        except NotSignedByGivenKeys:
            self._against(witness, "no key of this ledger signed it")
        if self.order.ledger and witness.ledger != self.order.ledger:
            self._against(witness, f"it speaks of another ledger, {witness.ledger}")
        elif witness.size > self.head.size:
            says = f"the ledger had {witness.size:,} entries, and has {self.head.size:,}: entries are missing at the end"
            self._against(witness, says)
        else:
            self._compare_root(witness)

    def _keys(self, key_id: str) -> list[SSlibKey]:
        named = [signer.key for name, signer in self.signers.known.items() if name == key_id]
        return named + [known.key for known in (self.trusted.keys if self.trusted else ()) if known.key_id == key_id]

    def _compare_root(self, witness: Witness) -> None:
        state = self.states.get(witness.size)
        if state is None or state.root != witness.root:
            self._against(witness, f"the first {witness.size:,} entries are not those that it saw")
        elif witness.entry is not None and self.leaves.get(witness.entry) != witness.digest:
            self._against(witness, f"entry {witness.entry} is not the attempt that it names")

    def _against(self, witness: Witness, says: str) -> None:
        self.found.add("witness", f"{witness.source}: {says}")

    def result(self) -> LedgerVerification:
        order = self.order
        return LedgerVerification(
            ledger=order.ledger,
            entries=self.head.size,
            n_bytes=self.head.n_bytes,
            root=self.head.root,
            first_at=order.earliest,
            last_at=order.latest,
            findings=tuple(self.found.kept),
            n_findings=self.found.count,
            notes=tuple(self.notes),
            witnesses=tuple(witness.source for witness in self.witnesses),
        )


def _read_pieces(file: BinaryIO, end: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines up to a byte, and their lengths with the break; of a line longer than any entry only the beginning."""
    file.seek(0)
    done = 0
    while done < end:
        line = piece = file.readline(LARGEST_BYTES + 1)
        n_bytes = len(line)
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(LARGEST_BYTES)
            n_bytes += len(piece)
        if not piece or done + n_bytes > end:
            return
        yield line.removesuffix(b"\n"), n_bytes
        done += n_bytes

"""Remember how far the ledger was verified, and verify the rest before a run begins and before anything is signed.

A checkpoint has the SHA-256 of the bytes that were verified, so that a change of any of them shows, and the keys that could
sign by then, so that the signatures of later entries alone are left to check. It is sealed with the store's key; where it is
lost, the whole ledger is verified once. It is no proof: `sdcert audit verify` reads everything, and never a checkpoint.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from tasks.audit.ledger.entries import Entry
from tasks.audit.ledger.head import LedgerHead
from tasks.audit.ledger.ledger import Ledger, LedgerLine
from tasks.audit.ledger.ledger_findings import LedgerFinding, LedgerFindings
from tasks.audit.ledger.ledger_verification import Walk
from tasks.audit.ledger.signers import KeySoFar, Signers
from tasks.audit.signing.envelope import ENTRY_TYPE, NotAnEnvelope, open_envelope
from tasks.audit.signing.keyring import Keyring
from tasks.microdata.canonical import canonical
from tasks.microdata.regular_files import read_file
from tasks.microdata.spec import Spec
from tasks.report.predicate import Digest
from tasks.runtime.files import write_whole
from tasks.runtime.seals import compute_seal, is_sealed
from tasks.runtime.settings import Home

FILE = "checkpoint.json"
LARGEST = 1 << 20
PIECE = 1 << 20
ABOUT_ENTRIES = frozenset({"removed", "changed", "reordered", "inserted", "truncated", "sequence", "key", "head"})
"""What must not be built on. A torn end, a lost head.json and a clock set back are told by `sdcert audit verify` alone."""


class Checkpoint(Spec):
    """What was verified. sha256: of the first n_bytes of the ledger. last: leaf hash of the entry that ends there."""

    ledger: str
    size: int
    n_bytes: int
    last: Digest
    sha256: Digest
    keys: dict[str, KeySoFar]


class _CheckpointFile(Spec):
    checkpoint: Checkpoint
    seal: str


@dataclass(slots=True)
class _Tail:
    """The entries since a checkpoint, each checked against the one before it and its key."""

    ledger: Ledger
    kept: Checkpoint
    signers: Signers
    last: str
    size: int
    n_bytes: int

    def take(self, line: LedgerLine) -> None:
        try:
            envelope = open_envelope(line.content, ENTRY_TYPE)
            entry = Entry.model_validate_json(envelope.payload)
            if (entry.ledger, entry.index, entry.previous) != (self.kept.ledger, self.size, self.last):
                raise self.ledger.create_damage_error(f"entry {self.size} of ledger.jsonl does not follow the one before it")
            self.signers.check(entry, envelope, line.first_byte)
            self.signers.learn(entry, line.first_byte)
        except (NotAnEnvelope, ValidationError) as error:
            why = str(error) if isinstance(error, NotAnEnvelope) else "what is signed is not an entry"
            raise self.ledger.create_damage_error(
                f"entry {self.size} of ledger.jsonl is not as it was written: {why}"
            ) from None
        if self.signers.found.kept:
            raise self.ledger.create_damage_error(self.signers.found.kept[0].says)
        self.last, self.size, self.n_bytes = line.leaf.hex(), self.size + 1, self.n_bytes + len(line.content) + 1


def refuse_unsound_ledger(home: Home, *, is_held: bool = False) -> None:
    """Verify the ledger of a home as far as it was not verified before, and that nothing before was changed.

    is_held: the caller holds the ledger, as a function does that `append` calls.
    Raises InputError where an acknowledged entry was changed, is missing, or is signed by a key that might not sign it.
    Cost: the file is hashed once (about 0.1 s for 100 MB), and 0.2 ms for each entry that is new.
    """
    ledger, kept = Ledger(home.root / "ledger"), _read_checkpoint(home)
    if not ledger.exists():
        if kept is not None:
            raise ledger.create_damage_error(f"ledger.jsonl is gone, and had {kept.size:,} entries when it was last verified")
        return
    head = ledger.head()
    checkpoint = (
        _verify_whole_ledger(ledger, head, home, is_held=is_held) if kept is None else _verify_since(ledger, head, kept)
    )
    if checkpoint is not None and checkpoint != kept:
        with suppress(OSError):  # a home that may be read alone: the whole is verified again
            _keep(home, checkpoint)


def _verify_whole_ledger(ledger: Ledger, head: LedgerHead, home: Home, *, is_held: bool) -> Checkpoint | None:
    walk = Walk(ledger, Keyring.from_home(home), (), is_held)
    walk.read(lambda _done, _all: None)
    walk.compare()
    wrong = next(filter(_is_about_entries, walk.found.kept), None)
    if wrong is not None:
        raise ledger.create_damage_error(wrong.says)
    if walk.head.size < head.size or not head.size:
        return None
    keys = {name: signer.so_far for name, signer in walk.signers.known.items()}
    return _create_checkpoint(ledger, walk.head.ledger, walk.head.size, walk.head.n_bytes, walk.head.last, keys)


def _is_about_entries(finding: LedgerFinding) -> bool:
    return finding.what in ABOUT_ENTRIES and (finding.entry is not None or finding.what not in ("key", "head"))


def _verify_since(ledger: Ledger, head: LedgerHead, kept: Checkpoint) -> Checkpoint:
    if head.size < kept.size:
        says = f"ledger.jsonl has lost entries: it has {head.size:,}, and had {kept.size:,} when it was last verified"
        raise ledger.create_damage_error(f"{says} (if they cannot be brought back, remove ledger/{FILE} knowingly)")
    if _compute_sha256(ledger, kept.n_bytes) != kept.sha256:
        raise ledger.create_damage_error(
            f"the first {kept.size:,} entries of ledger.jsonl are not those that were verified before"
        )
    signers = Signers.resume(LedgerFindings(), kept.keys)
    tail = _Tail(ledger, kept, signers, kept.last, kept.size, kept.n_bytes)
    for line in ledger.lines(kept.n_bytes, index=kept.size):
        if line.index >= head.size:
            break
        tail.take(line)
    if tail.size == kept.size:
        return kept
    keys = {name: signer.so_far for name, signer in signers.known.items()}
    return _create_checkpoint(ledger, kept.ledger, tail.size, tail.n_bytes, tail.last, keys)


def _create_checkpoint(ledger: Ledger, name: str, size: int, n_bytes: int, last: str, keys: dict[str, KeySoFar]) -> Checkpoint:
    digest = _compute_sha256(ledger, n_bytes)
    return Checkpoint(ledger=name, size=size, n_bytes=n_bytes, last=last, sha256=digest, keys=keys)


def _compute_sha256(ledger: Ledger, n_bytes: int) -> str:
    """Of the first bytes of the file."""
    digest = hashlib.sha256()
    with ledger.reading() as file:
        while n_bytes and (piece := file.read(min(PIECE, n_bytes))):
            digest.update(piece)
            n_bytes -= len(piece)
    return digest.hexdigest()


def _read_checkpoint(home: Home) -> Checkpoint | None:
    """The checkpoint of this home; None where there is none, or another hand than ours wrote it."""
    try:
        kept = _CheckpointFile.model_validate_json(read_file(home.root / "ledger" / FILE, LARGEST))
    except (OSError, ValidationError):
        return None
    return kept.checkpoint if is_sealed(home, kept.seal, *_seal_parts(kept.checkpoint)) else None


def _keep(home: Home, checkpoint: Checkpoint) -> None:
    kept = _CheckpointFile(checkpoint=checkpoint, seal=compute_seal(home, *_seal_parts(checkpoint)))
    write_whole(home.root / "ledger" / FILE, kept.model_dump_json().encode())


def _seal_parts(checkpoint: Checkpoint) -> tuple[str, str]:
    return "checkpoint", canonical(checkpoint.model_dump(mode="json")).decode()

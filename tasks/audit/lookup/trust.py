"""May a line of the ledger be believed? Its form and its signature alone: `sdcert audit verify` proves the whole ledger."""

from __future__ import annotations

from tasks.audit.ledger.entries import Entry
from tasks.audit.ledger.ledger import Line
from tasks.audit.signing.envelope import ENTRY, NotAnEnvelope, open_envelope
from tasks.audit.signing.keyring import KeyRefused, Keyring


def doubt(line: Line, entry: Entry | None, keyring: Keyring) -> str:
    """Why a line must not be believed; "" where it has its one form, its own number, and a good signature of a known key."""
    try:
        sealed = open_envelope(line.content, ENTRY)
        if entry is None:
            return "what is signed is no entry that this version knows"
        if entry.index != line.index:
            return f"it says that it is entry {entry.index}"
        keyring.checked(sealed, purpose="certificates", signed_at=entry.at)
    except NotAnEnvelope as error:
        return f"it is not as it was written: {error}"
    except KeyRefused as refused:
        return refused.reason
    return ""


def in_words(doubts: dict[int, str]) -> list[str]:
    """One sentence for each reason, with the numbers of the entries that it holds for."""
    numbers: dict[str, list[int]] = {}
    for number, why in doubts.items():
        numbers.setdefault(why, []).append(number)
    return [f"{'entry' if len(of) == 1 else 'entries'} {', '.join(map(str, of))}: {why}" for why, of in numbers.items()]

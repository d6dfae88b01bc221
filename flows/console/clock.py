"""`sdcert keys clock`: the holder of the key signs that the clock is right, though it says less than the ledger."""

from __future__ import annotations

from flows.console.keys import find_passphrase_prompt
from flows.console.run_certificates import A_REASON, check_words, identify_local_user, tell
from tasks.audit.ledger.entries import ClockSetBack
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.order import clock_in_words
from tasks.audit.signing.keys import signing
from tasks.microdata.spec import Reason


def note_clock(reason: str) -> int:
    """Sign the note and append it. Returns 0; InputError where the clock says no less than the ledger."""
    check_words("--reason", Reason, reason, A_REASON)
    with signing(ask=find_passphrase_prompt()) as key:
        entry = Ledger.current().append_clock_set_back(reason, identify_local_user(), key).entry
    if isinstance(entry.event, ClockSetBack):
        tell(f"noted in the ledger: {clock_in_words(entry.event, entry.at)}")
    tell(
        "  warning: dates of certificates from now on can be earlier than those of older ones",
        "  `sdcert audit verify` lists it",
    )
    return 0

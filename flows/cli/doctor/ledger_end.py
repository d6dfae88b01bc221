"""What `sdcert doctor` says of the ledger: a look at its end, however long it is. `sdcert audit verify` checks all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flows.cli.doctor.home import LARGE_LEDGER_BYTES, Finding, fail, fine, warn
from flows.run.history import has_runs
from tasks.audit.ledger.head import LedgerHead
from tasks.audit.ledger.ledger import Ledger, LedgerLine
from tasks.audit.lookup.index_rows import parse_entry
from tasks.audit.lookup.trust import Trust
from tasks.audit.signing.keyring import Keyring
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home

TOPIC = "ledger"
VERIFY = "`sdcert audit verify` says what is wrong; bring ledger.jsonl and head.json back from a backup, and never edit them"
LAST, LAST_BYTES = 20, 1 << 20
OPENING_ENTRIES = 2  # the first append writes two lines: a crash there may leave them without head.json


def check_ledger(root: Path) -> Iterator[Finding]:
    """Does head.json agree with the end of the ledger, and are the last entries as they were signed?"""
    ledger = Ledger(root / "ledger")
    try:
        if ledger.exists():
            yield from _findings(ledger, Home(root))
        elif has_runs(root):
            yield warn(TOPIC, "there is none, though there are runs: it is gone, or no run came so far as to open one", VERIFY)
        else:
            yield fine(TOPIC, "none yet: the first release opens it")
    except InputError as error:
        yield fail(TOPIC, error.what, VERIFY if error.code == "ledger-damaged" else error.remedy)
    except OSError as error:
        yield fail(TOPIC, f"the ledger cannot be looked at ({error.strerror})", "work as the user who owns the home")


def _findings(ledger: Ledger, home: Home) -> Iterator[Finding]:
    if not ledger.head_path.exists() and ledger.path.lstat().st_size > LARGE_LEDGER_BYTES:
        yield fail(TOPIC, "head.json is missing: whether entries are missing at the end, only a witness tells", VERIFY)
        return
    head = ledger.head()
    if not ledger.head_path.exists() and head.size > OPENING_ENTRIES:
        yield fail(TOPIC, "head.json is missing: whether entries are missing at the end, only a witness tells", VERIFY)
    torn = ledger.path.stat().st_size - head.n_bytes
    if torn > 0:
        says = f"it ends in the middle of an entry ({torn:,} bytes): an append was cut short, or the end was cut off"
        yield warn(TOPIC, says, "`sdcert audit verify` says more; the next release sets these bytes aside")
    yield _last(ledger, head, home)


def _last(ledger: Ledger, head: LedgerHead, home: Home) -> Finding:
    """The last lines by their form, number and signature. Whether a key had ended before is left to the whole check."""
    trust = Trust(Keyring.from_home(home))
    lines = list(_last_lines(ledger, head))
    wrong = [(line.index, why) for line in lines if (why := trust.doubt(line, parse_entry(line.content)))]
    if wrong:
        number, why = wrong[0]
        says = f"of the last {len(lines)} entries {len(wrong)} must not be believed; entry {number}: {why}"
        return fail(TOPIC, says, VERIFY)
    says = f"{head.size:,} {'entry' if head.size == 1 else 'entries'}; head.json agrees with the end"
    return fine(TOPIC, f"{says}, the last {len(lines)} are as they were signed (`sdcert audit verify` checks all)")


def _last_lines(ledger: Ledger, head: LedgerHead) -> Iterator[LedgerLine]:
    """The newest first, at most `LAST`, of the last mebibyte."""
    first = max(0, head.n_bytes - LAST_BYTES)
    with ledger.reading() as file:
        file.seek(first)
        content = file.read(head.n_bytes - first)
    pieces = content.split(b"\n")[:-1]
    whole = pieces if first == 0 else pieces[1:]
    offset = head.n_bytes
    for number, piece in enumerate(reversed(whole[-LAST:]), start=1):
        offset -= len(piece) + 1
        yield LedgerLine(head.size - number, offset, piece)

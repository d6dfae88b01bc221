"""`sdcert audit verify | witness | prove`: is the ledger what was written, and how others can tell."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.audit.group import group
from flows.cli.terminal import find_passphrase_prompt, terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.ledger.ledger_findings import LedgerFinding
    from tasks.audit.ledger.ledger_verification import LedgerVerification
    from tasks.audit.ledger.proofs import ConsistencyProof, InclusionProof, ProofCheck

SOUND, UNSOUND = 0, 1
BAR_FROM_BYTES = 2_000_000  # about a third of a second
NO_WITNESS = (
    "that nobody who has the key and this folder rewrote the ledger, or cut entries off its end and head.json "
    "with them. A witness or a certificate from outside shows it: --witness FILE"
)
NO_KEY = "that these keys are the true ones. They are those of this home; --key FILE compares with one from outside"


@group.command()
def verify(
    witness: Annotated[
        list[Path] | None,
        typer.Option(help="what `audit witness` wrote, or a certificate; again for more", metavar="FILE", show_default=False),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(help="a public key or trust file to trust instead of this home's", metavar="FILE", show_default=False),
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(help="check what `audit prove` wrote; needs no ledger", metavar="FILE", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the findings on stdout as JSON")] = False,
) -> int:
    """Is every entry there as it was signed, and in its place? Exit code 0 yes, 1 something was found, 2 there is no ledger."""
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.ledger.ledger_verification import verify_ledger
    from tasks.audit.ledger.witness import read_witness
    from tasks.audit.maintenance.cache_check import check_call_records
    from tasks.audit.signing.keyring import Keyring

    witnesses = witness or ()
    keys = key or ()
    if proof is not None:
        return _verify_proof(proof, keys, witnesses, as_json=as_json)
    ledger = Ledger.current()
    given = [read_witness(path) for path in witnesses]
    if _is_gone(ledger, witnessed=bool(given)):
        return _print(_describe_missing_ledger(), (), as_json=as_json)
    trusted = Keyring.from_files(keys) if keys else Keyring.from_home(Home.current())
    with _bar(ledger.path) as progress:
        found = verify_ledger(ledger, trusted, given, progress)
    edited = tuple(check_call_records(Home.current()))
    found = replace(found, findings=(*found.findings, *edited), n_findings=found.n_findings + len(edited))
    missing = (*(() if given else (NO_WITNESS,)), *(() if keys else (NO_KEY,)))
    return _print(found, missing, as_json=as_json)


@group.command()
def witness(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="the file to write; default: stdout", metavar="FILE", show_default=False),
    ] = None,
) -> int:
    """Sign how many entries there are and their root, for somebody outside to keep."""
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.ledger.witness import create_witness, no_ledger, tree_head
    from tasks.audit.signing.keys import signing_key

    ledger = Ledger.current()
    if not ledger.exists():
        raise no_ledger()
    content = create_witness(ledger, signing_key(create=False, ask=find_passphrase_prompt()))
    head, _ = tree_head(content)
    _hand_over(content + b"\n", output)
    _tell(
        f"{head.size:,} entries, root {head.root}",
        "Give this to somebody outside who cannot be bribed: a copy that stays here can be changed together with the ledger.",
        "`sdcert audit verify --witness FILE` then finds entries that were removed or rewritten, even by somebody "
        "who has the key.",
    )
    return SOUND


@group.command()
def prove(
    entry: Annotated[
        str | None, typer.Argument(help="an entry's index, or a run id or its beginning", metavar="ENTRY", show_default=False)
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(help="prove that the ledger still begins with what this witness saw", metavar="FILE", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="the file to write; default: stdout", metavar="FILE", show_default=False),
    ] = None,
) -> int:
    """Write a short proof about the ledger that can be checked without it: `audit verify --proof FILE --key FILE`."""
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.ledger.proofs import InclusionProof, serialise_proof
    from tasks.audit.ledger.witness import no_ledger

    if (entry is None) == (since is None):
        allowed = "RUN or INDEX for an entry; --since WITNESS for all that a witness saw"
        raise InputError(
            "one-of-two", "sdcert audit prove", "say what is to be proved: one of two", allowed, "give one of them"
        )
    ledger = Ledger.current()
    if not ledger.exists():
        raise no_ledger()
    proof, number = _create_proof(ledger, entry, since)
    _hand_over(serialise_proof(proof), output)
    if isinstance(proof, InclusionProof):
        _tell(f"entry {number} is in the ledger. The proof holds this entry in full: who asked, and at which computer")
    else:
        _tell(f"the ledger still begins with the {number:,} entries that the witness saw")
    _tell("`sdcert audit verify --proof FILE --key PUBLIC_KEY` checks it anywhere, without this home.")
    return SOUND


def _create_proof(ledger: Ledger, which: str | None, since: Path | None) -> tuple[InclusionProof | ConsistencyProof, int]:
    from tasks.audit.ledger.proofs import prove_entry, prove_since
    from tasks.audit.signing.keys import signing_key

    key = signing_key(create=False, ask=find_passphrase_prompt())
    if since is not None:
        return prove_since(ledger, since, key)
    return prove_entry(ledger, str(which), key)


def _verify_proof(path: Path, keys: Sequence[Path], witnesses: Sequence[Path], *, as_json: bool) -> int:
    from tasks.audit.ledger.proofs import check_proof, read_proof
    from tasks.audit.signing.keyring import Keyring

    if witnesses:
        what, remedy = "a proof is checked by keys alone", "check the ledger with --witness, and the proof without"
        raise InputError("one-of-two", "sdcert audit verify", what, "--proof or --witness", remedy)
    proof = read_proof(path)
    keyring = Keyring.from_files(keys) if keys else Keyring.from_home(Home.current())
    if not keyring.keys:
        allowed = "the public key or the trust file of whoever gave the proof"
        raise InputError(
            "no-key", "--key", "there is no key to check the proof by", allowed, "ask for it, and give it as --key"
        )
    checked = check_proof(proof, keyring)
    if as_json:
        _write_json(_proof_as_dict(checked))
        return int(bool(checked.faults))
    say = _says()
    if checked.entry is not None:
        say(f"entry       {checked.entry.index}, {checked.entry.event.kind}, {_date(checked.entry.at)}")
    if checked.first is not None:
        say(f"begins with {checked.first.size:,} entries, root {checked.first.root}, {_date(checked.first.at)}")
    say(f"ledger      {checked.head.ledger}")
    say(f"head        {checked.head.size:,} entries, root {checked.head.root}, {_date(checked.head.at)}")
    for fault in checked.faults:
        say(f"wrong       {fault}")
    say("result      " + ("the proof does not hold" if checked.faults else "the proof holds"))
    if not keys:
        say(f"{'not shown':<11} {NO_KEY}")
    return int(bool(checked.faults))


def _is_gone(ledger: Ledger, *, witnessed: bool) -> bool:
    """Whether there is no ledger although there was one.

    Raises InputError where there never was: who checks the wrong home is not told that all is well.
    """
    from tasks.audit.ledger.witness import no_ledger

    if ledger.path.is_symlink() or (ledger.path.exists() and (ledger.path.stat().st_size > 0 or ledger.head_path.exists())):
        return False
    if ledger.head_path.exists() or witnessed or any((Home.current().root / "runs").glob("*/manifest.json")):
        return True
    raise no_ledger()


def _describe_missing_ledger() -> LedgerVerification:
    from tasks.audit.ledger.ledger_findings import LedgerFinding
    from tasks.audit.ledger.ledger_verification import LedgerVerification

    says = "there is no ledger.jsonl, though this home has runs, a head.json, or a witness that speaks of one"
    return LedgerVerification("", 0, 0, "", None, None, (LedgerFinding("missing", says),), 1, (), ())


def _print(found: LedgerVerification, missing: Sequence[str], *, as_json: bool) -> int:
    if as_json:
        _write_json(_as_dict(found) | {"not_shown": list(missing)})
        return SOUND if found.sound else UNSOUND
    say = _says()
    say(f"ledger      {found.ledger or '-'}")
    say(f"entries     {found.entries:,} in {found.n_bytes:,} bytes, from {_date(found.first_at)} to {_date(found.last_at)}")
    say(f"root        {found.root or '-'}")
    for source in found.witnesses:
        say(f"witness     {source}")
    for finding in found.findings:
        say(f"{finding.what:<11} {finding.says}{_place(finding)}")
    if found.n_findings > len(found.findings):
        say(f"{'...':<11} and {found.n_findings - len(found.findings):,} findings more")
    for note in found.notes:
        say(f"{'note':<11} {note}")
    for text in missing:
        say(f"{'not shown':<11} {text}")
    say(f"{'result':<11} {_result(found)}")
    return SOUND if found.sound else UNSOUND


def _result(found: LedgerVerification) -> str:
    if found.sound:
        return "every entry is as it was signed, and follows the one before it"
    if all(finding.what == "record" for finding in found.findings):
        return "the ledger is as it was signed; records of the cache are not what it says of its stages"
    return f"{found.n_findings:,} {'finding' if found.n_findings == 1 else 'findings'}: the ledger is not what was written"


def _place(finding: LedgerFinding) -> str:
    return "" if finding.byte is None else f" (byte {finding.byte:,})"


def _as_dict(found: LedgerVerification) -> dict[str, Any]:
    dates = {name: value and value.isoformat() for name, value in (("first_at", found.first_at), ("last_at", found.last_at))}
    return {**asdict(found), **dates, "sound": found.sound}


def _proof_as_dict(checked: ProofCheck) -> dict[str, Any]:
    parts = {"entry": checked.entry, "first": checked.first, "head": checked.head}
    held = {name: part.model_dump(mode="json") for name, part in parts.items() if part is not None}
    return {**held, "faults": list(checked.faults), "holds": not checked.faults}


def _hand_over(content: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(content.decode())
        return
    if output.exists() or output.is_symlink():
        raise InputError("file-exists", str(output), "there is a file of this name", "a new file", "choose another name")
    try:
        write_whole(output, content, mode=0o644)
    except OSError as error:
        what = f"the file cannot be written ({error.strerror})"
        raise InputError("unwritable-file", str(output), what, "a folder that you may write", "choose another one") from None


@contextmanager
def _bar(path: Path) -> Iterator[Any]:
    """How far a long ledger is, on stderr."""
    from rich.progress import Progress

    console = terminal(stderr=True)
    try:
        length = path.lstat().st_size
    except OSError:
        length = 0
    with Progress(console=console, transient=True, disable=length < BAR_FROM_BYTES or not console.is_terminal) as bar:
        task = bar.add_task("reading the ledger", total=length)
        yield lambda done, _all: bar.update(task, completed=done)


def _says() -> Any:
    console = terminal(soft_wrap=True)
    return lambda text: console.print(escape_terminal(text))


def _tell(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"{escape_terminal(line)}\n")


def _write_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _date(at: datetime | None) -> str:
    return "-" if at is None else at.isoformat(timespec="seconds")

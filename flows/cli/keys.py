"""`sdcert keys`: makes, lists, rotates, revokes and exports keys. Prints nothing of a private key."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.root import create_group
from flows.cli.run_certificates import A_REASON, check_words, identify_local_user, tell
from flows.cli.terminal import find_passphrase_prompt
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.runtime.settings import Home, prepare_environment

if TYPE_CHECKING:
    from tasks.audit.ledger.entries import KeyPurpose
    from tasks.audit.signing.key_changes import KeyChanges
    from tasks.audit.signing.keyring import KeyRecord

group = create_group("keys", "The keys that sign certificates, ledger entries and approvals.")

SHORT = 16

NEW_PASSPHRASE = (
    "lock the new key with a passphrase: asked for on a terminal, else "  # noqa: S105  # the help of an option
    "SDCERT_KEY_PASSPHRASE (for approvals: SDCERT_APPROVAL_PASSPHRASE)"
)

PassphraseOption = Annotated[bool | None, typer.Option("--passphrase/--no-passphrase", help=NEW_PASSPHRASE, show_default=False)]


@group.command()
def create(
    purpose: Annotated[
        Literal["certificates", "approvals"],
        typer.Option("--for", help="certificates (the machine signs them) or approvals (a person does)"),
    ] = "certificates",
    name: Annotated[str | None, typer.Option(help="whose key it is; others will read it", show_default=False)] = None,
    passphrase: PassphraseOption = None,
) -> int:
    """Make a key. The first one for certificates is made by itself when it is needed."""
    from tasks.audit.signing.keys import open_signing_key
    from tasks.microdata.spec import Name

    if purpose == "approvals" and name is None:
        remedy = "`sdcert keys create --for approvals --name NAME`"
        raise InputError("no-name", "--name", "a key for approvals is a person's: whose?", "a name", remedy)
    if name is not None:
        _check(Name, name, "--name", "a name of 1 to 300 characters")
    changes = _changes()
    if purpose == "approvals":
        open_signing_key(ask=changes.ask, home=changes.home)  # names the new key; its passphrase is asked for first
    record = changes.create(purpose, name=name, passphrase=_ask_new_passphrase(passphrase, purpose))
    tell(
        f"made: key {record.claim.key_id}",
        f"  for      {purpose}{f', of {name}' if name else ''}",
        *_describe_key(changes.home, record),
    )
    if purpose == "certificates":
        tell("  to do    publish its public key where those who check certificates find it: sdcert keys export -o FILE")
    return 0


@group.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="print the keys on stdout as JSON")] = False) -> int:
    """The keys of this home. Which one signs, which are retired or revoked, and where the private ones are."""
    from tasks.audit.signing.key_changes import KeyChanges
    from tasks.audit.signing.keyring import read_key_records
    from tasks.audit.signing.keys import read_current_id

    home = Home.current()
    records = [record for _, record in read_key_records(home)]
    if as_json:
        found = [{**record.model_dump(mode="json"), **_find_private_key(home, record)} for record in records]
        sys.stdout.write(json.dumps({"current": read_current_id(home), "keys": found}, indent=1, ensure_ascii=False) + "\n")
        return 0
    tell(*(() if records else ["no key yet: the first `sdcert certify` makes one, or `sdcert keys create`"]))
    for record in records:
        _print(home, record)
    pending = KeyChanges(home).pending()
    if pending is not None:
        tell(f"a change of keys ({pending.change}) was broken off: `sdcert keys rotate` or `revoke` finishes it first")
    return 0


@group.command()
def rotate(passphrase: PassphraseOption = None) -> int:
    """Let a new key sign certificates from now on. What the old one signed stays good."""
    changes = _changes()
    if _finish_pending_change(changes) == "rotate":
        return 0
    old = load_current_key(changes.home)
    changes.current()
    new = changes.rotate(passphrase=_ask_new_passphrase(passphrase, "certificates", like=old, home=changes.home))
    _tell_new(changes.home, new)
    tell(f"retired: key {old.claim.key_id}; what it signed stays good")
    _say_environment(new)
    return 0


@group.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="the id of the key, or its beginning", metavar="KEY_ID", show_default=False)],
    reason: Annotated[str, typer.Option(help="why; others will read it", show_default=False)],
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="what it signed before stays good (2026-11-21, or 2026-11-21T14:00; UTC); default: nothing does",
            show_default=False,
        ),
    ] = None,
    passphrase: PassphraseOption = None,
) -> int:
    """Revoke a key that was stolen, or may be. What it signed is no longer good. Cannot be taken back."""
    from tasks.microdata.spec import Reason

    _check(Reason, reason, "--reason", "a reason of 3 to 2,000 characters")
    when = None if since is None else _parse_moment(since)
    changes = _changes()
    _finish_pending_change(changes)
    record = require_key(changes.home, key_id)
    is_current = changes.current().key_id == record.claim.key_id
    locked = _ask_new_passphrase(passphrase, "certificates", like=record, home=changes.home) if is_current else None
    new = changes.revoke(record.claim.key_id, reason=reason, since=when, passphrase=locked)
    tell(
        f"revoked: key {record.claim.key_id}",
        f"  now      {_format_end(when)}",
        _describe_affected_signatures(changes, record, when),
    )
    if new is not None:
        _tell_new(changes.home, new)
        _say_environment(new)
    tell("  to do    give those who check signatures what changed: sdcert keys export --trust -o FILE")
    return 0


@group.command()
def clock(reason: Annotated[str, typer.Option(help="why it was set back; others will read it", show_default=False)]) -> int:
    """Sign that the clock is right though it says less than the ledger. Without it nothing more is certified or revoked."""
    from tasks.audit.ledger.entries import ClockSetBack
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.ledger.order import describe_clock
    from tasks.audit.signing.keys import hold_signing_key
    from tasks.microdata.spec import Reason

    check_words("--reason", Reason, reason, A_REASON)
    with hold_signing_key(ask=find_passphrase_prompt()) as key:
        entry = Ledger.current().append_clock_set_back(reason, identify_local_user(), key).entry
    if isinstance(entry.event, ClockSetBack):
        tell(f"noted in the ledger: {describe_clock(entry.event, entry.at)}")
    tell(
        "  warning: dates of certificates from now on can be earlier than those of older ones",
        "  `sdcert audit verify` lists it",
    )
    return 0


def _changes() -> KeyChanges:
    from tasks.audit.signing.key_changes import KeyChanges

    changes = KeyChanges(prepare_environment(), find_passphrase_prompt())
    changes.ledger.refuse_clock_behind()
    return changes


def _finish_pending_change(changes: KeyChanges) -> str | None:
    """Finish a change that was broken off, and say so."""
    from tasks.audit.signing.key_changes import Pending

    found: Pending | None = changes.finish()
    if found is None:
        return None
    tell(f"finished: a change of keys ({found.change}) that was broken off; `sdcert keys list` shows what is so now")
    return found.change


def _ask_new_hidden(question: str) -> str:
    return str(typer.prompt(question, hide_input=True, confirmation_prompt="the same again", err=True))


def _ask_new_passphrase(
    wanted: bool | None, purpose: KeyPurpose, *, like: KeyRecord | None = None, home: Home | None = None
) -> str | None:
    """The passphrase of a new key. wanted: none given, then as the environment says, or as the old key has it."""
    from tasks.audit.signing.pem import choose_passphrase, name_passphrase_variable, read_passphrase

    if wanted is None and like is not None and home is not None:
        wanted = _find_private_key(home, like)["passphrase"] or None
    if wanted is False:
        return None
    ask = _ask_new_hidden if wanted and sys.stdin.isatty() else None
    if wanted and ask is None and not read_passphrase(purpose):
        what = "the new key is to be locked, and there is no terminal to ask for its passphrase"
        remedy = f"set {name_passphrase_variable(purpose)}, or say --no-passphrase"
        raise InputError(
            "no-terminal", "passphrase of the new key", what, "a terminal, or the passphrase in the environment", remedy
        )
    return choose_passphrase(ask, purpose=purpose)


def require_key(home: Home, key: str) -> KeyRecord:
    """The key whose id begins like this."""
    from tasks.audit.signing.keyring import read_key_records

    records = [record for _, record in read_key_records(home)]
    found = [record for record in records if key and record.claim.key_id.startswith(key.lower())]
    if len(found) == 1:
        return found[0]
    what = "several keys begin like this" if found else "no key of this home begins like this"
    allowed = ", ".join(record.claim.key_id[:SHORT] for record in found or records) or "no key yet"
    raise InputError("no-such-key", "KEY_ID", what, allowed, "`sdcert keys list` shows them", key)


def load_current_key(home: Home) -> KeyRecord:
    """The record of the key that signs now. Raises InputError: there is none yet, and none is made."""
    from tasks.audit.signing.keys import open_signing_key, read_current_id, read_key_record

    return read_key_record(home, read_current_id(home) or open_signing_key(create=False, home=home).key_id)


def _parse_moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        what, allowed = "this is no date", "a date (2026-11-21) or a time (2026-11-21T14:00, UTC unless it says otherwise)"
        raise InputError("no-date", "--since", what, allowed, "write it like this: 2026-11-21", text) from None


def _check(kind: Any, text: str, where: str, allowed: str) -> None:
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(kind).validate_python(text.strip())
    except ValidationError:
        raise InputError("text", where, "this is too short or too long", allowed, "write another", text) from None


def _find_private_key(home: Home, record: KeyRecord) -> dict[str, Any]:
    """Where the private key is, and whether it is locked with a passphrase (None: it is not here)."""
    from tasks.audit.signing.keys import pem_path
    from tasks.audit.signing.pem import has_passphrase

    try:
        content = read_file(pem_path(home, record.claim.key_id), LARGEST_NOTE)
    except OSError:
        return {"private_key": "environment" if _is_environment_key(record) else "not here", "passphrase": None}
    return {"private_key": "file", "passphrase": has_passphrase(content)}


def _is_environment_key(record: KeyRecord) -> bool:
    from tasks.audit.signing.pem import compute_key_id, open_environment_key

    try:
        private = open_environment_key()
    except InputError:  # locked, or no key: `sdcert doctor` says what is wrong with it
        return False
    return private is not None and compute_key_id(private) == record.claim.key_id


def _describe_key(home: Home, record: KeyRecord) -> list[str]:
    from tasks.audit.signing.keys import pem_path
    from tasks.audit.signing.pem import PEM_VARIABLE

    found = _find_private_key(home, record)
    if found["private_key"] != "file":
        return [f"  private  {'in ' + PEM_VARIABLE if found['private_key'] == 'environment' else 'not in this home'}"]
    locked = "locked with a passphrase" if found["passphrase"] else "without a passphrase: who can read the file can sign"
    return [f"  private  {pem_path(home, record.claim.key_id)}", f"           {locked}"]


def _tell_new(home: Home, record: KeyRecord) -> None:
    tell(f"made: key {record.claim.key_id}, which signs certificates from now on", *_describe_key(home, record))
    tell("  to do    publish its public key: sdcert keys export -o FILE")


def _say_environment(new: KeyRecord) -> None:
    from tasks.audit.signing.pem import PEM_VARIABLE

    if os.environ.get(PEM_VARIABLE) and not _is_environment_key(new):
        tell(f"  to do    unset {PEM_VARIABLE}, or set it to the new key: the key in it signs nothing any more")


def _format_end(since: datetime | None) -> str:
    if since is None:
        return "nothing that it signed is good any more"
    return f"what it says it signed before {since:%Y-%m-%d %H:%M %Z} stays good (a date that its holder writes)"


def _describe_affected_signatures(changes: KeyChanges, record: KeyRecord, since: datetime | None) -> str:
    kind, what = ("ended", "certificate") if record.claim.purpose == "certificates" else ("approved", "approval")
    number = changes.count_signatures(record.claim.key_id, kind, since)
    return f"  affected {number:,} {what}{'' if number == 1 else 's'} in the ledger of this home"


def _print(home: Home, record: KeyRecord) -> None:
    from tasks.audit.signing.keyring import format_default_key_name
    from tasks.audit.signing.keys import read_current_id

    claim = record.claim
    tell(f"key {claim.key_id}")
    rows = {
        "for": f"{claim.purpose}; made {_format_day(claim.created_at)}",
        "name": "" if claim.name == format_default_key_name(claim.key_id) else claim.name,
        "state": _state(record, is_current=claim.key_id == read_current_id(home)),
        "reason": record.reason or "",
        "private": _describe_private_part(home, record),
    }
    tell(*(f"  {what:<8} {says}" for what, says in rows.items() if says))


def _state(record: KeyRecord, *, is_current: bool) -> str:
    if record.revoked_at is not None:
        since = record.revoked_since
        return f"revoked {_format_day(record.revoked_at)}: " + (
            "nothing is good" if since is None else f"good before {_format_day(since)}"
        )
    if record.retired_at is not None:
        return f"retired {_format_day(record.retired_at)}: what it signed until then is good"
    if record.claim.purpose == "approvals":
        return "in use"
    return "current: signs certificates and the ledger" if is_current else "not in use"


def _describe_private_part(home: Home, record: KeyRecord) -> str:
    from tasks.audit.signing.pem import PEM_VARIABLE

    found = _find_private_key(home, record)
    if found["private_key"] == "environment":
        return f"in {PEM_VARIABLE}"
    if found["private_key"] == "not here":
        return "not in this home"
    return "in this home, locked with a passphrase" if found["passphrase"] else "in this home, without a passphrase"


def _format_day(when: datetime) -> str:
    from tasks.audit.signing.keyring import convert_to_utc

    return f"{convert_to_utc(when):%Y-%m-%d %H:%M %Z}"

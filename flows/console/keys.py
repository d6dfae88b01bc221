"""`sdcert keys`: makes, lists, rotates, revokes and exports keys. Prints nothing of a private key."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter, ValidationError

from tasks.audit.ledger.entries import Purpose
from tasks.audit.signing.changes import KeyChanges, Pending
from tasks.audit.signing.envelope import TRUST, seal
from tasks.audit.signing.keyring import KeyRecord, convert_to_utc, format_default_key_name, key_records, trust_of_home
from tasks.audit.signing.keys import current_id, pem_path, record_of, signing_key
from tasks.audit.signing.pem import (
    PEM_VARIABLE,
    Ask,
    choose_passphrase,
    has_passphrase,
    id_of,
    open_environment_key,
    passphrase_given,
    variable_of,
)
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.microdata.spec import Name, Reason
from tasks.runtime.settings import Home, prepare_environment

SHORT = 16


def find_passphrase_prompt() -> Ask | None:
    """Asks for the passphrase of a key, where somebody is there to answer."""
    return _hidden if sys.stdin.isatty() else None


def create_key(purpose: Purpose, name: str | None, *, passphrase: bool | None) -> int:
    """Make a key, and say what to do with it."""
    if purpose == "approvals" and name is None:
        remedy = "`sdcert keys create --for approvals --name NAME`"
        raise InputError("no-name", "--name", "a key for approvals is a person's: whose?", "a name", remedy)
    if name is not None:
        _check(Name, name, "--name", "a name of 1 to 300 characters")
    changes = _changes()
    if purpose == "approvals":
        signing_key(ask=changes.ask, home=changes.home)  # names the new key; its passphrase is asked for first
    record = changes.create(purpose, name=name, passphrase=_new_passphrase(passphrase, purpose))
    _say(
        f"made: key {record.claim.key_id}",
        f"  for      {purpose}{f', of {name}' if name else ''}",
        *_about(changes.home, record),
    )
    if purpose == "certificates":
        _say("  to do    publish its public key where those who check certificates find it: sdcert keys export -o FILE")
    return 0


def list_keys(*, as_json: bool) -> int:
    """Every key that this home has ever had, oldest first."""
    home = Home.current()
    records = [record for _, record in key_records(home)]
    if as_json:
        found = [{**record.model_dump(mode="json"), **_place(home, record)} for record in records]
        sys.stdout.write(json.dumps({"current": current_id(home), "keys": found}, indent=1, ensure_ascii=False) + "\n")
        return 0
    _say(*(() if records else ["no key yet: the first `sdcert certify` makes one, or `sdcert keys create`"]))
    for record in records:
        _print(home, record)
    pending = KeyChanges(home).pending()
    if pending is not None:
        _say(f"a change of keys ({pending.change}) was broken off: `sdcert keys rotate` or `revoke` finishes it first")
    return 0


def rotate_key(*, passphrase: bool | None) -> int:
    """Make a new key for certificates; the old one names it."""
    changes = _changes()
    if _finish_pending_change(changes) == "rotate":
        return 0
    old = _current(changes.home)
    changes.current()
    new = changes.rotate(passphrase=_new_passphrase(passphrase, "certificates", like=old, home=changes.home))
    _tell_new(changes.home, new)
    _say(f"retired: key {old.claim.key_id}; what it signed stays good")
    _say_environment(new)
    return 0


def revoke_key(key: str, reason: str, since: str | None, *, passphrase: bool | None) -> int:
    """Revoke a key, and say what is no longer good."""
    _check(Reason, reason, "--reason", "a reason of 3 to 2,000 characters")
    when = None if since is None else _moment(since)
    changes = _changes()
    _finish_pending_change(changes)
    record = _require_key(changes.home, key)
    is_current = changes.current().key_id == record.claim.key_id
    locked = _new_passphrase(passphrase, "certificates", like=record, home=changes.home) if is_current else None
    new = changes.revoke(record.claim.key_id, reason=reason, since=when, passphrase=locked)
    _say(
        f"revoked: key {record.claim.key_id}",
        f"  now      {_good_until(when)}",
        _describe_affected_signatures(changes, record, when),
    )
    if new is not None:
        _tell_new(changes.home, new)
        _say_environment(new)
    _say("  to do    give those who check signatures what changed: sdcert keys export --trust -o FILE")
    return 0


def export_keys(key: str | None, output: Path | None, *, trust: bool, seal: bool) -> int:
    """Write a public key, or everything that a verifier needs of this home."""
    home = Home.current()
    if (trust and key is not None) or (seal and not trust):
        what = "--trust exports all keys at once" if trust else "only a trust file (--trust) can be sealed"
        raise InputError("options", "sdcert keys export", what, "[KEY_ID], or --trust [--seal]", "leave one of the two out")
    content = (
        _trust(home, sealed=seal) if trust else (_require_key(home, key) if key else _current(home)).claim.public_key.encode()
    )
    if output is None:
        sys.stdout.write(content.decode())
        return 0
    _write_new(output, content)
    what = "trust file" if trust else "public key"
    _say(f"written: {output} ({what}; nothing in it is secret)")
    return 0


def _changes() -> KeyChanges:
    changes = KeyChanges(prepare_environment(), find_passphrase_prompt())
    changes.ledger.refuse_clock_behind()
    return changes


def _finish_pending_change(changes: KeyChanges) -> str | None:
    """Finish a change that was broken off, and say so."""
    found: Pending | None = changes.finish()
    if found is None:
        return None
    _say(f"finished: a change of keys ({found.change}) that was broken off; `sdcert keys list` shows what is so now")
    return found.change


def _hidden(question: str) -> str:
    return str(typer.prompt(question, hide_input=True, err=True))


def _new_hidden(question: str) -> str:
    return str(typer.prompt(question, hide_input=True, confirmation_prompt="the same again", err=True))


def _new_passphrase(
    wanted: bool | None, purpose: Purpose, *, like: KeyRecord | None = None, home: Home | None = None
) -> str | None:
    """The passphrase of a new key. wanted: none given, then as the environment says, or as the old key has it."""
    if wanted is None and like is not None and home is not None:
        wanted = _place(home, like)["passphrase"] or None
    if wanted is False:
        return None
    ask = _new_hidden if wanted and sys.stdin.isatty() else None
    if wanted and ask is None and not passphrase_given(purpose):
        what = "the new key is to be locked, and there is no terminal to ask for its passphrase"
        remedy = f"set {variable_of(purpose)}, or say --no-passphrase"
        raise InputError(
            "no-terminal", "passphrase of the new key", what, "a terminal, or the passphrase in the environment", remedy
        )
    return choose_passphrase(ask, purpose=purpose)


def _require_key(home: Home, key: str) -> KeyRecord:
    """The key whose id begins like this."""
    records = [record for _, record in key_records(home)]
    found = [record for record in records if key and record.claim.key_id.startswith(key.lower())]
    if len(found) == 1:
        return found[0]
    what = "several keys begin like this" if found else "no key of this home begins like this"
    allowed = ", ".join(record.claim.key_id[:SHORT] for record in found or records) or "no key yet"
    raise InputError("no-such-key", "KEY_ID", what, allowed, "`sdcert keys list` shows them", key)


def _current(home: Home) -> KeyRecord:
    """The record of the key that signs now. Raises InputError: there is none yet, and none is made."""
    return record_of(home, current_id(home) or signing_key(create=False, home=home).key_id)


def _trust(home: Home, *, sealed: bool) -> bytes:
    ledger = KeyChanges(home).ledger.head().ledger
    value = trust_of_home(home, ledger or None).model_dump(mode="json")
    if not value["keys"]:
        _current(home)
    return (
        seal(value, TRUST, signing_key(create=False, ask=find_passphrase_prompt(), home=home).signer)
        if sealed
        else canonical(value)
    )


def _write_new(path: Path, content: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        what, remedy = "this file exists already", "name another, or remove it"
        raise InputError("file-exists", "--output", what, "a file that does not exist", remedy, str(path)) from None
    except OSError as error:
        what, remedy = f"this file cannot be written ({error.strerror})", "name another"
        raise InputError("not-writable", "--output", what, "a file in a folder that you may write", remedy, str(path)) from None


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        what, allowed = "this is no date", "a date (2026-11-21) or a time (2026-11-21T14:00, UTC unless it says otherwise)"
        raise InputError("no-date", "--since", what, allowed, "write it like this: 2026-11-21", text) from None


def _check(kind: Any, text: str, where: str, allowed: str) -> None:
    try:
        TypeAdapter(kind).validate_python(text.strip())
    except ValidationError:
        raise InputError("text", where, "this is too short or too long", allowed, "write another", text) from None


def _place(home: Home, record: KeyRecord) -> dict[str, Any]:
    """Where the private key is, and whether it is locked with a passphrase (None: it is not here)."""
    try:
        content = read_file(pem_path(home, record.claim.key_id), LARGEST_NOTE)
    except OSError:
        return {"private_key": "environment" if _is_environment_key(record) else "not here", "passphrase": None}
    return {"private_key": "file", "passphrase": has_passphrase(content)}


def _is_environment_key(record: KeyRecord) -> bool:
    try:
        private = open_environment_key()
    except InputError:  # locked, or no key: `sdcert doctor` says what is wrong with it
        return False
    return private is not None and id_of(private) == record.claim.key_id


def _about(home: Home, record: KeyRecord) -> list[str]:
    place = _place(home, record)
    if place["private_key"] != "file":
        return [f"  private  {'in ' + PEM_VARIABLE if place['private_key'] == 'environment' else 'not in this home'}"]
    locked = "locked with a passphrase" if place["passphrase"] else "without a passphrase: who can read the file can sign"
    return [f"  private  {pem_path(home, record.claim.key_id)}", f"           {locked}"]


def _tell_new(home: Home, record: KeyRecord) -> None:
    _say(f"made: key {record.claim.key_id}, which signs certificates from now on", *_about(home, record))
    _say("  to do    publish its public key: sdcert keys export -o FILE")


def _say_environment(new: KeyRecord) -> None:
    if os.environ.get(PEM_VARIABLE) and not _is_environment_key(new):
        _say(f"  to do    unset {PEM_VARIABLE}, or set it to the new key: the key in it signs nothing any more")


def _good_until(since: datetime | None) -> str:
    if since is None:
        return "nothing that it signed is good any more"
    return f"what it says it signed before {since:%Y-%m-%d %H:%M %Z} stays good (a date that its holder writes)"


def _describe_affected_signatures(changes: KeyChanges, record: KeyRecord, since: datetime | None) -> str:
    kind, what = ("ended", "certificate") if record.claim.purpose == "certificates" else ("approved", "approval")
    number = changes.count_signatures(record.claim.key_id, kind, since)
    return f"  affected {number:,} {what}{'' if number == 1 else 's'} in the ledger of this home"


def _print(home: Home, record: KeyRecord) -> None:
    claim = record.claim
    _say(f"key {claim.key_id}")
    rows = {
        "for": f"{claim.purpose}; made {_day(claim.created_at)}",
        "name": "" if claim.name == format_default_key_name(claim.key_id) else claim.name,
        "state": _state(record, is_current=claim.key_id == current_id(home)),
        "reason": record.reason or "",
        "private": _private(home, record),
    }
    _say(*(f"  {what:<8} {says}" for what, says in rows.items() if says))


def _state(record: KeyRecord, *, is_current: bool) -> str:
    if record.revoked_at is not None:
        since = record.revoked_since
        return f"revoked {_day(record.revoked_at)}: " + ("nothing is good" if since is None else f"good before {_day(since)}")
    if record.retired_at is not None:
        return f"retired {_day(record.retired_at)}: what it signed until then is good"
    if record.claim.purpose == "approvals":
        return "in use"
    return "current: signs certificates and the ledger" if is_current else "not in use"


def _private(home: Home, record: KeyRecord) -> str:
    place = _place(home, record)
    if place["private_key"] == "environment":
        return f"in {PEM_VARIABLE}"
    if place["private_key"] == "not here":
        return "not in this home"
    return "in this home, locked with a passphrase" if place["passphrase"] else "in this home, without a passphrase"


def _day(when: datetime) -> str:
    return f"{convert_to_utc(when):%Y-%m-%d %H:%M %Z}"


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(escape_terminal(line) + "\n")

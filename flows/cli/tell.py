"""`sdcert tell`: adds, lists, tries and removes receivers. An address is read from the environment or typed, never shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.root import create_group
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.suggestion import did_you_mean

group = create_group(
    "tell",
    "Who is told when a scheduled release is refused or fails. Also when it is quarantined, or due for review.",
)

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

    from flows.notifications.receivers import Receiver, ReceiverList

ASK = "-"

NameArgument = Annotated[str, typer.Argument(help="small letters, digits and dashes", metavar="NAME", show_default=False)]


@group.command()
def add(
    name: NameArgument,
    webhook_env: Annotated[
        str | None,
        typer.Option(
            help="the environment variable that holds the webhook's URL (or any address of Apprise's); - asks for it",
            metavar="VAR",
            show_default=False,
        ),
    ] = None,
    email_env: Annotated[
        str | None,
        typer.Option(
            help="the environment variable that holds mailtos://USER:PASSWORD@SERVER:PORT?from=...&to=...; - asks for it",
            metavar="VAR",
            show_default=False,
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="a notification block that is there: pager-duty-webhook/ours", metavar="TYPE/NAME", show_default=False
        ),
    ] = None,
    internal: Annotated[
        bool,
        typer.Option("--internal", help="the receiver is in your own network: allow plain http, and addresses of that network"),
    ] = False,
    events: Annotated[
        str | None,
        typer.Option(help="of which events, with commas; default: all but certified", metavar="EVENT,...", show_default=False),
    ] = None,
) -> int:
    """Tell somebody from now on. The address is kept as a block of Prefect's and never shown again."""
    from flows.notifications.addresses import create_mail_address, create_webhook_address, forbid_redirects, refuse_internal
    from flows.notifications.receivers import name_block, save_receiver

    if sum(one is not None for one in (webhook_env, email_env, block)) != 1:
        what, allowed = "say how this receiver is reached", "one of --webhook-env, --email-env and --block"
        raise InputError("options", "sdcert tell add", what, allowed, "see `sdcert tell add --help`")
    receiver = _create_receiver(name, block or name_block(name), events).model_copy(update={"internal": internal})
    address = None
    if webhook_env is not None:
        address = create_webhook_address(_ask_address(webhook_env, "--webhook-env"))
    if email_env is not None:
        address = create_mail_address(_ask_address(email_env, "--email-env"))
    if address is not None and not internal:
        refuse_internal(address)
        address = forbid_redirects(address)
    with _open_server_client() as client:
        if address is None:
            _require_block(client, receiver.block, internal=internal)
        else:
            _save(name, address)
        _automate(client, save_receiver(receiver))
    _say(f"{name} is told of {', '.join(receiver.events)}", f"  block  {receiver.block}", f"  to do  sdcert tell test {name}")
    if address is not None and address.startswith("mailto:") and "@" in address.partition("?")[0]:
        _say("  note   mailto:// sends the password unencrypted: use mailtos:// if the server can")
    return 0


@group.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False) -> int:
    """Who is told of what, and which messages wait. No address."""
    from flows.notifications.outbox import Outbox
    from flows.notifications.receivers import ReceiverList

    telling, outbox = ReceiverList.current(), Outbox.current()
    waiting = [message for _, message in outbox.waiting()]
    if as_json:
        receivers = [one.model_dump(mode="json") for one in telling.receivers]
        kept = [one.model_dump(mode="json", exclude={"body"}) for one in waiting]
        found = {"receivers": receivers, "waiting": kept, "given_up": outbox.count_discarded()}
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return 0
    if not telling.receivers:
        _say("nobody is told: sdcert tell add NAME --webhook-env VAR, or --email-env VAR")
    for one in telling.receivers:
        _say(f"{one.name}: {', '.join(one.events)}", f"  block  {one.block}")
    for message in waiting:
        _say(f"waits since {message.since:%Y-%m-%d %H:%M} for {message.block}: {message.subject}")
    if outbox.count_discarded():
        _say(f"{outbox.count_discarded()} messages were given up, too old or too many: {outbox.discard_log}")
    return 0


@group.command()
def test(
    name: Annotated[str | None, typer.Argument(help="default: everybody", metavar="[NAME]", show_default=False)] = None,
) -> int:
    """Send a message now that says it is a test. Exit code 0 if all was taken, 1 if not."""
    from flows.notifications.outbox import SECONDS_PER_MESSAGE, send_by_block
    from flows.notifications.receivers import ReceiverList
    from tasks.runtime.deadlines import run_with_timeout

    receivers = ReceiverList.current().receivers if name is None else (_require_receiver(name),)
    if not receivers:
        what, remedy = "nobody is told", "sdcert tell add NAME --webhook-env VAR, or --email-env VAR"
        raise InputError("no-receiver", "sdcert tell test", what, "a receiver", remedy)
    subject, body = "sdcert: a test", "This is a test of `sdcert tell test`. Nothing happened."
    failed = 0
    with _open_server_client():
        for one in receivers:
            try:
                run_with_timeout(SECONDS_PER_MESSAGE, lambda block=one.block: send_by_block(block, subject, body))  # type: ignore[misc]  # bound now
            except Exception as error:  # its text may hold the address
                failed += 1
                _say(f"{one.name}: NOT taken ({type(error).__name__}): is the address right, and does the receiver answer?")
            else:
                _say(f"{one.name}: taken")
    return 1 if failed else 0


@group.command()
def remove(name: NameArgument) -> int:
    """Tell somebody no longer; the address is deleted if `sdcert tell add` made it."""
    from flows.notifications.outbox import Outbox
    from flows.notifications.receivers import delete_receiver, name_block

    receiver = _require_receiver(name)
    telling = delete_receiver(name)
    Outbox.current().forget(receiver.block)
    with _open_server_client() as client:
        _automate(client, telling)
        if receiver.block == name_block(name):
            _delete(client, receiver.block)
    _say(f"{name} is no longer told")
    return 0


def _create_receiver(name: str, block: str, events: str | None) -> Receiver:
    from pydantic import ValidationError

    from flows.notifications.events import BY_DEFAULT, KINDS
    from flows.notifications.receivers import Receiver

    kinds = BY_DEFAULT if events is None else tuple(word.strip() for word in events.split(","))
    for kind in kinds:
        if kind not in KINDS:
            remedy = did_you_mean(kind, KINDS, "choose among these")
            raise InputError("no-such-event", "--events", "there is no such event", ", ".join(KINDS), remedy, kind)
    try:
        return Receiver(name=name, block=block, events=kinds)  # type: ignore[arg-type]  # checked above
    except ValidationError as error:
        location = str(error.errors()[0]["loc"][0])
        where, allowed = {
            "name": ("NAME", "1 to 50 small letters and digits, with dashes between"),
            "block": ("--block", "TYPE/NAME of a notification block, such as pager-duty-webhook/ours"),
        }[location]
        raise InputError(
            "receiver", where, "this cannot be used", allowed, "correct it", name if location == "name" else block
        ) from None


def _require_receiver(name: str) -> Receiver:
    from flows.notifications.receivers import ReceiverList

    telling = ReceiverList.current()
    found = telling.find_by_name(name)
    if found is None:
        names = [one.name for one in telling.receivers]
        remedy = did_you_mean(name, names, "`sdcert tell list` shows them")
        raise InputError(
            "no-such-receiver", "NAME", "nobody of this name is told", ", ".join(names) or "nobody yet", remedy, name
        )
    return found


def _ask_address(variable: str, option: str) -> str:
    """The address: from the environment, or typed. It is never an argument, where other users could read it."""
    if variable == ASK and sys.stdin.isatty():
        return str(typer.prompt("URL (not shown)", hide_input=True, err=True)).strip()
    found = os.environ.get(variable, "").strip()
    if found:
        return found
    if "://" in variable:
        what, remedy = "this is an address: others on this machine can read command lines", "change it, if it holds a secret"
        raise InputError("address", option, what, "the NAME of an environment variable, or - to be asked", remedy)
    what, remedy = (
        "there is no address in this variable",
        f"export {variable}=..., without writing it into a file that others read",
    )
    raise InputError("no-address", option, what, "an environment variable, or - on a terminal", remedy, variable)


@contextmanager
def _open_server_client() -> Iterator[SyncPrefectClient]:
    """A client of the Prefect server that is named, or of a temporary one on this home's database."""
    from flows.home_server.connection import use_prefect_server

    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    with use_prefect_server() as wait_until_it_answers:
        from prefect import get_client

        wait_until_it_answers()
        with get_client(sync_client=True) as client:
            yield client


def _save(name: str, address: str) -> None:
    from prefect.blocks.notifications import SlackWebhook

    from flows.notifications.receivers import name_block

    saved: Any = SlackWebhook(url=address)
    saved.save(name_block(name).partition("/")[2], overwrite=True, _sync=True)


def _require_block(client: SyncPrefectClient, block: str, *, internal: bool) -> None:
    from prefect.exceptions import ObjectNotFound

    from flows.notifications.addresses import refuse_internal

    kind, _, name = block.partition("/")
    try:
        found = client.read_block_document_by_name(name, kind, include_secrets=not internal)
    except ObjectNotFound:
        what, remedy = "the Prefect server has no such block", "`prefect block ls` shows them"
        raise InputError("no-such-block", "--block", what, "TYPE/NAME", remedy, block) from None
    url = found.data.get("url")
    if not internal and isinstance(url, str):
        refuse_internal(url)


def _delete(client: SyncPrefectClient, block: str) -> None:
    from prefect.exceptions import ObjectNotFound

    kind, _, name = block.partition("/")
    try:
        client.delete_block_document(client.read_block_document_by_name(name, kind, include_secrets=False).id)
    except ObjectNotFound:
        return


def _automate(client: SyncPrefectClient, telling: ReceiverList) -> None:
    from flows.scheduled.automations import ensure_automations

    ensure_automations(client, [one.block for one in telling.receivers])


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(escape_terminal(line) + "\n")

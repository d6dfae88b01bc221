"""Who is told: `telling.yaml` in the private folder names blocks of Prefect's, which hold the addresses.

An address may hold a password, so it is kept by Prefect alone, encrypted in its database. The blocks are of the type «Slack
Webhook»: it hands any address of Apprise's (a mail server, a chat, plain JSON by HTTP) on as it is, names no address in logs
when a sending fails, and every Prefect server knows it. Prefect's general Apprise block cannot be saved, and its custom
webhook writes the address into the server's log when the receiver refuses.
"""

from __future__ import annotations

import io
import logging
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pydantic import Field, StringConstraints
from ruamel.yaml import YAML

from flows.telling.events import BY_DEFAULT, Kind
from tasks.microdata.document import read_document, validated
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Spec
from tasks.runtime.files import locked, write_whole
from tasks.runtime.settings import Home

FILE = "telling.yaml"
OUR_TYPE, OUR_PREFIX = "slack-webhook", "sdcert-"
BLOCK = r"^[a-z0-9-]{1,100}/[a-z0-9-]{1,100}$"

Block = Annotated[str, StringConstraints(pattern=BLOCK)]
ReceiverName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=50)]


class Receiver(Spec):
    """Somebody who is told. block: the type and name of a notification block of Prefect's."""

    name: ReceiverName
    block: Block
    events: Annotated[tuple[Kind, ...], Field(min_length=1)] = BY_DEFAULT


class Telling(Spec):
    """All who are told."""

    receivers: tuple[Receiver, ...] = ()

    @classmethod
    def current(cls) -> Telling:
        """What the home's file says; nobody where there is none. Raises InputError: it cannot be read."""
        path = Home.current().root / FILE
        return validated(cls, read_document(path)) if path.is_file() else cls()

    def named(self, name: str) -> Receiver | None:
        return next((one for one in self.receivers if one.name == name), None)

    def for_event(self, kind: Kind, blocks: tuple[str, ...]) -> tuple[str, ...]:
        """The blocks by which an event is told. blocks: those to use instead of all that are in the file."""
        known = {one.block: one.events for one in self.receivers}
        return tuple(block for block in dict.fromkeys(blocks or known) if kind in known.get(block, BY_DEFAULT))


def with_receiver(receiver: Receiver) -> Telling:
    """Add a receiver to the file, in the place of one of this name."""
    return _changed(receiver.name, receiver)


def without_receiver(name: str) -> Telling:
    return _changed(name, None)


def block_of(name: str) -> str:
    """The block that is ours for a receiver of this name."""
    return f"{OUR_TYPE}/{OUR_PREFIX}{name}"


def address_of_webhook(url: str) -> str:
    """What Apprise makes of a webhook's URL: its own form for a service that it knows, else JSON with `subject` and `text`.

    Raises InputError: neither, or it would be asked for another path or other parameters than these.
    """
    if _plugin(url) is not None:
        return url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _refused("this is no URL of a webhook", "https://..., or an address of Apprise's")
    given = parse_qsl(parts.query, keep_blank_values=True)
    asked = dict(given)
    names = {":message": "text", ":title": "subject", ":version": "", ":type": "", ":attachments": "", "redirect": "no"}
    query = urlencode({**{f"-{name}": value for name, value in asked.items()}, **names}, quote_via=quote)
    address = urlunsplit((parts.scheme.replace("http", "json"), parts.netloc, parts.path, query, ""))
    plugin = _plugin(address)
    if plugin is None or (plugin.fullpath or "") != parts.path or plugin.params != asked or len(given) != len(asked):
        what = "this URL cannot be handed on unchanged"
        raise _refused(what, "one without // ; or %2F in its path, and without twice the same parameter")
    return address


def address_of_mail(url: str) -> str:
    """The address of a mailbox (`mailtos://user:password@example.org?to=...`) that sends plain text."""
    parts = urlsplit(url)
    if parts.scheme not in ("mailto", "mailtos") or _plugin(url) is None:
        raise _refused("this is no mail address of Apprise's", "mailtos://USER:PASSWORD@SERVER:PORT?from=ADDRESS&to=ADDRESS")
    kept = [word for word in parts.query.split("&") if word and not word.lower().startswith("format=")]
    return urlunsplit(parts._replace(query="&".join([*kept, "format=text"])))


def quiet_apprise() -> None:
    """Apprise names an address that it cannot read in its errors: nothing of its is logged."""
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)


def _plugin(address: str) -> Any:
    from apprise import Apprise

    quiet_apprise()
    try:
        return Apprise.instantiate(address)
    except (TypeError, ValueError):
        return None


def _refused(what: str, allowed: str) -> InputError:
    """The URL itself is not shown: it may hold a password."""
    return InputError("address", "the URL of the receiver", what, allowed, "correct it in the environment, or type it again")


def _changed(name: str, receiver: Receiver | None) -> Telling:
    home = Home.current()
    with locked(home.locks / "telling.lock"):
        others = tuple(one for one in Telling.current().receivers if one.name != name)
        telling = Telling(receivers=(*others, *(() if receiver is None else (receiver,))))
        written = io.StringIO()
        YAML(typ="safe", pure=True).dump(telling.model_dump(mode="json"), written)
        write_whole(home.root / FILE, f"# Who is told of scheduled releases; see `sdcert tell`.\n{written.getvalue()}".encode())
    return telling

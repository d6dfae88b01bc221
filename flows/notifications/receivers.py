"""Who is told: `telling.yaml` in the private folder names blocks of Prefect's, which hold the addresses.

An address may hold a password, so it is kept by Prefect alone, encrypted in its database. The blocks are of the type «Slack
Webhook»: it hands any address of Apprise's (a mail server, a chat, plain JSON by HTTP) on as it is, names no address in logs
when a sending fails, and every Prefect server knows it. Prefect's general Apprise block cannot be saved, and its custom
webhook writes the address into the server's log when the receiver refuses.
"""

from __future__ import annotations

import io
from typing import Annotated

from pydantic import Field, StringConstraints
from ruamel.yaml import YAML

from flows.notifications.events import BY_DEFAULT, EventKind
from tasks.microdata.document import read_document, validate_document
from tasks.microdata.spec import Spec
from tasks.runtime.files import hold_file_lock, write_whole
from tasks.runtime.settings import Home

FILE = "telling.yaml"
OUR_TYPE, OUR_PREFIX = "slack-webhook", "sdcert-"
BLOCK = r"^[a-z0-9-]{1,100}/[a-z0-9-]{1,100}$"

BlockName = Annotated[str, StringConstraints(pattern=BLOCK)]
ReceiverName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=50)]


class Receiver(Spec):
    """Somebody who is told. block: the type and name of a notification block of Prefect's.

    internal: whether plain http and addresses of the own network were allowed; None: added before that was asked.
    """

    name: ReceiverName
    block: BlockName
    internal: bool | None = None
    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = BY_DEFAULT


class ReceiverList(Spec):
    """All who are told."""

    receivers: tuple[Receiver, ...] = ()

    @classmethod
    def current(cls) -> ReceiverList:
        """What the home's file says; nobody where there is none. Raises InputError: it cannot be read."""
        path = Home.current().root / FILE
        return validate_document(cls, read_document(path)) if path.is_file() else cls()

    def find_by_block(self, block: str) -> Receiver | None:
        return next((one for one in self.receivers if one.block == block), None)

    def find_by_name(self, name: str) -> Receiver | None:
        return next((one for one in self.receivers if one.name == name), None)

    def for_event(self, kind: EventKind, blocks: tuple[str, ...]) -> tuple[str, ...]:
        """The blocks by which an event is told. blocks: those to use instead of all that are in the file."""
        known = {one.block: one.events for one in self.receivers}
        return tuple(block for block in dict.fromkeys(blocks or known) if kind in known.get(block, BY_DEFAULT))


def save_receiver(receiver: Receiver) -> ReceiverList:
    """Add a receiver to the file, in the place of one of this name."""
    return _replace_receiver(receiver.name, receiver)


def delete_receiver(name: str) -> ReceiverList:
    return _replace_receiver(name, None)


def name_block(name: str) -> str:
    """The block that is ours for a receiver of this name."""
    return f"{OUR_TYPE}/{OUR_PREFIX}{name}"


def _replace_receiver(name: str, receiver: Receiver | None) -> ReceiverList:
    home = Home.current()
    with hold_file_lock(home.locks / "telling.lock"):
        others = tuple(one for one in ReceiverList.current().receivers if one.name != name)
        telling = ReceiverList(receivers=(*others, *(() if receiver is None else (receiver,))))
        written = io.StringIO()
        YAML(typ="safe", pure=True).dump(telling.model_dump(mode="json"), written)
        write_whole(home.root / FILE, f"# Who is told of scheduled releases; see `sdcert tell`.\n{written.getvalue()}".encode())
    return telling

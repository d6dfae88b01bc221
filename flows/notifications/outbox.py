"""Messages that wait: written down before they are sent, sent by whoever tells next, given up when too old or too many.

A message is removed when its receiver has taken it, and its key is remembered, so that the same event is not sent to it
again. Where a sending ended without an answer (a time limit, a crash in between) it is sent again with the same key.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime, SecretStr, ValidationError

from flows.notifications.addresses import quiet_apprise, refuse_internal
from flows.notifications.events import Event, EventKind
from flows.notifications.receivers import FILE, BlockName, ReceiverList
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.microdata.spec import Spec
from tasks.runtime.deadlines import run_with_timeout
from tasks.runtime.files import append_line, hold_file_lock, write_whole
from tasks.runtime.settings import Home

MOST, OLDEST = 200, timedelta(days=14)
REMEMBERED = timedelta(days=60)
SECONDS_PER_MESSAGE = 20.0
SECONDS_PER_RECEIVER = 60.0
GIVEN_UP = "given-up.txt"
UNADDRESSED = "nobody/yet"  # `telling.yaml` could not be read: whom to tell is known when it can

Send = Callable[[str, str, str], None]


class Message(Spec):
    """One event for one receiver."""

    key: str
    block: BlockName
    kind: EventKind
    subject: str
    body: str
    since: AwareDatetime


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """What became of the messages. kept: they wait for the next time, each with why. No address and no text of an error."""

    sent: int = 0
    kept: tuple[str, ...] = ()
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class Outbox:
    """The private folder of messages that wait. send: block, subject and text; raises where the receiver did not take it."""

    folder: Path
    send: Send
    limit_seconds: float = SECONDS_PER_MESSAGE
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    @classmethod
    def current(cls) -> Outbox:
        return cls(Home.current().folder("outbox"), send_by_block)

    def put(self, event: Event, blocks: tuple[str, ...]) -> None:
        """Write down a message for each receiver that has not had it."""
        for block in blocks:
            self._keep(
                Message(key=event.key, block=block, kind=event.kind, subject=event.subject, body=event.body, since=self.now())
            )

    def deliver(self) -> DeliveryReport:
        """Send all that waits; a receiver that does not take one keeps its others for the next time."""
        given_up = self._give_up()
        self._address()
        sent, kept = 0, []
        for block in sorted({message.block for _, message in self.waiting()} - {UNADDRESSED}):
            taken, why = self._deliver_to(block)
            sent += taken
            kept += [f"{block}: {why}"] if why else []
        if any(message.block == UNADDRESSED for _, message in self.waiting()):
            kept.append(f"{FILE} cannot be read: it waits")
        return DeliveryReport(sent, tuple(kept), given_up)

    def waiting(self) -> list[tuple[Path, Message]]:
        """What waits, oldest first."""
        found = [(path, message) for path in self.folder.glob("*.json") if (message := _read(path)) is not None]
        return sorted(found, key=lambda one: (one[1].since, one[1].key))

    def count_discarded(self) -> int:
        """How many were ever given up."""
        return len(read_file(self.discard_log).splitlines()) if self.discard_log.is_file() else 0

    @property
    def discard_log(self) -> Path:
        return self.folder / GIVEN_UP

    def forget(self, block: str) -> None:
        """Drop what waits for a receiver that is no longer told."""
        for path, message in self.waiting():
            if message.block == block:
                path.unlink(missing_ok=True)

    def _keep(self, message: Message) -> None:
        path = self._path(message)
        if not path.exists() and not self._mark(message).exists():
            write_whole(path, message.model_dump_json(indent=1).encode())

    def _address(self) -> None:
        """Give what came while nobody could say whom to tell to those who are told of it."""
        found = [one for one in self.waiting() if one[1].block == UNADDRESSED]
        with suppress(InputError):
            known = ReceiverList.current() if found else ReceiverList()
            for path, message in found:
                for block in known.for_event(message.kind, ()):
                    self._keep(message.model_copy(update={"block": block}))
                path.unlink(missing_ok=True)

    def _deliver_to(self, block: str) -> tuple[int, str | None]:
        lock = Home(self.folder.parent).locks / f"tell.{block.replace('/', '.')}.lock"
        sent, until = 0, time.monotonic() + SECONDS_PER_RECEIVER
        try:
            with hold_file_lock(lock, timeout_seconds=5):
                for path, message in self._waiting_for(block, until):
                    self._send_message(path, message)
                    sent += 1
        except TimeoutError:
            return sent, "no answer in time"
        except Exception as error:
            return sent, type(error).__name__  # its text may hold the address
        return sent, None

    def _waiting_for(self, block: str, until: float) -> Iterator[tuple[Path, Message]]:
        """One after the other, also what others put down meanwhile."""
        while time.monotonic() < until:
            found = next(((path, message) for path, message in self.waiting() if message.block == block), None)
            if found is None:
                return
            yield found

    def _send_message(self, path: Path, message: Message) -> None:
        run_with_timeout(self.limit_seconds, lambda: self.send(message.block, message.subject, message.body))
        write_whole(self._mark(message), b"")
        path.unlink(missing_ok=True)

    def _give_up(self) -> int:
        waiting = self.waiting()
        too_old = [one for one in waiting if one[1].since < self.now() - OLDEST]
        rest = [one for one in waiting if one not in too_old]
        gone = too_old + rest[: max(len(rest) - MOST, 0)]
        for path, message in gone:
            append_line(
                self.folder / GIVEN_UP, f"{self.now():%Y-%m-%dT%H:%M:%SZ} {message.block} {message.subject} {message.key}"
            )
            path.unlink(missing_ok=True)
        self._forget_sent()
        return len(gone)

    def _forget_sent(self) -> None:
        oldest = (self.now() - REMEMBERED).timestamp()
        for mark in (self.folder / "sent").glob("*"):
            with suppress(FileNotFoundError):  # another process may forget it at the same time, or give it its name
                if mark.stat().st_mtime < oldest:
                    mark.unlink()

    def _path(self, message: Message) -> Path:
        return self.folder / f"{_name(message)}.json"

    def _mark(self, message: Message) -> Path:
        return self.folder / "sent" / _name(message)


def send_by_block(block: str, subject: str, body: str) -> None:
    """Send by a notification block of Prefect's; raises where it was not taken, or the block cannot be read.

    An address that led to the internet when it was added, and leads into the own network now, is sent nothing.
    """
    import prefect.blocks.notifications  # noqa: F401  # loading by name finds the types that are imported
    from prefect.blocks.abstract import NotificationBlock
    from prefect.blocks.core import Block as PrefectBlock

    quiet_apprise()
    found = PrefectBlock.load(block, _sync=True)  # type: ignore[call-arg]  # of the dispatcher around it
    if not isinstance(found, NotificationBlock):
        raise TypeError("no notification block")
    receiver, url = ReceiverList.current().find_by_block(block), getattr(found, "url", None)
    if receiver is not None and receiver.internal is False and isinstance(url, SecretStr):
        refuse_internal(url.get_secret_value())
    with found.raise_on_failure():
        found.notify(body, subject, _sync=True)  # type: ignore[call-arg, unused-coroutine]  # of the dispatcher around it


def _name(message: Message) -> str:
    return f"{message.key}.{hashlib.sha256(message.block.encode()).hexdigest()[:16]}"


def _read(path: Path) -> Message | None:
    """None: another process sent it meanwhile, or it is none of ours."""
    try:
        return Message.model_validate_json(read_file(path))
    except (OSError, ValidationError):
        return None

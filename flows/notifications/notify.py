"""`notify`: say what became of a scheduled release to those who want to know. Nothing that goes wrong in it stops a run."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flows.notifications.events import Event, EventKind, create_event, plain
from flows.notifications.outbox import UNADDRESSED, DeliveryReport, Outbox
from flows.notifications.receivers import BLOCK, ReceiverList
from tasks.microdata.errors import InputError
from tasks.runtime.failures import write_private_trace

__all__ = ["DeliveryReport", "Event", "EventKind", "create_event", "notify", "notify_outcome"]


def notify(event: Event | None, blocks: Sequence[str] = ()) -> DeliveryReport:
    """Tell of an event, and of all that waits from before. Never raises; takes a minute for each receiver at the most.

    blocks: the notification blocks (`slack-webhook/sdcert-stewards`) to use instead of those in `telling.yaml`. The same
    event is sent to a receiver once, however often this is called. None tells only of what waits.
    """
    good = tuple(block for block in blocks if re.fullmatch(BLOCK, block))
    wrong = tuple(f"{plain(block)[:100]}: not TYPE/NAME of a block" for block in blocks if block not in good)
    try:
        outbox = Outbox.current()
        if event is not None and (good or not blocks):
            outbox.put(event, _receivers(event.kind, good))
        report = outbox.deliver()
        return replace(report, kept=report.kept + wrong)
    except Exception as error:
        write_private_trace("tell", secrets.token_hex(8), error)
        return DeliveryReport(kept=(f"nothing could be told: {type(error).__name__}",))


def _receivers(kind: EventKind, blocks: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return ReceiverList.current().for_event(kind, blocks)
    except InputError as error:  # the message waits for the file to be mended
        write_private_trace("tell", secrets.token_hex(8), error)
        return blocks or (UNADDRESSED,)


def notify_outcome(
    kind: EventKind | None = None, *, blocks: Sequence[str] = (), run: str | None = None, **known: Any
) -> DeliveryReport:
    """Tell of what became of a run or a flow run: `create_event` and `notify` in one, and as sure as that.

    What cannot be used of the facts is left out; that something happened is told all the same.
    """
    try:
        event = create_event(kind, run=run, **known)
    except Exception as error:
        write_private_trace("tell", secrets.token_hex(8), error)
        event = None if kind is None else Event(kind=kind, about=str(known.get("flow_run") or run or "")[:300])
    return notify(event, blocks)


def tell_waiting() -> DeliveryReport:
    """Send what earlier runs could not send."""
    return notify(None)

"""Parse dates that somebody writes on the command line."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from tasks.microdata.errors import InputError


def parse_timestamp(text: str | None, option: str) -> datetime:
    """The moment that a text names, now without one; InputError for what is no date.

    A date means its end, in UTC: what is to be reviewed by a day is late after any hour of it.
    """
    if text is None:
        return datetime.now(UTC)
    if (day := parse_day(text)) is not None:
        return datetime.combine(day, time.max, UTC)
    try:
        named = datetime.fromisoformat(text)
        return (named if named.tzinfo else named.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        what, allowed = "this is no date", "2028-11-21, or 2028-11-21T09:30:00Z"
        raise InputError("no-date", option, what, allowed, "write it as ISO 8601 does", text) from None


def parse_day(text: str) -> date | None:
    """The day that a text names, without an hour; None where it names none, or a moment."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None

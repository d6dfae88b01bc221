"""The errors of the project: one small hierarchy, raised early, with the object on the exception.

An error has two faces. `str(error)` is for the person at the terminal and may name the value that was wrong. `error.public`
holds the code and the place alone: it is all that may cross into a database, a log or a tracking server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tasks.microdata.escaping import escape_terminal


class SdcertError(Exception):
    """Root of every error that the project raises on purpose."""

    code: str

    @property
    def public(self) -> str:
        """The error without any value: what may be stored and logged."""
        return self.code


@dataclass(eq=False)
class InputError(SdcertError):
    """Something the user gave is wrong (exit code 2).

    Parameters
    ----------
    code: short stable name of the kind of mistake, e.g. `unknown-attribute`; holds no value.
    where: file, and the path inside it (`release.yaml: masking[0].k`, `survey.csv: row 12, column age`); no source value.
    what: one sentence: what is wrong.
    allowed: what would be right.
    remedy: what to do now.
    value: the offending value, shown on the terminal alone. lines: lines of a file that the remedy is about, to be copied.
    """

    code: str
    where: str
    what: str
    allowed: str
    remedy: str
    value: object = None
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        given = [] if self.value is None else [f"  value:   {_shorten_value(self.value)}"]
        lines = [self.what, f"  where:   {self.where}", *given, f"  allowed: {self.allowed}", f"  to do:   {self.remedy}"]
        lines += [f"    {line}" for line in self.lines]
        return "\n".join(map(escape_terminal, lines))  # names stand in all of them, and may hold line breaks and escapes

    @property
    def public(self) -> str:
        return f"{self.code} at {self.where}"


Idle = Literal["not_applicable", "not_followed"]


@dataclass(eq=False)
class NotApplicable(SdcertError):
    """An attack or a measure has nothing to say about this release; `reason` says why, without source values."""

    reason: str
    code = "not-applicable"
    status: ClassVar[Idle] = "not_applicable"

    def __str__(self) -> str:
        return self.reason


@dataclass(eq=False)
class NotFollowed(NotApplicable):
    """sdcert could not compute an attack that this intruder could carry out, e.g. because the table is too large.

    An attack that needs what the declared intruder lacks is not applicable; this one is not known to be harmless.
    """

    code = "not-followed"
    status: ClassVar[Idle] = "not_followed"


@dataclass(eq=False)
class AttackFailed(SdcertError):
    """An attack should have run and could not (its assumptions do not hold on the data); `reason` holds no source values."""

    reason: str
    code = "attack-failed"

    def __str__(self) -> str:
        return self.reason


@dataclass(eq=False)
class StorageUnreachable(SdcertError):
    """A place that several machines share does not answer, or refuses; `reason` is the kind of error, and holds no address."""

    reason: str
    code = "place-away"

    def __str__(self) -> str:
        return f"the shared place does not answer, or refuses ({self.reason})"


def _shorten_value(value: object, longest: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"

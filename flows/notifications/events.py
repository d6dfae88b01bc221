"""What is told of a scheduled release, and in which words: names, the verdict, codes and figures that the public report has.

No value or path of a source can be in a message: an event has no place for one, and what is written by others (names of
columns, codes of errors) passes through `plain` and `public_code`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints

from flows.run.criterion_text import criterion_in_words
from tasks.audit.ledger.entries import RunEnded
from tasks.audit.lookup.index import Index
from tasks.microdata.canonical import canonical
from tasks.microdata.spec import Slug, Spec

EventKind = Literal["refused", "undecided", "failed", "quarantined", "timed_out", "review_due", "certified"]
KINDS: tuple[EventKind, ...] = get_args(EventKind)
BY_DEFAULT = KINDS[:-1]
MOST_LINES, LONGEST_NAME = 20, 200

_WORDS: dict[EventKind, str] = {
    "refused": "was refused",
    "undecided": "could not be decided",
    "failed": "failed: no verdict came of it",
    "quarantined": "has a new version in quarantine; what was certified before stays",
    "timed_out": "was stopped at its time limit",
    "review_due": "is due for review",
    "certified": "is certified",
}
_SHORT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,80}")
_WITH_LOCATION = re.compile(r"[A-Za-z_]\w{0,80} in [\w<>]{1,80}, line \d{1,7}(?: \([0-9a-f]{16}\))?")
_PUNCTUATION = frozenset(" .,;:()%/_-+='?")


def public_code(code: object) -> object:
    """The kind of an error, and its place in the program where it has one.

    What the user gave has a place too (a file, a row), and a file can be named after a person: it is cut off.

    Example: `no-such-column at survey-2026.csv: row 12` is `no-such-column`; `ValueError in read, line 7` stays.
    """
    if not isinstance(code, str):
        return code
    found = _WITH_LOCATION.fullmatch(code) or _SHORT.fullmatch(code.partition(" at ")[0])
    return found[0] if found else "unknown"


def plain(text: str) -> str:
    """The text with all that a mail, a chat or a template could take for more than text as its code (`\\u003c` for `<`)."""
    return "".join(one if one.isalnum() or one in _PUNCTUATION else f"\\u{ord(one):04x}" for one in text)


def _plain(text: object) -> object:
    return plain(text)[:LONGEST_NAME] if isinstance(text, str) else text


Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{1,60}$")]
Plain = Annotated[str, BeforeValidator(_plain)]


class Event(Spec):
    """Something that a person should know.

    release, series, deployment, flow_run: as far as they are known. lines: of the policy that were not kept, in words, as the
    public report has them. code: see `public_code`. due: the day of the review. about: what tells two events apart where no
    run does (a keyed digest of a source; the flow run, if nothing else is given); it is not told itself.
    """

    kind: EventKind
    release: Slug | None = None
    series: Slug | None = None
    run: Id | None = None
    deployment: Plain | None = None
    flow_run: Id | None = None
    lines: tuple[str, ...] = ()
    code: Annotated[str, BeforeValidator(public_code)] | None = None
    due: AwareDatetime | None = None
    about: Annotated[str, StringConstraints(max_length=300)] = Field(default="", repr=False)

    @property
    def key(self) -> str:
        """The same for the same event, whoever tells of it and however often."""
        apart = (self.series, self.release, self.deployment, self.about or self.flow_run)
        identity = (self.kind, self.run) if self.run else (self.kind, *apart)
        return hashlib.sha256(canonical([*identity, None if self.due is None else self.due.isoformat()])).hexdigest()[:32]

    @property
    def subject(self) -> str:
        return f"sdcert: {self._subject_name} {_WORDS[self.kind].partition(':')[0]}"

    @property
    def body(self) -> str:
        return "\n".join(self._sentences())

    @property
    def _subject_name(self) -> str:
        return self.release or self.deployment or "something scheduled"

    def _sentences(self) -> Iterator[str]:
        yield f"{self._subject_name} {_WORDS[self.kind]}."
        named = {"Release": self.release, "Series": self.series, "Run": self.run, "Code": self.code}
        named |= {"Deployment": self.deployment, "Flow run of Prefect's": self.flow_run}
        yield from (f"{name}: {value}" for name, value in named.items() if value is not None)
        if self.due is not None:
            yield f"Review by: {self.due:%Y-%m-%d}"
        if self.lines:
            yield "Lines of the policy that were not kept:"
            yield from (f"- {plain(line)}" for line in self.lines[:MOST_LINES])
        if len(self.lines) > MOST_LINES:
            yield f"- and {len(self.lines) - MOST_LINES} more"
        yield f"Where to look: {self._where_to_look()}"
        yield f"Message {self.key}: one that comes twice is the same event."

    def _where_to_look(self) -> str:
        if self.kind == "quarantined":
            return "sdcert quarantine list"
        if self.run is not None:
            return f"sdcert audit show {self.run}"
        match self.kind:
            case "review_due":
                return "sdcert audit due"
            case _:
                return "sdcert audit find" if self.series is None else f"sdcert audit find --series {self.series}"


def create_event(kind: EventKind | None = None, *, run: str | None = None, **known: Any) -> Event | None:
    """An event with all that the ledger says of its run, where there is one.

    kind: what happened; None: what the ledger says of how the run ended. known: the other fields of `Event`.
    Returns None where nothing is to be event_kind: the run did not end, or a person broke it off.
    """
    ended = _find_ending(run) if run else None
    event_kind = kind or (ended.outcome if ended else None)
    if event_kind is None or event_kind == "interrupted":
        return None
    if ended is None:
        return Event(kind=event_kind, run=run, **known)
    lines = tuple(f"{line['decision']}: {criterion_in_words(line)}" for line in ended.criteria if line["decision"] != "pass")
    due = ended.review_by if event_kind == "review_due" else None
    facts = {"release": ended.release, "series": ended.series, "lines": lines, "code": ended.code, "due": due}
    return Event(kind=event_kind, run=ended.run, **{**known, **facts})


def _find_ending(run: str) -> RunEnded | None:
    with Index.current() as index:
        return index.run(run).ending if index.begin_so(run) == [run] else None

"""`sdcert check --upgrade`: write down which lines an older release file lacks, as questions that a person must answer."""

from __future__ import annotations

import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported

# isort: split
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from flows.cli.draft.edit import add_to_mapping, append_entry
from flows.cli.draft.limit_question import write_limit_question
from flows.cli.terminal import terminal
from flows.limits import create_disclosure_subject, load_classified, refuse_weak_membership
from flows.questions import DECIDE, NOT_LIMITED, extract_questions
from flows.release_file import load_draft, locate_error
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_text_file
from tasks.runtime.files import write_whole
from tasks.score.kinds import WHAT_IT_IS, Subject, find_unlimited_kinds, refuse_silence
from tasks.score.measure import DisclosureKind


def upgrade(path: Path) -> None:
    """Write a question into a release file for each kind of disclosure that its policy leaves out.

    Every other line stays as it is, and so does a question on a kind that is open already, whatever it asks. `certify`
    refuses the file until a person has answered; `check --answer` asks.
    Raises InputError as `check` does, and where the file cannot be written.
    """
    open_ones = extract_questions(read_document(path))[1]
    release = load_draft(path)
    try:
        schema, data = load_classified(release)
        subject = create_disclosure_subject(release, schema, data)
        missing = find_unlimited_kinds(release.policy, subject)
        left_out = {kind: what for kind, what in missing.items() if release.not_limited.reason(kind) is None}
        if not left_out:  # reasons may stand where only a limit will do
            refuse_silence(release.policy, release.not_limited, subject)
            refuse_weak_membership(release)
    except InputError as error:
        raise locate_error(error, path) from None
    out, text = terminal(soft_wrap=True), read_text_file(path, encoding="utf-8-sig")
    asked: list[str] = []
    for kind, question in _list_questions(left_out, subject):
        if not any(one.question == question or one.location == (NOT_LIMITED, kind) for one in open_ones):
            text, asked = _ask(text, kind, question), [*asked, kind or "identity"]
    names = ", ".join(dict.fromkeys(asked or left_out))
    if not left_out:
        out.print(escape_terminal(f"{path}: the policy answers every kind of disclosure that is asked; nothing was written"))
    elif not asked:
        out.print(
            escape_terminal(f"{path}: the questions on {names} stand in it already, and are not answered; nothing was written")
        )
    else:
        _write(path, text)
        count = f"{len(asked)} open question{'s were' if len(asked) > 1 else ' was'}"
        out.print(escape_terminal(f"{path}: {count} written into it, on {names}"))
    if left_out:
        out.print("Answer each of them with a limit or a reason:")
        out.print(f"  sdcert check --answer {shlex.quote(escape_terminal(str(path)))}")


def _list_questions(
    left_out: Mapping[DisclosureKind, tuple[str, ...]], subject: Subject
) -> Iterator[tuple[DisclosureKind | None, str]]:
    """What is asked, and the kind for which a reason may stand; None where only a line of the policy will do."""
    for kind, measures in left_out.items():
        if kind == "identity" and not subject.not_for_publication:
            yield from ((None, f"Which limit, where {WHAT_IT_IS[kind]}? `{measure}, at_most: ...`") for measure in measures)
        else:
            yield kind, write_limit_question(kind, measures, subject)


def _ask(text: str, kind: DisclosureKind | None, question: str) -> str:
    entry = {DECIDE: question}
    return append_entry(text, "policy", entry) if kind is None else add_to_mapping(text, NOT_LIMITED, kind, entry)


def _write(path: Path, text: str) -> None:
    try:
        target = path.resolve()
        write_whole(target, text.encode(), mode=stat.S_IMODE(target.stat().st_mode), whatever_umask=True)
    except OSError as error:
        what = f"the file cannot be written ({error.strerror})"
        remedy = "correct its permissions, or upgrade a copy of it"
        raise InputError(
            "unwritable", "sdcert check --upgrade", what, "a file that can be written", remedy, str(path)
        ) from None

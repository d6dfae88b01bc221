"""`sdcert check --answer`: ask the open questions of a release file one by one, and write what is answered into it."""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from flows.cli.draft.edit import add_field, add_to_mapping, append_entry, delete_entry, replace_entry
from flows.cli.draft.limit_question import write_limit_question
from flows.cli.terminal import terminal
from flows.questions import DECIDE, NOT_LIMITED, OpenQuestion, extract_questions
from tasks.ingest.codebooks.codebook import AttributeDeclaration
from tasks.microdata.document import Document, Path_, find_value, format_dotted_path, read_document
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_text_file
from tasks.microdata.schema import Role
from tasks.microdata.spec import Spec
from tasks.runtime.files import write_whole
from tasks.score.kinds import KINDS, Subject, begins_as_policy_line, can_fail, find_kind, find_unlimited_kinds
from tasks.score.measure import DisclosureKind
from tasks.score.policy import PolicyLine, cannot_fail

if TYPE_CHECKING:
    from flows.release import ReleaseSpec

AskPerson = Callable[[str], str]
LATER, DELETE, QUIT = "later", "delete", "quit"
KEEP = "keep it as it stands"
CONTROL = 0.2  # the share of the people who are set aside, where a limit on membership needs some
_SNIPPET = re.compile(r"`([^`]+)`")


def answer_questions(path: Path, ask: AskPerson | None = None) -> None:
    """Ask each open question of a release file, and write each answer into the file as soon as it is given.

    ask: puts a prompt and returns what was typed; default: whoever sits at the terminal.
    Raises InputError where nobody sits there, and for a file that is no release file.
    """
    _, questions = extract_questions(read_document(path))
    console = terminal(soft_wrap=True)
    if not questions:
        console.print(f"{escape_terminal(str(path))}: no question is open")
        return
    if ask is None and not (sys.stdin.isatty() and console.is_terminal):
        raise InputError(
            "no-terminal",
            "sdcert check --answer",
            f"Questions are open ({len(questions)}), and nobody sits at this terminal to answer them.",
            "a terminal that reads and writes",
            f"run it in a terminal, or edit {path}: change what a question is about and delete its `decide`",
        )
    for i, question in enumerate(questions):
        console.print(f"\nQuestion {i + 1} of {len(questions)}: {escape_terminal(format_dotted_path(question.location))}")
        if not _ask_until_answered(path, question, ask or console.input, lambda text: console.print(escape_terminal(text))):
            break
    left = len(extract_questions(read_document(path))[1])
    console.print(f"\n{escape_terminal(str(path))}: {left or 'no'} question{'s' * (left != 1)} left open\n")


def _ask_until_answered(path: Path, question: OpenQuestion, ask: AskPerson, say: Callable[[str], None]) -> bool:
    """Ask until the answer fits; returns whether to go on with the next question."""
    document = read_document(path)
    location = _place_now(document, question)
    if location is None:
        return True  # an earlier answer has deleted what it is about
    fields = {name: value for name, value in _find_entry(document, location).items() if name != DECIDE}
    offered = _list_offers(question)
    say(f"  {question.question}")
    keeps = bool(fields) or location[0] == "attributes"
    ways = [f"{KEEP}: {_describe(fields) or 'declared as nothing'} (proposed)"] if keeps else []
    ways += [_describe(fields | one) for one in offered]
    for number, way in enumerate(ways, start=1):
        say(f"  {number}  {way}")
    say(f"  {_explain_answers(location)}")
    while True:
        given = ask("  answer [1]: " if keeps else "  answer: ").strip() or ("1" if keeps else "")
        if given in (LATER, QUIT):
            return given == LATER
        try:
            meant = _interpret(given, location, offered, keeps=keeps)
            text = _apply_answer(document, question, location, fields, meant)
            release = _load_answered(path, text)
            asked, rest = next((kind for kind in KINDS if location == (NOT_LIMITED, kind)), None), None
            if location[0] in (NOT_LIMITED, "policy") and isinstance(meant, dict):
                rest = _refuse_idle_limit(release, fields | meant, asked)
        except InputError as error:
            for line in f"That does not fit. {error}".splitlines():
                say(f"  {line}")
            continue
        if rest is not None and asked is not None:  # the line answers a part of it: what is left is asked in its place
            text = add_to_mapping(text, NOT_LIMITED, asked, {DECIDE: rest})
        mode = stat.S_IMODE(path.stat().st_mode)
        write_whole(path.resolve(), text.encode(), mode=mode, whatever_umask=True)
        if rest is None:
            return True
        say(f"  That line answers a part of the question ({asked}). The rest of it:")
        return _ask_until_answered(path, OpenQuestion(location, rest, question.line, alone=True), ask, say)


def _explain_answers(location: Path_) -> str:
    others = f"`{LATER}` leaves it open, `{QUIT}` stops"
    if location[0] == NOT_LIMITED:
        return f"write a policy line (measure: NAME, at_most: LIMIT), or in a sentence why there is no limit; {others}"
    if location[0] == "attributes":
        return f"or write fields, for example `role: withheld`; {others}"
    return f"or write fields (name: value, ...), or `{DELETE}`; {others}"


def _interpret(given: str, location: Path_, offered: list[dict[str, Any]], *, keeps: bool) -> dict[str, Any] | str:
    """What was typed: the fields to change, or a text (`delete`, or a reason)."""
    if given.isdecimal():
        ways = [*([{}] if keeps else []), *offered]
        if 1 <= int(given) <= len(ways):
            return ways[int(given) - 1]
        raise _create_unfit_error("There is no such number.", f"1 to {len(ways)}" if ways else "fields", given)
    if not given:
        raise _create_unfit_error("Nothing was written.", "a sentence, or `name: value, name: value`", given)
    fields = _parse_fields(given.strip("`"))
    if fields and (location[0] != NOT_LIMITED or set(fields) <= set(PolicyLine.model_fields)):  # a reason may hold a colon
        return fields
    if location[0] == NOT_LIMITED:
        if len(given.split()) == 1:
            what = "One word is no reason: a reason is signed, and stands beside the verdict."
            raise _create_unfit_error(what, "a policy line (measure: NAME, at_most: LIMIT), or a sentence", given)
        if begins_as_policy_line(given):
            what = "This begins as a policy line, and cannot be read as one; as a reason it would be signed and limit nothing."
            allowed = f"a policy line (measure: NAME, at_most: LIMIT) with fields among {', '.join(PolicyLine.model_fields)}"
            raise _create_unfit_error(what, f"{allowed}; or a sentence that begins otherwise", given)
        return given
    if given == DELETE and location[0] != "attributes":
        return given
    raise _create_unfit_error("That is no field with a value.", "a number of the list, or `name: value, name: value`", given)


def _apply_answer(
    document: Document, question: OpenQuestion, location: Path_, fields: dict[str, Any], meant: dict[str, Any] | str
) -> str:
    """The text of the file as it is after the answer."""
    text = read_text_file(document.path, encoding="utf-8-sig")
    if location[0] == NOT_LIMITED:
        if isinstance(meant, str):
            return replace_entry(text, location, meant)
        if "measure" not in meant:
            raise _create_unfit_error("The line names no measure.", "measure: NAME, at_most: LIMIT", _describe(meant))
        text = append_entry(delete_entry(text, location), "policy", meant)
        if str(meant["measure"]).startswith("membership_") and "control" not in document.content:
            text = add_field(text, "control", CONTROL)
        return text
    if isinstance(meant, str):
        return delete_entry(text, location)
    entry = fields | meant
    if "missing" in fields and "missing" in meant:
        entry["missing"] = [*dict.fromkeys([*fields["missing"], *meant["missing"]])]
    if entry.get("role") != str(Role.DERIVED):
        entry.pop("from", None)
    if not entry and location[0] != "attributes":
        raise _create_unfit_error("There is nothing here that could be kept.", f"fields, or `{DELETE}`", "")
    left = [one for one in _list_questions(_find_entry(document, location)) if one != question.question]
    text = replace_entry(text, location, entry | ({DECIDE: left if len(left) > 1 else left[0]} if left else {}))
    if location[0] == "attributes" and "role" in meant and meant["role"] != fields.get("role"):
        text = _adjust_masks(text, document, str(location[1]), str(meant["role"]))
    return text


def _adjust_masks(text: str, document: Document, name: str, role: str) -> str:
    """A column that is not known to an intruder any more leaves the masks; one that is joins the first microaggregation."""
    steps = document.content.get("masking") or []
    lists = {i: step["attributes"] for i, step in enumerate(steps) if isinstance(step.get("attributes"), list)}
    for i, names in lists.items():
        if role != str(Role.QUASI_IDENTIFIER) and name in names and len(names) > 1:
            text = replace_entry(text, ("masking", i, "attributes"), [one for one in names if one != name])
    joined = next((i for i in lists if steps[i].get("method") == "microaggregation"), None)
    if role == str(Role.QUASI_IDENTIFIER) and joined is not None and not any(name in names for names in lists.values()):
        text = replace_entry(text, ("masking", joined, "attributes"), [*lists[joined], name])
    return text


def _load_answered(path: Path, text: str) -> ReleaseSpec:
    """The release that the file would be. InputError if it could not be read any more: a slip is told before it is written."""
    from flows.release_file import load_draft

    beside = path.with_name(f".{path.name}.answer")
    write_whole(beside, text.encode())
    try:
        return load_draft(beside)
    except InputError as error:
        raise replace(error, where=error.where.replace(str(beside), str(path))) from None
    finally:
        beside.unlink()


def _refuse_idle_limit(release: ReleaseSpec, fields: dict[str, Any], asked: DisclosureKind | None) -> str | None:
    """InputError for a limit that cannot fail on the release, or does not limit the kind that is asked about, as in `check`.

    fields: the line, which the release has. asked: the kind; None: the question was not about one.
    Returns what is still to be asked about the kind, because it takes more than one line; None: nothing.
    """
    line = PolicyLine.model_validate_json(json.dumps(fields))
    subject = _find_subject(release)
    idle = cannot_fail(line) if subject is None else not can_fail(line, subject)
    if idle:
        allowed = f"a limit that can fail on this release, tighter than {line.limit:g}"
        raise _create_unfit_error(f"That limit cannot fail: {line.measure} is never beyond it.", allowed, _describe(fields))
    if asked is None:
        return None
    after: tuple[str, ...] = ()
    if subject is None:
        lacks = find_kind(line) != asked
    else:
        before, after = (find_unlimited_kinds(lines, subject).get(asked, ()) for lines in (release.policy[:-1], release.policy))
        lacks = bool(after) and len(after) == len(before)
    if lacks:
        what = f"With that line alone the policy still says nothing on this kind of disclosure ({asked})."
        raise _create_unfit_error(
            what, f"a line on {asked} as a whole, or in a sentence why there is no limit", _describe(fields)
        )
    return write_limit_question(asked, after, subject) if after and subject is not None else None


def _find_subject(release: ReleaseSpec) -> Subject | None:
    """What of the release decides which limits can fail; None as long as its table does not fit its file."""
    from flows.limits import create_disclosure_subject, load_classified

    try:
        return create_disclosure_subject(release, *load_classified(release))
    except InputError:
        return None


def _place_now(document: Document, question: OpenQuestion) -> Path_ | None:
    """Where a question stands now: entries above it may have been deleted."""
    same = (one.location for one in extract_questions(document)[1] if one.question == question.question)
    return next(
        (location for location in same if location == question.location or _are_both_in_a_list(location, question.location)),
        None,
    )


def _are_both_in_a_list(location: Path_, other: Path_) -> bool:
    return location[0] == other[0] and isinstance(location[1], int)


def _find_entry(document: Document, location: Path_) -> dict[str, Any]:
    found: dict[str, Any] = find_value(document.content, location)
    return found


def _list_questions(entry: dict[str, Any]) -> list[str]:
    given = entry[DECIDE]
    return given if isinstance(given, list) else [given]


def _list_offers(question: OpenQuestion) -> list[dict[str, Any]]:
    """The ways out that a question names: what it has in backquotes, where that is fields of what it asks about."""
    models: dict[str, type[Spec]] = {"attributes": AttributeDeclaration, "policy": PolicyLine, NOT_LIMITED: PolicyLine}
    model = models.get(str(question.location[0]))
    if model is None:
        return []
    names = {*model.model_fields, *(field.alias for field in model.model_fields.values())}
    found = (_parse_fields(snippet) for snippet in _SNIPPET.findall(question.question))
    return [one for one in found if one and set(one) <= names and _is_valid(model, one)]


def _is_valid(model: type[Spec], fields: dict[str, Any]) -> bool:
    try:
        model.model_validate(fields, strict=False)
    except ValidationError:
        return False
    return True


def _parse_fields(text: str) -> dict[str, Any] | None:
    """`role: weight, scale: numeric` as a mapping; None where it is none."""
    try:
        found = YAML(typ="safe", pure=True).load(text if text.startswith("{") else f"{{{text}}}")
    except (YAMLError, ValueError):
        return None
    return found if isinstance(found, dict) and all(value is not None for value in found.values()) else None


def _describe(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in fields.items())


def _create_unfit_error(what: str, allowed: str, value: str) -> InputError:
    return InputError("answer", "the answer", what, allowed, "answer again", value or None)

"""Open questions of a release file: what only a person can know stands at the place that it is about, as `decide: <question>`.

A question is no part of a release: it is taken out of the file before the release is read, so that no record holds one.
Whoever asks for a run gets the questions as an error; `sdcert check` lists them, and `sdcert check --answer` asks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tasks.microdata.document import Document, Path_, format_dotted_path
from tasks.microdata.errors import InputError

DECIDE = "decide"
NOT_LIMITED = "not_limited"
MAPPINGS = ("attributes", NOT_LIMITED)  # an entry with a question is found under its name
LISTS = ("masking", "policy")
LONGEST_QUESTION = 1000
EXAMPLE = '`decide: "is this a code or a number?"`, or a list of such questions'


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """One question of a release file. location: of the entry that it is about. number: among its questions.

    alone: the entry holds nothing else.
    """

    location: Path_
    question: str
    line: int
    number: int = 0
    alone: bool = False

    @property
    def about(self) -> str:
        """`attributes.REGION (line 12)`"""
        return f"{format_dotted_path(self.location)} (line {self.line})"


def extract_questions(document: Document) -> tuple[Document, tuple[OpenQuestion, ...]]:
    """Take the open questions out of a document; returns it without them, and them in the order of the file.

    An entry that held nothing but a question goes with it: a line of the policy that is still to be written, or a kind of
    disclosure that nobody has decided about. An attribute stays, because its name is a declaration by itself.

    Raises InputError for a question that is no text.
    Example: `policy: [{decide: "which limit?"}]` becomes `policy: []` and the question at `policy[0]`.
    """
    content, found, numbers = dict(document.content), list[OpenQuestion](), dict[str, tuple[int, ...]]()
    for name, key, entry in _entries(document.content):
        questions = _questions_at(document, (name, key), entry)
        found += questions
        rest = {field: value for field, value in entry.items() if field != DECIDE}
        content[name] = _replace_entry(content[name], key, rest if rest or name == "attributes" else None)
    for name in LISTS:
        if isinstance(content.get(name), list):
            numbers[name] = tuple(i for i, entry in enumerate(content[name]) if entry is not _GONE)
            content[name] = [content[name][i] for i in numbers[name]]
    if found and content.get(NOT_LIMITED) == {}:
        del content[NOT_LIMITED]
    return replace(document, content=content, numbers=numbers), tuple(sorted(found, key=lambda one: (one.line, one.number)))


def refuse_open_questions(document: Document, questions: tuple[OpenQuestion, ...]) -> None:
    """InputError that names every place with an open question; nothing where there is none."""
    if not questions:
        return
    locations = ", ".join(dict.fromkeys(one.about for one in questions))
    count = "one open question" if len(questions) == 1 else f"{len(questions)} open questions"
    raise InputError(
        "open-question",
        document.where(questions[0].location),
        f"The release file has {count}, at {locations}.",
        "a release file without `decide`: each question answered by a person",
        f"answer them one by one with `sdcert check --answer {document.path}`, or edit what is asked about and delete `decide`",
    )


_GONE: Any = object()


def _entries(content: Any) -> Iterator[tuple[str, str | int, dict[str, Any]]]:
    """Each entry with a question: the part of the file, its name or number there, its fields."""
    for name in (*MAPPINGS, *LISTS):
        part = content.get(name)
        numbered = enumerate(part) if isinstance(part, list) else ()
        for key, entry in part.items() if isinstance(part, dict) else numbered:
            if isinstance(entry, dict) and DECIDE in entry:
                yield name, key, entry


def _replace_entry(part: Any, key: str | int, entry: dict[str, Any] | None) -> Any:
    if isinstance(part, list):
        return [(_GONE if entry is None else entry) if i == key else one for i, one in enumerate(part)]
    return {name: one if name != key else entry for name, one in part.items() if name != key or entry is not None}


def _questions_at(document: Document, location: Path_, entry: dict[str, Any]) -> list[OpenQuestion]:
    given = entry[DECIDE]
    questions = given if isinstance(given, list) else [given]
    for question in questions or [None]:
        if not isinstance(question, str) or not question.strip() or len(question) > LONGEST_QUESTION:
            what = "That is no question."
            allowed = f"a text of 1 to {LONGEST_QUESTION:,} characters: {EXAMPLE}"
            where = document.where((*location, DECIDE))
            raise InputError("no-question", where, what, allowed, "write the question, or delete `decide`", question)
    line = document.line_of((*location, DECIDE))
    alone = set(entry) == {DECIDE}
    return [OpenQuestion(location, question, line, i, alone) for i, question in enumerate(questions)]


def allow_questions(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of release files, in which the entries of its parts may hold a question; for editors."""
    properties, definitions = schema["properties"], schema["$defs"]
    question: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION}
    decide = {
        "anyOf": [question, {"type": "array", "items": question, "minItems": 1}],
        "description": "a question that is still open, or several: nothing is certified before a person has answered them",
    }
    alone = {"type": "object", "properties": {DECIDE: decide}, "required": [DECIDE], "additionalProperties": False}
    for form in properties["attributes"]["additionalProperties"]["anyOf"]:
        if "properties" in form:
            form["properties"][DECIDE] = decide
    masking = next(form for form in properties["masking"]["anyOf"] if form.get("type") == "array")
    steps = [form["$ref"] for form in masking["items"]["oneOf"]]
    for reference in (*steps, properties["policy"]["items"]["$ref"]):
        definitions[reference.rpartition("/")[2]]["properties"][DECIDE] = decide
    masking["items"] = {"anyOf": [masking["items"], alone]}
    properties["policy"]["items"] = {"anyOf": [properties["policy"]["items"], alone]}
    for reason in definitions["NotLimited"]["properties"].values():
        reason["anyOf"].append(alone)
    return schema

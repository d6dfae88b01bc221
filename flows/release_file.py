"""Read a release file: it becomes a `ReleaseSpec`, and each mistake in it an error with its line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from flows.questions import extract_questions, refuse_open_questions
from flows.release import UNIT_KEYS, Published, ReleaseSpec, collect_policy_names, include_omitted_attacks
from tasks.attack.plan import check_attacks
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.codebooks.codebook_file import load_codebook, merge_codebook
from tasks.ingest.sources import SourceSpec
from tasks.mask.coding.recoding import load_mappings
from tasks.mask.control import FEWEST, LARGEST_SHARE
from tasks.microdata.document import Document, Path_, find_value, format_dotted_path, read_document, validate_document
from tasks.microdata.errors import InputError
from tasks.report.publication import Context
from tasks.score.kinds import refuse_limits_as_reasons
from tasks.score.policy import check_policy

WHOLE_FILE = "(the whole file)"
_WORD = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*")
_LISTS = ("attacks", "membership", "measures")  # of parts that a message may name by their own names
_NAMES = ("method", "measure", "id")
# As pydantic says it; what is allowed stands in a line of its own.
_UNKNOWN = re.compile(r"input tag '([^']*)' found using '(\w+)' does not match any of the expected tags: [^()]*[^() ]")
_NO_SHARE = re.compile(r"(?:input should be (?:less|greater)|a number is expected)[^()]*[^() ]")
_SHARE = f"a share above 0 and less than or equal to {LARGEST_SHARE:g}, of {FEWEST} records or more, or a table: {{table: ...}}"
_SYNTHETIC = "if the table is fully synthetic, say so (`released: {table: ..., align: none}`); else name one of these"


def load_release(path: Path) -> ReleaseSpec:
    """Read and check a release file without touching its data. InputError says what is wrong, where, and what to do.

    A file with open questions is refused: nothing may be made of it before a person has answered them.
    """
    document, questions = extract_questions(read_document(path))
    refuse_open_questions(document, questions)
    return load_release_document(document)


def load_draft(path: Path) -> ReleaseSpec:
    """As `load_release`, but open questions (`decide`) are left out instead of refused."""
    return load_release_document(extract_questions(read_document(path))[0])


def load_release_document(document: Document) -> ReleaseSpec:
    """The release that a document describes; an error gets its line here, from the document that is read."""
    try:
        release = validate_document(ReleaseSpec, document)
        try:
            release = _resolve_files(_check_parts(release), document.path.parent)
        except InputError as error:
            raise locate_error(error, document) from None
        attributes = release.attributes
        if release.codebook is not None:
            attributes = merge_codebook(attributes, load_codebook((document.path.parent / release.codebook).absolute()))
        return release.model_copy(update={"attributes": add_unit_roles(release, attributes)})
    except InputError as error:
        raise _refine_error(error, document) from None


def _check_parts(release: ReleaseSpec) -> ReleaseSpec:
    """Do attacks, policy and the intruder's files fit together? The release with the attacks that `omit` names."""
    if release.kind.is_table:
        keeps_row_order = release.keep_row_order is not None
        check_attacks(release.attacks_to_run, release.omit, release.steps_to_face, keeps_row_order=keeps_row_order)
        release = include_omitted_attacks(release)
    check_policy(release.policy, collect_policy_names(release))
    refuse_limits_as_reasons(release.not_limited)
    _ = release.intruder.file_holders  # refuses names of files that do not fit
    return release


def _resolve_files(release: ReleaseSpec, folder: Path) -> ReleaseSpec:
    """The release with absolute paths instead of those relative to the folder of its file, and with its mapping files read."""
    found = {name: source.resolve_path(folder) for name in ("source", "released") if (source := getattr(release, name))}
    if isinstance(release.control, SourceSpec):
        found["control"] = release.control.resolve_path(folder)
    if release.release is not None:
        found["release"] = Published(model=release.release.model.resolve_path(folder))
    files = tuple(file.resolve_path(folder) for file in release.intruder.files)
    found["intruder"] = release.intruder.model_copy(update={"files": files})
    found["context"] = _resolve_prior_tables(release.context, folder)
    if release.masking is not None:
        found["masking"] = load_mappings(release.masking, folder, "masking")
    if "released" in found:
        mechanism = load_mappings(found["released"].mechanism, folder, "released.mechanism")
        found["released"] = found["released"].model_copy(update={"mechanism": mechanism})
    return release.model_copy(update=found)


def _resolve_prior_tables(context: Context, folder: Path) -> Context:
    """The context with absolute paths of the tables of earlier releases, and with their mapping files read."""
    if context.prior_releases is None:
        return context
    found = [
        one
        if isinstance(one, str)
        else one.resolve_path(folder).model_copy(
            update={"mechanism": load_mappings(one.mechanism, folder, f"context.prior_releases[{i}].mechanism")}
        )
        for i, one in enumerate(context.prior_releases)
    ]
    return context.model_copy(update={"prior_releases": tuple(found)})


def add_unit_roles(release: ReleaseSpec, attributes: tuple[AttributeSpec, ...]) -> tuple[AttributeSpec, ...]:
    """The declared attributes, with the roles that `person` and `group` give."""
    named = {getattr(release, field): role for field, role in UNIT_KEYS.items() if getattr(release, field) is not None}
    declared = {attribute.name: attribute for attribute in attributes}
    for name, role in named.items():
        declared[name] = declared.get(name, AttributeSpec(name=name)).model_copy(update={"role": role})
    return tuple(declared.values())


def locate_error(error: InputError, file: Path | Document) -> InputError:
    """The error with the release file and its line, where it speaks of a field of that file.

    file: what was read, or the path if it is a stage that found the error: a stage knows no file.
    """
    steps = re.findall(r"[^.\[\]: ]+", error.where)
    location = tuple(int(step) if step.isascii() and step.isdecimal() else step for step in steps)
    if not location or location[0] not in ReleaseSpec.model_fields:
        return error
    document = file if isinstance(file, Document) else extract_questions(read_document(file))[0]
    there, where = document.find_in_file(location), error.where
    if there != location:
        where = where.replace(format_dotted_path(location[:2]), format_dotted_path(there[:2]), 1)
    return replace(error, where=f"{document.path}, line {document.line_of(location)}: {where}")


def _refine_error(error: InputError, document: Document) -> InputError:
    """The error with the line of the field that it means instead of the whole file, and with the way out that it lacks.

    Meaning: what does not fit together is told of the file as a whole; the first field of the file that the message names is
    where its author looks. A message that names none keeps its place.
    Example: a file with `seed: 1` on line 7: `release.yaml, line 7: seed`.
    """
    if error.code == "measure-of-nobody":
        error = replace(error, remedy=_SYNTHETIC)
    error = _shorten_message(error)
    if not error.where.endswith(WHOLE_FILE):
        return error
    locations = (_place(word, document) for word in _WORD.findall(error.what))
    found = next((location for location in locations if location is not None), None)
    return error if found is None else replace(error, where=document.where(found))


def _shorten_message(error: InputError) -> InputError:
    """An unknown method, and a `control` out of range, without what is allowed, which the error says besides.

    Example: `release.model.learner: unknown method `random_forrest``.
    """
    if error.where.endswith(": control") and _NO_SHARE.search(error.what):
        return replace(error, what=_NO_SHARE.sub("no share that can be set aside", error.what), allowed=_SHARE)
    if _UNKNOWN.search(error.what) is None:
        return error
    return replace(error, what=_UNKNOWN.sub(r"unknown \2 `\1`", error.what), allowed=error.allowed.replace("'", ""))


def _place(word: str, document: Document) -> Path_ | None:
    """Where the file has this field, or a part of this name; None: nowhere."""
    field = tuple(word.split("."))
    if field in document.lines:
        return field
    named = (location for location in document.lines if location and location[0] in _LISTS and location[-1] in _NAMES)
    return next((location for location in named if find_value(document.content, location) == word), None)

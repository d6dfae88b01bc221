"""Role and scale of an attribute: declared, or proposed with evidence.

An attribute that nobody declared is a quasi-identifier unless something speaks for another role: to take a harmless column for
known to the intruder costs precision, the opposite costs a person's privacy. What looks like an identifier is not guessed at
all: it is refused until somebody says what it is.
"""

from __future__ import annotations

from tasks.classify.evidence import (
    ENOUGH_VALUES,
    LONG_TEXT,
    ColumnEvidence,
    classify_identifier_name,
    is_birth_date_name,
    is_group_name,
    is_person_name,
    is_survey_weight_name,
    names_people,
)
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import UNPUBLISHED, Attribute, Role, Scale

Proposal = tuple[Role, str]

_KINDS_OF_SCALE: dict[Scale, tuple[str, ...]] = {
    Scale.DATE: ("date", "moment"),
    Scale.TIME: ("time",),
    Scale.CODE: ("text",),
    Scale.FREE_TEXT: ("text",),
}
_BIRTH = (
    "a date of birth is among the strongest quasi-identifiers: with sex and postcode it singles out most people (Sweeney 2000)"
)
_DATES = "dates of events are often known to others, and few people share all of theirs"


def create_attribute(facts: ColumnEvidence, spec: AttributeSpec | None, *, is_key: bool, is_known: bool) -> Attribute:
    """One attribute of the schema: the declaration wins, the rest is proposed.

    Parameters
    ----------
    facts: the counts of the column. spec: its declaration, if any.
    is_key: the release file names it as `key`: an identifier. is_known: the intruder is declared to know it.

    Raises
    ------
    InputError: an undeclared column that looks like an identifier; free text whose role would publish it; a declared scale or
        order that the column does not fit; a key with a role that would publish it.
    """
    declared = AttributeSpec.model_construct(name=facts.name) if spec is None else spec
    _refuse_published_free_text(facts, declared, is_key=is_key)
    role, why_role = _role(facts, declared, is_key=is_key, is_known=is_known)
    scale, why_scale = _scale(facts, declared, role)
    return Attribute(
        name=facts.name,
        role=role,
        scale=scale,
        decided_by="declared" if declared.role is not None or is_key else "pipeline",
        order=declared.order,
        derived_from=declared.derived_from,
        evidence=(*facts.describe(), why_role, why_scale, *_warnings(facts, role)),
    )


def _role(facts: ColumnEvidence, declared: AttributeSpec, *, is_key: bool, is_known: bool) -> Proposal:
    if is_key and declared.role not in {None, Role.IDENTIFIER, Role.PERSON}:
        raise InputError("published-key", f"attributes.{facts.name}.role", "The key of the release has another role.",
                         "identifier or person", "leave the role out, or name another", value=str(declared.role))  # fmt: skip
    if declared.role is not None:
        return declared.role, "role declared"
    if is_key:
        return Role.IDENTIFIER, "role identifier: it is the key of the release"
    if is_known:
        _refuse_identifier(facts)
        return Role.QUASI_IDENTIFIER, "role quasi_identifier: the intruder is declared to know it"
    return _propose_role(facts)


def _propose_role(facts: ColumnEvidence) -> Proposal:
    repeats = (facts.whole or facts.kind == "text") and not facts.near_unique and not facts.few_categories
    if is_survey_weight_name(facts.name) and facts.positive:
        return Role.WEIGHT, "role weight: its name says so and all values are positive; declare another role if it is not one"
    if is_group_name(facts.name) and repeats:
        return Role.GROUP, "role group: its name says so and values repeat; it is not published"
    if is_person_name(facts.name) and repeats:
        return Role.PERSON, "role person: its name says so and values repeat; it is not published"
    _refuse_identifier(facts)
    if repeats and classify_identifier_name(facts.name) == "a number or code of a unit":
        return Role.GROUP, "role group: its name is that of a number of units and values repeat; it is not published"
    return Role.QUASI_IDENTIFIER, "role quasi_identifier: nothing is declared, and what an intruder may know is assumed known"


def looks_like_identifier(facts: ColumnEvidence) -> str | None:
    """Why a column looks like one that names units, or None. A near-unique measurement (an income) does not.

    In words: its name is that of an identifier and at least 9 in 10 values differ; its name is that of a person's or company's
    name, official number or contact and it has more than a few categories; or, from 10 values on, it is text that hardly
    repeats, a running number, or a number of one width of six or more digits that never repeats.
    """
    named = classify_identifier_name(facts.name)
    measured = facts.calendar or (facts.kind == "double" and not facts.whole)
    if named is not None and facts.near_unique and not measured:
        return f"its name is that of {named} and {facts.n_distinct:,} of {facts.n_present:,} values differ"
    if named is not None and names_people(named) and not facts.few_categories and not measured:
        return f"its name is that of {named} and it has {facts.n_distinct:,} different values"
    if facts.n_present < ENOUGH_VALUES:
        return None
    if facts.kind == "text" and facts.near_unique:
        return f"it is text and {facts.n_distinct:,} of {facts.n_present:,} values differ"
    if facts.running:
        return f"it is a running number: {facts.n_distinct:,} consecutive whole numbers, each once"
    if facts.unique and facts.one_width:
        return f"its {facts.n_distinct:,} values all differ and have the same number of digits"
    return None


def _refuse_published_free_text(facts: ColumnEvidence, declared: AttributeSpec, *, is_key: bool) -> None:
    """Nobody can say what somebody's own words tell about a person, and no mask here takes it away."""
    proposed = declared.scale is None and declared.order is None and facts.free_text
    if not (proposed or declared.scale is Scale.FREE_TEXT) or is_key or declared.role in UNPUBLISHED:
        return
    seen = (
        f"{facts.n_distinct:,} of {facts.n_present:,} values differ, and {facts.prose:.0%} are texts of {LONG_TEXT} characters "
        "or more with blanks"
    )
    raise InputError(
        "free-text",
        f"attributes.{facts.name}",
        f"The column `{facts.name}` {'looks like' if proposed else 'is declared'} free text ({seen}), and would be published.",
        "free text that is not published",
        f"declare `{facts.name}: {{role: withheld}}` (it is then not published); if it holds categories, `scale: nominal`",
    )


def _refuse_identifier(facts: ColumnEvidence) -> None:
    reason = looks_like_identifier(facts)
    if reason is not None:
        raise InputError(
            "undeclared-identifier",
            f"attributes.{facts.name}",
            f"The column `{facts.name}` looks like an identifier and is not declared: {reason}.",
            "a declared role for every column that may identify a unit",
            f"declare `{facts.name}: {{role: identifier}}` (it is then not published), or state its role",
        )


def _scale(facts: ColumnEvidence, declared: AttributeSpec, role: Role) -> tuple[Scale, str]:
    scale = Scale.ORDINAL if declared.order is not None and declared.scale is None else declared.scale
    if scale is None:
        return _propose_scale(facts, role)
    where = f"attributes.{facts.name}.scale"
    kinds = _KINDS_OF_SCALE.get(scale)
    if kinds is not None and scale is not Scale.NUMERIC and facts.kind not in kinds and facts.n_present:
        raise InputError("not-of-scale", where, f"`{facts.name}` is declared {scale} and holds {facts.kind} values.",
                         f"{' or '.join(kinds)} values", "correct the column or declare another scale")  # fmt: skip
    if scale is Scale.NUMERIC and facts.kind not in {"integer", "double"} and facts.n_present:
        raise InputError("not-numeric", where, f"`{facts.name}` is declared numeric and holds {facts.kind} values.",
                         "whole numbers or decimals", "correct the column or declare another scale")  # fmt: skip
    if scale is Scale.ORDINAL and facts.kind == "text" and declared.order is None:
        raise InputError("order-missing", where, f"`{facts.name}` is declared ordinal, is text, and has no order.",
                         "`order: [lowest, ..., highest]`", "add `order`, or declare the scale nominal")  # fmt: skip
    if declared.order is not None and facts.kind != "text":
        raise InputError("order-of-numbers", f"attributes.{facts.name}.order", f"`{facts.name}` has an order and no text.",
                         "`order` for text attributes", "leave `order` out: numbers are ordered as numbers")  # fmt: skip
    return scale, "scale declared"


def _propose_scale(facts: ColumnEvidence, role: Role) -> tuple[Scale, str]:
    if facts.calendar:
        return _choose_calendar_scale(facts)
    if role in {Role.IDENTIFIER, Role.PERSON, Role.GROUP} and facts.whole:
        return Scale.CODE, "scale code: numbers that name units"
    if facts.digits:
        return Scale.CODE, "scale code: text of digits alone, all of one length"
    if facts.free_text:
        return Scale.FREE_TEXT, "scale free_text: mostly different long texts with blanks"
    if facts.kind in {"text", "bool"}:
        return Scale.NOMINAL, f"scale nominal: {facts.kind} without a declared order"
    if not facts.few_codes or facts.constant:
        return Scale.NUMERIC, "scale numeric: numbers, and not few repeated codes"
    codes = f"{facts.n_distinct} whole-number codes"
    if facts.n_distinct == 2:
        return Scale.NOMINAL, f"scale nominal: {codes}; two categories have no use for an order"
    return Scale.ORDINAL, f"scale ordinal: {codes}; their order may mean something, their differences are not assumed to"


def _choose_calendar_scale(facts: ColumnEvidence) -> tuple[Scale, str]:
    if facts.kind == "time":
        return Scale.TIME, "scale time: times of day, compared in seconds"
    return Scale.DATE, f"scale date: {'calendar dates' if facts.kind == 'date' else 'moments'}, compared in days"


def _warnings(facts: ColumnEvidence, role: Role) -> tuple[str, ...]:
    return (*_calendar_warnings(facts, role), *_other_warnings(facts, role))


def _calendar_warnings(facts: ColumnEvidence, role: Role) -> tuple[str, ...]:
    if facts.kind not in {"date", "moment"} or role in UNPUBLISHED:
        return ()
    return (_BIRTH if is_birth_date_name(facts.name) else _DATES,)


def _other_warnings(facts: ColumnEvidence, role: Role) -> tuple[str, ...]:
    if facts.near_unique and facts.n_present >= ENOUGH_VALUES and role in {Role.CONFIDENTIAL, Role.OTHER, Role.WEIGHT}:
        return ("nearly every value differs: published unmasked it links records as well as a number would",)
    if role is Role.WEIGHT:
        return ("weights reveal strata and sizes",)
    return ()

"""What a first release file proposes for one column: role and scale, the reasons, and what only a person can decide."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from flows.cli.draft.ambiguous_numbers import classify_numbers, create_question
from flows.cli.draft.cells import AND_MICROAGGREGATE_IT, AT_SOURCE_AND_INIT_AGAIN, Reading, find_missing_codes, list_spellings
from tasks.classify.evidence import ColumnEvidence, classify_identifier_name, count_column_evidence, names_people
from tasks.classify.roles import create_attribute
from tasks.ingest.columns.numerals import is_missing_word
from tasks.mask.groups.block import MOST_CATEGORIES
from tasks.mask.groups.microaggregation import SCALES as GROUPABLE
from tasks.microdata.errors import InputError
from tasks.microdata.schema import CATEGORICAL, UNPUBLISHED, Attribute, Role, Scale
from tasks.microdata.table import Microdata

MOSTLY = 0.5
MANY_CATEGORIES = 50  # without an order: in groups of ten hardly anybody keeps one of fifty even ones
AS_READ = Reading()
CODE_HINT = "if these codes have an order, write `scale: ordinal`"
FREE_TEXT = (
    "is this free text (somebody's own words)? Then write `scale: free_text, role: withheld`: no mask takes out what it tells"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftColumn:
    """One column of the draft. why: what was found and what follows.

    decide: what only a person can know, and what decides about a wrong value or a risk: nothing is certified before it is
    answered. hints: how more could be published, or lost less; the proposal is safe without.
    """

    attribute: Attribute
    facts: ColumnEvidence
    reading: Reading = AS_READ
    why: tuple[str, ...] = ()
    decide: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.attribute.name

    @property
    def is_quasi_identifier(self) -> bool:
        return self.attribute.role is Role.QUASI_IDENTIFIER

    @property
    def categorical(self) -> bool:
        """Categories without an order."""
        return self.attribute.scale in CATEGORICAL

    @property
    def groupable(self) -> bool:
        fits = not self.categorical or self.facts.n_distinct <= MOST_CATEGORIES
        return self.is_quasi_identifier and self.attribute.scale in GROUPABLE and self.facts.n_distinct > 1 and fits

    def as_derived(self, sources: tuple[str, ...], why: str) -> DraftColumn:
        attribute = replace(self.attribute, role=Role.DERIVED, derived_from=sources)
        return replace(self, attribute=attribute, why=(_describe_counts(self.facts), why))

    def change_attribute(self, why: str, **fields: Any) -> DraftColumn:
        return replace(self, attribute=replace(self.attribute, **fields), why=(*self.why, why))


@dataclass(frozen=True, slots=True)
class DraftEntry:
    """One entry of a list in the draft, and why it is there."""

    fields: dict[str, Any]
    why: tuple[str, ...]


def draft_column(data: Microdata, name: str, reading: Reading) -> DraftColumn:
    """The proposal for one column, as it is read by `reading`."""
    facts = count_column_evidence(data, name)
    column = _add_number_question(_propose_column(facts, reading), data)
    if column.attribute.role in UNPUBLISHED:
        return column
    if facts.kind == "text":
        words = sorted(word for word in data.column(name).unique().drop_null().to_pylist() if is_missing_word(word))
        return replace(column, hints=(*column.hints, *map(_word_question, words)))
    if facts.kind not in {"integer", "double"}:
        return column
    codes = find_missing_codes(data.floats(name)[~data.missing(name)])
    asked = tuple(_code_question(cell) for code in codes for cell in list_spellings(code, reading.codes))
    doubts = () if reading.doubt is None else (reading.doubt,)
    return replace(column, decide=(*column.decide, *asked, *doubts))


def _add_number_question(column: DraftColumn, data: Microdata) -> DraftColumn:
    """With a question where numbers may be codes or weights, and a proposal under which no value is invented."""
    kind = classify_numbers(data, column.facts) if column.is_quasi_identifier and column.reading.declared is None else None
    if kind is None:
        return column
    column = replace(column, why=column.why[:-1], hints=())  # without what was told of its scale
    asked = replace(column, decide=(create_question(kind, column.facts),))
    match kind:
        case "weight":
            return asked.change_attribute("a weight by its name, of a survey or of a body: not published", role=Role.WITHHELD)
        case "code":
            return asked.change_attribute("whole numbers that are codes by the name of the column", scale=Scale.NOMINAL)
        case "few codes":
            few = replace(column, hints=(CODE_HINT,))
            return few.change_attribute("codes by the name of the column", scale=Scale.NOMINAL)
        case "many codes":
            return asked.change_attribute(
                "codes by the name of the column: not published", role=Role.WITHHELD, scale=Scale.NOMINAL
            )
        case "code or number":
            return asked.change_attribute("whole numbers that repeat and have gaps: amounts or codes", scale=Scale.ORDINAL)


def _code_question(cell: str) -> str:
    return f'is {cell} a code for missing? Then write `missing: ["{cell}"]`: now it is masked as a number like the others'


def _word_question(cell: str) -> str:
    written = json.dumps(cell)
    return (
        f"does {written} mean that there is no value? Then write `missing: [{written}]`: now it is a category like the others"
    )


def _propose_column(facts: ColumnEvidence, reading: Reading) -> DraftColumn:
    if reading.undecided is not None:
        why, question = reading.undecided
        attribute = Attribute(facts.name, Role.WITHHELD, Scale.NOMINAL, "declared")
        return DraftColumn(attribute=attribute, facts=facts, why=(_describe_counts(facts), why), hints=(question,))
    try:
        attribute = create_attribute(facts, reading.declared, is_key=False, is_known=False)
    except InputError as error:
        return _propose_unpublished_column(facts, reading, error)
    hints = [_describe_counts(facts)]
    if reading.missing:
        hints.append("cells that usually mean `no value` are declared `missing`")
    if reading.found is not None:
        hints.append(reading.found)
    column = DraftColumn(attribute=attribute, facts=facts, reading=reading, why=tuple(hints))
    if facts.n_distinct < 2 and (facts.n_missing == 0 or facts.n_distinct == 0) and column.is_quasi_identifier:
        return column.change_attribute("it says the same of everybody, so it tells an intruder nothing", role=Role.OTHER)
    if column.is_quasi_identifier and column.categorical and facts.n_distinct > MANY_CATEGORIES and facts.prose < MOSTLY:
        return _propose_many_categories(column)
    return _explain_scale_and_role(column)


def _propose_unpublished_column(facts: ColumnEvidence, reading: Reading, error: InputError) -> DraftColumn:
    """What classify refuses to guess: free text, and what looks like an identifier."""
    named = classify_identifier_name(facts.name)
    if facts.prose >= MOSTLY and (named is None or not names_people(named)):
        return _propose_free_text(facts, reading)
    reason = error.what.rpartition("declared: ")[2].rstrip(".") if error.code == "undeclared-identifier" else f"it is {named}"
    attribute = Attribute(facts.name, Role.IDENTIFIER, Scale.NOMINAL, "declared")
    why = (f"it looks like something that names a person or company: {reason}", "so it is not published")
    return DraftColumn(attribute=attribute, facts=facts, reading=reading, why=why, hints=(_explain_if_it_names_nobody(facts),))


def _explain_if_it_names_nobody(facts: ColumnEvidence) -> str:
    if facts.kind == "text":
        return (
            "if it names nobody: as text that hardly repeats it fits no mask. Write numbers without units or separators, dates "
            f"as YYYY-MM-DD, categories in fewer groups {AT_SOURCE_AND_INIT_AGAIN}, or leave it unpublished"
        )
    scale = "date" if facts.calendar else "numeric"
    return f"if it is a measurement and names nobody, write `role: quasi_identifier, scale: {scale}` {AND_MICROAGGREGATE_IT}"


def _propose_free_text(facts: ColumnEvidence, reading: Reading) -> DraftColumn:
    attribute = Attribute(facts.name, Role.WITHHELD, Scale.FREE_TEXT, "declared")
    why = f"it looks like free text: {facts.prose:.0%} are long texts with blanks; so it is not published"
    question = (
        "is this free text? Then leave it so. If it holds categories, write `role: quasi_identifier, scale: nominal`, "
        "and mask it"
    )
    return DraftColumn(attribute=attribute, facts=facts, reading=reading, why=(_describe_counts(facts), why), hints=(question,))


def _propose_many_categories(column: DraftColumn) -> DraftColumn:
    """Grouped where the method takes so many, else kept back: exchanged at random, hardly a cell would stay true."""
    coarser = "would coarser categories do (a region for a town)? In groups of ten most rows may lose theirs: "
    coarser += f"coarsen it {AT_SOURCE_AND_INIT_AGAIN}"
    if column.facts.n_distinct <= MOST_CATEGORIES:
        return replace(column, why=(*column.why, "many categories without an order"), hints=(coarser,))
    why = f"more than {MOST_CATEGORIES} categories without an order: no mask would leave anything of it, so it is not published"
    question = f"write it in at most {MOST_CATEGORIES} categories (a region for a town) "
    question += f"{AT_SOURCE_AND_INIT_AGAIN}, or leave it unpublished"
    return replace(column.change_attribute(why, role=Role.WITHHELD), hints=(question,))


def _describe_counts(facts: ColumnEvidence) -> str:
    hints = "1 value" if facts.n_distinct == 1 else f"{facts.n_distinct:,} different values"
    return hints if not facts.n_missing else f"{hints}, {facts.n_missing:,} of {facts.n:,} rows have none"


def _explain_scale_and_role(column: DraftColumn) -> DraftColumn:
    match column.attribute.role:
        case Role.WEIGHT if column.facts.n_distinct == 1:
            return replace(column, why=(*column.why, "a survey weight by its name; equal for all, it tells nothing"))
        case Role.WEIGHT:
            why = "a survey weight by its name; analysts need it as it is, so it is published unmasked"
            question = "a weight may tell the size of a household or its district: the policy line on insiders says if it does"
            if column.facts.near_unique:
                question = (
                    "nearly all its values differ: who knows one finds its record; coarsen it, or mask it with the others"
                )
            return replace(column, why=(*column.why, why), decide=(question,))
        case Role.GROUP:
            return replace(column, why=(*column.why, "the number of a household, company or place by its name: not published"))
        case Role.PERSON:
            return replace(column, why=(*column.why, "the number of a person by its name, and it repeats: not published"))
        case Role.QUASI_IDENTIFIER if column.facts.prose >= MOSTLY and not column.facts.few_categories:
            return _propose_free_text(column.facts, column.reading)
        case Role.QUASI_IDENTIFIER:
            why, reasons = _describe_scale(column)
            decide, hints = (reasons, ()) if reasons == (FREE_TEXT,) else ((), reasons)
            return replace(column, why=(*column.why, why), decide=decide, hints=hints)
        case _:
            return column


def _describe_scale(column: DraftColumn) -> tuple[str, tuple[str, ...]]:
    facts, scale = column.facts, column.attribute.scale
    if scale is Scale.ORDINAL:
        return "a few whole-number codes, taken as ordered", (
            "do the codes have an order? If they only name things, write `scale: nominal`",
        )
    if scale is Scale.NUMERIC and facts.near_unique:
        return "numbers, nearly all different: who knows one finds its record, so it must be masked", ()
    if scale is Scale.NUMERIC:
        return "numbers", ()
    if scale is Scale.NOMINAL and facts.prose >= MOSTLY:
        return "text categories, most of them long texts with blanks", (FREE_TEXT,)
    if scale is Scale.NOMINAL and facts.n_distinct == 2:
        return "two categories", ()
    if scale is Scale.NOMINAL and facts.kind == "text" and facts.few_categories:
        order = "do they have an order? Then write `scale: ordinal, order: [lowest, ..., highest]` with every category"
        return "text categories", (f"{order}: neighbours are then grouped first, and less is lost",)
    return f"{scale.replace('_', ' ')} values", ()

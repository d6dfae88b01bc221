"""Classify: decide what each attribute is, and refuse what must not be published as it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tasks.classify.dependence import find_dependences
from tasks.classify.evidence import ColumnEvidence, count_column_evidence
from tasks.classify.finding import ENOUGH_ROWS, Dependence
from tasks.classify.roles import create_attribute
from tasks.classify.weights import weight_reveals
from tasks.ingest.codebooks.codebook import Attributes, index_by_name
from tasks.microdata.errors import InputError
from tasks.microdata.scaling import COMPARABLE, LARGEST_VALUE, LEAST_DEVIATION, is_comparable
from tasks.microdata.schema import CATEGORICAL, Attribute, MaskTargets, Schema
from tasks.microdata.spec import Name, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Microdata
from tasks.microdata.units import check_units

_NAMED_FINDINGS = 5
_EXACT_DOUBLE = 2**53  # from here on whole numbers and their neighbours are one double


class ClassifyPlan(Spec):
    """What classify needs of a release file.

    attributes: the declarations. key: what identifies a unit across versions. masks: what each masking step will touch.
    known: the names that the intruder is declared to know.
    """

    attributes: Attributes = ()
    key: Name | None = None
    masks: tuple[MaskTargets, ...] = ()
    known: tuple[Name, ...] = ()


def classify(data: Microdata, plan: ClassifyPlan) -> Schema:
    """The role and scale of every column, declared or proposed with evidence that holds counts and never a value.

    Declared roles and scales win. An undeclared column is a quasi-identifier unless its name and values speak for a weight, a
    group or a person; see `roles`. Published unmasked columns must not undo a mask; see `dependence`.

    Raises
    ------
    InputError: no columns, fewer than two rows, or nothing to publish; a key that is missing or repeated in some row; a name
        that is no column; an undeclared column that looks like an identifier; a declaration that the column does not fit; a
        category that `order` does not list; a masked column that is constant, without values or not published; an intruder
        who knows what is not published; a published unmasked column that is a function of masked ones.

    About 0.1 s for 1,000,000 rows of 6 columns, and more where masks are searched for dependences (`dependence`).
    """
    _refuse_degenerate(data)
    _refuse_unknown(data, plan)
    _refuse_ambiguous_key(data, plan.key)
    declared = index_by_name(plan.attributes)
    facts = {name: count_column_evidence(data, name) for name in data.names}
    attributes = tuple(
        create_attribute(facts[name], declared.get(name), is_key=name == plan.key, is_known=name in plan.known)
        for name in data.names
    )
    schema = Schema(attributes)
    _refuse_unlisted_categories(data, schema)
    _refuse_unpublished(schema, plan)
    check_units(data, schema)
    refuse_incomparable(data, schema)
    masked = list_target_attributes(schema, plan.masks)
    _refuse_nothing_to_mask(facts, masked)
    refuse_undone_masks(data, schema, masked)
    return _add_search_evidence(_add_weight_evidence(schema, data), data, masked)


def list_target_attributes(schema: Schema, masks: tuple[MaskTargets, ...]) -> tuple[str, ...]:
    """The attributes that at least one masking step touches, in the order of the columns; each must be a column."""
    wanted = {name for mask in masks for name in mask.resolve(schema)}
    return tuple(name for name in schema.names if name in wanted)


def refuse_undone_masks(data: Microdata, schema: Schema, masked: tuple[str, ...]) -> None:
    """InputError for a published unmasked column that is a function of masked ones: it would undo their mask."""
    _refuse_dependent(find_dependences(data, schema, masked))


def _refuse_degenerate(data: Microdata) -> None:
    if not data.names:
        raise InputError("no-columns", "source", "The table has no columns.", "at least one column", "check the source")
    if data.n < 2:
        raise InputError("too-few-rows", "source", f"The table has {data.n} row(s): nobody can hide among others.",
                         "at least two rows", "check the source")  # fmt: skip


def _refuse_ambiguous_key(data: Microdata, key: str | None) -> None:
    if key is None:
        return
    missing = int(data.missing(key).sum())
    repeated = data.n - missing - len(data.column(key).drop_null().unique())
    if missing or repeated:
        what = f"The key `{key}` does not tell the units apart: {missing} rows have none, {repeated} repeat an earlier one."
        remedy = "name another key, or remove `key`; several rows of one person: declare the column `role: person`"
        raise InputError("ambiguous-key", "key", what, "a column with a different value in every row", remedy)


def refuse_incomparable(data: Microdata, schema: Schema, where: str = "attributes") -> None:
    """Numbers whose differences a float64 cannot hold would be compared wrongly, and a risk understated."""
    for attribute in schema.select(schema.release_columns):
        if attribute.scale in CATEGORICAL or data.is_text(attribute.name):
            continue
        if data.is_calendar(attribute.name):
            _refuse_too_fine_moments(data, attribute)
        elif not _comparable(data, attribute.name):
            what = f"The numbers of `{attribute.name}` are too large or too small to be compared in double precision."
            remedy = "change the unit; for a code declare `scale: nominal`, for a number that names a unit `role: identifier`"
            raise InputError("incomparable-numbers", f"{where}.{attribute.name}", what, COMPARABLE, remedy)


def _comparable(data: Microdata, name: str) -> bool:
    column = data.column(name).drop_null()
    if data.is_integer(name) and len(column):  # before anything is a double: large neighbours are one double
        ends = pc.min_max(column).as_py()
        return ends["min"] == ends["max"] or bool(ends["min"] > -_EXACT_DOUBLE and ends["max"] < _EXACT_DOUBLE)
    if column.type == pa.float64() and len(column):
        ends, total = pc.min_max(column).as_py(), pc.sum(column).as_py()
        if math.isfinite(total) and _are_surely_comparable(ends["min"], ends["max"], len(column)):
            return True
    return is_comparable(data.floats(name))


def _are_surely_comparable(low: float, high: float, n: int) -> bool:
    """Do the ends of n numbers alone say that they can be compared? Otherwise all have to be looked at.

    A standard deviation is at least the range over the square root of 2 n.
    """
    return max(-low, high) <= LARGEST_VALUE and high - low > 2 * LEAST_DEVIATION * math.sqrt(2 * n)


def _refuse_too_fine_moments(data: Microdata, attribute: Attribute) -> None:
    """Microseconds of moments far from 1970 are more than a float64 of days can hold."""
    back = data.replace_positions(attribute, data.positions(attribute))
    if not back.column(attribute.name).equals(data.column(attribute.name)):
        raise InputError("incomparable-numbers", f"attributes.{attribute.name}",
                         f"The moments of `{attribute.name}` are too fine to be compared in double precision.",
                         "microseconds in the years 1791 to 2149, milliseconds in all", "round them at the source")  # fmt: skip


def _refuse_unknown(data: Microdata, plan: ClassifyPlan) -> None:
    asked = [(f"attributes.{a.name}", a.name) for a in plan.attributes]
    asked += [(f"attributes.{a.name}.from", name) for a in plan.attributes for name in a.derived_from]
    asked += [("key", plan.key)] if plan.key is not None else []
    asked += [("intruder.knows", name) for name in plan.known]
    asked += [(f"masking[{step}].attributes", name) for step, mask in enumerate(plan.masks) for name in mask.named or ()]
    for where, name in asked:
        if name not in data.names:
            raise InputError("unknown-attribute", where, "The table has no such column.", ", ".join(data.names[:30]),
                             did_you_mean(name, data.names, "compare it with the column names"), value=name)  # fmt: skip


def _refuse_unlisted_categories(data: Microdata, schema: Schema) -> None:
    for attribute in schema.attributes:
        present = set(data.column(attribute.name).unique().drop_null().to_pylist()) if attribute.order is not None else set()
        unlisted = sorted(present - set(attribute.order or ()))
        if unlisted:
            raise InputError("unlisted-category", f"attributes.{attribute.name}.order",
                             f"{len(unlisted)} categories of `{attribute.name}` are not in its order.",
                             "every category that occurs", "add them in their place, or declare them `missing`",
                             value=unlisted[0])  # fmt: skip


def _refuse_unpublished(schema: Schema, plan: ClassifyPlan) -> None:
    if not schema.release_columns:
        raise InputError("nothing-to-publish", "attributes", "No column is published.", "at least one published attribute",
                         "declare a quasi-identifier or a confidential attribute")  # fmt: skip
    asked = [("intruder.knows", name) for name in plan.known]
    asked += [(f"masking[{step}].attributes", name) for step, mask in enumerate(plan.masks) for name in mask.named or ()]
    for where, name in asked:
        if not schema[name].is_published:
            raise InputError("unpublished-attribute", where, f"`{name}` is not published: its role is {schema[name].role}.",
                             ", ".join(schema.release_columns[:30]), "take it out, or declare another role", name)  # fmt: skip


def _refuse_nothing_to_mask(facts: Mapping[str, ColumnEvidence], masked: tuple[str, ...]) -> None:
    for name in masked:
        n_distinct = facts[name].n_distinct
        if n_distinct < 2:
            what = "has no values" if n_distinct == 0 else "has one value in all rows"
            raise InputError("nothing-to-mask", f"masking: {name}", f"The masked column `{name}` {what}.",
                             "columns whose values differ", "take it out of `masking`, or declare `role: other`")  # fmt: skip


def _refuse_dependent(found: tuple[Dependence, ...]) -> None:
    if not found:
        return
    text = "; ".join(dependence.describe() for dependence in found[:_NAMED_FINDINGS])
    more = f"; and {len(found) - _NAMED_FINDINGS} more" if len(found) > _NAMED_FINDINGS else ""
    open_, hidden = found[0].unmasked[0], ", ".join(found[0].masked)
    raise InputError(
        "undoes-the-mask",
        ", ".join(f"attributes.{name}" for name in found[0].unmasked),
        f"Published unmasked columns undo a mask: {text}{more}.",
        "no function of masked columns published unmasked",
        f"declare `{open_}: {{role: derived, from: [{hidden}]}}` (it is then not published), or mask it together with {hidden};"
        f" or, to publish {open_} as it is, withhold {hidden} (`role: withheld`) and leave it out of the masks",
    )


def _add_weight_evidence(schema: Schema, data: Microdata) -> Schema:
    """What weights and group keys reveal, as their evidence."""
    text = weight_reveals(data, schema)
    return Schema(tuple(replace(a, evidence=(*a.evidence, *text.get(a.name, ()))) for a in schema.attributes))


def _add_search_evidence(schema: Schema, data: Microdata, masked: tuple[str, ...]) -> Schema:
    searched = f"no published unmasked column was found to be a function of it ({data.n:,} rows searched)"
    text = searched if data.n >= ENOUGH_ROWS else f"under {ENOUGH_ROWS} rows: functions of it were not searched"
    return Schema(tuple(replace(a, evidence=(*a.evidence, text)) if a.name in masked else a for a in schema.attributes))

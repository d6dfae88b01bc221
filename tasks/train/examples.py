"""A table as a classifier takes it: a frame of features, and the class of each record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import CATEGORICAL, Attribute, Role, Scale, Schema
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import CALENDAR_TYPES, Floats, Integers, Microdata, iso_texts
from tasks.train.spec import MODEL_LOCATION, MOST_CLASSES, ModelSpec

FEWEST_OF_A_CLASS = 10
FeatureKind = Literal["number", "order", "category", "as_read"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of the frame.

    kind: `number`: as it is, dates and times as days and seconds; `order`: texts of a declared order; `category`; `as_read`: as
        pandas reads the released file, for a model that was fitted elsewhere. order: the texts, lowest first.
    """

    name: str
    kind: FeatureKind
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examples:
    """Records to learn from, or to ask about.

    frame: shape (n, d), by name. labels: shape (n,), the place of each record's class in `classes`, -1 where it is none of
    them. classes: shape (c,), ascending.
    """

    frame: pd.DataFrame
    features: tuple[Feature, ...]
    labels: Integers
    classes: np.ndarray[Any, Any]

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def take(self, rows: Integers) -> Examples:
        return Examples(self.frame.iloc[rows], self.features, self.labels[rows], self.classes)


@dataclass(frozen=True, slots=True)
class ExampleEncoder:
    """How tables of one schema become examples for one model.

    cuts: of a numeric target, shape (c - 1,); a class is what lies above one cut and not above the next.
    """

    features: tuple[Feature, ...]
    target: str
    classes: np.ndarray[Any, Any]
    schema: Schema
    cuts: Floats | None = None

    def examples(self, table: Microdata) -> Examples:
        """All records of a table. Cost: O(n d)."""
        columns = {one.name: _column(table, self.schema, one) for one in self.features}
        return Examples(pd.DataFrame(columns), self.features, self._labels(table), self.classes)

    def get_labelled_examples(self, table: Microdata) -> tuple[Examples, Integers]:
        """The records whose class is one of the classes, and their rows: what can be learned from."""
        every = self.examples(table)
        rows = np.flatnonzero(every.labels >= 0)
        return every.take(rows), rows

    def _labels(self, table: Microdata) -> Integers:
        if self.cuts is not None:
            positions = extract_positions(table, self.schema, self.target, f"{MODEL_LOCATION}.target")
            codes = np.searchsorted(self.cuts, positions, side="left").astype(np.int64)
            return np.where(np.isnan(positions), -1, codes)
        values = class_values(table, self.target, texts=self.classes.dtype.kind == "U")
        return np.asarray(pd.Index(self.classes).get_indexer(pd.Index(values)), dtype=np.int64)


def create_encoder(spec: ModelSpec, schema: Schema, training: Microdata, *others: Microdata) -> ExampleEncoder:
    """How tables become examples for a model of `training`; the classes are those of all the tables together.

    A numeric target is cut at quantiles of the training table, rounded to three digits: they are published with the model.

    Raises InputError for an attribute that the table has not or that is not published, a target among the features, one with
    missing values, of one class in the training table or of more than 100, and a categorical target that is to be cut.
    Cost: O(n log n).
    """
    features = tuple(_feature(training, attribute) for attribute in schema.select(_names(schema, spec)))
    return _coding(spec, schema, features, training, *others)


def create_encoder_for_file(
    spec: ModelSpec, schema: Schema, names: tuple[str, ...], classes: Iterable[object], people: Microdata
) -> ExampleEncoder:
    """How tables become examples for a fitted model: from the columns that it was fitted on, in its classes and the table's.

    Raises InputError as `create_encoder`, and where a class of the model is no value of the target in the table.
    """
    _check_attribute(spec.target, schema, f"{MODEL_LOCATION}.target")
    for name in names:
        _check_attribute(name, schema, f"{MODEL_LOCATION}.file: columns")
    if spec.target in names:
        what = f"the model was fitted on its target `{spec.target}`"
        raise InputError(
            "wrong-features", f"{MODEL_LOCATION}.target", what, "the attribute that it predicts", "name that", spec.target
        )
    features = tuple(Feature(name, "as_read") for name in names)
    made = _coding(spec, schema, features, people)
    strange = int((find_class_positions(np.asarray(list(classes)), made.classes) < 0).sum())
    if strange:
        what = f"{strange} of the model's classes are no value of `{spec.target}` in the source"
        remedy = "name the attribute that the model predicts, and the table that it was fitted on"
        raise InputError(
            "wrong-target", f"{MODEL_LOCATION}.target", what, "classes that are values of the target", remedy, spec.target
        )
    return made


def find_class_positions(asked: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> Integers:
    """Shape of `asked`: the place of each class among `classes`, -1 where it is none of them.

    By what they say; where that leaves some without a place, by their numbers, however they are written (1, 1.0 and `1.0` are
    one class), if these are numbers that all differ, on either side. One rule for both sides: else a class that is written
    otherwise on one of them (`01` beside `001`) would lose all classes their places.
    """
    texts = [[str(one) for one in side.tolist()] for side in (asked, classes)]
    exact = _places(*texts)
    if (exact >= 0).all():
        return exact
    numbers = [_numbers(side) for side in texts]
    return exact if numbers[0] is None or numbers[1] is None else _places(numbers[0], numbers[1])


def _places(asked: list[str], among: list[str]) -> Integers:
    return np.asarray(pd.Index(among).get_indexer(pd.Index(asked)), dtype=np.int64)


def _numbers(texts: list[str]) -> list[str] | None:
    """One spelling for each number; None where a text is none, or two are the same."""
    try:
        numbers = [f"{float(text):.15g}" for text in texts]
    except ValueError:
        return None
    return numbers if len(set(numbers)) == len(numbers) else None


def refuse_rare_classes(examples: Examples, spec: ModelSpec) -> None:
    """InputError for a class of fewer than 10 training records: what a model has learned of it are nearly their values."""
    counts = np.bincount(examples.labels[examples.labels >= 0])
    rare = int(((counts > 0) & (counts < FEWEST_OF_A_CLASS)).sum())
    if rare:
        what = f"{rare} class{'es' if rare != 1 else ''} of `{spec.target}` {'have' if rare != 1 else 'has'} too few records"
        allowed = f"at least {FEWEST_OF_A_CLASS} records of each class in the training table"
        remedy = "fit the model again with rare classes joined, or without their records"
        if spec.learner is not None:
            remedy = "join rare classes (a `recoding` step), cut with fewer `target_quantiles`, or predict another attribute"
        raise InputError("rare-class", f"{MODEL_LOCATION}.target", what, allowed, remedy, spec.target)


def class_values(table: Microdata, name: str, *, texts: bool = False) -> np.ndarray[Any, Any]:
    """Shape (n,): the values of a target as a classifier takes them: whole numbers, or texts; missing is -2^63 or empty."""
    column = table.column(name)
    whole = column.type == pa.int64() or (column.type == pa.float64() and _is_whole(table.floats(name)))
    if whole and not texts:
        values = column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min)
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64)
    written = iso_texts(column) if column.type in CALENDAR_TYPES else column.cast(pa.string())
    return np.asarray(written.fill_null("").to_numpy(zero_copy_only=False), dtype=str)


def _is_whole(values: Floats) -> bool:
    present = values[~np.isnan(values)]
    return bool((present == np.rint(present)).all() and (np.abs(present) < 2.0**53).all())


def _coding(
    spec: ModelSpec, schema: Schema, features: tuple[Feature, ...], training: Microdata, *others: Microdata
) -> ExampleEncoder:
    name, attribute = spec.target, schema[spec.target]
    for table in (training, *others):
        if table.missing(name).any():
            what = f"`{name}` has missing values, which are no class"
            allowed = "a target with a value for every record"
            raise InputError("missing-target", f"{MODEL_LOCATION}.target", what, allowed, "predict another attribute", name)
    if spec.target_quantiles is None:
        tables = (training, *others)
        texts = any(class_values(table, name).dtype.kind == "U" for table in tables)
        held = [np.unique(class_values(table, name, texts=texts)) for table in tables]
        classes = np.unique(np.concatenate(held))
        for found in (held[0], classes):
            _check_number(len(found), name)
        return ExampleEncoder(features, name, classes, schema)
    if attribute.scale in CATEGORICAL:
        what = f"`{name}` is {attribute.scale}: its values have no order, so that they cannot be cut into quantiles"
        raise InputError("no-order", f"{MODEL_LOCATION}.target_quantiles", what, "a target with an order", "leave it out", name)
    positions = extract_positions(training, schema, name, f"{MODEL_LOCATION}.target")
    quantiles = np.quantile(positions, np.arange(1, spec.target_quantiles) / spec.target_quantiles)
    cuts = np.unique([float(f"{cut:.3g}") for cut in quantiles])
    _check_number(len(np.unique(np.searchsorted(cuts, positions, side="left"))), name)
    return ExampleEncoder(features, name, _name_classes(cuts), schema, cuts)


def _name_classes(cuts: Floats) -> np.ndarray[Any, Any]:
    """`1: at most 12.5`, `2: above 12.5, at most 20`, `3: above 20`: in words, and in their order."""
    ends = [f"{cut:g}" for cut in cuts]
    texts = [f"at most {ends[0]}", *(f"above {low}, at most {high}" for low, high in pairwise(ends))]
    texts.append(f"above {ends[-1]}")
    digits = len(str(len(texts)))
    return np.array([f"{i:0{digits}}: {text}" for i, text in enumerate(texts, 1)])


def _check_number(classes: int, name: str) -> None:
    if not 2 <= classes <= MOST_CLASSES:
        what = f"`{name}` has {classes} class{'es' if classes != 1 else ''}"
        remedy = "cut it with `target_quantiles`, or predict another attribute"
        raise InputError("wrong-target", f"{MODEL_LOCATION}.target", what, f"2 to {MOST_CLASSES} classes", remedy, name)


def _names(schema: Schema, spec: ModelSpec) -> tuple[str, ...]:
    _check_attribute(spec.target, schema, f"{MODEL_LOCATION}.target")
    usable = tuple(name for name in schema.release_columns if name != spec.target)
    if spec.features is None:
        left_out = tuple(a.name for a in schema.attributes if a.role is Role.WEIGHT or a.scale is Scale.FREE_TEXT)
        chosen = tuple(name for name in usable if name not in left_out)
    else:
        chosen = tuple(dict.fromkeys(spec.features))
    for name in chosen:
        _check_attribute(name, schema, f"{MODEL_LOCATION}.features")
    if spec.target in chosen or not chosen:
        what = "the target is among the features" if chosen else "there is nothing to predict the target from"
        allowed = ", ".join(usable) or "another published attribute"
        raise InputError("wrong-features", f"{MODEL_LOCATION}.features", what, allowed, "name other features", spec.target)
    return chosen


def _check_attribute(name: str, schema: Schema, where: str) -> None:
    allowed = ", ".join(schema.release_columns)
    if name not in schema:
        remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
        raise InputError("unknown-attribute", where, f"the table has no attribute `{name}`", allowed, remedy, name)
    if not schema[name].is_published:
        what = f"`{name}` has the role {schema[name].role} and is not published"
        raise InputError("unpublished-attribute", where, what, allowed, "name a published attribute", name)


def _feature(training: Microdata, attribute: Attribute) -> Feature:
    """An ordered text has those of its order that 10 training records hold: the file of the model lists them, and no others."""
    if attribute.scale in CATEGORICAL:
        return Feature(attribute.name, "category")
    if attribute.scale is Scale.ORDINAL and training.is_text(attribute.name) and attribute.order is not None:
        counts = training.column(attribute.name).drop_null().value_counts().to_pylist()
        held = {one["values"] for one in counts if one["counts"] >= FEWEST_OF_A_CLASS}
        return Feature(attribute.name, "order" if held else "category", tuple(text for text in attribute.order if text in held))
    return Feature(attribute.name, "number")


def _column(table: Microdata, schema: Schema, feature: Feature) -> np.ndarray[Any, Any] | pd.Series[Any]:
    column = table.column(feature.name)
    if feature.kind == "number":
        return extract_positions(table, schema, feature.name, f"{MODEL_LOCATION}.features: {feature.name}")
    if column.type in CALENDAR_TYPES:
        column = iso_texts(column)
    if column.type == pa.bool_():
        column = column.cast(pa.float64()) if feature.kind == "category" or column.null_count else column
    if pa.types.is_string(column.type):
        return np.where(column.is_null(), np.nan, column.to_numpy(zero_copy_only=False).astype(object))
    return np.asarray(column.to_numpy(zero_copy_only=False))

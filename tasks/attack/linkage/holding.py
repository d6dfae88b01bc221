"""What the intruder's own file says of the records: the originals, or these with errors, gaps, bands or another unit."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from tasks.ingest.codebooks.categories import Hierarchy
from tasks.microdata.by_attribute import MappingForm, WrittenMapping
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.scaling import compute_variance
from tasks.microdata.schema import CATEGORICAL, Attribute, Scale, Schema
from tasks.microdata.spec import Name, Percent, Spec
from tasks.microdata.table import DATE, Booleans, Floats, Microdata
from tasks.microdata.words import join_with_and


class Holding(Spec):
    """What the intruder holds of one attribute, in the order in which it comes about.

    wrong_percent: of so many records somebody else's value. noise_percent: normal noise with a standard deviation of so many
        percent of the attribute's. rounded_to: only the nearest multiple of it. coarser: each category's parent instead;
        compare the attribute by its hierarchy then. times: in another unit, of which the intruder knows nothing (it matters
        unless each file is scaled by itself). missing_percent: of so many records nothing.
    """

    wrong_percent: Percent | None = None
    noise_percent: Annotated[float, Field(gt=0, le=1000)] | None = None
    rounded_to: Annotated[float, Field(gt=0)] | None = None
    coarser: Hierarchy | None = None
    times: Annotated[float, Field(gt=0)] | None = None
    missing_percent: Percent | None = None

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.model_fields_set or all(value is None for _, value in self):
            raise ValueError("say what the intruder holds instead of the original values, or take the attribute out")
        return self

    @property
    def description(self) -> str:
        statements = (
            ("somebody else's value for {:g} %", self.wrong_percent),
            ("noise of {:g} % of its standard deviation", self.noise_percent),
            ("rounded to multiples of {:g}", self.rounded_to),
            ("coarser categories", None if self.coarser is None else 0),
            ("{:g} times as large", self.times),
            ("no value for {:g} %", self.missing_percent),
        )
        return ", ".join(words.format(value) for words, value in statements if value is not None)


Holdings = Annotated[
    tuple[tuple[Name, Holding], ...],
    BeforeValidator(WrittenMapping(Holding)),
    PlainSerializer(dict),
    MappingForm(Holding),
]


def apply_holdings(
    original: Microdata, schema: Schema, holdings: tuple[tuple[str, Holding], ...], where: str = "intruder.holds"
) -> Microdata:
    """The original table as the intruder holds it: row i is still of record i.

    The errors are their own, independent of the masking; they are the same in every run, so that attacks can be compared, and
    no secret. where: of the holdings in the release file.
    Raises InputError for what an attribute cannot have: noise, a multiple or a unit without numbers, a parent that the
    hierarchy does not give.
    """
    for name, holding in holdings:
        original = _apply_holding(original, schema[name], schema, holding, f"{where}.{name}")
    return original


def describe_holdings(holdings: tuple[tuple[str, Holding], ...]) -> str:
    """`age (rounded to multiples of 5) and town (no value for 10 %)`."""
    return join_with_and(f"{name} ({holding.description})" for name, holding in holdings)


def _apply_holding(data: Microdata, attribute: Attribute, schema: Schema, holding: Holding, location: str) -> Microdata:
    name = attribute.name
    rng = stream(bytes(SEED_BYTES), "held", name, str(data.n))
    if holding.wrong_percent is not None:
        wrong = rng.random(data.n) < holding.wrong_percent / 100
        whose = np.where(wrong, rng.integers(0, max(data.n, 1), data.n), np.arange(data.n))
        data = data.replace_column(name, data.column(name).take(pa.array(whose)))
    if holding.coarser is not None:
        data = data.replace_column(name, _parents(data.column(name), holding, location))
    if (holding.noise_percent, holding.rounded_to, holding.times) != (None, None, None):
        _check_has_numbers(attribute, holding, location)
        positions = extract_positions(data, schema, name, location)
        data = _replace_numbers(data, attribute, _perturb_positions(positions, holding, rng))
    if holding.missing_percent is not None:
        data = _blank_values(data, name, rng.random(data.n) < holding.missing_percent / 100)
    return data


def _perturb_positions(positions: Floats, holding: Holding, rng: np.random.Generator) -> Floats:
    if holding.noise_percent is not None:
        spread = np.sqrt(compute_variance(positions)) * holding.noise_percent / 100
        positions = positions + spread * rng.standard_normal(len(positions))
    if holding.rounded_to is not None:
        positions = np.round(positions / holding.rounded_to) * holding.rounded_to
    return positions * (holding.times or 1.0)


def _replace_numbers(data: Microdata, attribute: Attribute, positions: Floats) -> Microdata:
    """The column with other numbers: decimals where it held whole ones; days and categories stay whole."""
    column = data.column(attribute.name)
    if attribute.order is not None:
        return data.replace_positions(attribute, np.clip(np.rint(positions), 0, len(attribute.order) - 1))
    if data.is_calendar(attribute.name):
        return data.replace_positions(attribute, np.rint(positions) if column.type == DATE else positions)
    position = data.names.index(attribute.name)
    field = pa.field(attribute.name, pa.float64())
    return Microdata(data.arrow.set_column(position, field, pa.array(positions, from_pandas=True)))


def _blank_values(data: Microdata, name: str, missing: Booleans) -> Microdata:
    column = data.column(name)
    present = pa.array(np.arange(data.n), mask=missing | data.missing(name))
    return data.replace_column(name, column.take(present))


def _parents(column: pa.Array, holding: Holding, location: str) -> pa.Array:
    assert holding.coarser is not None  # noqa: S101  the caller has seen to it
    parents = holding.coarser.ancestors(1)
    texts = column.cast(pa.string()).to_pylist()
    if not pa.types.is_string(column.type):
        what = "`coarser` gives parents to categories that are texts, and this attribute holds none"
        raise InputError("not-texts", location, what, "an attribute of texts", "say it by `rounded_to`, or leave it out")
    orphans = sorted({text for text in texts if text is not None} - set(parents))
    if orphans:
        what = f"`coarser` gives no parent to {len(orphans):,} of the categories"
        remedy = "add them, also those that stay as they are"
        raise InputError("unknown-category", location, what, "a parent for each category", remedy, ", ".join(orphans[:5]))
    return pa.array([None if text is None else parents[text] for text in texts], pa.string())


def _check_has_numbers(attribute: Attribute, holding: Holding, location: str) -> None:
    if attribute.scale in CATEGORICAL:
        what = f"`{attribute.name}` is {attribute.scale}: its values are no numbers that could be blurred"
        raise InputError("no-order", location, what, "wrong_percent, coarser, missing_percent", "say it otherwise")
    if holding.times is not None and attribute.scale is not Scale.NUMERIC:
        what = f"`{attribute.name}` is {attribute.scale}: only numbers have a unit"
        raise InputError("no-unit", location, what, "a numeric attribute", "leave `times` out")

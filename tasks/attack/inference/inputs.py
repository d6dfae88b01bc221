"""What the intruder knows of people, as numbers that a learner takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tasks.microdata.schema import CATEGORICAL, Attribute, Schema
from tasks.microdata.table import Floats, Microdata, encode_jointly

MOST_CATEGORIES = 30  # of an attribute that have a column of their own: the most frequent ones of the release


def encode_inputs(rows: Microdata, people: Microdata, schema: Schema, knows: tuple[str, ...]) -> tuple[Floats, Floats]:
    """The known attributes of the rows that teach, and of the people who are asked about, as columns of numbers.

    Returns shapes (m, d) and (n, d), finite; see `encode_each_input`. Cost: O((m + n) d).
    Example: ages 20 and 40, asked about 60: -1 and 1, and 3.
    """
    return join_inputs(encode_each_input(rows, people, schema, knows), knows)


def encode_each_input(
    rows: Microdata, people: Microdata, schema: Schema, knows: tuple[str, ...]
) -> dict[str, tuple[Floats, Floats]]:
    """By known attribute its columns of numbers, of the rows and of the people.

    Measured and ordinal attributes are standardised by the rows' mean and standard deviation; what is missing has
    their mean, and a column that says so. A category has a column of zeros and ones if it is among the 30 most frequent of its
    attribute.
    """
    inputs = {}
    for name in knows:
        attribute = schema[name]
        if has_order(attribute, (rows, people)):
            columns = _standardise(rows.positions(attribute), people.positions(attribute))
        else:
            columns = _flag_categories(*encode_jointly(rows.column(name), people.column(name)))
        shown, asked = (np.column_stack(side) for side in zip(*columns, strict=True))
        inputs[name] = shown, asked
    return inputs


def join_inputs(inputs: Mapping[str, tuple[Floats, Floats]], names: Iterable[str]) -> tuple[Floats, Floats]:
    """The columns of some of the attributes side by side, of the rows and of the people."""
    shown, asked = (np.column_stack(side) for side in zip(*(inputs[name] for name in names), strict=True))
    return shown, asked


def has_order(attribute: Attribute, tables: Iterable[Microdata]) -> bool:
    """Do the attribute's values have positions in all of these tables? A mask can make texts of numbers (`under 30`)."""
    return attribute.scale not in CATEGORICAL and all(
        not table.is_text(attribute.name) or attribute.order is not None for table in tables
    )


def _standardise(shown: Floats, asked: Floats) -> list[tuple[Floats, Floats]]:
    present = shown[~np.isnan(shown)]
    mean = float(present.mean()) if len(present) else 0.0
    spread = float(present.std()) or 1.0 if len(present) else 1.0
    both = shown, asked
    scaled = tuple(np.nan_to_num((values - mean) / spread, nan=0.0) for values in both)
    missing = tuple(np.isnan(values).astype(np.float64) for values in both)
    columns = [(scaled[0], scaled[1])]
    return [*columns, (missing[0], missing[1])] if missing[0].any() or missing[1].any() else columns


def _flag_categories(shown: np.ndarray, asked: np.ndarray) -> list[tuple[Floats, Floats]]:
    counts = np.bincount(shown + 1)
    frequent = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    return [((shown + 1 == code).astype(np.float64), (asked + 1 == code).astype(np.float64)) for code in frequent]

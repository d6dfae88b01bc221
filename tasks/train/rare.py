"""Refuse models whose file holds something only because a few training records have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tasks.microdata.errors import InputError
from tasks.microdata.imports import one_at_a_time
from tasks.train.examples import FEWEST_OF_A_CLASS
from tasks.train.model_parts import list_model_parts
from tasks.train.spec import MODEL_LOCATION

_MISSING = object()


def refuse_rare_categories(model: Any, frame: pd.DataFrame) -> None:
    """InputError where an encoder of a fitted model lists categories of 1 to 9 training records, missing being one of them.

    Or where it marks the missing values of a column that so few lack. Meaning: whoever holds such a category, or no value, is
    known to have taught the model by looking it up in the file, whatever the model answers. Models trained here list none.

    frame: shape (n, d), the training records. A category is counted in the columns that its encoder names, or else in the one
    where most records hold it; one that no record holds is somebody's list, and tells nothing. Columns that have no names where
    their missing values are marked (those that another step made) are not judged. Cost: O(n d).
    """
    counts = {str(name): Counter(map(_normalise_missing, frame[name].tolist())) for name in frame.columns}
    rare = sum(
        1
        for held in (*_count_category_records(model, counts), *_count_marked_missing(model, counts))
        if 0 < held < FEWEST_OF_A_CLASS
    )
    if rare:
        named = f"{rare} categor{'ies' if rare != 1 else 'y'}"
        what = f"the model's encoders list {named} that fewer than {FEWEST_OF_A_CLASS} training records hold"
        allowed = f"categories of {FEWEST_OF_A_CLASS} training records or more: the file shows them as they are"
        remedy = (
            "fit it again: `OneHotEncoder(categories=[...], handle_unknown='ignore')` without them "
            "(`min_frequency` lists all), and imputers without `add_indicator`"
        )
        raise InputError("rare-category", f"{MODEL_LOCATION}.file", what, allowed, remedy)


def _normalise_missing(value: Any) -> Any:
    return _MISSING if pd.isna(value) else value


def _count_category_records(model: Any, counts: dict[str, Counter[Any]]) -> Iterator[int]:
    """Of each category of each encoder: how many records hold it."""
    for part in list_model_parts(model):
        lists = getattr(part.held, "__dict__", {}).get("categories_")
        if lists is None:
            continue
        names = _names(part.held)
        for i, categories in enumerate(lists):
            columns = [counts[names[i]]] if i < len(names) and names[i] in counts else list(counts.values())
            for category in map(_normalise_missing, np.asarray(categories, dtype=object).tolist()):
                yield max((column[category] for column in columns), default=0)


def _count_marked_missing(model: Any, counts: dict[str, Counter[Any]]) -> Iterator[int]:
    """Of each column whose missing values are marked because there were some: how many records have none."""
    with one_at_a_time():
        from sklearn.impute import MissingIndicator

    for part in list_model_parts(model):
        if not isinstance(part.held, MissingIndicator) or part.held.features != "missing-only":
            continue
        names = _names(part.held) or _names(part.owner)  # of the imputer that it marks for
        for feature in getattr(part.held, "features_", ()):
            if feature < len(names) and names[feature] in counts:
                yield counts[names[feature]][_MISSING]


def _names(held: Any) -> list[str]:
    return [str(name) for name in getattr(held, "feature_names_in_", ())]

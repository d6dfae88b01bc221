"""The chart of what became of the rank correlations.

What it may tell: with the release's correlation an exact difference gives the original's (up to a sign). The public edition
has differences alone, with 2 digits and at most 3 decimals as `score.figure_rounding` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from tasks.microdata.schema import MEASURED, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.report.charts.editions import DrawingRule
from tasks.score.figure_rounding import DECIMALS, FEW, round_significant

MOST_ATTRIBUTES = 15


@dataclass(frozen=True, slots=True)
class Pair:
    """The rank correlation of two attributes: how far it moved (None: undefined); internally also from where to where."""

    one: str
    other: str
    difference: float | None
    original: float | None = None
    released: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """The pairs in which a mask touched an attribute, of those attributes that changed most, in the order of the table.

    n_attributes: how many there were to choose from.
    """

    attributes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    n_attributes: int = 0


def relations(original: Microdata, masked: Microdata, schema: Schema, touched: frozenset[str], rule: DrawingRule) -> Relations:
    """Spearman's rank correlations before and after, of measured and ordinal attributes, over the records that have both.

    original, masked: the same records, or two tables of their own. touched: the attributes that a mask named.
    Cost: O(d^2 n) for d attributes. Example: two attributes, none of them touched: no pairs.
    """
    names = [one.name for one in schema.attributes if one.is_published and one.scale in MEASURED | {Scale.ORDINAL}]
    before, after = (_correlations(table, schema, names) for table in (original, masked))
    pairs = {(a, b): (before[a][b], after[a][b]) for a, b in combinations(names, 2) if touched & {a, b}}
    kept = _most_changed(names, pairs)
    shown = tuple(_pair(a, b, *found, rule) for (a, b), found in pairs.items() if a in kept and b in kept)
    return Relations(attributes=kept, pairs=shown, n_attributes=len({name for pair in pairs for name in pair}))


def _correlations(table: Microdata, schema: Schema, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({name: table.positions(schema[name]) for name in names}).corr(method="spearman")


def _most_changed(names: list[str], pairs: dict[tuple[str, str], tuple[float, float]]) -> tuple[str, ...]:
    changes: dict[str, float] = {}
    for pair, (before, after) in pairs.items():
        for name in pair:
            changes[name] = changes.get(name, 0.0) + float(np.nan_to_num(abs(after - before)))
    most = set(sorted(changes, key=lambda name: -changes[name])[:MOST_ATTRIBUTES])
    return tuple(name for name in names if name in most)


def _pair(one: str, other: str, before: float, after: float, rule: DrawingRule) -> Pair:
    difference = abs(after - before)
    if math.isnan(difference):
        return Pair(one, other, None)
    if rule.exact:
        return Pair(one, other, float(difference), float(before), float(after))
    return Pair(one, other, round_significant(difference, FEW, DECIMALS))

"""Figures by the names of their measures, and as a data frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from tasks.microdata.estimate import Estimate
from tasks.microdata.suggestion import did_you_mean
from tasks.score.catalogue import MEASURES
from tasks.score.policy import DECLARED, is_by

_COLUMNS = (
    "measure", "attack", "intruder", "attribute", "subgroup", "value", "low", "high", "chance", "unit", "status", "n_targets",
    "reason",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class FigureTable(Mapping[str, float]):
    """Figures of one release.

    `table["reidentification"]` is the worst figure of a measure, as a policy line on it would take it: of the declared intruder
    by any attack, of the whole table if there is one of it. `table["reidentification|transparency|declared"]` is the figure of
    this id (the index of `to_frame`). NaN: it was asked and has no value; `to_frame` says why.
    """

    estimates: tuple[Estimate, ...]

    def __getitem__(self, name: str) -> float:
        found = self.find_estimate(name)
        if found is None:
            raise KeyError(f"{name}: {did_you_mean(name, self, 'the measures are ' + ', '.join(self))}")
        return math.nan if found.value is None else found.value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(one.measure for one in self.estimates))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find_estimate(self, name: str) -> Estimate | None:
        """The figure of an id, or the worst one of a measure, with its interval and its reasons; None: there is none."""
        named = next((one for one in self.estimates if one.id == name), None)
        return named or find_worst([one for one in self.estimates if one.measure == name])

    def to_frame(self) -> pd.DataFrame:
        """One row for each figure, by its id."""
        rows = [[getattr(one, name) for name in _COLUMNS] for one in self.estimates]
        frame = pd.DataFrame(rows, columns=list(_COLUMNS), index=[one.id for one in self.estimates])
        numbers = ["value", "low", "high", "chance"]
        return frame.astype(dict.fromkeys(numbers, "float64")).rename_axis("id")


def find_worst(estimates: list[Estimate]) -> Estimate | None:
    """The worst of figures of one measure: of the declared intruder and the whole table, where there are such.

    Of equal ones the first. None: there are none.
    """
    who = [one for one in estimates if one.intruder is None or is_by(one.intruder, None)] or estimates
    whole = [one for one in who if one.attribute is None and one.subgroup is None] or who
    valued = [one for one in whole if one.value is not None]
    if not valued:
        return next(iter(whole), None)
    better = MEASURES[valued[0].measure].better
    return (min if better == "higher" else max)(valued, key=lambda one: one.value or 0.0)


def select_declared(estimates: tuple[Estimate, ...]) -> list[Estimate]:
    """Those of the declared intruder."""
    return [one for one in estimates if one.intruder == DECLARED]

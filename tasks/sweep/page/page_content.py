"""What the page of a sweep shows: one record, made of the result table, that holds figures and parameters alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PointDecision = Literal["kept", "broken", "undecided", "none"]
TrialStatus = Literal["ok", "skipped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """A figure of every point over its seeds; NaN where a point has none."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageAxis:
    """A parameter. path: where it stands in the release file; values: by point, None where it has no such axis."""

    path: str
    label: str
    values: tuple[float | int | str | bool | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageFigure:
    """A measure of every point. main: can be an axis, a filter, a size; the others stand with a chosen point."""

    id: str
    label: str
    unit: str
    spread: Spread
    main: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RiskUtilityMap:
    """One way to say what the risk is, and the frontier that it gives.

    title: in a few words, e.g. `all attacks`. axis: the name of the risk on its scale. says: what it is, in a sentence.
    frontier: places of points (not their numbers), by growing loss. limit: up to where the policy lets this very figure go.
    """

    name: str
    title: str
    axis: str
    says: str
    unit: str
    risk: Spread
    frontier: tuple[int, ...]
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageLoss:
    """The loss of every point. axis: its name on the scale; limit: up to where the policy lets it go, if it limits it."""

    axis: str
    says: str
    unit: str
    spread: Spread
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluenceCell:
    """How much a parameter moves a measure. share: 0..1, None if not told. direction: -1..1, None where there is no order."""

    share: float | None
    direction: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluenceTable:
    """Which parameter moves which measure. rows: one a parameter. says: what a share is. gaps: why some are not told."""

    parameters: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[tuple[InfluenceCell, ...], ...]
    says: str
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageData:
    """The whole page.

    numbers, pipelines, methods, statuses, reasons, decisions: one for each point. methods: of the masks, e.g. `pram + noise`.
    reasons: of a point that was skipped or failed, else empty. decisions: does it keep every line of the policy?
    views: the sweep's own first. releases: the release file by the number of a point, of as many points as there is room for.
    attacks: those that ran, by id. began_at, written_at: in words, with the time zone. earlier: the earlier releases with
    which every point was attacked.
    """

    name: str
    id: str
    base: str
    strategy: str
    seeds: int
    attacks: tuple[str, ...]
    began_at: str
    written_at: str
    numbers: tuple[int, ...]
    pipelines: tuple[str, ...]
    methods: tuple[str, ...]
    statuses: tuple[TrialStatus, ...]
    reasons: tuple[str, ...]
    decisions: tuple[PointDecision, ...]
    policy: tuple[str, ...]
    axes: tuple[PageAxis, ...]
    loss: PageLoss
    views: tuple[RiskUtilityMap, ...]
    figures: tuple[PageFigure, ...]
    influence: InfluenceTable | None = None
    releases: Mapping[int, str] = field(default_factory=dict)
    left_out: int = 0
    earlier: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The pipelines, each once, in the order of the sweep file: their places choose colours and shapes."""
        return tuple(dict.fromkeys(self.pipelines))

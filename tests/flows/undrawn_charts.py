"""Charts that are computed and described but not drawn: matplotlib takes half of the time of a small run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from tasks.report.charts import canvas


class Anything:
    """Takes every call, and gives itself: axes, their patches and their texts on which nothing is drawn."""

    def __call__(self, *_: object, **__: object) -> Anything:
        return self

    def __getattr__(self, name: str) -> Anything:
        return self

    def __getitem__(self, _: object) -> Anything:
        return self

    def __iter__(self) -> Iterator[Anything]:
        return iter((self,))


class Place(Anything):
    """Where axes lie in a sheet, as shares of it."""

    def __init__(self, box: tuple[float, float, float, float]) -> None:
        self.width, self.height = box[2:]


class UndrawnAxes(Anything):
    def __init__(self, box: tuple[float, float, float, float]) -> None:
        self.place = Place(box)

    def get_position(self) -> Place:
        return self.place


class UndrawnFigure:
    """As much of a matplotlib figure as the canvas of the charts asks for; the picture is empty."""

    def __init__(self, figsize: tuple[float, float], dpi: int) -> None:
        self.size, self.dpi, self.patch = figsize, dpi, Anything()

    def add_axes(self, box: tuple[float, float, float, float]) -> UndrawnAxes:
        return UndrawnAxes(box)

    def get_size_inches(self) -> tuple[float, float]:
        return self.size

    def savefig(self, sink: TextIO, **_: Any) -> None:
        sink.write('<svg xmlns="http://www.w3.org/2000/svg"/>')


def leave_charts_undrawn(patch: pytest.MonkeyPatch) -> None:
    """The reports of this process have charts with title and description, without shapes."""
    patch.setattr(canvas, "Figure", UndrawnFigure)
    patch.setattr(canvas, "FigureCanvasSVG", Anything())

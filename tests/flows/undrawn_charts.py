"""Charts with all their texts and without their shapes: matplotlib takes half of the time of a small run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TextIO
from xml.etree import ElementTree

import matplotlib.figure
import pytest
from matplotlib.artist import Artist
from matplotlib.backends import backend_svg

SVG = "{http://www.w3.org/2000/svg}"


class Undrawn:
    """Takes every call and gives itself: axes, their ticks and texts. What it is told to write goes into `root`."""

    def __init__(self, root: ElementTree.Element) -> None:
        self.root = root

    def __call__(self, *told: object, **_: object) -> Undrawn:
        for one in told:
            for part in one if isinstance(one, list | tuple) else (one,):
                self.keep(part)
        return self

    def keep(self, part: object) -> None:
        """A text, or the id of a shape that has a title (`Sheet.add_title`)."""
        told = part.get_gid() if isinstance(part, Artist) else part
        if isinstance(told, str) and re.fullmatch(r"title-\d+", told):
            ElementTree.SubElement(self.root, f"{SVG}path", {"id": told})
        elif isinstance(told, str):
            ElementTree.SubElement(self.root, f"{SVG}text").text = told

    def get_xlim(self) -> tuple[float, float]:
        return 0.0, 1.0

    get_ylim = get_xlim

    def __getattr__(self, name: str) -> Undrawn:
        return self

    def __getitem__(self, _: object) -> Undrawn:
        return self

    def __iter__(self) -> Iterator[Undrawn]:
        return iter((self,))


class Place:
    """Where axes lie in a sheet, as shares of it."""

    def __init__(self, box: tuple[float, float, float, float]) -> None:
        self.width, self.height = box[2:]


class UndrawnAxes(Undrawn):
    def __init__(self, root: ElementTree.Element, box: tuple[float, float, float, float]) -> None:
        super().__init__(root)
        self.place = Place(box)

    def get_position(self) -> Place:
        return self.place


class UndrawnFigure:
    """As much of a matplotlib figure as the canvas of the charts asks for."""

    def __init__(self, figsize: tuple[float, float], dpi: int) -> None:
        self.size, self.dpi, self.root = figsize, dpi, ElementTree.Element(f"{SVG}svg")
        self.patch = Undrawn(self.root)

    def add_axes(self, box: tuple[float, float, float, float]) -> UndrawnAxes:
        return UndrawnAxes(self.root, box)

    def get_size_inches(self) -> tuple[float, float]:
        return self.size

    def savefig(self, sink: TextIO, **_: Any) -> None:
        sink.write(ElementTree.tostring(self.root, encoding="unicode"))


def leave_charts_undrawn(patch: pytest.MonkeyPatch) -> None:
    """The charts of this process have their title, description and texts, without shapes."""
    patch.setattr(matplotlib.figure, "Figure", UndrawnFigure)
    patch.setattr(backend_svg, "FigureCanvasSVG", lambda figure: None)

"""From a matplotlib figure to an SVG that may stand in a page: no style of its own, nothing fetched, nothing to click.

Charts are 300 units wide, so that on a telephone of 360 pixels a unit is about a pixel and no text is smaller than 11. The
colours are stand-ins that become the page's CSS variables: light, dark and print are the page's affair.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from xml.etree import ElementTree

if TYPE_CHECKING:  # matplotlib takes most of a second to import: only where something is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 300.0
FONT_SIZE = 11.5
CHARACTER_WIDTH = 7.1  # a wide average in units, so that most fonts are narrower
INK, SOFT, LINE, BEFORE, AFTER, TRACK = (f"#00000{i}" for i in range(1, 7))
HEAT = ("#000011", "#000012", "#000013", "#000014")
_VARIABLES = {
    INK: "ink",
    SOFT: "soft",
    LINE: "line",
    BEFORE: "chart-before",
    AFTER: "chart-after",
    TRACK: "track",
    **{colour: f"heat-{i + 1}" for i, colour in enumerate(HEAT)},
}
_SVG = "{http://www.w3.org/2000/svg}"
_KEPT = {"path": ("d", "transform", "style"), "text": ("x", "y", "transform", "style"), "g": ("transform", "style")}
_PARAMETERS = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched, and is drawn in the page's font
    "svg.hashsalt": "sdcert",
    "text.parse_math": False,  # a `$` in a name is a dollar sign
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    "axes.unicode_minus": True,
    "path.simplify": False,
}
_ELLIPSIS = "\u2026"


class BarStyle(TypedDict):
    """Colours of a bar and of its edge; the edge's width in points."""

    fc: str
    ec: str
    lw: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """A figure with one pair of axes, and the full texts that stand behind its shortened ones."""

    figure: Figure
    axes: Axes
    titles: dict[str, str] = field(default_factory=dict)

    def add_title(self, text: str) -> str:
        """An id for an artist (`set_gid`) whose title is this text."""
        name = f"title-{len(self.titles)}"
        self.titles[name] = text
        return name

    def add_bar(self, left: float, bottom: float, width: float, height: float, text: str, **style: Unpack[BarStyle]) -> None:
        """A rectangle in units of the axes with a title. The limits of the axes stay: matplotlib's own `bar` takes long."""
        from matplotlib.patches import Rectangle

        bar = Rectangle((left, bottom), width, height, clip_on=False, **style)
        bar.set_gid(self.add_title(text))
        self.axes.add_artist(bar)


def find_round_ticks(low: float, high: float, **options: Any) -> list[float]:
    """Ascending round numbers from at or below `low` to at or above `high`. options: those of matplotlib's MaxNLocator."""
    from matplotlib.ticker import MaxNLocator

    return [float(tick) for tick in MaxNLocator(**options).tick_values(low, high)]


@contextmanager
def create_sheet(height: float, *, left: float, right: float, top: float, bottom: float) -> Iterator[Sheet]:
    """An empty sheet of 300 x `height` units; the axes keep these margins and have neither frame nor marks.

    Charts are drawn and written out inside the `with`: matplotlib's settings hold there, whatever the machine's own are.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the page's fonts draw the text, not matplotlib's
        mpl.rcdefaults()
        for name, value in _PARAMETERS.items():
            mpl.rcParams[name] = value  # type: ignore[index]  # the keys are a long literal type in its stubs
        figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        box = (left / WIDTH, bottom / height, (WIDTH - left - right) / WIDTH, (height - top - bottom) / height)
        axes = figure.add_axes(box)
        axes.patch.set_visible(False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, pad=4, labelsize=FONT_SIZE, labelcolor=SOFT)
        yield Sheet(figure, axes)


def format_svg(drawn: Sheet, *, key: str, title: str, description: str) -> str:
    """The picture as an `svg` element with a title and a description, everything else left out but shapes and texts.

    key: an id that is its own in the page. Text is escaped by ElementTree. The same sheet gives the same text.
    """
    sink = io.StringIO()
    drawn.figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    source = ElementTree.fromstring(sink.getvalue())  # noqa: S314  our own drawing, its texts escaped by matplotlib
    width, height = (float(side) * 72 for side in drawn.figure.get_size_inches())
    names = {"class": "chart", "role": "img", "aria-labelledby": f"{key}-title {key}-desc"}
    root = ElementTree.Element("svg", {**names, "viewBox": f"0 0 {width:g} {height:g}"})
    for tag, text in (("title", title), ("desc", description)):
        ElementTree.SubElement(root, tag, {"id": f"{key}-{tag}"}).text = to_printable(text)
    _copy_shapes_and_texts(source, root, drawn.titles)
    return ElementTree.tostring(root, encoding="unicode")


def shorten(text: str, width: float, size: float = FONT_SIZE) -> str:
    """The text as one line of at most so many units: blanks joined, marks that steer the writing left out, an ellipsis."""
    line = to_printable(text)
    room = width / (CHARACTER_WIDTH * size / FONT_SIZE)
    if _count_cells(line) <= room:
        return line
    kept = ""
    for character in line:
        if _count_cells(kept + character) > room - 1:
            break
        kept += character
    return kept.rstrip() + _ELLIPSIS


def to_printable(text: str) -> str:
    """The text on one line without control and formatting characters (they could turn or hide what stands beside them)."""
    visible = "".join(one if unicodedata.category(one)[0] != "C" else " " for one in text)
    return " ".join(visible.split())


def estimate_text_width(text: str, size: float = FONT_SIZE) -> float:
    """About how many units a line takes."""
    return _count_cells(text) * CHARACTER_WIDTH * size / FONT_SIZE


def _count_cells(text: str) -> float:
    """How many average characters wide: an ideograph or an emoji counts two, a mark on a letter none."""
    return sum(0.0 if unicodedata.combining(one) else 2.0 if unicodedata.east_asian_width(one) in "WF" else 1.0 for one in text)


def _copy_shapes_and_texts(source: ElementTree.Element, into: ElementTree.Element, titles: dict[str, str]) -> None:
    """The shapes and texts below `source`, without ids, clipping, links and empty groups."""
    for child in source:
        tag = child.tag.removeprefix(_SVG)
        if tag not in _KEPT:
            continue
        kept = {name: _apply_theme(child.attrib[name]) for name in _KEPT[tag] if name in child.attrib}
        if kept.get("transform", "").startswith("rotate(-0 "):
            del kept["transform"]
        full = titles.get(child.attrib.get("id", ""))
        target = into if tag == "g" and not kept and full is None else ElementTree.SubElement(into, tag, kept)
        target.text = child.text if tag == "text" else target.text
        if full is not None:
            ElementTree.SubElement(target, "title").text = to_printable(full)
        _copy_shapes_and_texts(child, target, titles)


def _apply_theme(style: str) -> str:
    for colour, variable in _VARIABLES.items():
        style = style.replace(colour, f"var(--{variable})")
    return " ".join(style.replace("font-family: 'DejaVu Sans'; ", "").split())

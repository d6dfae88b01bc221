"""A triangle of cells: how far each correlation moved."""

from __future__ import annotations

from tasks.report.charts.canvas import (
    FONT_SIZE,
    HEAT,
    INK,
    LINE,
    SOFT,
    WIDTH,
    Sheet,
    create_sheet,
    estimate_text_width,
    format_svg,
    shorten,
)

LEVELS = (0.02, 0.05, 0.1)
LEVEL_TEXTS = ("under 0.02", "to 0.05", "to 0.1", "over 0.1")
_LEFT, _LEGEND = 112.0, 44.0
_CELL = 24.0


def find_level(difference: float) -> int:
    """The bracket of a difference, 0..3: below 0.02, below 0.05, below 0.1, and above."""
    return sum(difference >= bound for bound in LEVELS)


def draw_heat(
    names: tuple[str, ...], differences: dict[tuple[int, int], float], *, key: str, title: str, description: str
) -> str:
    """The lower triangle as an SVG: row and column by number, empty cells where there is no difference to show."""
    n = len(names)
    cell = min(_CELL, (WIDTH - _LEFT - 8) / n)
    height = n * cell + _LEGEND + 24
    with create_sheet(height, left=_LEFT, right=WIDTH - _LEFT - n * cell, top=4, bottom=height - 4 - n * cell) as drawn:
        axes = drawn.axes
        axes.set_xlim(0, n)
        axes.set_ylim(n, 0)
        for (one, other), difference in differences.items():
            row, column = max(one, other), min(one, other)
            text = f"{names[column]} and {names[row]}: {difference:.3g}"
            drawn.add_bar(column + 0.05, row + 0.05, 0.9, 0.9, text, fc=HEAT[find_level(difference)], ec=LINE, lw=0.6)
        marked = range(0, n - 1, 1 if cell >= estimate_text_width("10") + 2 else 2)
        axes.set_xticks([i + 0.5 for i in marked], [str(i + 1) for i in marked])
        axes.set_yticks([])
        for i, name in enumerate(names):
            text = shorten(f"{i + 1}  {name}", _LEFT - 6)
            label = axes.annotate(text, (0, i + 0.5), (-6, -FONT_SIZE * 0.35), textcoords="offset points", color=SOFT,
                                  fontsize=FONT_SIZE,
                                  ha="right", va="baseline", annotation_clip=False)  # fmt: skip
            label.set_gid(drawn.add_title(name))
        _draw_legend(drawn, n)
        return format_svg(drawn, key=key, title=title, description=description)


def _draw_legend(drawn: Sheet, n: int) -> None:
    left = 4 - _LEFT
    for colour, text in zip(HEAT, LEVEL_TEXTS, strict=True):
        for shown, ink, size, text_at in (("\u25a0", colour, 13.0, (left, -45)), (text, INK, FONT_SIZE, (left + 15, -44))):
            drawn.axes.annotate(
                shown, (0, n), text_at, textcoords="offset points", color=ink, fontsize=size, annotation_clip=False
            )
        left += estimate_text_width(text) + 17

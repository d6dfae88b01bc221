"""The colours of the page: every text has contrast in every theme."""

import re
from importlib.resources import files

import pytest

LIGHT, DARK, PRINT = range(3)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT])
def test_every_text_has_contrast_in_every_theme(theme):
    style = (files("tasks.report") / "templates" / "report.css").read_text()
    blocks = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    colours = blocks[LIGHT] | blocks[theme]
    for text in ("ink", "soft", "link", "pass", "fail", "undecided"):
        for ground in ("paper", "ground"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for tone in ("pass", "fail", "undecided"):
        assert _contrast(colours[tone], colours[f"{tone}-ground"]) >= 4.5
        assert _contrast(colours["ink"], colours[f"{tone}-ground"]) >= 7
        assert _contrast(colours[tone], colours["track"]) >= 3
    assert _contrast(colours["fill"], colours["track"]) >= 3


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""Reports in a browser: every chart draws, nothing overflows, nothing is fetched, and everybody can use them."""

from __future__ import annotations

import pytest

BOXES = """() => [...document.querySelectorAll('svg.chart')].map(svg => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(text => {
    const box = text.getBoundingClientRect();
    return {said: text.firstChild ? text.textContent : '', left: box.left, right: box.right, top: box.top, bottom: box.bottom,
            size: parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width};
  });
  return {name: svg.getAttribute('aria-labelledby'), left: frame.left, right: frame.right, top: frame.top, bottom: frame.bottom,
          shapes: svg.querySelectorAll('path').length, texts};
})"""
WIDER = """() => [...document.querySelectorAll('body *')]
  .filter(one => !one.closest('.scroll, .hidden, .skip, thead'))
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(one => one.outerHTML.slice(0, 99))"""
STOPS = """() => document.querySelectorAll('summary, .scroll, nav a').length
  - document.querySelectorAll('details .scroll').length"""
FOCUSED = """() => { const one = document.activeElement; one.dataset.n ??= Math.random(); return one.dataset.n; }"""


def overlapping(texts, slack=2.0):
    """Pairs of texts in one picture that lie on each other by more than the slack."""
    found = []
    for i, one in enumerate(texts):
        for other in texts[i + 1 :]:
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            if across > slack and down > slack + 2:
                found.append((one["said"], other["said"]))
    return found


@pytest.mark.parametrize("width", [360, 1280])
def test_every_chart_draws_and_its_texts_are_legible(opened, which, width):
    page = opened(which, width=width)
    charts = page.evaluate(BOXES)
    assert len(charts) >= 3
    for chart in charts:
        assert chart["right"] - chart["left"] > 200
        assert chart["bottom"] - chart["top"] > 40
        assert chart["shapes"] > 2
        assert overlapping(chart["texts"]) == [], chart["name"]
        for text in chart["texts"]:
            assert text["left"] >= chart["left"] - 3, (chart["name"], text)
            assert text["right"] <= chart["right"] + 3, (chart["name"], text)
            assert chart["top"] - 3 <= text["top"] <= text["bottom"] <= chart["bottom"] + 3, (chart["name"], text)
            assert text["size"] >= 11, (chart["name"], text)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_never_scrolls_sideways(opened, which, width):
    page = opened(which, width=width)
    for details in page.query_selector_all("details"):
        details.evaluate("one => one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WIDER) == []


@pytest.mark.parametrize("width", [360, 1280])
def test_a_usual_name_is_not_broken_inside(opened, width):
    page = opened("detailed", width=width)
    for details in page.query_selector_all("details"):
        details.evaluate("one => one.open = true")
    assert page.evaluate(BROKEN.replace("NAME", "household_weights")) == 0
    assert page.evaluate(BROKEN.replace("NAME", "household_weights" * 4)) > 0


BROKEN = """() => [...document.querySelectorAll('tbody th')].filter(head => {
  head.textContent = 'NAME';
  const text = document.createRange();
  text.selectNodeContents(head);
  return new Set([...text.getClientRects()].map(box => box.top)).size > 1;
}).length"""


def test_nothing_is_asked_of_the_network(opened, which):
    page = opened(which)
    page.wait_for_load_state("networkidle")
    assert page.asked == []
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert page.evaluate("window.alerted") is None


def test_the_policy_of_the_page_stops_what_would_run_or_fetch(opened, planted):
    page = opened("detailed")
    assert planted(page) == (None, [])


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_axe_finds_nothing_serious(opened, which, scheme, serious):
    page = opened(which, color_scheme=scheme, bypass_csp=True)  # axe is a script: the page's own policy would stop it
    for details in page.query_selector_all("details"):
        details.evaluate("one => one.open = true")
    assert serious(page) == []


def test_axe_sees_a_planted_fault(opened, serious):
    page = opened("detailed", bypass_csp=True)
    page.evaluate("document.querySelector('h1').style.color = '#f0f0f0'")
    assert "color-contrast" in {name for name, _ in serious(page)}


def test_the_keyboard_reaches_everything(opened):
    page = opened("detailed")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    wanted = page.evaluate(
        "document.querySelectorAll('summary, .scroll, nav a').length - document.querySelectorAll('details .scroll').length"
    )
    reached = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "(() => { const one = document.activeElement; one.dataset.n ??= Math.random(); return one.dataset.n })()"
            )
        )
        shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert shown != "none"
        if len(reached) >= wanted:
            break
    assert len(reached) >= wanted
    summary = page.query_selector("figure summary")
    assert summary is not None
    summary.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('figure details').open") is True
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "scroll"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Table of the chart")


def test_the_verdict_fits_one_screen(opened):
    page = opened("detailed")
    for part in (".verdict", ".overview .chart", ".done", ".tiles"):
        box = page.query_selector(part).bounding_box()
        assert box["y"] + box["height"] <= 800, part


@pytest.mark.parametrize("which", ["detailed", "refused"])
def test_it_prints(opened, which):
    page = opened(which)
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF-")
    assert 5 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type/Page/") <= 40
    page.emulate_media(media="print")
    for hidden in ("nav", ".skip", ".data"):
        assert not page.is_visible(hidden)
    assert page.is_visible("svg.chart")
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    grid = page.query_selector("section details:not(.data) .scroll")
    assert grid is not None
    assert grid.bounding_box() is not None  # folded on the screen, there on paper


def test_dark_and_forced_colours_draw_the_charts_in_other_colours(opened):
    colours = [
        opened("detailed", color_scheme="light").evaluate(FILL),
        opened("detailed", color_scheme="dark").evaluate(FILL),
        opened("detailed", forced_colors="active").evaluate(FILL),
    ]
    assert colours[0] != colours[1]
    assert all(colour.startswith("rgb(") for colour in colours)


FILL = """() => getComputedStyle([...document.querySelectorAll('svg.chart path')]
  .find(one => one.getAttribute('style').includes('chart-after'))).fill"""

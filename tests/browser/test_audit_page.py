"""The page of the audit trail in a browser: it filters, sorts and opens runs, by keyboard as well, and fetches nothing."""

from __future__ import annotations

import os

import pytest
from trails import attempt, attribute, began, digest, ended, runs, write_trail

from flows.cli.audit.export import export_runs

HOSTILE = "</script><img src=x onerror=window.ran=1>\u202e\x1b[31m"
RUN = "20261121T093000Z-1f2e3d"
WIDER = """() => [...document.querySelectorAll('body *')]
  .filter(one => !one.closest('.hidden, .skip, thead'))
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(one => one.outerHTML.slice(0, 99))"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A page of 131 runs, the newest of them with hostile names, revoked."""
    home = tmp_path_factory.mktemp("trail") / "home"
    asked = {"user": HOSTILE, "host": "office", "deployment": None, "flow_run": None}
    revoked = {"kind": "revoked", "run": RUN, "certificate": digest(RUN, "certificate"), "revocation": digest("r"),
               "reason": HOSTILE, "asked_by": asked}  # fmt: skip
    special = [
        began(RUN, release=HOSTILE, asked_by=asked),
        attempt(RUN),
        ended(RUN, release=HOSTILE, attributes=[attribute(HOSTILE)]),
        revoked,
    ]
    write_trail(home, [*runs(130), *special])
    before, os.environ["SDCERT_HOME"] = os.environ["SDCERT_HOME"], str(home)
    path = home.parent / "audit.html"
    filters = dict.fromkeys(("release", "series", "since", "until", "verdict", "dataset", "touching"))
    assert export_runs("html", path, last=None, force=False, **filters) == 0
    os.environ["SDCERT_HOME"] = before
    return path


@pytest.fixture
def trail(browser, exported):
    """Opens the page; what it asks the network for is noted and refused, and so are its errors."""
    contexts = []

    def open_page(*, width: int = 1280, fragment: str = "", **how):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **how)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.errors = [], []
        context.route(
            lambda url: not url.startswith("file:"), lambda route: (page.asked.append(route.request.url), route.abort())
        )
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(exported.as_uri() + fragment)
        return page

    yield open_page
    for context in contexts:
        context.close()


def shown(page, column: int = 0) -> list[str]:
    return page.evaluate(f"[...document.querySelectorAll('#rows tr')].map(row => row.children[{column}].innerText)")


def test_it_shows_the_newest_first_and_turns_its_pages(trail):
    page = trail()
    assert page.inner_text("#count") == "131 runs"
    first = shown(page)
    assert first[0] == RUN
    assert len(first) == 50
    page.click("#next")
    assert page.inner_text("#where") == "page 2 of 3"
    assert not set(shown(page)) & set(first)
    page.click("#end")
    assert len(shown(page)) == 31
    assert page.is_disabled("#next")
    page.click("#first")
    assert shown(page) == first
    assert page.errors == []


def test_it_filters_by_every_control(trail):
    page = trail()
    page.select_option("#verdict", label="refused")
    assert set(shown(page, 6)) == {"refused"}
    page.select_option("#release", label="release-16")
    assert page.inner_text("#count") == "1 of 131 runs"
    page.click("text=Clear")
    page.locator("#count", has_text="131 runs").wait_for()
    page.fill("#since", "2026-01-02")
    assert shown(page) == []
    page.fill("#since", "2026-01-01")
    assert page.inner_text("#count") == "131 runs"
    page.fill("#text", digest(RUN, "certificate")[:20])
    page.locator("#count", has_text="1 of 131 runs").wait_for()
    assert shown(page) == [RUN]
    page.fill("#text", "RELEASE-16")
    page.locator("#count", has_text="3 of 131 runs").wait_for()


def test_it_sorts_by_its_heads(trail):
    page = trail()
    head = page.locator("#heads th", has_text="Release")
    head.locator("button").click()
    names = shown(page, 2)
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert shown(page, 2) == sorted(shown(page, 2), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.select_option("#order", label="oldest first")
    assert shown(page)[0] == "20260101T090000Z-000000"


def test_the_keyboard_opens_and_closes_a_run(trail):
    page = trail()
    page.locator("#rows button").first.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert page.is_visible("dialog")
    assert page.evaluate("document.activeElement.id") == "details-name"
    said = page.inner_text("#details-body")
    for wanted in ("Who asked", "What was done to the attributes", "What decided", digest(RUN, "certificate"), "REVOKED"):
        assert wanted in said
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")
    assert page.evaluate("document.activeElement.innerText") == RUN
    opened = trail(fragment=f"#{RUN}")
    assert opened.is_visible("dialog")


def test_hostile_names_are_texts(trail):
    page = trail(fragment=f"#{RUN}")
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert "<img src=x" in page.inner_text("#details-body")
    assert "\u202e" not in page.inner_text("body")
    assert page.asked == []
    assert page.errors == []


def test_its_policy_stops_what_would_run_or_fetch(trail, planted):
    page = trail()
    assert planted(page) == (None, [])


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_never_scrolls_sideways(trail, width):
    page = trail(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WIDER) == []
    page.locator("#rows button").first.click()
    assert (
        page.evaluate("(() => { const one = document.querySelector('dialog'); return one.scrollWidth - one.clientWidth; })()")
        <= 0
    )


@pytest.mark.parametrize(("scheme", "fragment"), [("light", ""), ("dark", f"#{RUN}")])
def test_axe_finds_nothing_serious(trail, scheme, fragment, serious):
    page = trail(color_scheme=scheme, fragment=fragment, bypass_csp=True)
    assert serious(page) == []

"""A real browser on pages opened from disk, with the network cut. Skipped where no Chromium is installed."""

from __future__ import annotations

import importlib.util
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.report.page import Stamp, render_report, stamp_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
)
STAMP = Stamp(run="20261121T093000Z-1f2e3d", issued_at=datetime(2026, 11, 21, 9, 31, tzinfo=UTC), attempts=1)


def _samples():
    """The contents made by hand for the tests of the report."""
    path = Path(__file__).resolve().parent.parent / "report" / "conftest.py"
    spec = importlib.util.spec_from_file_location("report_samples", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAMPLES = _samples()
certified, refused, undecided = SAMPLES.certified, SAMPLES.refused, SAMPLES.undecided
detailed, internal, hostile = SAMPLES.detailed, SAMPLES.internal, SAMPLES.hostile
MADE_BY_HAND = ("detailed", "refused", "undecided", "internal", "hostile")
REAL = ("anes96", "randhie", "household")
RELEASES = Path(__file__).resolve().parent.parent.parent / "params" / "releases"


def pytest_generate_tests(metafunc):
    """Every test of `which` report runs on those made by hand and, in the other tiers, on those of the shipped releases."""
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "which" in metafunc.fixturenames and "which" not in named:
        real = [pytest.param(name, marks=pytest.mark.slow if name == "anes96" else pytest.mark.long) for name in REAL]
        metafunc.parametrize("which", [*MADE_BY_HAND, *real])


@pytest.fixture(scope="module")  # while it is there, this thread has an event loop, and Prefect answers with coroutines
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)} is on the path")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def serious():
    """`serious(page)`: what axe finds of serious faults. The page must be opened with `bypass_csp`: axe is a script."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

    def faults(page) -> list[tuple[str, str]]:
        found = axe.Axe().run(page).response["violations"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]

    return faults


@pytest.fixture
def planted():
    """`planted(page)`: plants a script and a picture from elsewhere; returns what ran and what was asked for."""

    def tried(page) -> tuple[object, list[str]]:
        page.evaluate("""() => {
          for (const [tag, kept] of [['script', {textContent: 'window.ran = true'}], ['img', {src: 'https://example.org/x.png'}]])
            document.body.append(Object.assign(document.createElement(tag), kept));
        }""")
        page.wait_for_timeout(200)
        return page.evaluate("window.ran"), page.asked

    return tried


@pytest.fixture(scope="session")
def report(request, tmp_path_factory):
    """`report(name)` is the page of that name as a file: rendered, or certified as a steward would."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def render_or_certify(name: str) -> Path:
        if name not in made:
            made[name] = _certified(request, name, folder) if name in REAL else folder / f"{name}.html"
            if name not in REAL:
                made[name].write_text(stamp_page(render_report(request.getfixturevalue(name)), STAMP), encoding="utf-8")
        return made[name]

    return render_or_certify


def _certified(request, name: str, folder: Path) -> Path:
    if name == "household":
        request.getfixturevalue("reference")
    request.getfixturevalue("prefect")
    from flows.certify import certify_tagged
    from flows.release_file import load_release

    done = certify_tagged(load_release(RELEASES / f"{name}.yaml"), output=str(folder / "releases"))
    assert done["verdict"] == "certified"
    return Path(done["folder"]) / "report.html"


@pytest.fixture
def opened(browser, report):
    """Opens a report: its name, and what the context should be like. Whatever it asks the network for is noted, and refused."""
    contexts = []

    def open_report(name: str, *, width: int = 1280, height: int = 800, **how):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **how)
        contexts.append(context)
        asked: list[str] = []
        context.route(lambda url: not url.startswith("file:"), lambda route: (asked.append(route.request.url), route.abort()))
        page = context.new_page()
        page.goto(report(name).as_uri())
        page.asked = asked
        return page

    yield open_report
    for context in contexts:
        context.close()

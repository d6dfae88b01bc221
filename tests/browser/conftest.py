"""A real browser on pages opened from disk, with the network cut. Skipped where no Chromium is installed."""

from __future__ import annotations

import importlib.util
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.report.page import Stamp, render, stamped

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
WHICH = ("detailed", "refused", "undecided", "internal", "hostile")


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)} is on the path")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def reports(request, tmp_path_factory) -> dict[str, Path]:
    """The pages as files. Real reports can be added here: anything that opens by `file://`."""
    folder = tmp_path_factory.mktemp("reports")
    paths = {name: folder / f"{name}.html" for name in WHICH}
    for name, path in paths.items():
        path.write_text(stamped(render(request.getfixturevalue(name)), STAMP), encoding="utf-8")
    return paths


@pytest.fixture
def opened(browser, reports):
    """Opens a report: its name, and what the context should be like. Whatever it asks the network for is noted, and refused."""
    contexts = []

    def open_report(name: str, *, width: int = 1280, height: int = 800, **how):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **how)
        contexts.append(context)
        asked: list[str] = []
        context.route(lambda url: not url.startswith("file:"), lambda route: (asked.append(route.request.url), route.abort()))
        page = context.new_page()
        page.goto(reports[name].as_uri())
        page.asked = asked
        return page

    yield open_report
    for context in contexts:
        context.close()

"""A real Chromium without a network, and the audits of the report's own tests."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))

Open = Callable[..., Any]
"""Opens a file in a new window; gives the page with what it asked for and complained about."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser that is installed; Playwright only drives it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        # Without its sandbox: as root, as in many containers, Chromium does not start with it.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def open_page(chromium: Any) -> Iterator[Open]:
    """Open a file with every request refused but that for the file itself."""
    contexts = []

    def opened(path: Path, **settings: Any) -> Any:
        context = chromium.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.complaints = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        context.route("**", lambda route: route.continue_() if route.request.url == path.as_uri() else route.abort())
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()

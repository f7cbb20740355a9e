"""``isonomia open`` in Chromium, from the command to a download: by keyboard alone, on a phone, in the dark."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
ROWS = "F,A,yes,1\nF,B,no,0\nM,A,yes,1\nM,B,yes,0\n" * 100


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """What the command prints, while it runs."""
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    (tmp_path / "people.csv").write_text(f"sex,town,hired,repaid\n{ROWS}", encoding="utf-8")
    command = [sys.executable, "-m", "isonomia", "open", str(tmp_path / "people.csv"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def focus(page: Any, wanted: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({wanted!r})"):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def test_a_person_without_a_mouse_gets_from_a_table_to_a_verdict_on_a_phone(chromium: Any, address: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context = chromium.new_context(**PHONE)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def looks_right() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
        problems = axe.Axe().run(page).response["violations"]
        assert [(item["id"], item["nodes"][0]["html"]) for item in problems] == []

    page.goto(address)
    assert "token" not in page.url
    assert page.locator("#decision").input_value() == "hired"
    assert page.locator("#favourable option").all_text_contents() == ["no", "yes"]  # only those of the column
    looks_right()
    focus(page, "input[name=by][value=town]")
    page.keyboard.press("Space")
    focus(page, "button.go")
    page.keyboard.press("Enter")
    page.wait_for_url("**/table?**", timeout=120_000)
    assert page.frame_locator("iframe").locator("h1").inner_text(timeout=120_000) == "Hired by sex, town and sex × town"
    looks_right()
    focus(page, "input[name=limit-ratio]")
    page.keyboard.type("0.7")
    focus(page, "button.go")
    page.keyboard.press("Enter")
    page.wait_for_url("**/run/**", timeout=120_000)
    answers = page.locator(".badge").all_text_contents()
    assert len(answers) == 2
    looks_right()
    with page.expect_download() as download:
        page.get_by_role("link", name="The audit file").press("Enter")
    assert ">= 0.7" in Path(download.value.path()).read_text("utf-8")
    assert complaints == []
    context.close()

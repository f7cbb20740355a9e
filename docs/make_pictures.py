"""Makes the pictures of the documentation from what the program really shows: ``python docs/make_pictures.py``.

The picture of the report is taken by a Chromium that is installed, driven by Playwright. In the one of the terminal,
how long a check took is left out: the same program makes the same picture, whatever the machine.
"""

from __future__ import annotations

import io
import re
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from isonomia.cli.hiring import answers
from isonomia.engine.parameters import NullObserver
from isonomia.report import show
from isonomia.report.entries import AuditReport, Entry
from isonomia.report.page import write_page

IMAGES = Path(__file__).parent / "images"
SHOWN = ("four-fifths rule", "qualified women and men")


def main() -> None:
    """Make them all."""
    entries = [entry for _, entry in answers(1, NullObserver())]
    terminal_picture(entries)
    report_picture(entries)


def terminal_picture(entries: list[Entry], folder: Path = IMAGES) -> None:
    """Record two of the demonstration's verdicts as an SVG."""
    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=True, highlight=False)
    by_name = {entry.name: entry for entry in entries}
    for name in SHOWN:
        show(replace(by_name[name].verdict, seconds=0.0), console, by_name[name].explanation)
    svg = console.export_svg(title="isonomia demo", unique_id="demo")
    (folder / "demo.svg").write_text(_without_seconds(_without_fonts(svg)), encoding="utf-8")


def report_picture(entries: list[Entry]) -> None:
    """Take pictures of the demonstration's report: down to its first charts, and one chart of several answers."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        write_page(AuditReport("A hiring model", tuple(entries)), Path(folder) / "report.html")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1760}, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        page.locator('figure[data-drawn="yes"]').first.wait_for()
        page.screenshot(path=IMAGES / "report.png")
        page.set_viewport_size({"width": 800, "height": 1000})
        page.add_style_tag(content=".numbers { display: none } .summary figure { margin: 0 }")
        page.wait_for_timeout(500)  # the charts are drawn again at this width
        page.locator(".summary figure").first.screenshot(path=IMAGES / "answers.png")
        browser.close()


def _without_seconds(svg: str) -> str:
    """Blank out the seconds, which differ from run to run; as many blanks keep the lines as long as they were."""
    blank = "&#160;"
    found, times = re.subn(f",{blank}0(\\.0*)?{blank}s", lambda each: blank * _length(each[0]), svg)
    if times != len(SHOWN):
        raise ValueError(f"expected the seconds of {len(SHOWN)} verdicts in the picture, but got {times}")
    return found


def _length(text: str) -> int:
    return len(text.replace("&#160;", " "))


def _without_fonts(svg: str) -> str:
    """Take the reader's own monospaced font: a picture must not fetch anything from elsewhere."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!-- Generated.*?-->", "", svg)
    return svg.replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    main()

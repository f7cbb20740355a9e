"""Takes the pictures of the gallery from the examples' own reports: ``python examples/pictures.py``.

It runs every example in a copy, and takes the part of the report that tells the story, with a Chromium that is there
and driven by Playwright. It needs ``playwright`` besides.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
IMAGES = HERE.parent / "docs" / "images"

FIRST = "article >> nth=0 >> "
PARTS = {
    "hiring": (FIRST + "figure[data-kind=rates]", FIRST + "figure[data-kind=rates]"),
    "credit": (FIRST + "ol.cases", FIRST + "ol.cases > li >> nth=2"),
    "lending": (FIRST + "figure[data-kind=kinds]", FIRST + "figure[data-kind=shares]"),
    "school": ("ol.verdicts", "ol.verdicts"),
}
"""What is shown of a report, whose first property is a violated one: where the picture begins, and where it ends."""


def main() -> None:
    """Take them all."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in PARTS:
            page = browser.new_page(viewport={"width": 860, "height": 1200}, color_scheme="light")
            page.goto(report(name, Path(folder)).as_uri())
            take(page, *PARTS[name], IMAGES / f"example-{name}.png")
            page.close()
        browser.close()


def report(name: str, folder: Path) -> Path:
    """Run an example in a copy, and write its report."""
    here = shutil.copytree(HERE / name, folder / name, ignore=shutil.ignore_patterns("data", ".isonomia"))
    subprocess.run([sys.executable, "make.py"], cwd=here, check=True, capture_output=True)
    command = [
        sys.executable,
        "-c",
        "from isonomia.cli import main; main()",
        "run",
        "audit.toml",
        "--allow-code",
        "--quiet",
    ]
    subprocess.run([*command, "--report", "report.html"], cwd=here, check=False, capture_output=True)
    return here / "report.html"


def take(page: Any, first: str, last: str, path: Path) -> None:
    """Take a picture from the top of one element to the bottom of another."""
    page.add_style_tag(content="details.numbers { display: none }")  # what can only be clicked on
    page.locator(last).scroll_into_view_if_needed()
    page.wait_for_timeout(1000)
    top, bottom = (page.locator(each).bounding_box() for each in (first, last))
    offset = page.evaluate("window.scrollY")
    height = bottom["y"] + bottom["height"] - top["y"]
    clip = {"x": top["x"] - 12, "y": top["y"] + offset - 12, "width": top["width"] + 24, "height": height + 24}
    page.screenshot(path=path, full_page=True, clip=clip)


if __name__ == "__main__":
    main()

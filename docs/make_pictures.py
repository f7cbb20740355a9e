"""Makes the pictures of the documentation from what the program really shows: ``python docs/make_pictures.py``.

The picture of the report is taken by a Chromium that is installed, driven by Playwright.
"""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

import isonomia as iso
from isonomia.cli.demo import DELTA, PROPERTIES
from isonomia.cli.hiring import FEATURES, applicants, train
from isonomia.report import show
from isonomia.report.entries import Audit, Entry
from isonomia.report.page import write_page

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Make them all."""
    model = train(np.random.default_rng([1, 0]))
    terminal_picture(model)
    report_picture(model)


def terminal_picture(model: Any) -> None:
    """Record two of the demonstration's verdicts as an SVG."""
    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=True, highlight=False)
    for name in ("four-fifths rule", "qualified women and men"):
        prop = iso.parse(PROPERTIES[name]).named(name)
        verdict = iso.check(prop, model, iso.Generator(applicants), delta=DELTA, seed=1, features=list(FEATURES))
        show(verdict, console, prop.explain())
    (IMAGES / "demo.svg").write_text(_without_fonts(console.export_svg(title="isonomia demo")), encoding="utf-8")


def report_picture(model: Any) -> None:
    """Take a picture of the demonstration's report, down to its first charts."""
    from playwright.sync_api import sync_playwright

    audit = Audit("A hiring model", tuple(_entry(name, model) for name in PROPERTIES))
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        write_page(audit, Path(folder) / "report.html")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1760}, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        page.locator('figure[data-drawn="yes"]').first.wait_for()
        page.screenshot(path=IMAGES / "report.png")
        browser.close()


def _entry(name: str, model: Any) -> Entry:
    prop = iso.parse(PROPERTIES[name]).named(name)
    few = iso.Sample(applicants(300, np.random.default_rng([1, 1])))
    population = few if "sample" in name else iso.Generator(applicants)

    def checked(people: int | None) -> iso.Verdict:
        return iso.check(prop, model, population, delta=DELTA, seed=1, features=list(FEATURES), budget=people)

    verdict = checked(None)
    # The same seed draws the same people, so a smaller budget shows what was known on the way.
    ways = [checked(int(people)) for people in np.geomspace(50, verdict.samples, 40)]
    known = [(way.samples, way.expressions[0]) for way in (*ways, verdict)]
    history = tuple((samples, item.low, item.estimate, item.high) for samples, item in known)
    return Entry(name, verdict, explanation=prop.explain(), history=history)


def _without_fonts(svg: str) -> str:
    """Take the reader's own monospaced font: a picture must not fetch anything from elsewhere."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!-- Generated.*?-->", "", svg)
    return svg.replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    main()

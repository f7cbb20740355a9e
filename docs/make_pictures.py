"""Makes the pictures of the documentation from what the program shows: ``python docs/make_pictures.py [NAME ...]``.

Pictures of pages are taken by an installed Chromium, driven by Playwright. Each holds a digest of the numbers it shows,
by which a test notices that it is stale: pixels differ from machine to machine, and numbers do not. In the picture of
the terminal, how long a check took is left out. The charts of measurements come from ``python -m benchmarks``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

import isonomia as iso
from isonomia.cli.hiring import answers
from isonomia.engine.parameters import NullObserver
from isonomia.report import show
from isonomia.report.entries import AuditReport, Entry
from isonomia.report.page import write_page

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SHOWN = ("four-fifths rule", "qualified women and men")

FIRST = "article >> nth=0 >> "
EXAMPLES = {
    "hiring": (FIRST + "figure[data-kind=rates]", FIRST + "figure[data-kind=rates]"),
    "credit": (FIRST + "ol.cases", FIRST + "ol.cases > li >> nth=2"),
    "lending": (FIRST + "figure[data-kind=kinds]", FIRST + "figure[data-kind=shares]"),
    "school": ("ol.verdicts", "ol.verdicts"),
}
"""What is shown of an example's report: where the picture begins, and where it ends."""


def main(names: Iterable[str] = (), folder: Path = IMAGES) -> None:
    """Make all pictures, or those of some names."""
    for name in names or MAKERS:
        MAKERS[name](folder)


# ------------------------------------------------------------------------------------------------------------- digests

KEYWORD = b"Isonomia-Numbers"


def numbers_of(value: Any) -> str:
    """A digest of the answers and numbers that a picture shows, rounded so that machines agree."""
    text = json.dumps(_rounded(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return f"{value:.3g}"
        case Mapping():
            return {str(name): _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


def of_verdicts(verdicts: Iterable[Mapping[str, Any]]) -> str:
    """The digest of verdicts as JSON has them."""
    kept = ("name", "text", "answer", "samples", "expressions", "leaves")
    return numbers_of([{name: verdict[name] for name in kept} for verdict in verdicts])


def sealed(picture: Path, digest: str) -> None:
    """Write a digest into a PNG, as a text chunk before its pixels."""
    data, body = picture.read_bytes(), KEYWORD + b"\0" + digest.encode()
    chunk = struct.pack(">I", len(body)) + b"tEXt" + body + struct.pack(">I", zlib.crc32(b"tEXt" + body))
    picture.write_bytes(data[:33] + chunk + data[33:])  # after the signature and IHDR


def digest_in(picture: Path) -> str:
    """The digest that a PNG holds; empty without one."""
    found = re.search(re.escape(KEYWORD) + rb"\0([0-9a-f]{64})", picture.read_bytes())
    return found[1].decode() if found else ""


# ------------------------------------------------------------------------------------------------------------ pictures


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser that is installed."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def demo_entries() -> list[Entry]:
    """The verdicts of ``isonomia demo``."""
    return [entry for _, entry in answers(1, NullObserver())]


def of_entries(entries: Iterable[Entry]) -> str:
    """The digest of an audit."""
    return of_verdicts([entry.verdict.to_dict() | {"name": entry.name} for entry in entries])


def terminal_picture(folder: Path) -> None:
    """Two of the demonstration's verdicts in a terminal, as an SVG."""
    (folder / "demo.svg").write_text(terminal_text(demo_entries()), encoding="utf-8")


def terminal_text(entries: list[Entry]) -> str:
    """The SVG."""
    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=True, highlight=False)
    by_name = {entry.name: entry for entry in entries}
    for name in SHOWN:
        show(replace(by_name[name].verdict, seconds=0.0), console, by_name[name].explanation)
    svg = console.export_svg(title="isonomia demo", unique_id="demo")
    return _without_seconds(_without_fonts(svg))


def report_pictures(out: Path) -> None:
    """The demonstration's report: down to its first charts, and one chart of several answers."""
    entries = demo_entries()
    with TemporaryDirectory() as folder, chromium() as browser:
        write_page(AuditReport("A hiring model", tuple(entries)), Path(folder) / "report.html")
        page = browser.new_page(viewport={"width": 1000, "height": 1760}, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        page.locator('figure[data-drawn="yes"]').first.wait_for()
        page.screenshot(path=out / "report.png")
        page.set_viewport_size({"width": 800, "height": 1000})
        page.add_style_tag(content=".numbers { display: none } .summary figure { margin: 0 }")
        page.wait_for_timeout(500)  # the charts are drawn again at this width
        page.locator(".summary figure").first.screenshot(path=out / "answers.png")
    for name in ("report.png", "answers.png"):
        sealed(out / name, of_entries(entries))


def watched(folder: Path) -> tuple[Path, str]:
    """The page of a watch over 24 days, on the last four of which women are hired less often, and its digest."""
    from isonomia.report.page.watch import watch_page
    from isonomia.watch.monitor import Monitor
    from isonomia.watch.source import FolderSource
    from isonomia.watch.store import WatchStore

    rng = np.random.default_rng(3)
    (folder / "decisions").mkdir()
    for day in range(1, 25):
        sex = rng.choice(["F", "M"], 1_000, p=[0.3, 0.7])
        hired = rng.random(1_000) < np.where(sex == "F", 0.28 if day <= 20 else 0.15, 0.30)
        rows = [f"{who},{str(bool(yes)).lower()}" for who, yes in zip(sex, hired, strict=True)]
        (folder / "decisions" / f"2026-05-{day:02}.csv").write_text("\n".join(["sex,hired", *rows]) + "\n", "utf-8")
    ratio = iso.parse("P[hired | sex == 'F'] >= 0.8 * P[hired | sex == 'M']").named("four fifths")
    watch = iso.Watch(ratio, alpha=0.01, window=8_000)
    source = FolderSource(folder / "decisions", "decisions")
    monitor = Monitor(watch, WatchStore(folder / "watch.sqlite", source.describe()), source, ())
    monitor.resume()
    monitor.catch_up(threading.Event())
    why = {"four fifths": "29 CFR 1607.4 D"}
    page = watch_page(watch, monitor.store, "Hiring", why, "watch.toml", "2026-05-24 18:00 UTC")
    points, alerts = monitor.store.points(), monitor.store.alerts()
    monitor.store.close()
    (folder / "watch.html").write_text(page, "utf-8")
    shown = [(point.label, point.samples, point.claims) for point in points]
    return folder / "watch.html", numbers_of([shown, [alert.content for alert in alerts]])


def watch_picture(out: Path) -> None:
    """The page of a watch with an alert."""
    with TemporaryDirectory() as folder, chromium() as browser:
        path, digest = watched(Path(folder))
        page = browser.new_page(viewport={"width": 1000, "height": 1420}, color_scheme="light")
        page.goto(path.as_uri())
        page.locator('figure[data-drawn="yes"]').first.wait_for()
        page.evaluate("document.querySelectorAll('td small').forEach((each) => each.remove())")  # has the present time
        page.screenshot(path=out / "watch.png")
    sealed(out / "watch.png", digest)


def applicants(folder: Path) -> tuple[Path, str]:
    """The table that ``isonomia open`` shows, and the digest of its rates by group."""
    rng = np.random.default_rng(11)
    gender = rng.choice(["Female", "Male"], 6_000, p=[0.46, 0.54])
    site = rng.choice(["North", "South", "West"], 6_000, p=[0.5, 0.3, 0.2])
    hired = np.where(rng.random(6_000) < np.where(gender == "Female", 0.22, 0.33), "yes", "no")
    path = folder / "hiring" / "applicants.csv"
    path.parent.mkdir()
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["gender", "site", "hired"])
        writer.writerows(zip(gender, site, hired, strict=True))
    table = iso.measure(path, by=["gender"], decision="hired", favourable="yes")
    rates = [(row.n, row["selection_rate"]) for row in table["gender"]]
    return path, numbers_of([(n, rate.value, rate.low, rate.high) for n, rate in rates])


def open_picture(out: Path) -> None:
    """``isonomia open`` with a table by group and the verdict below."""
    with TemporaryDirectory() as folder, chromium() as browser:
        path, digest = applicants(Path(folder))
        command = [sys.executable, "-m", "isonomia", "open", str(path), "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                address = re.search(r"http://\S+", process.stdout.readline())
                assert address is not None
                page = browser.new_page(viewport={"width": 1000, "height": 1000}, color_scheme="light")
                page.goto(address[0])
                page.click("button.go")
                page.wait_for_url("**/table?**")
                page.click("button.go")
                page.wait_for_url("**/run/**", timeout=120_000)
                page.locator("iframe").scroll_into_view_if_needed()
                page.frame_locator("iframe").locator("h1").wait_for()
                page.wait_for_timeout(1500)  # charts in sight are drawn
                page.evaluate("window.scrollTo(0, 0)")
                page.screenshot(path=out / "open.png")
            finally:
                process.terminate()
    sealed(out / "open.png", digest)


def example_pictures(out: Path) -> None:
    """The part of each example's report that tells the story, in a copy of the example."""
    with TemporaryDirectory() as folder, chromium() as browser:
        for name, (begin, end) in EXAMPLES.items():
            here = shutil.copytree(
                ROOT / "examples" / name, Path(folder) / name, ignore=shutil.ignore_patterns("data", ".isonomia")
            )
            subprocess.run([sys.executable, "make.py"], cwd=here, check=True, capture_output=True)
            command = [sys.executable, "-m", "isonomia", "run", "audit.toml", "--allow-code", "--quiet"]
            outputs = ["--report", "report.html", "--json", "verdicts.json"]
            subprocess.run([*command, *outputs], cwd=here, check=False, capture_output=True)
            page = browser.new_page(viewport={"width": 860, "height": 1200}, color_scheme="light")
            page.goto((here / "report.html").as_uri())
            picture = out / f"example-{name}.png"
            take(page, begin, end, picture)
            page.close()
            sealed(picture, of_verdicts(json.loads((here / "verdicts.json").read_text("utf-8"))["verdicts"]))


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


MAKERS: Mapping[str, Callable[[Path], None]] = {
    "demo": terminal_picture,
    "report": report_pictures,
    "watch": watch_picture,
    "open": open_picture,
    "examples": example_pictures,
}
"""The pictures by name."""


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
    main(sys.argv[1:])

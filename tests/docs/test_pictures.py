"""The pictures of the documentation show today's numbers, and each has a command that makes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import make_pictures as making  # noqa: E402

IMAGES = ROOT / "docs" / "images"
STALE = "run python docs/make_pictures.py"
DRAWN = {"rooms.svg"}
"""By hand; it shows no numbers."""


def test_every_picture_has_a_command_that_makes_it_and_a_page_that_shows_it() -> None:
    programs = "".join(path.read_text("utf-8") for path in ROOT.glob("benchmarks/*.py"))
    made = {"demo.svg", "report.png", "answers.png", "watch.png", "open.png"}
    made |= {f"example-{name}.png" for name in making.EXAMPLES}
    measured = {path.name for path in IMAGES.glob("*.svg") if re.search(rf"\b{path.stem}\b", programs)}
    assert {path.name for path in IMAGES.iterdir()} == made | measured | DRAWN
    pages = (ROOT / "README.md").read_text("utf-8")
    pages += "".join(page.read_text("utf-8") for page in ROOT.glob("docs/**/*.md"))
    shown = set(re.findall(r"images/([\w-]+\.(?:png|svg))", pages))
    assert {path.name for path in IMAGES.iterdir()} - {"demo.svg"} <= shown | {"demo.svg"}


def test_the_pictures_of_the_demonstration_show_its_verdicts_of_today() -> None:
    entries = making.demo_entries()
    assert (IMAGES / "demo.svg").read_text("utf-8") == making.terminal_text(entries), STALE
    for name in ("report.png", "answers.png"):
        assert making.digest_in(IMAGES / name) == making.of_entries(entries), STALE


def test_the_picture_of_a_watch_shows_its_points_and_alerts_of_today(tmp_path: Path) -> None:
    assert making.digest_in(IMAGES / "watch.png") == making.watched(tmp_path)[1], STALE


def test_the_picture_of_the_app_shows_the_rates_of_today(tmp_path: Path) -> None:
    assert making.digest_in(IMAGES / "open.png") == making.applicants(tmp_path)[1], STALE


def test_a_digest_changes_with_a_number_and_not_with_its_last_digits(tmp_path: Path) -> None:
    assert making.numbers_of([0.123456]) == making.numbers_of((0.1234561,))
    assert making.numbers_of([0.123]) != making.numbers_of([0.124])
    (tmp_path / "none.png").write_bytes((IMAGES / "open.png").read_bytes()[:33])
    assert making.digest_in(tmp_path / "none.png") == ""


def test_the_command_makes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="Playwright is not installed")
    if not any(making.shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        pytest.skip("no Chromium is installed")
    code = (
        "import sys; from pathlib import Path; import make_pictures; make_pictures.main(['watch'], Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, cwd=ROOT / "docs", check=True, timeout=300)
    assert making.digest_in(tmp_path / "watch.png") == making.digest_in(IMAGES / "watch.png")

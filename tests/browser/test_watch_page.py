"""The page of a watch in a real Chromium: offline, quiet, drawn, on a desk and on a phone, light and dark."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import numpy as np
import pytest

import isonomia as iso
from isonomia.report.page.watch import watch_page
from isonomia.watch.monitor import Monitor
from isonomia.watch.source import FolderSource
from isonomia.watch.store import WatchStore

WINDOWS = [
    pytest.param({"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}, id="desktop light"),
    pytest.param(
        {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "color_scheme": "dark"}, id="phone dark"
    ),
]

DRAW_ALL = """async () => {
  for (const figure of document.querySelectorAll("figure.chart")) {
    figure.scrollIntoView({ behavior: "instant" });
    for (let wait = 0; wait < 400 && figure.dataset.drawn !== "yes"; wait++) {
      await new Promise((go) => setTimeout(go, 10));
    }
  }
}"""

OPEN_ALL = "document.querySelectorAll('details').forEach((item) => { item.open = true; })"

NAME = "<script>window.owned = 1</script> ‮four fifths"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve days, of which the last are unfair to women; one property of three is about every group, one holds."""
    folder = tmp_path_factory.mktemp("watch")
    (folder / "days").mkdir()
    rng = np.random.default_rng(4)
    for day in range(1, 13):
        sex = rng.choice(["F", "M"], 400)
        paid = rng.random(400) < np.where(sex == "F", 0.5 if day < 9 else 0.1, 0.5)
        rows = [f"{day * 1000 + k},{who},{int(yes)}" for k, (who, yes) in enumerate(zip(sex, paid, strict=True))]
        rows[-1] = rows[-1].rpartition(",")[0] + ","  # an outcome that does not come
        (folder / "days" / f"2026-05-{day:02}.csv").write_text("\n".join(["id,sex,paid", *rows]) + "\n")
    ratio = iso.parse("P[paid == 1 | sex == 'F'] >= 0.8 * P[paid == 1 | sex == 'M']").named(NAME)
    watch = iso.Watch(
        [ratio, "for g in sex: P[paid == 1 | sex == g] >= 0.3", "P[paid == 1 | sex == 'M'] >= 0.2"],
        alpha=0.01,
        window=1_000,
        values={"sex": ["F", "M"]},
        outcome="paid",
        id="id",
        patience=100,
    )
    source = FolderSource(folder / "days", "days")
    monitor = Monitor(watch, WatchStore(folder / "watch.sqlite", source.describe()), source, ())
    monitor.resume()
    monitor.catch_up(Event())
    assert {alert.group for alert in watch.alerts} == {None, "sex == 'F'"}
    path = folder / "watch.html"
    path.write_text(watch_page(watch, monitor.store, "Loans", {NAME: "a rule"}, "watch.toml", "2026-05-12 18:00 UTC"))
    monitor.store.close()
    return path


@pytest.fixture(scope="module", params=WINDOWS)
def window(request: pytest.FixtureRequest, watched: Path, open_page):
    """The page with all its charts drawn."""
    page = open_page(watched, **request.param)
    page.evaluate(DRAW_ALL)
    return page


def test_every_chart_is_drawn_with_no_network_and_no_complaint(window, watched) -> None:
    assert window.locator("figure.chart").count() == 5
    assert window.locator('figure.chart[data-drawn="yes"] svg.marks').count() == 5
    assert window.asked == [watched.as_uri()]
    assert window.complaints == []
    assert window.evaluate("window.owned") is None


def test_it_fits_the_window_and_axe_finds_nothing(window) -> None:
    window.evaluate(OPEN_ALL)
    assert window.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(window).response["violations"]
    assert [(item["id"], item["impact"], item["nodes"][0]["html"]) for item in found] == []


def test_it_says_what_stopped_holding_when_and_what_is_pending(window) -> None:
    text = window.locator("main").inner_text()
    assert "2 alerts" in text
    assert "stopped holding on 2026-05-09" in text
    assert "isonomia watch watch.toml --acknowledge" in text
    assert "were left out because their outcomes did not arrive in time" in text
    assert "one in 100, over all properties and groups" in text
    assert window.locator('td[data-label="raised"] strong').all_inner_texts() == ["2026-05-09", "2026-05-09"]
    assert all(
        "2026-05-08" <= day <= "2026-05-09"
        for day in window.locator('td[data-label="estimated onset"] strong').all_inner_texts()
    )


def test_each_property_has_one_state_and_none_is_green_while_its_alert_is_open(window) -> None:
    states = window.locator(".states .badge").all_inner_texts()
    assert states == ["alert since 2026-05-09", "alert since 2026-05-09", "holds now"]
    for article, state in zip(window.locator("article.property").all(), states, strict=True):
        assert article.locator(".badge").all_inner_texts() == [state]


def test_a_timeline_shows_the_state_of_each_day(window) -> None:
    alerted, _, quiet = window.locator(".states .days").all()
    days = [each.get_attribute("title").split(": ")[0] for each in quiet.locator("i").all()]
    assert days == [f"2026-05-{day:02}" for day in range(1, 13)]
    assert quiet.locator("i.holds").count() == 12
    colours = [each.get_attribute("class") for each in alerted.locator("i").all()]
    assert "violated" not in colours[:6]
    assert set(colours[8:]) == {"violated"}
    axis = window.locator("figure.chart").first.inner_text()
    assert "2026-05-01" in axis

"""The documents for rules in a real Chromium: on a desk and on a phone, light and dark, for eyes and screen readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_audits import every_kind

import isonomia as iso
from isonomia.audits.responsiveness.adverse_action import refused_applicants
from isonomia.interventions import Feature, Interventions
from isonomia.report.packs import PACKS, fill
from isonomia.report.packs.audit_tables import SealedAudit

WINDOWS = [
    pytest.param({"viewport": {"width": width, "height": 900}, "color_scheme": scheme}, id=f"{width} {scheme}")
    for width in (1280, 390)
    for scheme in ("light", "dark")
]
RNG = np.random.default_rng(0)
RACES = ["White", "Black or African American", "Native Hawaiian or Pacific Islander"]
PEOPLE = {
    "applicant": [f"A{number:03}" for number in range(300)],
    "sex": RNG.choice(["Female", "Male"], 300),
    "race": RNG.choice(RACES, 300, p=[0.6, 0.39, 0.01]),
    "hired": RNG.integers(0, 2, 300),
    "years_of_employment": RNG.integers(0, 10, 300),
}


def subject_of(pack: str) -> Any:
    if pack in {"nyc-ll144", "eeoc"}:
        return iso.measure(PEOPLE, by=["sex", "race", ("sex", "race")], decision="hired")
    if pack == "reg-b":
        changes = Interventions((Feature("years_of_employment", "integer", 0, 9, direction="up", rise=3),))
        few = {name: values[:40] for name, values in PEOPLE.items()}
        return refused_applicants(few, lambda rows: (rows["years_of_employment"] >= 5) * 1, changes, 1, id="applicant")
    return SealedAudit(every_kind(), f"sha256 {'ab' * 32}")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("documents")
    paths = {pack: folder / f"{pack}.html" for pack in PACKS}
    for pack, path in paths.items():
        path.write_text(fill(pack, subject_of(pack)).to_html(), encoding="utf-8")
    return paths


@pytest.mark.parametrize("settings", WINDOWS)
def test_documents_fit_the_window_with_no_squeezed_column_and_axe_finds_nothing(documents, open_page, settings) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    for pack, path in documents.items():
        page = open_page(path, **settings)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), pack
        names = page.evaluate("[...document.querySelectorAll('tbody th')].map((cell) => cell.clientWidth)")
        assert min(names) >= 80, pack
        # The tables are what rules ask for: they are seen whole, on a phone too.
        room = page.evaluate("[...document.querySelectorAll('.table')].map((box) => box.clientWidth - box.scrollWidth)")
        assert min(room) >= 0, pack
        found = axe.Axe().run(page).response["violations"]
        assert [(item["id"], item["impact"], item["nodes"][0]["html"]) for item in found] == [], pack
        assert (page.asked, page.complaints) == ([path.as_uri()], [])

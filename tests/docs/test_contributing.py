"""The page for contributors names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = sorted(set(re.findall(r"`([\w./-]+(?:\.py|\.lark|\.md|/))`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))))


def test_it_names_files() -> None:
    assert len(NAMED) > 25


@pytest.mark.parametrize("name", NAMED)
def test_every_file_that_it_names_exists(name: str) -> None:
    folders = (ROOT, ROOT / "src", ROOT / "src" / "isonomia")
    anywhere = [] if "/" in name else [*(ROOT / "src").rglob(name), *(ROOT / "tests").rglob(name)]
    assert any((folder / name).exists() for folder in folders) or anywhere

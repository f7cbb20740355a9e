"""The script that draws the charts is made once, and never taken from where somebody else could have put it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isonomia.report.page.vega import cached_script


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def _refuse() -> str:
    raise AssertionError("it was made again")


def _file(folder: Path) -> Path:
    (file,) = folder.rglob("charts.js")
    return file


def test_it_is_made_once(folder: Path) -> None:
    assert cached_script("charts", lambda: "draw()\nagain()") == "draw()\nagain()"
    assert _file(folder).is_file()
    assert cached_script("charts", _refuse) == "draw()\nagain()"
    assert cached_script("another", lambda: "other()") == "other()"


@pytest.mark.parametrize("damage", ["draw(", "", "\n", "draw()\nmore()", "\udc80"])
def test_what_is_not_whole_is_made_again(folder: Path, damage: str) -> None:
    cached_script("charts", lambda: "draw()")
    seal = _file(folder).read_text("utf-8").split("\n")[0]
    _file(folder).write_bytes(f"{seal}\n{damage}".encode("utf-8", "surrogateescape"))
    assert cached_script("charts", lambda: "draw()") == "draw()"
    assert cached_script("charts", _refuse) == "draw()"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no such permissions")
def test_what_others_may_write_is_not_trusted(folder: Path) -> None:
    cached_script("charts", lambda: "stolen()")
    _file(folder).chmod(0o666)
    assert cached_script("charts", lambda: "draw()") == "draw()"


def test_a_folder_that_cannot_be_made_costs_time_only(folder: Path) -> None:
    (folder / "isonomia").write_text("no folder")
    (folder / "Library").write_text("no folder")
    assert cached_script("charts", lambda: "draw()") == "draw()"
    assert cached_script("charts", lambda: "draw(2)") == "draw(2)"


def test_nothing_is_left_behind_but_the_script(folder: Path) -> None:
    cached_script("charts", lambda: "draw()")
    assert [path.name for path in _file(folder).parent.iterdir()] == ["charts.js"]

"""``docs/map.md`` has a map of the source: every file once, in its folder, and no other.

In the map a line without an indent begins a folder, ``name/``; the lines below it name its files, then, behind a colon,
what they are about.
"""

from __future__ import annotations

import re
from pathlib import Path

import isonomia

SOURCE = Path(isonomia.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "map.md"
MAP = re.compile(r"## The files.*?```text\n(.*?)```", re.DOTALL)


def mapped(page: str) -> list[str]:
    """Every file that the map names, with its folder."""
    found = MAP.search(page)
    assert found is not None
    folder, files = "", []
    for line in found[1].splitlines():
        if line and not line.startswith(" "):
            folder = line.split()[0]
        else:
            names = line.partition(":")[0].split(",")
            files += [f"{folder}{name.strip()}.py" for name in names if name.strip()]
    return files


def sources() -> list[str]:
    found = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    return sorted(path.relative_to(SOURCE).as_posix() for path in found if path.parent != SOURCE)


def test_the_map_has_every_source_file_once_and_no_other() -> None:
    assert sorted(mapped(PAGE.read_text("utf-8"))) == sources()


def test_a_map_is_read_as_the_page_says() -> None:
    page = "## The files\n\n```text\na/     words\n  b, c: more words\n\na/d/   words\n  e, f, g\n```\n"
    assert mapped(page) == ["a/b.py", "a/c.py", "a/d/e.py", "a/d/f.py", "a/d/g.py"]

"""``docs/architecture.md`` names every source file, and only files that there are.

How the page is read: the heading of a section names folders, and a file in the first column of its table lies in one of
them. A folder in the first column is meant as a whole, unless the second column names files of it, or ends in "below",
where it has a section of its own. A star stands for any letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import filter as matching
from fnmatch import translate
from pathlib import Path

import isonomia

SOURCE = Path(isonomia.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
SECTION = re.compile(r"^### (?P<title>[^\n]*)$(?P<body>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (?P<first>`.*?) \| (?P<second>.*) \|$", re.MULTILINE)
FOLDER = re.compile(r"`([\w/]+/)`")
FILE = re.compile(r"`([\w/*]+\.(?:py|lark))`")


def patterns(page: str) -> Iterator[tuple[str, ...]]:
    """For each name in a table, the paths below the package that it may mean."""
    for section in SECTION.finditer(page):
        rooms = FOLDER.findall(section["title"])
        for row in ROW.finditer(section["body"]):
            yield from (tuple(f"{room}{name}" for room in rooms) for name in FILE.findall(row["first"]))
            for folder in () if row["second"].endswith("below") else FOLDER.findall(row["first"]):
                places = (folder, *(f"{room}{folder}" for room in rooms))
                names = FILE.findall(row["second"]) or ["*"]
                yield from (tuple(f"{place}{name}" for place in places) for name in names)


def sources() -> list[str]:
    found = [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".lark"} and path.name != "__init__.py"]
    return sorted(path.relative_to(SOURCE).as_posix() for path in found)


def test_every_source_file_is_named_on_the_page() -> None:
    known = re.compile("|".join(translate(each) for names in patterns(PAGE.read_text("utf-8")) for each in names))
    assert not [path for path in sources() if "/" in path and not known.match(path)]


def test_every_name_on_the_page_is_that_of_a_file() -> None:
    known = sources()
    assert not [
        each for each in patterns(PAGE.read_text("utf-8")) if not any(matching(known, pattern) for pattern in each)
    ]


def test_a_table_is_read_as_the_page_says() -> None:
    page = "### `a/`, `b/`: c\n\n| file | what |\n|---|---|\n| `d.py`, `e_*.py` | `x.py` |\n| `f/` | `g.py` is it |\n"
    page += "| `h/` | below |\n"
    assert list(patterns(page)) == [("a/d.py", "b/d.py"), ("a/e_*.py", "b/e_*.py"), ("f/g.py", "a/f/g.py", "b/f/g.py")]

"""The built pages, read: of each its identifiers and its links."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

__all__ = ["Site", "read_site"]


@dataclass(frozen=True)
class Site:
    """The built pages: of each its identifiers and its links."""

    identifiers: dict[Path, set[str]]
    links: dict[Path, set[str]]

    @property
    def entries(self) -> set[str]:
        return {each for page, found in self.identifiers.items() if page.parent.name == "reference" for each in found}


class _Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.identifiers: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.identifiers.add(value or "")
            elif name in {"href", "src"} and value is not None:
                self.links.add(value)


def read_site(folder: Path) -> Site:
    identifiers, links = {}, {}
    for page in folder.rglob("*.html"):
        reading = _Reading()
        reading.feed(page.read_text("utf-8"))
        identifiers[page], links[page] = reading.identifiers, reading.links
    return Site(identifiers, links)

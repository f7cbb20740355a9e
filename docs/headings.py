"""The headings of entries in the reference: one level below the section in which an entry stands. A hook of MkDocs."""

from __future__ import annotations

from typing import Any

LEVEL = ["    options:", "      heading_level: 3"]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Give every entry below a heading ``##`` the level 3; before any, the level of ``mkdocs.yml`` stands."""
    lines: list[str] = []
    below = False
    for line in markdown.split("\n"):
        below = below or line.startswith("## ")
        if line == LEVEL[0] and lines[-2:] == LEVEL:
            continue  # what else the entry says of its options follows
        lines += [line, *LEVEL] if below and line.startswith("::: ") else [line]
    return "\n".join(lines)

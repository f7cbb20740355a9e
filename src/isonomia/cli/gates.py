"""Files that tell others: CI servers, code hosts, people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isonomia.report.entries import Audit

__all__ = ["Gates", "write_gates"]


@dataclass(frozen=True, slots=True)
class Gates:
    """Where each kind of file is to be written; ``None`` for nowhere."""

    junit: Path | None = None
    sarif: Path | None = None
    json: Path | None = None
    markdown: Path | None = None
    card: Path | None = None
    report: Path | None = None

    def probe(self) -> None:
        """Make sure that every file can be written, before hours are spent; what is in it stays as it is."""
        from isonomia.report.files import need_writable

        for name, target in self.wanted():
            need_writable(target, _what(name))

    def wanted(self) -> list[tuple[str, Path]]:
        """The files that are wanted, by their kinds."""
        named = ((part.name, getattr(self, part.name)) for part in fields(self))
        return [(name, target) for name, target in named if target is not None]


def write_gates(gates: Gates, audit: Audit, summary_file: str | None) -> None:
    """Write every file that is wanted, and the summary of a GitHub job where there is one."""
    from isonomia.report.as_json import as_json
    from isonomia.report.files import write_file
    from isonomia.report.junit import junit
    from isonomia.report.markdown import as_markdown, github_lines, model_card, summary
    from isonomia.report.sarif import sarif

    makers: dict[str, Callable[[Audit], str]] = {
        "junit": junit,
        "sarif": sarif,
        "json": as_json,
        "markdown": as_markdown,
        "card": model_card,
        "report": _page,
    }
    for name, target in gates.wanted():
        write_file(makers[name](audit), target, _what(name))
    if summary_file:
        with Path(summary_file).open("a", encoding="utf-8") as file:
            file.write(summary(audit))
        print(github_lines(audit), end="")


def _page(audit: Audit) -> str:
    from isonomia.report.page import page

    return page(audit)


def _what(kind: str) -> str:
    return "the report" if kind == "report" else f"--{kind}"

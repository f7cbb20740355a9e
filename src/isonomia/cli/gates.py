"""Files that tell others: CI servers, code hosts, people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from isonomia.errors import UsageError

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
        for part in fields(self):
            target = getattr(self, part.name)
            if target is not None:
                _write(part.name, target, "", add=True)


def write_gates(gates: Gates, audit: Audit, summary_file: str | None) -> None:
    """Write every file that is wanted, and the summary of a GitHub job where there is one."""
    from isonomia.report.as_json import as_json
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
    for name, make in makers.items():
        target = getattr(gates, name)
        if target is not None:
            _write(name, target, make(audit))
    if summary_file:
        with Path(summary_file).open("a", encoding="utf-8") as file:
            file.write(summary(audit))
        print(github_lines(audit), end="")


def _page(audit: Audit) -> str:
    from isonomia.report.page import page

    return page(audit)


def _write(option: str, target: Path, text: str, *, add: bool = False) -> None:
    try:
        with target.open("a" if add else "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"expected a file that can be written for --{option}, but {target}: {error.strerror}"
        ) from error

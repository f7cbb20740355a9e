"""The common table, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figure import Figure, times

__all__ = ["markdown", "printed"]

HEADS = ("what", "ours", "peer", "ratio", "published, or target", "alone: python -m benchmarks.…")
Lines = Sequence[tuple[Figure, str]]


def _cells(lines: Lines) -> list[tuple[str, ...]]:
    return [(f.what, f.ours, f.peer, times(f.ratio), f.aim, name) for f, name in lines]


def printed(lines: Lines) -> str:
    """Columns as wide as they must be. A ratio says how many times better ours is: below 1, the peer is."""
    rows = [HEADS, *_cells(lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])


def markdown(lines: Lines) -> str:
    """The same as a Markdown table."""
    rows = [HEADS, ("---",) * len(HEADS), *_cells(lines)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)

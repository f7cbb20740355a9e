"""Bounds of effects on the terminal: every subgroup with its people, its evidence and a strip for each effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from isonomia.records.display.view import SubgroupBounds, Subgroups
from isonomia.records.display.words import SIGNS
from isonomia.report.status import COLOURS
from isonomia.wording import number

MAX_SHOWN = 16
"""How many subgroups are shown, those that violate first; the stored verdict has all."""

WIDTH = 21


@dataclass(frozen=True, slots=True)
class StripMarks:
    """The characters that a strip is drawn with: the line, the interval, the sample's own bounds, the limits."""

    axis: str
    interval: str
    sample: str
    limit: str


UNICODE = StripMarks("┄", "─", "━", "┃")
ASCII = StripMarks(".", "-", "=", "|")


def subgroup_strips(block: Subgroups, fancy: bool) -> RenderableType:
    """Every subgroup with its people, its evidence and the interval of each effect.

    The strips share one scale, from minus to plus the largest end, so that subgroups can be compared by eye.
    """
    shown, marks = block.items[:MAX_SHOWN], UNICODE if fancy else ASCII
    reach = max((abs(end) for item in shown for effect in item.effects for end in effect.interval or ()), default=1)
    parts: list[RenderableType] = [_key(block, marks), Text()]
    for item in shown:
        parts += [_heading(item, fancy), _effects(item, block, reach or 1.0, marks)]
    more = len(block.items) - len(shown)
    if more > 0:
        parts.append(Text(f"... and {more} more subgroups, which the stored verdict has", style="dim"))
    return Group(*parts)


def _key(block: Subgroups, marks: StripMarks) -> Text:
    """How to read the strips."""
    limit = f"{marks.limit} the margin" if block.margin else f"{marks.limit} zero"
    if block.exact:
        return Text(f"{marks.sample * 3} the values that the table allows   {limit}", style="dim")
    words = f"{marks.interval * 3} not refuted   {marks.sample * 3} what the sample's own shares allow   {limit}"
    return Text(words, style="dim")


def _heading(item: SubgroupBounds, fancy: bool) -> Text:
    line = Text(f"{SIGNS[item.answer]} " if fancy else "", style=COLOURS[item.answer])
    line.append(item.name, style="bold default")
    line.append(f"  {item.size}, ", style="default")
    line.append(item.answer, style=COLOURS[item.answer])
    if item.evidence is not None:
        line.append(f", evidence {item.evidence}", style="dim")
    if item.proof is not None:
        line.append(f", proof: off by {number(item.proof)}", style="dim")
    return line


def _effects(item: SubgroupBounds, block: Subgroups, reach: float, marks: StripMarks) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(4):
        grid.add_column(no_wrap=True)
    limits = (-block.margin, block.margin) if block.margin else (0.0,)
    for effect in item.effects:
        if effect.interval is None:
            grid.add_row(Text(effect.name), Text("the assumptions are refuted", style="dim"))
            continue
        drawn = strip(effect.interval, effect.interval if block.exact else effect.sample, limits, reach, marks)
        sample = "" if block.exact or effect.sample is None else f"sample {bounds(effect.sample)}"
        grid.add_row(Text(effect.name), drawn, Text(bounds(effect.interval)), Text(sample, style="dim"))
    return Padding(grid, (0, 0, 0, 4))


def strip(
    interval: Sequence[float], sample: Sequence[float] | None, limits: Sequence[float], reach: float, marks: StripMarks
) -> str:
    """Draw an interval, the sample's bounds inside it and the limits on a line from ``-reach`` to ``reach``."""

    def column(value: float) -> int:
        return round((min(max(value, -reach), reach) + reach) / (2 * reach) * (WIDTH - 1))

    line = [marks.axis] * WIDTH
    for ends, mark in ((interval, marks.interval), (sample, marks.sample)):
        for index in range(column(ends[0]), column(ends[1]) + 1) if ends is not None else ():
            line[index] = mark
    for limit in limits:
        line[column(limit)] = marks.limit
    return "".join(line)


def bounds(ends: Sequence[float] | None) -> str:
    """Two ends with three decimals each, so that they line up; a dash for none."""
    if ends is None:
        return "-"
    low, high = (round(end, 3) + 0.0 for end in ends)  # no negative zero
    return f"[{low:.3f}, {high:.3f}]"

"""A gauge as a small picture in SVG: an interval, its estimate and its threshold on one line."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from isonomia.records.scale import scale_of

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression

__all__ = ["gauge_picture"]

_HEIGHT = 18
_MARGIN = 5


def gauge_picture(item: Expression, colour: str, width: int = 140) -> str:
    """Draw an expression's interval against its threshold, on the scale of :func:`scale_of`.

    The picture holds no text and is hidden from screen readers: what it shows must stand beside it in words. Every
    number in it is made here, so that nothing from outside gets into the markup.

    Parameters
    ----------
    item
        What to draw.
    colour
        The colour of the interval, as CSS has it.
    width
        How wide the picture is, in pixels.
    """
    left, right = scale_of(item)

    def place(value: float) -> float:
        part = (min(max(value, left), right) - left) / (right - left)
        return round(_MARGIN + part * (width - 2 * _MARGIN), 1)

    middle, low, high, edge = _HEIGHT / 2, place(item.low), place(item.high), place(item.threshold)
    parts = [
        f'<line x1="0" x2="{width}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-opacity=".25"/>',
        f'<line x1="{min(low, high - 1)}" x2="{high}" y1="{middle}" y2="{middle}" stroke="{colour}" stroke-width="5" '
        'stroke-linecap="round"/>',
        f'<line x1="{edge}" x2="{edge}" y1="1" y2="{_HEIGHT - 1}" stroke="currentColor" stroke-width="2"/>',
    ]
    if item.estimate is not None and isfinite(item.estimate):
        parts.append(
            f'<circle cx="{place(item.estimate)}" cy="{middle}" r="3.5" fill="{colour}" stroke="#fff" '
            'stroke-width="1.5"/>'
        )
    size = f'width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" style="vertical-align:middle"'
    return f'<svg class="gauge" {size} aria-hidden="true" focusable="false">{"".join(parts)}</svg>'

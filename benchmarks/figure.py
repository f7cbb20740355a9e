"""One line of the common table: what was measured, ours, the peer's, their ratio, what was published or is aimed at."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Figure", "amount", "duration", "times"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table.

    Attributes
    ----------
    what
        What was measured.
    ours, peer
        The two figures in words; the peer's is empty where there is none, and names the peer.
    ratio
        How many times better ours is: below 1, the peer is better. ``None`` where the two cannot be divided.
    aim
        A published figure with its source, or a target; may be empty.
    """

    what: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    aim: str = ""


def duration(seconds: float) -> str:
    """Seconds with the unit that suits them."""
    if seconds < 0.001:
        return f"{1e6 * seconds:.0f} us"
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:,.0f} s"


def amount(number: float) -> str:
    """A count, short where it is large."""
    return f"{number / 1e6:.2f} million" if number >= 1e6 else f"{number:,.0f}"


def times(ratio: float | None) -> str:
    """A ratio with two digits that mean something."""
    if ratio is None:
        return ""
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"

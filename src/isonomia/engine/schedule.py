"""How large the batches are: fixed beforehand, growing by a constant factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Schedule"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Batches that grow with what was drawn before them.

    Attributes
    ----------
    first
        The size of the first batches.
    growth
        Each batch makes the total this many times as large, once that is more than ``first``. A decision can come only
        at the end of a batch, so about half of ``growth - 1`` is drawn in vain.
    most
        The largest batch, which bounds the memory.
    """

    first: int = 8
    growth: float = 1.02
    most: int = 2**18

    def sizes(self) -> Iterator[int]:
        """The size of batch 0, 1, 2, ..., without end."""
        total = 0
        while True:
            size = min(max(self.first, int((self.growth - 1.0) * total)), self.most)
            total += size
            yield size

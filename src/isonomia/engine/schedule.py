"""How large the batches are: each is fixed before its people are seen, from how far the evidence has come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Schedule"]

CAUTION = 3.0
"""A batch takes one part in so many of what seems to be missing."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Batches that are large while a decision is far, and small when it is near.

    A decision can come only at the end of a batch, so small batches save people; each batch costs time of its own, so
    large ones save that. Sizes may depend on everything seen before, and on nothing seen later: that is all that the
    guarantees ask for.

    Attributes
    ----------
    first
        The size of the first batches.
    growth
        Near the decision, each batch makes the total this many times as large; about half of ``growth - 1`` is drawn
        in vain.
    early
        Far from it, each batch makes the total at most this many times as large: bets are only as good as the estimate
        from earlier batches.
    most
        The largest batch, which bounds the memory.
    """

    first: int = 8
    growth: float = 1.01
    early: float = 1.08
    most: int = 2**18

    def size(self, total: int, share: float) -> int:
        """The size of the next batch.

        Parameters
        ----------
        total
            How many people came before it.
        share
            How far the evidence has come, from 0 to 1. Evidence grows in proportion to people, so what is missing is
            ``(1 - share) / share`` times as many as there were.
        """
        missing = total * (1.0 - share) / share if share > 0 else float("inf")
        least, largest = (self.growth - 1.0) * total, (max(self.early, self.growth) - 1.0) * total
        wanted = min(max(missing / CAUTION, least), largest)
        return min(max(self.first, int(wanted)), self.most)

    def sizes(self) -> Iterator[int]:
        """The size of batch 0, 1, 2, ... were the decision always near, without end."""
        total = 0
        while True:
            size = self.size(total, 1.0)
            total += size
            yield size

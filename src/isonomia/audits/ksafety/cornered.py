"""What became of the corners, as numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Corners"]


@dataclass(frozen=True, slots=True)
class Corners:
    """What became of the cases at the ends of ranges, which were tried before any was drawn.

    Attributes
    ----------
    tried, violating, failed
        How many there were, how many violate what must always be true, and in how many something could not be computed.
    counterexamples
        The smallest of those that violate it, which did so again.
    seconds
        How long it took.
    """

    tried: int
    violating: int
    failed: int
    counterexamples: tuple[Mapping[str, Any], ...]
    seconds: float

    @property
    def refuting(self) -> bool:
        """Whether one of them is proof."""
        return bool(self.counterexamples)

    def counts(self) -> dict[str, int]:
        """How many there were, and what became of them."""
        return {"tried": self.tried, "violating": self.violating, "failed": self.failed}

    def remarks(self) -> list[str]:
        """What they came to; that they are no random cases, a reader must know who sees a share beside them."""
        if not self.tried:
            return []
        found, failed = f"{_many(self.tried)} (at the ends of ranges) tried before the draws: ", []
        if self.refuting:
            does = "violates" if self.violating == 1 else "violate"
            found += f"{self.violating:,} {does} it, which is proof. No share rests on them"
        elif self.violating:
            found += f"{self.violating:,} violated it, and did not when computed once more"
        else:
            found += "no violation"
        if self.failed:
            failed = [f"{_many(self.failed)} failed, which proves nothing"]
        return [found, *failed]


def _many(count: int) -> str:
    return f"{count:,} corner{'' if count == 1 else 's'}"

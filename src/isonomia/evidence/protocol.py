"""The interface between an audit and the ways of deciding a claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.evidence.channels import Channel

Tallies: TypeAlias = Mapping[Channel, NDArray[np.float64]]
"""The counts of a batch in each channel."""

S = TypeVar("S")


class Evidence(Protocol, Generic[S]):
    """A way of deciding a claim: ``begin``, then ``step`` for each batch; the ``decision`` may be read at any time.

    Every implementation must guarantee: whatever the truth, the probability that the decision is *ever* the wrong one
    of ``True`` and ``False`` is at most the ``delta`` it was made with.
    """

    @property
    def method(self) -> str:
        """The name of the method."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels whose counts it needs."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the verdict should know about how it was reached."""

    def begin(self) -> S:
        """Nothing seen yet."""

    def step(self, state: S, tallies: Tallies) -> S:
        """Take in one batch."""

    def decision(self, state: S) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` for undecided so far."""

    def progress(self, state: S) -> float:
        """How close the nearer decision is, from 0 to 1."""


def check_delta(delta: float) -> None:
    """Raise ``UsageError`` unless the risk lies strictly between 0 and 1."""
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but got delta={delta!r}")

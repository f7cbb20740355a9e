"""Deciding a claim by a confidence region, for the whole grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.boxes import decide
from isonomia.evidence.channels import Channel, independent_classes, leaf_channel
from isonomia.evidence.hypotheses import Hypothesis, hypothesis_of
from isonomia.evidence.protocol import Tallies
from isonomia.evidence.region import LeafTally, Region
from isonomia.spec.tree import Formula, Leaf, Row

__all__ = ["RegionEvidence", "RegionState", "region_for"]


@dataclass(frozen=True, slots=True)
class RegionState:
    """The counts so far, and what the region says."""

    tallies: Mapping[Channel, NDArray[np.float64]]
    answer: bool | None


@dataclass(frozen=True, slots=True)
class RegionEvidence:
    """A formula is decided once it has one value on the whole region.

    Guarantee: the region holds the truth at all times with probability at least ``1 - delta``, and then no decision is
    wrong.
    """

    formula: Formula
    delta: float
    channels: tuple[Channel, ...]
    classes: tuple[tuple[Leaf, ...], ...]
    against: Hypothesis | None
    in_favour: Hypothesis | None

    @property
    def method(self) -> str:
        """Confidence region."""
        return "region"

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the risk was shared out, and how the formula was decided."""
        remarks = []
        if len(self.classes) > 1:
            remarks.append(
                "some leaves are informed by the same draws, so the risk was split over "
                f"{len(self.classes)} confidence regions"
            )
        if self.against is None:
            remarks.append("the formula is not linear in the unknown rates, so it was decided by branch and bound")
        return tuple(remarks)

    def begin(self) -> RegionState:
        """Nothing seen."""
        return RegionState({channel: np.zeros(channel.grid.size) for channel in self.channels}, None)

    def step(self, state: RegionState, tallies: Tallies) -> RegionState:
        """Add the batch and look at the region; a decision stays."""
        total = {channel: before + tallies[channel] for channel, before in state.tallies.items()}
        return RegionState(total, self._look(self.region(total)) if state.answer is None else state.answer)

    def decision(self, state: RegionState) -> bool | None:
        """What the region says."""
        return state.answer

    def progress(self, state: RegionState) -> float:
        """1 when decided; unknown, so 0, before."""
        return 0.0 if state.answer is None else 1.0

    def region(self, tallies: Tallies) -> Region:
        """The region that counts leave open."""
        leaves = {
            channel.leaves[0]: LeafTally(channel.grid.nodes[0], tuple(counts.tolist()))
            for channel, counts in tallies.items()
        }
        return Region(leaves, self.classes, self.delta)

    def _look(self, region: Region) -> bool | None:
        if self.against is None or self.in_favour is None:
            return decide(self.formula, region)
        if all(region.refutes(polytope) for polytope in self.against.polytopes):
            return True
        if all(region.refutes(polytope) for polytope in self.in_favour.polytopes):
            return False
        return None


def region_for(
    formula: Formula,
    leaves: Sequence[Leaf],
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    delta: float,
) -> RegionEvidence:
    """Prepare a confidence region for any formula."""
    sides = [hypothesis_of(formula, ranges, positive=positive) for positive in (False, True)]
    against, in_favour = sides if None not in sides else (None, None)
    channels = tuple(leaf_channel(leaf, streams, ranges) for leaf in leaves)
    return RegionEvidence(formula, delta, channels, independent_classes(leaves, streams), against, in_favour)

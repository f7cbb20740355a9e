"""Deciding a claim by VeriFair's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.channels import Channel, leaf_channel
from isonomia.evidence.protocol import Tallies
from isonomia.evidence.verifair import Lemma, adaptive_error, count_leaves, judge_formula
from isonomia.spec.tree import Formula, Leaf, Row

__all__ = ["VerifairEvidence", "verifair_for"]


@dataclass(frozen=True, slots=True)
class VerifairEvidence:
    """The paper's adaptive concentration inequality with its inference rules.

    Guarantee (its Theorem 5.5): the decision is ever wrong with probability at most ``delta``. A union bound over the
    leaves needs no independence between them, so draws may be shared.
    """

    formula: Formula
    delta: float
    channels: tuple[Channel, ...]

    @property
    def method(self) -> str:
        """VeriFair."""
        return "verifair"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Where the rule comes from."""
        return ("decided by the adaptive bound of Bastani, Zhang and Solar-Lezama (2019), looked at after each batch",)

    def begin(self) -> dict[Channel, NDArray[np.float64]]:
        """Nothing seen."""
        return {channel: np.zeros(channel.grid.size) for channel in self.channels}

    def step(self, state: dict[Channel, NDArray[np.float64]], tallies: Tallies) -> dict[Channel, NDArray[np.float64]]:
        """Add the batch."""
        return {channel: before + tallies[channel] for channel, before in state.items()}

    def decision(self, state: dict[Channel, NDArray[np.float64]]) -> bool | None:
        """Infer the formula from the lemmas of the leaves."""
        risk = self.delta / max(count_leaves(self.formula), 1)
        lemmas: dict[Leaf, Lemma] = {}
        for channel, counts in state.items():
            nodes = np.asarray(channel.grid.nodes[0])
            n = float(counts.sum())
            width = float(nodes[-1] - nodes[0])
            mean = float(counts @ nodes) / n if n else float(nodes[0])
            lemmas[channel.leaves[0]] = Lemma(mean, width * adaptive_error(risk, n), risk)
        truth, wrong = judge_formula(self.formula, lemmas)
        return truth if wrong <= self.delta * (1.0 + 1e-12) else None

    def progress(self, state: dict[Channel, NDArray[np.float64]]) -> float:
        """1 when decided; unknown, so 0, before."""
        return 0.0 if self.decision(state) is None else 1.0


def verifair_for(
    formula: Formula,
    leaves: Sequence[Leaf],
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    delta: float,
) -> VerifairEvidence:
    """Prepare the paper's rule for any formula."""
    return VerifairEvidence(formula, delta, tuple(leaf_channel(leaf, streams, ranges) for leaf in leaves))

"""How fast evidence can grow at best: the information distance to the nearest parameters with the other answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import Game
from isonomia.evidence.by_bets import BetEvidence
from isonomia.evidence.channels import Channel
from isonomia.evidence.stakes import best_stakes
from isonomia.evidence.tables import Table, plain_game
from isonomia.spec.tree import Leaf

__all__ = ["Distance", "cell_probabilities", "distance", "limit", "truth_at"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Distance:
    """The information of one draw against one polytope, and what each channel's draws contribute to it.

    Attributes
    ----------
    total
        Nats a draw of the population.
    by_channel
        Nats a draw *of the channel*, in the game's order.
    """

    total: float
    by_channel: Floats


def limit(delta: float, nats: float) -> float:
    """The fewest draws that any test with risk ``delta`` can take on average: ``kl(delta, 1 - delta) / nats``.

    Source: Garivier and Kaufmann (2016), Theorem 1, after Wald. Infinite on the boundary.
    """
    needed = (1.0 - 2.0 * delta) * np.log((1.0 - delta) / delta)
    return float(needed / nats) if nats > 0 else float("inf")


def truth_at(evidence: BetEvidence, means: Mapping[Leaf, float]) -> bool | None:
    """Whether the claim is true for given means, ``None`` on the boundary."""
    outside = [all(_excess(table, means) > 0 for table in side) for side in (evidence.against, evidence.in_favour)]
    if outside[0]:
        return True
    return False if outside[1] else None


def distance(table: Table, means: Mapping[Leaf, float], shares: Sequence[float]) -> Distance:
    """Project given means onto a polytope.

    Parameters
    ----------
    table
        The polytope's game and channels.
    means
        The value of each leaf. Numbers are taken to lie at the two ends of their range, which is the hardest case;
        events of one group are taken to be independent.
    shares
        How often a draw of the population falls into each channel.
    """
    game = plain_game(table)
    estimate = _estimate(game, table.channels, means)
    weights = np.asarray(shares, dtype=float)[None, :]
    stakes = best_stakes(game.payoffs[None], game.bounds[None], estimate[None], weights)
    logs = np.log(np.where(estimate > 0, stakes.factors[0], 1.0))
    by_channel = (estimate * logs).sum(axis=-1)
    value = float(weights[0] @ (by_channel + 1.0 - stakes.rests[0]) - stakes.on_sides[0] @ game.bounds)
    return Distance(max(value, 0.0), np.maximum(by_channel, 0.0))


def cell_probabilities(channel: Channel, means: Mapping[Leaf, float]) -> Floats:
    """A distribution over a channel's cells with the given means, each leaf at the ends of its range."""
    cells = np.ones(1)
    for leaf, nodes in zip(channel.leaves, channel.grid.nodes, strict=True):
        yes = (means[leaf] - nodes[0]) / (nodes[-1] - nodes[0])
        axis = np.zeros(len(nodes))
        axis[0], axis[-1] = 1.0 - yes, yes
        cells = np.multiply.outer(cells, axis).ravel()
    return cells


def _estimate(game: Game, channels: tuple[Channel, ...], means: Mapping[Leaf, float]) -> Floats:
    estimate = np.zeros_like(game.prior)
    for g, channel in enumerate(channels):
        cells = cell_probabilities(channel, means)
        corners = channel.grid.prior() > 0
        cells = np.where(corners, np.maximum(cells, 1e-12), cells)
        estimate[g, : len(cells)] = cells / cells.sum()
    return estimate


def _excess(table: Table, means: Mapping[Leaf, float]) -> float:
    """How far the means lie beyond the most violated side; negative inside the polytope."""
    game = plain_game(table)
    left = (
        [
            sum(
                float(row[: channel.grid.size] @ cell_probabilities(channel, means))
                for row, channel in zip(side, table.channels, strict=True)
            )
            for side in game.payoffs
        ]
        if table.channels
        else [0.0]
    )
    return float(np.max(np.asarray(left) - game.bounds))

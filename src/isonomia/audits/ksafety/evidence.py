"""Shares, tallies, bets.

What random cases prove about the share of all cases that violate.

An ``ensures`` without a rate must be true of every case. One violation refutes it, and no number of good cases proves
it; what they prove is that violations are rarer than ``eps``. An ``ensures`` with a rate is a claim about a share, and
is decided by bets like every other share.

What all cases so far add up to, as numbers.

The share of cases that violate: an interval from counts, and the comparison with what is allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, log, log1p
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Counts
from isonomia.audits.ksafety.runner import Judged
from isonomia.errors import NumericalError
from isonomia.evidence.bet_evidence import AnyWealth, BetEvidence, bets_for
from isonomia.evidence.confidence_sequences import mean_interval
from isonomia.records.verdict import Expression
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Leaf, Rate
from isonomia.spec.walk import leaves_of

__all__ = [
    "Cells",
    "Piece",
    "RateEvidence",
    "RateState",
    "Share",
    "Totals",
    "always",
    "compared_share",
    "complete_share",
    "drawn_share",
    "piece_of",
    "rate_evidence",
]


Booleans = NDArray[np.bool_]

Cells: TypeAlias = tuple[tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...]]
"""What bets on shares are settled by, channel by channel: cases that failed count as violations in the first, as none
in the second. Empty where there are no bets."""


@dataclass(frozen=True, slots=True)
class RateState:
    """What was seen so far.

    Attributes
    ----------
    n
        How many cases.
    violated, failed
        Whether an ``ensures`` without a rate was violated; whether any case failed.
    holding, violating
        The bets on those with a rate: cases that failed count as violations in the first, as none in the second.
    """

    n: int
    violated: bool
    failed: bool
    holding: tuple[AnyWealth, ...] = ()
    violating: tuple[AnyWealth, ...] = ()


@dataclass(frozen=True, slots=True)
class RateEvidence:
    """Decides a k-safety property from random cases.

    Guarantee, for independent cases: *violated* where every ``ensures`` has no rate is a fact. Otherwise it is ever
    said wrongly with probability at most ``delta``. *Holds* means that each ``ensures`` without a rate is true of all
    but ``eps`` of the cases, and each with a rate as often as it demands; it is ever said wrongly with probability at
    most ``delta``. For the first kind: if a share of ``eps`` or more violates, the chance that ``n`` cases show none is
    at most ``(1 - eps)**n``, and *holds* is said only once that is at most ``delta``; since one violation ends the
    matter, it makes no difference how often one looks. If several are false, one of them must have been missed, so
    nothing is divided.

    Attributes
    ----------
    delta, eps
        The risk, and the share that is left open.
    strict, rated
        The numbers of the ``ensures`` without and with a rate.
    bets
        The bets on those with a rate, joined by "and"; ``None`` where there are none.
    """

    delta: float
    eps: float
    strict: tuple[int, ...]
    rated: tuple[int, ...]
    bets: BetEvidence | None

    @property
    def needed(self) -> int:
        """How many cases without a violation prove that at most ``eps`` of the cases violate."""
        return ceil(log(self.delta) / log1p(-self.eps)) if self.strict else 0

    def begin(self) -> RateState:
        """Nothing seen."""
        states = () if self.bets is None else self.bets.begin()
        return RateState(0, False, False, states, states)

    def step(self, state: RateState, violates: Booleans, failed: Booleans) -> RateState:
        """Take in cases: for each ``ensures`` which of them violate it, and which failed."""
        bad = [int(np.count_nonzero(cases)) for cases in violates]
        return self.settle(state, len(failed), bad, int(np.count_nonzero(failed)), self.cells(violates, failed))

    def cells(self, violates: Booleans, failed: Booleans) -> Cells:
        """The counts that the bets are settled by."""
        if self.bets is None:
            return (), ()
        return self._cells(violates | failed), self._cells(violates)

    def settle(self, state: RateState, n: int, bad: Sequence[int], failed: int, cells: Cells) -> RateState:
        """Take in ``n`` cases that were counted: how many violate each ``ensures``, and how many failed."""
        holding, violating = state.holding, state.violating
        if self.bets is not None:
            holding = self.bets.step(holding, dict(zip(self.bets.channels, cells[0], strict=True)))
            violating = self.bets.step(violating, dict(zip(self.bets.channels, cells[1], strict=True)))
        broken = any(bad[number] for number in self.strict)
        return RateState(state.n + n, state.violated or broken, state.failed or failed > 0, holding, violating)

    def fits(self, n: int, bad: Sequence[int], failed: int, cells: Cells) -> bool:
        """Whether cells can be those of ``n`` cases of which so many violate each ``ensures``, and so many failed."""
        channels = () if self.bets is None else self.bets.channels
        if any(len(side) != len(channels) for side in cells):
            return False
        for side, most in zip(cells, (failed, 0), strict=True):
            for channel, cell in zip(channels, side, strict=True):
                seen = cell @ channel.grid.values()
                told = np.array([bad[_number(leaf)] for leaf in channel.leaves])
                if cell.min() < 0 or cell.sum() != n or (seen < told).any() or (seen > told + most).any():
                    return False
        return True

    def _cells(self, violates: Booleans) -> tuple[NDArray[np.float64], ...]:
        assert self.bets is not None
        return tuple(
            channel.grid.tally([violates[_number(leaf)] for leaf in channel.leaves]) for channel in self.bets.channels
        )

    def decision(self, state: RateState) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` for undecided so far."""
        if state.violated or (self.bets is not None and self.bets.decision(state.violating) is False):
            return False
        strict = not self.strict or (state.n >= self.needed and not state.failed)
        rated = self.bets is None or self.bets.decision(state.holding) is True
        return True if strict and rated and state.n > 0 else None

    def progress(self, state: RateState) -> float:
        """How far the nearer answer has come, from 0 to 1."""
        if self.decision(state) is not None:
            return 1.0
        strict = min(state.n / self.needed, 1.0) if self.strict else 1.0
        rated = self.bets.progress(state.holding) if self.bets is not None else 1.0
        return min(strict, rated)

    def proved(self, n: int) -> float:
        """The share that ``n`` cases without a violation leave open: less than this, at the risk ``delta``."""
        return 1.0 - self.delta ** (1.0 / n) if n else 1.0


def rate_evidence(rates: Sequence[float | None], eps: float, delta: float) -> RateEvidence:
    """The evidence for ``ensures`` with these rates; ``None`` where it must always be true."""
    strict = tuple(number for number, rate in enumerate(rates) if rate is None or rate >= 1.0)
    rated = tuple(number for number in range(len(rates)) if number not in strict)
    return RateEvidence(delta, eps, strict, rated, _bets(rates, rated, delta) if rated else None)


def _bets(rates: Sequence[float | None], rated: tuple[int, ...], delta: float) -> BetEvidence:
    # 1 - rate in decimals: a claim of 99% allows 0.01, not the float next to it.
    claims = [f"P[`{number}`] <= {round(1.0 - (rates[number] or 0.0), 12)!r}" for number in rated]
    formula = parse_formula(" and ".join(claims))
    found = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta)
    if found is None:
        raise NumericalError("expected bets on the shares of violating cases, but there are none for this claim")
    return found


def _number(leaf: Leaf) -> int:
    assert isinstance(leaf, Rate)
    assert isinstance(leaf.event, Column)
    return int(leaf.event.name)


@dataclass(frozen=True, slots=True)
class Piece:
    """What became of some cases.

    Attributes
    ----------
    tested
        Cases that met the preconditions and were put to the model.
    violating, by_ensures, failed, vacuous
        Those that violate, those that violate each ``ensures``, those in which something could not be computed, and
        those in which nothing was tested.
    reasons
        Why cases failed, and how many.
    """

    tested: int
    violating: int
    by_ensures: Sequence[int]
    failed: int
    vacuous: int
    reasons: Sequence[tuple[str, int]]


def piece_of(judged: Judged) -> Piece:
    """Count judged cases."""
    return Piece(
        len(judged.failed),
        int(np.count_nonzero(judged.violating)),
        tuple(int(np.count_nonzero(bad)) for bad in judged.violates),
        int(np.count_nonzero(judged.failed)),
        int(np.count_nonzero(judged.vacuous)),
        tuple(judged.reasons.items()),
    )


@dataclass(slots=True)
class Totals:
    """Counts of cases and of what became of them.

    Attributes
    ----------
    tested, violating, by_ensures, failed, vacuous, reasons
        As in a :class:`Piece`, of all of them together.
    turned_away
        Cases that did not meet the preconditions.
    weight, bad_weight, failed_weight
        For a complete list of cases, how likely they are together, those that violate each ``ensures``, and those that
        failed without violating it, in units of one input.
    """

    ensures: int
    tested: int = 0
    turned_away: Counts = field(default_factory=Counts)
    violating: int = 0
    by_ensures: list[int] = field(default_factory=list)
    failed: int = 0
    vacuous: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    weight: Fraction = Fraction(0)
    bad_weight: list[Fraction] = field(default_factory=list)
    failed_weight: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_ensures = [0] * self.ensures
        self.bad_weight = [Fraction(0)] * self.ensures
        self.failed_weight = [Fraction(0)] * self.ensures

    def add(self, piece: Piece) -> None:
        """Take in some cases."""
        self.tested += piece.tested
        self.violating += piece.violating
        self.failed += piece.failed
        self.vacuous += piece.vacuous
        self.reasons.update(dict(piece.reasons))
        for number, bad in enumerate(piece.by_ensures):
            self.by_ensures[number] += bad

    def weigh(self, judged: Judged, cases: Cases) -> None:
        """Take in how likely cases of a complete list are."""
        self.weight += weight_of(cases.parts)
        for number, bad in enumerate(judged.violates):
            self.bad_weight[number] += weight_of(cases.parts[bad])
            self.failed_weight[number] += weight_of(cases.parts[judged.failed & ~bad])


def weight_of(parts: NDArray[np.int64]) -> Fraction:
    """The sum of ``1 / part``, exactly."""
    values, counts = np.unique(parts, return_counts=True)
    return sum((Fraction(int(n), int(part)) for part, n in zip(values, counts, strict=True)), Fraction(0))


Share = tuple[float | None, float, float]
"""Estimate, lowest and highest."""


def always(item: Ensures) -> bool:
    """Whether an ``ensures`` must be true of every case."""
    return item.rate is None or item.rate >= 1.0


def complete_share(totals: Totals, number: int) -> Share:
    """The share of all cases that violate one ``ensures``, where every case was tried."""
    certain, possible = totals.bad_weight[number], totals.bad_weight[number] + totals.failed_weight[number]
    share = float(certain / totals.weight)
    return share, share, float(possible / totals.weight)


def drawn_share(totals: Totals, number: int, delta: float) -> Share:
    """The share that violate one ``ensures``, from random cases: it is missed with probability at most ``delta``."""
    if not totals.tested or totals.weight:  # nothing, or a part of all cases in order: no random sample
        return None, 0.0, 1.0
    bad, failed, n = totals.by_ensures[number], totals.failed, totals.tested
    ends = np.array([0.0, 1.0])
    low = mean_interval(ends, np.array([n - bad, bad], dtype=float), delta)[0]
    most = min(bad + failed, n)
    high = mean_interval(ends, np.array([n - most, most], dtype=float), delta)[1]
    return bad / n, low, high


def compared_share(item: Ensures, share: Share, eps: float | None, held: bool = False) -> Expression:
    """A share and what it must not exceed.

    Parameters
    ----------
    item
        What is ensured.
    share
        The share that violates it.
    eps
        What is left open of an ``ensures`` that must always be true, where no case violates it; ``None`` where nothing
        is left open.
    held
        Whether the answer is *holds*.
    """
    estimate, low, high = share
    allowed = 0.0 if item.rate is None else round(1.0 - item.rate, 12)
    if always(item) and eps is not None:
        allowed = eps
        if held:
            # The test of the first violation is sharper than an interval that is made for any number of them.
            high = min(high, allowed)
    return Expression(f"share that violates {expression_text(item.condition)}", "<=", allowed, estimate, low, high)

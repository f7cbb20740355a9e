"""Counts of cases and their results, which add up; what random cases prove; the shares that a verdict states.

An ``ensures`` without a rate must be true of every case. One violation refutes it, and no number of good cases proves
it; what they prove is that violations are rarer than ``eps``. An ``ensures`` with a rate is a claim about a share, and
is decided by bets like every other share.

An ``ensures`` beyond noise is a claim about the mean of one number for each case, and is decided by bets on that mean.
The model is asked twice about each of a case's two records. The number is the share of the four pairs of answers about
different records that violate, minus the share of the four pairs about the same record that do. All four answers are
independent draws, so each pair has the probability that the claim speaks of, and the number's mean is the difference of
the two probabilities, whatever the case. For ``d1 == d2`` a case with the probabilities ``p_k`` and ``q_k`` of its
answers has the mean ``sum((p_k - q_k)**2) / 2``: 0 if and only if the change has no effect, and never negative, so that
effects on different cases do not cancel. Three queries (two about one record) would have a mean that can be negative,
and for a model that rarely errs a variance of the order of its error rate, rather than of its square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from math import ceil, log, log1p
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.evidence.bet_evidence import AnyWealth, BetEvidence, bets_for
from isonomia.evidence.confidence_sequences import mean_interval
from isonomia.evidence.inversion import inversion_for
from isonomia.records.journal import Entry, exact_fraction
from isonomia.records.verdict import Expression
from isonomia.spec.nomos.tree import Binary, Ensures, Name, expression_text
from isonomia.spec.tree import Column, Comparison, Constant, Formula, Junction, Leaf, Mean, Rate

Booleans = NDArray[np.bool_]

Cells: TypeAlias = tuple[tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...]]
"""The counts that settle bets on shares, channel by channel: failed cases count as violations in the first tuple, but
not in the second. Empty where there are no bets."""

Share: TypeAlias = tuple[float | None, float, float]
"""Estimate, lowest and highest."""

PAIRS = 25
"""How many results a case can have that is asked twice: 0 to 4 pairs that violate, about two records and about one."""

_LEVELS = np.arange(5) / 4.0
_CHANGES, _REPEATS = np.divmod(np.arange(PAIRS), 5)
_BEYOND = (_CHANGES - _REPEATS) / 4.0
_MEAN = Mean(Column("beyond noise"))


@dataclass(slots=True)
class CaseTally:
    """Counts of cases by their result.

    Attributes
    ----------
    by_ensures
        How many violate each ``ensures``.
    tested
        Cases that met the preconditions and were sent to the model.
    violating, failed, vacuous
        Those that violate some ``ensures``, those in which something could not be computed, and those in which nothing
        was tested.
    reasons
        Why cases failed, and how many.
    rejected, without_choice
        Cases that were left out: by a precondition, or because a choice had nothing to choose from.
    weight, bad_weight, failed_weight
        For a complete list of cases, the total probability of all, of those that violate each ``ensures``, and of those
        that failed without violating it, in units of one input.
    cells
        The counts that settle the bets, for one piece of a batch: pieces are settled one after the other.
    pairs
        For a claim beyond noise, how many cases that did not fail had each of the ``PAIRS`` results; else empty.
    """

    by_ensures: list[int]
    tested: int = 0
    violating: int = 0
    failed: int = 0
    vacuous: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    without_choice: int = 0
    weight: Fraction = Fraction(0)
    bad_weight: list[Fraction] = field(default_factory=list)
    failed_weight: list[Fraction] = field(default_factory=list)
    cells: Cells = ((), ())
    pairs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bad_weight = self.bad_weight or [Fraction(0)] * len(self.by_ensures)
        self.failed_weight = self.failed_weight or [Fraction(0)] * len(self.by_ensures)

    @classmethod
    def empty(cls, ensures: int) -> CaseTally:
        """The tally of no cases, for a specification with this many ``ensures``."""
        return cls([0] * ensures)

    @property
    def why_failed(self) -> dict[str, int]:
        """Why cases failed, and how many; none where none did."""
        return dict(self.reasons) or ({"something has no value": self.failed} if self.failed else {})

    def __add__(self, other: CaseTally) -> CaseTally:
        return CaseTally(
            [one + two for one, two in zip(self.by_ensures, other.by_ensures, strict=True)],
            self.tested + other.tested,
            self.violating + other.violating,
            self.failed + other.failed,
            self.vacuous + other.vacuous,
            self.reasons + other.reasons,
            self.rejected + other.rejected,
            self.without_choice + other.without_choice,
            self.weight + other.weight,
            [one + two for one, two in zip(self.bad_weight, other.bad_weight, strict=True)],
            [one + two for one, two in zip(self.failed_weight, other.failed_weight, strict=True)],
            pairs=[one + two for one, two in zip_longest(self.pairs, other.pairs, fillvalue=0)],
        )

    def pack(self, *, weighed: bool) -> Entry:
        """As plain values, exact: with the weights of a complete list, or with the cells of a piece of a batch.

        Rejected cases, and those without a choice, are kept elsewhere.
        """
        counts = {
            "tested": self.tested,
            "violating": self.violating,
            "by_ensures": list(self.by_ensures),
            "failed": self.failed,
            "vacuous": self.vacuous,
            "reasons": [list(pair) for pair in self.reasons.items()],
        }
        if self.pairs:
            return {**counts, "pairs": self.pairs}
        if not weighed:
            return {**counts, "bets": [[cell.tolist() for cell in side] for side in self.cells]}
        return {
            **counts,
            "weight": str(self.weight),
            "bad_weight": list(map(str, self.bad_weight)),
            "failed_weight": list(map(str, self.failed_weight)),
        }

    @classmethod
    def unpack(cls, entry: Entry, rejected: int = 0, without_choice: int = 0) -> CaseTally:
        """The tally that was packed."""
        tally = cls(
            list(entry["by_ensures"]),
            entry["tested"],
            entry["violating"],
            entry["failed"],
            entry["vacuous"],
            Counter(dict(entry["reasons"])),
            rejected,
            without_choice,
        )
        tally.pairs = list(entry.get("pairs", ()))
        if "weight" in entry:
            tally.weight = exact_fraction(entry["weight"])
            tally.bad_weight = list(map(exact_fraction, entry["bad_weight"]))
            tally.failed_weight = list(map(exact_fraction, entry["failed_weight"]))
        if "bets" in entry:
            holding, violating = (tuple(np.asarray(cell, dtype=float) for cell in side) for side in entry["bets"])
            tally.cells = holding, violating
        return tally


@dataclass(frozen=True, slots=True)
class CaseEvidenceState:
    """What was seen so far.

    Attributes
    ----------
    tally
        The counts of the cases.
    holding, violating
        The bets on the ``ensures`` with a rate: failed cases count as violations in the first, but not in the second.
    history
        For a claim beyond noise, the counts that settled the bets, piece by piece.
    """

    tally: CaseTally
    holding: tuple[AnyWealth, ...] = ()
    violating: tuple[AnyWealth, ...] = ()
    history: tuple[Cells, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """Decides a k-safety property from random cases.

    Guarantee, for independent cases: where no ``ensures`` has a rate, *violated* is a fact. Otherwise it is ever said
    wrongly with probability at most ``delta``. *Holds* means that each ``ensures`` without a rate is true of all but
    ``eps`` of the cases, and each with a rate as often as it demands; it is ever said wrongly with probability at most
    ``delta``. For the first kind: if a share of ``eps`` or more violates, the chance that ``n`` cases show no violation
    is at most ``(1 - eps)**n``, and *holds* is said only once that is at most ``delta``; since one violation refutes
    the claim, it does not matter how often one looks. If several are false, a wrong *holds* has missed any one of them,
    so ``delta`` is not divided.

    Attributes
    ----------
    delta, eps
        The risk, and the share of cases about which *holds* says nothing.
    strict, rated
        The numbers of the ``ensures`` without and with a rate.
    bets
        The bets on those with a rate, joined by "and"; ``None`` if every claim is strict.
    noise
        The claim beyond noise, which is the only ``ensures``; ``None`` for any other specification.
    """

    delta: float
    eps: float
    strict: tuple[int, ...]
    rated: tuple[int, ...]
    bets: BetEvidence | None
    noise: NoiseClaim | None = None

    @property
    def needed(self) -> int:
        """How many cases without a violation prove that at most ``eps`` of the cases violate."""
        return ceil(log(self.delta) / log1p(-self.eps)) if self.strict else 0

    def begin(self) -> CaseEvidenceState:
        """Nothing seen."""
        states = () if self.bets is None else self.bets.begin()
        return CaseEvidenceState(CaseTally.empty(len(self.strict) + len(self.rated)), states, states)

    def cells(self, violates: Booleans, failed: Booleans) -> Cells:
        """The counts that settle the bets."""
        if self.bets is None or self.noise is not None:
            return (), ()
        return self._cells(violates | failed), self._cells(violates)

    def settle(self, state: CaseEvidenceState, tally: CaseTally) -> CaseEvidenceState:
        """Take in cases that were counted."""
        holding, violating, history = state.holding, state.violating, state.history
        if self.bets is not None:
            cells = tally.cells
            if self.noise is not None:
                cells = self._noisy_cells(self.noise, tally)
                history = (*history, cells)
            holding = self.bets.step(holding, dict(zip(self.bets.channels, cells[0], strict=True)))
            violating = self.bets.step(violating, dict(zip(self.bets.channels, cells[1], strict=True)))
        return CaseEvidenceState(state.tally + tally, holding, violating, history)

    def _noisy_cells(self, noise: NoiseClaim, tally: CaseTally) -> Cells:
        """The counts of a claim beyond noise; a case that failed has the highest value, and then the lowest."""
        assert self.bets is not None
        (channel,) = self.bets.channels
        numbers = np.repeat(_BEYOND, tally.pairs) if tally.pairs else np.zeros(0)
        ends = (np.full(tally.failed, end) for end in (1.0, noise.lowest))
        above, below = (channel.grid.tally([np.concatenate([numbers, end])]) for end in ends)
        return (above,), (below,)

    def _cells(self, violates: Booleans) -> tuple[NDArray[np.float64], ...]:
        assert self.bets is not None
        return tuple(
            channel.grid.tally([violates[_number(leaf)] for leaf in channel.leaves]) for channel in self.bets.channels
        )

    def decision(self, state: CaseEvidenceState) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` while undecided."""
        tally = state.tally
        violated = any(tally.by_ensures[number] for number in self.strict)
        if violated or (self.bets is not None and self.bets.decision(state.violating) is False):
            return False
        strict = not self.strict or (tally.tested >= self.needed and not tally.failed)
        rated = self.bets is None or self.bets.decision(state.holding) is True
        return True if strict and rated and tally.tested > 0 else None

    def progress(self, state: CaseEvidenceState) -> float:
        """How far the nearer answer has come, from 0 to 1."""
        if self.decision(state) is not None:
            return 1.0
        strict = min(state.tally.tested / self.needed, 1.0) if self.strict else 1.0
        rated = self.bets.progress(state.holding) if self.bets is not None else 1.0
        return min(strict, rated)

    def proved(self, n: int) -> float:
        """The share that ``n`` cases without a violation leave open: less than this, at the risk ``delta``."""
        return 1.0 - self.delta ** (1.0 / n) if n else 1.0


@dataclass(frozen=True, slots=True)
class NoiseClaim:
    """A claim beyond noise: by how much violations may be more frequent, and the lowest value of a case.

    Where ``d1 == d2`` or an order is claimed, a case is at least -1/2. For an order, at most one of ``aa'`` and ``a'a``
    violates. For equality, if ``a`` and ``a'`` differ and ``b`` and ``b'`` do, each of ``b`` and ``b'`` differs from
    ``a`` or from ``a'``, so that at least two of the four other pairs violate. Any other condition allows -1.
    """

    margin: float
    lowest: float


def noise_claim(ensures: Sequence[Ensures]) -> NoiseClaim | None:
    """The claim beyond noise, if there is one: then it is the only one."""
    for item in ensures:
        if item.noise is not None:
            match item.condition:
                case Binary(operator="==" | "<=" | ">=", left=Name(), right=Name()):
                    return NoiseClaim(item.noise, -0.5)
                case _:
                    return NoiseClaim(item.noise, -1.0)
    return None


def rate_evidence(
    rates: Sequence[float | None], eps: float, delta: float, noise: NoiseClaim | None = None
) -> CaseEvidence:
    """The evidence for ``ensures`` with these rates; a rate of ``None`` means always, unless it is beyond noise."""
    if noise is not None:
        claim = Comparison(_MEAN, (("<=", Constant(noise.margin)),))
        bets = bets_for(claim, {_MEAN: (noise.lowest, 1.0)}, (None,), delta)
        return CaseEvidence(delta, eps, (), (0,), bets, noise)
    strict = tuple(number for number, rate in enumerate(rates) if rate is None or rate >= 1.0)
    rated = tuple(number for number in range(len(rates)) if number not in strict)
    return CaseEvidence(delta, eps, strict, rated, _bets(rates, rated, delta) if rated else None)


def _bets(rates: Sequence[float | None], rated: tuple[int, ...], delta: float) -> BetEvidence:
    leaves = [Rate(Column(str(number))) for number in rated]
    claims = tuple(
        Comparison(leaf, (("<=", Constant(_allowed(rates[number]))),))
        for leaf, number in zip(leaves, rated, strict=True)
    )
    formula: Formula = claims[0] if len(claims) == 1 else Junction("and", claims)
    bets = bets_for(formula, dict.fromkeys(leaves, (0.0, 1.0)), (None,), delta)
    if bets is None:
        raise NumericalError("expected bets on the shares of violating cases, but this claim allows no bet")
    return bets


def _allowed(rate: float | None) -> float:
    """The share that may violate, in decimals: a claim of 99% allows 0.01, not the float next to it."""
    return round(1.0 - (rate or 0.0), 12)


def _number(leaf: Leaf) -> int:
    assert isinstance(leaf, Rate)
    assert isinstance(leaf.event, Column)
    return int(leaf.event.name)


def weight_of(parts: NDArray[np.int64]) -> Fraction:
    """The sum of ``1 / part``, exactly."""
    values, counts = np.unique(parts, return_counts=True)
    return sum((Fraction(int(n), int(part)) for part, n in zip(values, counts, strict=True)), Fraction(0))


def complete_share(tally: CaseTally, number: int) -> Share:
    """The share of all cases that violate one ``ensures``, where every case was tried."""
    certain, possible = tally.bad_weight[number], tally.bad_weight[number] + tally.failed_weight[number]
    share = float(certain / tally.weight)
    return share, share, float(possible / tally.weight)


def drawn_share(tally: CaseTally, number: int, delta: float) -> Share:
    """The share that violate one ``ensures``, from random cases: it is missed with probability at most ``delta``."""
    if not tally.tested or tally.weight:  # no cases, or some of all cases in order: not a random sample
        return None, 0.0, 1.0
    bad, failed, n = tally.by_ensures[number], tally.failed, tally.tested
    ends = np.array([0.0, 1.0])
    low = mean_interval(ends, np.array([n - bad, bad], dtype=float), delta)[0]
    possible = min(bad + failed, n)
    high = mean_interval(ends, np.array([n - possible, possible], dtype=float), delta)[1]
    return bad / n, low, high


def noise_shares(tally: CaseTally, delta: float) -> tuple[Share, Share]:
    """How often the condition is false between two records, and between two answers about one."""
    counts = np.asarray(tally.pairs or [0] * PAIRS, dtype=float)
    n, shares = counts.sum(), []
    for levels in (_CHANGES, _REPEATS):
        cells = np.bincount(levels, weights=counts, minlength=5).astype(float)
        estimate = float(cells @ _LEVELS / n) if n else None
        shares.append((estimate, *mean_interval(_LEVELS, cells, delta)))
    return shares[0], shares[1]


def beyond_noise(evidence: CaseEvidence, state: CaseEvidenceState, *, rough: bool = False) -> Share:
    """By how much the first share exceeds the second, each limit at the risk ``delta``: from the verdict's own bets.

    With ``rough``, both limits are at ``delta`` together, and wider.
    """
    assert evidence.noise is not None
    assert evidence.bets is not None
    noise, counts = evidence.noise, np.asarray(state.tally.pairs or [0] * PAIRS, dtype=float)
    n = counts.sum()
    if not n:
        return None, noise.lowest, 1.0
    estimate = float(counts @ _BEYOND / n)
    if rough:
        cells = np.bincount(_CHANGES - _REPEATS + 4, weights=counts, minlength=9).astype(float)
        return estimate, *mean_interval(np.linspace(-1.0, 1.0, 9), cells, evidence.delta)
    error = float(np.sqrt(max(counts @ _BEYOND**2 / n - estimate**2, 1.0 / n) / n))
    inversion = inversion_for(_MEAN, {_MEAN: (noise.lowest, 1.0)}, (None,))
    assert inversion is not None
    ends = []
    for side in (1, 0):  # failed cases make it as low as possible, and as high
        history = [dict(zip(inversion.channels, cells[side], strict=True)) for cells in state.history]
        limits = (noise.lowest, 1.0)
        ends.append(inversion.interval(history, evidence.delta, (estimate, error), limits)[1 - side])
    low, high = ends
    decision = evidence.decision(state)
    return (
        estimate,
        max(low, noise.margin) if decision is False else low,
        min(high, noise.margin) if decision is True else high,
    )


def compared_share(item: Ensures, share: Share, eps: float | None, held: bool = False) -> Expression:
    """The share that violates an ``ensures``, and what it must not exceed.

    For one that must always be true and that no case violates, ``eps`` is the share left open; ``None`` where nothing
    is. ``held`` says whether the answer is *holds*.
    """
    estimate, low, high = share
    if item.noise is not None:
        text = f"P[`{expression_text(item.condition)}` is false] - P[it is false when queried again]"
        return Expression(text, "<=", item.noise, estimate, low, high)
    allowed = 0.0 if item.rate is None else _allowed(item.rate)
    if item.always and eps is not None:
        allowed = eps
        if held:
            # A test for no violation is sharper than an interval that allows for any number of them.
            high = min(high, allowed)
    return Expression(
        f"share of cases that violate `{expression_text(item.condition)}`", "<=", allowed, estimate, low, high
    )

"""Planning: how many draws a claim takes at best and with these bets, and how to divide draws over streams.

The *information distance* to the nearest parameters with the other answer says how fast evidence can grow at best. It
gives a lower limit on the number of draws, and the best allocation: where groups can be drawn separately, more draws go
to the stream that matters more. Nothing here changes the validity of a verdict: the numbers of draws are fixed before
the draws are seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isfinite, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from isonomia.evidence.bet_evidence import BetEvidence, PolytopeTest
from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.deadline import batch_sizes
from isonomia.evidence.look_parts import ExtremePart, MeansPart, PairedPart, Part, RatesPart
from isonomia.evidence.looks import LookEvidence
from isonomia.evidence.normal_form import compared
from isonomia.evidence.protocol import Channel
from isonomia.evidence.slices import SlicedEProcess
from isonomia.evidence.stakes import best_stakes
from isonomia.spec.tree import Comparison, Each, Formula, Implies, Junction, Leaf, Not, Row

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_PROBABILITY = 1e-12
"""The least probability of a corner in a forecast, so that a guess at the end of a range has a finite distance.
Changes plans only, never a verdict."""

MIN_SHARE_OF_EVEN = 0.02
"""No stream gets less than this share of what an even split would give it: a wrong estimate must be able to recover.
Changes cost only: the bets are valid for any split."""

FIRST_BATCH = 8
"""The smallest batch of a simulated run. Changes plans only."""

TABLES, SURE = 20_000, 0.01
"""How many tables are simulated for the power of one look, which gives a power of 0.8 to about 0.003, and by how much
the simulated power must exceed the one that is promised: three times that. Changes plans only."""

MANY_COUNTS = 10_000
"""With more expected successes and failures of every rate than this, the power of one look is that of the normal
approximation, which is then right to about a hundredth. Changes plans only."""

SEARCH_STEP, COARSE_STEP, PRECISION = 1.08, 1.3, 0.01
"""The factor between two numbers of people that are tried, for rates, whose power rises and falls between counts, and
for numbers, whose tables take longer; and how precisely the least is found. Changes plans only."""


@dataclass(frozen=True, slots=True)
class Distance:
    """The information of one draw against one polytope, and what each channel's draws contribute to it.

    Attributes
    ----------
    total
        Nats per draw of the population.
    by_channel
        Nats per draw *of the channel*, in the order of the test's channels.
    """

    total: float
    by_channel: Floats


def limit(delta: float, nats: float) -> float:
    """The fewest draws that any test with risk ``delta`` can take on average: ``kl(delta, 1 - delta) / nats``.

    Source: Garivier and Kaufmann (2016), Theorem 1, after Wald. Infinite on the boundary.
    """
    needed = (1.0 - 2.0 * delta) * np.log((1.0 - delta) / delta)
    return float(needed / nats) if nats > 0 else inf


def truth_at(evidence: BetEvidence, means: Mapping[Leaf, float]) -> bool | None:
    """Whether the claim is true for given means, ``None`` on the boundary."""
    outside = [all(_excess(test, means) > 0 for test in side) for side in (evidence.against, evidence.in_favour)]
    if outside[0]:
        return True
    return False if outside[1] else None


def distance(test: PolytopeTest, means: Mapping[Leaf, float], shares: Sequence[float]) -> Distance:
    """Project given means onto a polytope.

    Parameters
    ----------
    test
        The e-process against the polytope, and its channels.
    means
        The value of each leaf. Numbers are assumed to lie at the two ends of their range, which is the hardest case;
        events of one group are assumed to be independent.
    shares
        How often a draw of the population falls into each channel.
    """
    process = test.unsliced
    estimate = _estimate(process, test.channels, means)
    weights = np.asarray(shares, dtype=float)[None, :]
    stakes = best_stakes(process.payoffs[None], process.bounds[None], estimate[None], weights)
    logs = np.log(np.where(estimate > 0, stakes.factors[0], 1.0))
    by_channel = (estimate * logs).sum(axis=-1)
    value = float(weights[0] @ (by_channel + 1.0 - stakes.intercepts[0]) - stakes.amounts[0] @ process.bounds)
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


def _estimate(process: EProcess, channels: tuple[Channel, ...], means: Mapping[Leaf, float]) -> Floats:
    estimate = np.zeros_like(process.prior)
    for g, channel in enumerate(channels):
        cells = cell_probabilities(channel, means)
        corners = channel.grid.prior() > 0
        cells = np.where(corners, np.maximum(cells, MIN_PROBABILITY), cells)
        estimate[g, : len(cells)] = cells / cells.sum()
    return estimate


def _excess(test: PolytopeTest, means: Mapping[Leaf, float]) -> float:
    """How far the means lie beyond the most violated half-space; negative inside the polytope."""
    process = test.unsliced
    if not test.channels:
        return float(np.max(0.0 - process.bounds))
    left = []
    for payoffs in process.payoffs:
        pairs = zip(payoffs, test.channels, strict=True)
        left.append(sum(float(row[: channel.grid.size] @ cell_probabilities(channel, means)) for row, channel in pairs))
    return float(np.max(np.asarray(left) - process.bounds))


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a check is likely to cost if the guesses are right.

    Attributes
    ----------
    answer
        Whether the claim would hold; ``None`` on the boundary, where no number of draws decides it.
    limit
        The fewest draws that any method of this risk could take on average.
    mean, early, late
        The average number of draws of this method, and its 10% and 90% quantiles.
    """

    answer: bool | None
    limit: float
    mean: float
    early: float
    late: float


def forecast(
    evidence: BetEvidence,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    *,
    repetitions: int = 200,
    growth: float = 1.02,
    rng: np.random.Generator,
) -> Forecast:
    """Simulate the bets on guessed means.

    Parameters
    ----------
    evidence
        The bets that would be made.
    means
        A guess for each leaf.
    shares
        How often a draw falls into each channel.
    repetitions, growth, rng
        How many runs to simulate (200 give the mean to a few percent), the growth factor of ``n`` from one batch to
        the next, and the randomness.
    """
    answer = truth_at(evidence, means)
    if answer is None or min(shares.values(), default=1.0) <= 0:
        return Forecast(answer, inf, inf, inf, inf)
    tests = evidence.against if answer else evidence.in_favour
    if not tests:
        return Forecast(answer, 0.0, 0.0, 0.0, 0.0)
    nats = min(distance(test, means, [shares[c] for c in test.channels]).total for test in tests)
    stops = np.max([_stops(test, means, shares, evidence.delta, repetitions, growth, rng) for test in tests], axis=0)
    early, late = np.quantile(stops, [0.1, 0.9])
    return Forecast(answer, limit(evidence.delta, nats), float(stops.mean()), float(early), float(late))


def _stops(
    test: PolytopeTest,
    means: Mapping[Leaf, float],
    shares: Mapping[Channel, float],
    delta: float,
    repetitions: int,
    growth: float,
    rng: np.random.Generator,
) -> Floats:
    """After how many draws each of many simulated runs refutes one polytope."""
    process, stops = test.unsliced, np.zeros(repetitions)
    cells = [cell_probabilities(channel, means) for channel in test.channels]
    cells = [chances / chances.sum() for chances in cells]
    running = np.arange(repetitions)
    state, n, needed = begin(process, repetitions), 0, np.log(1.0 / delta)
    while len(running):
        size = max(FIRST_BATCH, int((growth - 1.0) * n))
        n += size
        counts = np.zeros((len(running), *process.prior.shape))
        for g, (channel, chances) in enumerate(zip(test.channels, cells, strict=True)):
            members = rng.binomial(size, shares[channel], size=len(running))
            counts[:, g, : len(chances)] = rng.multinomial(members, chances)
        state = step(process, state, counts)
        refuted = state.peak >= needed
        stops[running[refuted]] = n
        running = running[~refuted]
        state = state.rows(~refuted)
    return stops


def people_for(
    evidence: BetEvidence,
    looks: LookEvidence,
    means: Mapping[Leaf, float],
    shares: Mapping[Leaf, float],
    power: float,
    *,
    most: float = inf,
    rounded: Callable[[int], int] = int,
) -> float:
    """How many people one look needs to decide a claim with this probability, if the guesses are right.

    The power is that of the test that would run: tables are simulated, and the test judges them. By data processing, no
    test of risk ``delta`` reaches the power with fewer than ``kl(power, delta) / D`` people, where ``D`` is the
    information of one person; the search begins there.

    Parameters
    ----------
    evidence
        Bets on the same claim, from which the information of one person follows.
    looks
        The look.
    means, shares
        The guessed value of each leaf, and the share of the people that informs it.
    power
        The probability of a decision.
    most
        Infinity is returned where it takes more people than this, and on the boundary.
    rounded
        Which number will be stated. Of counts, a few more people may decide less often, so its power is what counts.
    """
    answer = truth_at(evidence, means)
    tests = evidence.against if answer else evidence.in_favour
    if answer is None or not tests or min(shares.values(), default=1.0) <= 0.0:
        return 0.0 if answer is not None and not tests else inf
    nats = min(distance(test, means, [shares[c.leaves[0]] for c in test.channels]).total for test in tests)
    least = _divergence(power, evidence.delta) / nats if nats > 0.0 else inf

    numbers = any(channel.grid.size > 2 for channel in looks.channels)
    wanted = min(power + SURE, 1.0)
    factor = COARSE_STEP if numbers else SEARCH_STEP

    def is_enough(people: int, seed: int = 0) -> bool:
        tables = _Tables.drawn(looks, means, shares, rounded(people), seed)
        return tables.are_decided(looks.formula, answer, looks.delta, wanted)

    if not isfinite(least) or least > most:
        return inf
    low, high = ceil(least) - 1, max(ceil(least), 1)
    while not is_enough(high):
        low, high = high, ceil(factor * high)
        if high > factor * most:
            return inf
    while high - low > max(1.0, PRECISION * high):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    # Each table of numbers is judged in one random order, which may be a favourable one: confirm with other tables.
    while numbers and not is_enough(high, seed=1):
        high = ceil(SEARCH_STEP * high)
    return float(rounded(high))


def _divergence(first: float, second: float) -> float:
    """The binary divergence ``kl(first, second)`` in nats, of two probabilities strictly between 0 and 1."""
    return first * log(first / second) + (1.0 - first) * log((1.0 - first) / (1.0 - second))


@dataclass(slots=True)
class _Ranking:
    """Tables by their score, of which a test rejects the highest: none before ``first``, and all from ``last`` on."""

    score: Floats
    order: NDArray[np.intp]
    rejects: Callable[[int], bool]
    first: int
    last: int

    def rejected(self, sure: bool) -> Bools:
        """Which tables are rejected for sure, or which may be."""
        edge = self.last if sure else self.first
        return self.score >= (self.score[self.order[edge]] if edge < TABLES else inf)

    def narrow(self) -> None:
        """Judge the middle one of the tables that are open. Scores err, so that one elsewhere would tell less."""
        if self.first == self.last:
            return
        middle = (self.first + self.last) // 2
        if self.rejects(int(self.order[middle])):
            self.last = middle
        else:
            self.first = middle + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """Simulated tables: for each leaf the number of draws, and of successes, in each of them.

    Numbers lie at the ends of their range. Tables of one number of people are always the same, so that a plan can be
    repeated.
    """

    looks: LookEvidence
    n: Mapping[Leaf, Floats]
    yes: Mapping[Leaf, Floats]
    certain: bool
    rng: np.random.Generator
    rankings: dict[tuple[Part, bool, float, float], _Ranking] = field(default_factory=dict)

    @classmethod
    def drawn(
        cls, looks: LookEvidence, means: Mapping[Leaf, float], shares: Mapping[Leaf, float], people: int, seed: int
    ) -> _Tables:
        rng = np.random.default_rng(seed)
        groups = {leaf.given: shares[leaf] for leaf in shares}
        parts = [share for given, share in groups.items() if given is not None]
        sizes: dict[Row | None, NDArray[np.int64]] = {None: np.full(TABLES, people)}
        if sum(parts) <= 1.0 + 1e-9:
            drawn = rng.multinomial(people, [*parts, max(1.0 - sum(parts), 0.0)], size=TABLES).T
        else:
            drawn = np.asarray([rng.binomial(people, share, TABLES) for share in parts])
        sizes |= dict(zip((given for given in groups if given is not None), drawn, strict=False))
        rates = {leaf: _unit(looks, leaf, means[leaf]) for leaf in shares}
        n = {leaf: sizes[leaf.given] for leaf in shares}
        yes = {leaf: rng.binomial(n[leaf], rates[leaf]) for leaf in shares}
        fewest = min(people * shares[leaf] * min(rates[leaf], 1.0 - rates[leaf]) for leaf in shares)
        drawn_as, yes_as = ({leaf: each.astype(float) for leaf, each in counts.items()} for counts in (n, yes))
        return cls(looks, drawn_as, yes_as, fewest > MANY_COUNTS, rng)

    def are_decided(self, formula: Formula, answer: bool, risk: float, share: float) -> bool:
        """Whether the look gives this answer in at least this share of the tables; few of them have to be judged."""
        while True:
            if float(np.mean(self.decided(formula, answer, risk, sure=True))) >= share:
                return True
            if float(np.mean(self.decided(formula, answer, risk, sure=False))) < share:
                return False
            for ranking in self.rankings.values():
                ranking.narrow()

    def decided(self, formula: Formula, answer: bool, risk: float, *, sure: bool) -> Bools:
        """In which tables the look gives an answer for sure, or may; the risk is spread as the look spreads it."""
        match formula:
            case Comparison():
                links = list(compared(formula))
                result = [
                    self.beyond(
                        self.looks.parts[quantity],
                        (relation in {">", ">="}) is answer,
                        threshold,
                        risk if answer else risk / len(links),
                        sure,
                    )
                    for quantity, relation, threshold in links
                ]
                return _combined(result, answer)
            case Not(operand=operand):
                return self.decided(operand, not answer, risk, sure=sure)
            case Junction(connective=connective, operands=operands):
                every = (connective == "and") is answer
                each = risk if every else risk / len(operands)
                return _combined([self.decided(operand, answer, each, sure=sure) for operand in operands], every)
            case Implies(premise=premise, conclusion=conclusion):
                return self.decided(Junction("or", (Not(premise), conclusion)), answer, risk, sure=sure)
            case Each():
                raise TypeError("a quantifier is expanded before a claim is planned for")

    def beyond(self, part: Part, above: bool, threshold: float, risk: float, sure: bool) -> Bools:
        """In which tables a quantity is shown to lie above, or below, a threshold: for sure, or perhaps."""
        match part:
            case ExtremePart(largest=largest, parts=parts):
                every = largest is not above
                each = risk if every else risk / len(parts)
                return _combined([self.beyond(one, above, threshold, each, sure) for one in parts], every)
            case MeansPart(leaves=(leaf,), fraction=fraction):
                low, high = self.looks.ranges[leaf]
                slope, constant = (
                    fraction.top[0] - threshold * fraction.bottom[0],
                    fraction.constant - threshold * fraction.base,
                )
                slopes, constant, certain = {leaf: slope * (high - low)}, constant + slope * low, False
            case RatesPart(leaves=leaves, fraction=fraction):
                pairs = zip(leaves, fraction.top, fraction.bottom, strict=True)
                slopes = {leaf: top - threshold * bottom for leaf, top, bottom in pairs}
                constant, certain = fraction.constant - threshold * fraction.base, self.certain and len(leaves) <= 2
            case PairedPart() | MeansPart():
                raise TypeError("a plan has no guess for how several leaves depend on each other")
        if not slopes:
            return np.full(TABLES, (constant > 0.0) is above and constant != 0.0)
        key = (part, above, threshold, risk)
        if key not in self.rankings:
            quantile = max(-float(ndtri(risk)), 0.0)
            score = self._score(slopes, constant if above else -constant, 1.0 if above else -1.0, quantile)
            order = np.argsort(score, kind="stable")
            first = int(
                np.searchsorted(score[order], quantile if certain else -inf, side="left" if certain else "right")
            )

            def rejects(number: int) -> bool:
                return self.looks.proves(part, above, threshold, risk, self._table(slopes, number))

            self.rankings[key] = _Ranking(score, order, rejects, first, first if certain else TABLES)
        return self.rankings[key].rejected(sure)

    def _score(self, slopes: Mapping[Leaf, float], constant: float, sign: float, quantile: float) -> Floats:
        """By how many standard deviations each table exceeds a threshold, at shrunk rates; without draws, minus inf."""
        value, variance = np.full(TABLES, constant), np.zeros(TABLES)
        has_draws = np.full(TABLES, True)
        for leaf, slope in slopes.items():
            weights = self.n[leaf] + max(quantile, 1.0) ** 2
            rate = (self.yes[leaf] + max(quantile, 1.0) ** 2 / 2.0) / weights
            value += sign * slope * rate
            variance += slope * slope * rate * (1.0 - rate) / weights
            has_draws &= self.n[leaf] > 0
        with np.errstate(over="ignore"):  # thresholds may be as large as numbers go
            return np.where(has_draws & (variance > 0.0), value / np.sqrt(np.maximum(variance, 1e-300)), -inf)

    def _table(self, leaves: Mapping[Leaf, float], number: int) -> dict[Leaf | Channel, Floats]:
        """One table as the look sees it: numbers batch by batch, in a random order."""
        result: dict[Leaf | Channel, Floats] = {}
        for leaf in leaves:
            n, yes = int(self.n[leaf][number]), int(self.yes[leaf][number])
            (channel,) = (each for each in self.looks.channels if each.leaves[0] == leaf)
            nodes = channel.grid.size
            sizes = (list(batch_sizes(n)) or [0]) if nodes > 2 else [n]
            ones = self.rng.multivariate_hypergeometric(sizes, yes) if nodes > 2 else np.asarray([yes])
            counts = np.zeros((len(sizes), nodes))
            counts[:, 0], counts[:, -1] = np.asarray(sizes) - ones, ones
            result[leaf] = counts
        return result


def _combined(answers: Sequence[Bools], every: bool) -> Bools:
    return np.asarray(np.all(answers, axis=0) if every else np.any(answers, axis=0))


def _unit(looks: LookEvidence, leaf: Leaf, mean: float) -> float:
    low, high = looks.ranges[leaf]
    return (mean - low) / (high - low)


def default_shares(channels: Sequence[Channel]) -> dict[Channel, float]:
    """Even shares: each group of a stream equally large, each fold equally likely."""
    groups = {channel.given for channel in channels}
    return {channel: 1.0 / max(len(groups), 1) / (channel.fold.of if channel.fold else 1) for channel in channels}


def best_shares(evidence: BetEvidence, means: Mapping[Leaf, float], streams: int, rounds: int = 60) -> Floats:
    """The shares of draws for each stream that make the evidence grow fastest at the given means.

    They maximise the information distance to the nearest parameters with the other answer (Garivier and Kaufmann 2016).
    That distance is concave in the shares, and its slope along a stream is what that stream's draws contribute at the
    projection. So multiplicative steps climb it; ``rounds`` only says how near they come. Where a test is sliced the
    shares stay even. Validity does not depend on the shares: they are fixed before the draws are seen.
    """
    shares = np.full(streams, 1.0 / streams)
    if any(isinstance(test.process, SlicedEProcess) for test in evidence.tests):
        return shares
    truth = truth_at(evidence, means)
    tests = evidence.against if truth is not False else evidence.in_favour
    tests = tuple(test for test in tests if test.channels)
    if truth is None or not tests:
        return shares
    best, best_value = shares, -1.0
    for turn in range(rounds):
        value, slope = _nearest(tests, means, shares)
        if value > best_value:
            best, best_value = shares, value
        # Steps shrink slowly, and no share falls below its minimum, so that no stream is abandoned for good.
        step = 1.0 / (1.0 + 0.1 * turn)
        shares = shares * np.exp(step * (slope - slope.mean()) / max(float(np.abs(slope).max()), 1e-300))
        shares = np.maximum(shares / shares.sum(), MIN_SHARE_OF_EVEN / streams)
        shares = shares / shares.sum()
    return best


def _nearest(tests: Sequence[PolytopeTest], means: Mapping[Leaf, float], shares: Floats) -> tuple[float, Floats]:
    """The distance to the nearest polytope, and its slope in each stream's share."""
    distances = []
    for test in tests:
        information = distance(test, means, [shares[channel.stream] for channel in test.channels])
        slope = np.zeros(len(shares))
        for channel, nats in zip(test.channels, information.by_channel, strict=True):
            slope[channel.stream] += nats
        distances.append((information.total, slope))
    return min(distances, key=lambda item: item[0])

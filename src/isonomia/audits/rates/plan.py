"""Planning a check about rates: what it will cost if guessed rates are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

import numpy as np

from isonomia.audits.rates.looks import people_at_once
from isonomia.errors import UsageError, nearest
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.planning import Forecast, default_shares, forecast
from isonomia.evidence.protocol import Channel
from isonomia.records.verdict import ANSWERS
from isonomia.spec.parser import parse_condition, parse_formula
from isonomia.spec.property import Property, expand
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Comparison, Constant, Leaf, Mean, Rate, Row, Value, leaves_of


@dataclass(frozen=True, slots=True)
class RatesPlan:
    """The expected cost of a check.

    Attributes
    ----------
    text
        The property.
    delta
        The risk.
    answer
        The expected answer: ``"holds"``, ``"violated"``, or ``"undecided"`` on the boundary.
    samples
        The mean number of people.
    early, late
        One run in ten takes fewer than ``early``, one in ten more than ``late``.
    limit
        The minimum that any method with this risk needs on average, for rates of disjoint groups. NaN elsewhere,
        since the guesses do not say how much one draw tells: then ``caveat`` says what ``samples`` assumes.
    once
        The number of people that decides it with probability 0.8 in one look, ``looks="once"``, by
        the power of the test that would run. NaN where there is no method for that.
    caveat
        What ``samples`` assumes beyond the guesses, in words; empty where it assumes nothing.
    """

    text: str
    delta: float
    answer: str
    samples: float
    early: float
    late: float
    limit: float
    once: float = float("nan")
    caveat: str = ""

    def __str__(self) -> str:
        if self.answer == "undecided":
            return f"{self.text}\n  the guesses lie exactly on the boundary: no number of samples decides it"
        cost = (
            f"{self.text}\n  if the guesses are right the answer is {self.answer!r} after about {self.samples:,.0f} "
            f"samples (8 runs in 10: {self.early:,.0f} to {self.late:,.0f})"
        )
        if self.caveat:
            cost = f"{cost}, {self.caveat}"
        if not isnan(self.limit):
            cost = f"{cost}; no method with risk {self.delta:g} could do with fewer than {self.limit:,.0f} on average"
        if isnan(self.once):
            return cost
        return f"{cost}\n  with one look, {self.once:,.0f} samples decide it in 8 tables of 10 (looks='once')"


def plan_rates(
    prop: Property,
    guesses: Mapping[str, float],
    shares: Mapping[str, float],
    delta: float,
    seed: int,
) -> RatesPlan:
    """Forecast a check.

    Parameters
    ----------
    prop
        The property. A ``for`` must list its values: without data it is unknown what a column holds.
    guesses
        For each leaf, by its text, what it might be.
    shares
        For each condition, by its text, which share of the population meets it; equal shares where none are given.
    delta
        The risk.
    seed
        The forecast is a simulation; the seed makes it repeatable.
    """
    formula = expand(prop.formula, _no_data)
    leaves = leaves_of(formula)
    ranges = {leaf: _range(leaf) for leaf in leaves}
    means = _means(leaves, guesses, ranges)
    evidence = bets_for(formula, ranges, (None,), delta, slices=False)
    if evidence is None:
        raise UsageError(f"expected a property that is linear in the rates, but got {prop}: its cost is not known")
    table = _shares(evidence.channels, shares)
    result: Forecast = forecast(evidence, means, table, rng=np.random.default_rng(seed))
    caveat = _caveat(evidence.channels)
    least = float("nan") if caveat else result.limit
    shares_of = {leaf: table[channel] for channel in evidence.channels for leaf in channel.leaves}
    once = people_at_once(formula, ranges, delta, means, shares_of)
    return RatesPlan(
        str(prop),
        delta,
        ANSWERS[result.answer],
        result.mean,
        result.early,
        result.late,
        least,
        once,
        caveat,
    )


def _caveat(channels: tuple[Channel, ...]) -> str:
    """What a forecast assumes where the guesses do not say how much one draw tells."""
    parts = []
    if any(channel.fold for channel in channels):
        parts.append("with folds; where overlapping groups can be bet on slice by slice it takes less")
    if any(len(channel.leaves) > 1 for channel in channels):
        parts.append("if events of one group are independent; events that occur together can take far fewer")
    if any(isinstance(leaf, Mean) for channel in channels for leaf in channel.leaves):
        parts.append("for numbers at the two ends of their range, the hardest case; others take fewer")
    return "; ".join(parts)


def _no_data(column: Column) -> tuple[Value, ...]:
    raise UsageError(
        f"expected the values that 'for' runs over, since there is no data: for g in {{'a', 'b'}}, not {column.name}"
    )


def _means(
    leaves: tuple[Leaf, ...], guesses: Mapping[str, float], ranges: Mapping[Leaf, tuple[float, float]]
) -> dict[Leaf, float]:
    given = {_leaf(text): value for text, value in guesses.items()}
    strange = [leaf for leaf in given if leaf not in leaves]
    if strange:
        known = [to_text(leaf) for leaf in leaves]
        text = to_text(strange[0])
        raise UsageError(f"the property has no leaf {text}: it has {', '.join(known)}.{nearest(text, known)}")
    for leaf in leaves:
        low, high = ranges[leaf]
        if leaf not in given:
            raise UsageError(f"expected a guess for {to_text(leaf)}: give a rough value")
        if not low < given[leaf] < high:
            raise UsageError(f"expected a guess strictly between {low:g} and {high:g}, but got {given[leaf]!r}")
    return given


def _shares(channels: tuple[Channel, ...], shares: Mapping[str, float]) -> dict[Channel, float]:
    table = default_shares(channels)
    known: dict[Row | None, float] = {parse_condition(text): value for text, value in shares.items()}
    for condition, share in known.items():
        if condition not in {channel.given for channel in channels}:
            raise UsageError(f"the property has no condition {to_text(condition) if condition else 'for all rows'}")
        if not 0 < share <= 1:
            raise UsageError(f"expected a share between 0 and 1, but got {share!r}")
    for channel in channels:
        of = channel.fold.of if channel.fold else 1
        if channel.given is None:
            table[channel] = 1.0 / of
        elif channel.given in known:
            table[channel] = known[channel.given] / of
    return table


def _leaf(text: str) -> Leaf:
    formula = parse_formula(f"{text} >= 0")
    if (
        isinstance(formula, Comparison)
        and isinstance(formula.first, Rate | Mean)
        and formula.rest == ((">=", Constant(0.0)),)
    ):
        return formula.first
    raise UsageError(f"expected a leaf such as P[hired | sex == 'F'], but got {text!r}")


def _range(leaf: Leaf) -> tuple[float, float]:
    if isinstance(leaf, Rate):
        return 0.0, 1.0
    if leaf.low is None or leaf.high is None:
        raise UsageError(f"expected a range for {to_text(leaf)}: write E[... from 0 to 1 | ...]")
    return leaf.low, leaf.high

"""What is watched: properties split into comparisons, each with an e-detector.

A comparison that is linear after clearing denominators is a half-space, or two if it has ``abs``. Draws inform it by
group: what a person contributes is a *payoff*, and the sum of the groups' mean payoffs is at most a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.counting import Reader
from isonomia.audits.rates.groups import groups_of
from isonomia.errors import SpecError
from isonomia.evidence.channels import Channel, channels_for
from isonomia.evidence.detectors import Detector, Loan
from isonomia.evidence.hypotheses import HalfSpace, hypothesis_of
from isonomia.evidence.normal_form import compared
from isonomia.spec.analysis import range_of
from isonomia.spec.expand import expand
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Comparison, Formula, Junction, Leaf, Quantity, Rate, Value
from isonomia.spec.walk import leaves_of, links_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ranges = Mapping[Leaf, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class WatchedSide:
    """One half-space of a comparison.

    Attributes
    ----------
    channels
        The groups, each with the leaves that a person of it informs.
    factors
        For each group, the coefficient of each of its leaves.
    ranges
        The lowest and highest value of each leaf.
    detector
        The e-detector that says when the half-space was left.
    """

    channels: tuple[Channel, ...]
    factors: tuple[tuple[float, ...], ...]
    ranges: Ranges
    detector: Detector

    @property
    def tickets(self) -> int:
        """How many kinds of tickets there are; 1 if no two groups overlap."""
        return max((channel.ticket.of for channel in self.channels if channel.ticket), default=1)

    def payoffs(self, reader: Reader, tickets: Floats) -> tuple[Integers, Floats]:
        """The group of each row of a table, -1 for none, and its payoff. ``tickets`` are between 0 and 1."""
        labels = np.full(reader.batch.rows, -1, dtype=np.int64)
        payoffs = np.zeros(reader.batch.rows)
        for number, (channel, factors) in enumerate(zip(self.channels, self.factors, strict=True)):
            chosen = reader.members(channel.given)
            inside = np.ones(len(labels), dtype=bool) if chosen is None else chosen
            if channel.ticket is not None:
                inside = inside & ((tickets * channel.ticket.of).astype(np.int64) == channel.ticket.index)
            labels[inside] = number
            for leaf, factor in zip(channel.leaves, factors, strict=True):
                payoffs[inside] += factor * reader.numbers(leaf, inside, self.ranges[leaf])
        return labels, payoffs


@dataclass(frozen=True, slots=True)
class WatchedClaim:
    """One comparison of a property.

    Attributes
    ----------
    number
        The number of its property, from 0.
    group
        Whom it is about, if the property claims something for every group.
    text, quantity, relation, threshold
        The comparison, and what is compared with what.
    leaves, ranges
        The rates and means in it, and the lowest and highest value of each.
    sides
        Its half-spaces.
    """

    number: int
    group: str | None
    text: str
    quantity: Quantity
    relation: str
    threshold: float
    leaves: tuple[Leaf, ...]
    ranges: Ranges
    sides: tuple[WatchedSide, ...]


def watched_claims(
    properties: Sequence[Property],
    values: Mapping[str, Sequence[Value]],
    declared: Mapping[str, tuple[float, float]],
    score: tuple[float, float] | None,
    loan: Loan,
) -> tuple[WatchedClaim, ...]:
    """Split properties into comparisons; ``values`` are those of columns that a ``for`` runs over."""
    found = [
        claim
        for number, prop in enumerate(properties)
        for claim in _claims_of(number, prop, _listed(values), declared, score, loan)
    ]
    return tuple(found)


def _claims_of(
    number: int,
    prop: Property,
    values: Callable[[Column], tuple[Value, ...]],
    declared: Mapping[str, tuple[float, float]],
    score: tuple[float, float] | None,
    loan: Loan,
) -> Iterator[WatchedClaim]:
    by_group = groups_of(prop.formula, values)
    pairs: list[tuple[str | None, Comparison]]
    if by_group:
        pairs = [(claim.group, each) for claim in by_group for each in claim.comparisons]
    else:
        pairs = [(None, each) for each in _comparisons(expand(prop.formula, values), prop)]
    for group, comparison in pairs:
        ranges = {leaf: _range(leaf, declared, score) for leaf in leaves_of(comparison)}
        (quantity, relation, threshold), *_ = compared(comparison)
        yield WatchedClaim(
            number,
            group,
            to_text(comparison),
            quantity,
            relation,
            threshold,
            tuple(ranges),
            ranges,
            tuple(_side(half_space, ranges, loan) for half_space in _half_spaces(comparison, ranges)),
        )


def _listed(values: Mapping[str, Sequence[Value]]) -> Callable[[Column], tuple[Value, ...]]:
    def of(column: Column) -> tuple[Value, ...]:
        if column.name not in values:
            raise SpecError(
                f"expected the values of {column.name!r}, since the property says something for each of them and a "
                f"stream may have more tomorrow: list them, values={{{column.name!r}: [...]}}",
                column.place,
            )
        return tuple(values[column.name])

    return of


def _comparisons(formula: Formula, prop: Property) -> Iterator[Comparison]:
    match formula:
        case Comparison():
            for left, relation, right in links_of(formula):
                yield Comparison(left, ((relation, right),))
        case Junction("and", operands):
            for operand in operands:
                yield from _comparisons(operand, prop)
        case _:
            raise SpecError(
                f"expected comparisons joined by 'and' to watch, but got {to_text(formula)}: watch its parts as "
                "properties of their own"
            )


def _half_spaces(comparison: Comparison, ranges: Ranges) -> tuple[HalfSpace, ...]:
    hypothesis = hypothesis_of(comparison, ranges, positive=True)
    if hypothesis is None or len(hypothesis.polytopes) > 1:
        raise SpecError(
            "expected a comparison that is linear in rates and means to watch, such as a rate, or a difference or a "
            f"ratio of two, but {to_text(comparison)} is not"
        )
    if not hypothesis.polytopes or not hypothesis.polytopes[0].half_spaces:
        raise SpecError(f"expected something that can change to watch, but arithmetic decides {to_text(comparison)}")
    return hypothesis.polytopes[0].half_spaces


def _side(half_space: HalfSpace, ranges: Ranges, loan: Loan) -> WatchedSide:
    channels = channels_for(half_space.leaves, (None,), ranges)
    if channels is None:
        raise SpecError("expected fewer rates of one group in one comparison to watch: state some of them apart")
    coefficients = dict(half_space.coefficients)
    factors = tuple(tuple(coefficients[leaf] for leaf in channel.leaves) for channel in channels)
    ends = [
        [sorted((factor * ranges[leaf][0], factor * ranges[leaf][1])) for leaf, factor in zip(c.leaves, f, strict=True)]
        for c, f in zip(channels, factors, strict=True)
    ]
    lows = tuple(sum(low for low, _ in pairs) for pairs in ends)
    highs = tuple(sum(high for _, high in pairs) for pairs in ends)
    return WatchedSide(channels, factors, ranges, Detector(lows, highs, half_space.bound, loan))


def _range(
    leaf: Leaf, declared: Mapping[str, tuple[float, float]], score: tuple[float, float] | None
) -> tuple[float, float]:
    if isinstance(leaf, Rate):
        return 0.0, 1.0
    found = (
        (leaf.low, leaf.high)
        if leaf.low is not None and leaf.high is not None
        else range_of(leaf.term, declared, score)
    )
    if found is None:
        raise SpecError(
            f"the range of {to_text(leaf)} is not known: write it into the property, E[... from 0 to 100 | ...], or "
            "declare it, ranges={'column': (0, 100)}",
            leaf.place,
        )
    return found

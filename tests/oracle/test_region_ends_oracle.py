"""Ends of intervals against a slow bisection with its own divergence, price and projection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln, rel_entr, xlogy

from isonomia.evidence import confidence_sequences
from isonomia.evidence.protocol import LeafTally
from isonomia.evidence.region import MARGIN, Region
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Comparison, Quantity, leaves_of

DELTA = 0.05
MOST_LOOKS = 40


@dataclass(frozen=True)
class Shape:
    """A quantity ``(top . (1, a, b)) / (bottom . (1, a, b))`` of two rates, whose denominator is never negative."""

    text: str
    top: tuple[float, float, float]
    bottom: tuple[float, float, float]


SHAPES = [
    Shape("P[x | g] - P[y | h]", (0, 1, -1), (1, 0, 0)),
    Shape("P[x | g] / P[y | h]", (0, 1, 0), (0, 0, 1)),
    Shape("2 * P[x | g] + 3 * P[y | h] - 1", (-1, 2, 3), (1, 0, 0)),
    Shape("(1 - P[x | g]) / (1 - P[y | h])", (1, -1, 0), (1, 0, -1)),
    Shape("(P[x | g] - P[y | h]) / (P[x | g] + P[y | h])", (0, 1, -1), (0, 1, 1)),
    Shape("P[x | g] / (0.1 + P[y | h])", (0, 1, 0), (0.1, 0, 1)),
]
COUNTS = [
    ((50, 50), (60, 40)),
    ((3, 1), (2, 2)),
    ((30, 1), (500, 40)),
    ((40, 0), (10, 30)),
    ((0, 25), (30, 10)),
    ((0, 40), (40, 0)),
    ((1, 1), (1, 0)),
    ((9000, 1000), (300, 700)),
    ((99_990, 10), (5, 99_995)),
]


def region_of(shape: Shape, counts) -> tuple[Quantity, Region]:
    formula = parse_formula(f"{shape.text} >= 0")
    assert isinstance(formula, Comparison)
    leaves = leaves_of(formula)
    tallies = {
        leaf: LeafTally((0.0, 1.0), (float(no), float(yes))) for leaf, (no, yes) in zip(leaves, counts, strict=True)
    }
    return formula.first, Region(tallies, (leaves,), DELTA)


def price(no: float, yes: float) -> float:
    """What Robbins' mixture with Jeffreys' weight costs against the best rate in hindsight."""
    best = xlogy(yes, yes) + xlogy(no, no) - xlogy(no + yes, no + yes)
    return float(best - betaln(yes + 0.5, no + 0.5) + betaln(0.5, 0.5))


def spent(counts, a, b):
    """How far a pair of rates lies from the sample, in nats."""
    total = 0.0
    for (no, yes), rate in zip(counts, (a, b), strict=True):
        n = no + yes
        total = total + n * (rel_entr(yes / n, rate) + rel_entr(no / n, 1.0 - rate))
    return total


def nearest(shape: Shape, counts, value: float) -> float:
    """The least divergence on the line where the quantity has a value: a fine grid, then a local search."""
    c, u, v = (t - value * d for t, d in zip(shape.top, shape.bottom, strict=True))
    # c + u a + v b = 0, run through along the rate with the smaller coefficient.
    along_b = abs(u) >= abs(v)
    steep, other = (u, v) if along_b else (v, u)
    if steep == 0:
        return np.inf

    def cost(free):
        bound = -(c + other * free) / steep
        inside = (bound >= 0) & (bound <= 1)
        pair = (np.clip(bound, 0, 1), free) if along_b else (free, np.clip(bound, 0, 1))
        return np.where(inside, spent(counts, *pair), np.inf)

    # Where the line enters and leaves the square, so that the search has the ends it needs.
    corners = sorted(-(c + steep * edge) / other for edge in (0.0, 1.0)) if other else [0.0, 1.0]
    low, high = max(corners[0], 0.0), min(corners[1], 1.0)
    if low > high:
        return np.inf
    bend = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 2_001))
    grid = low + (high - low) * bend
    heights = cost(grid)
    k = int(np.argmin(heights))
    left, right = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda free: float(cost(free)), bounds=(left, right), method="bounded", options={"xatol": 1e-14}
    )
    return min(float(heights[k]), float(found.fun))


def slow_end(shape: Shape, counts, inside: float, sign: float) -> float:
    """Bisect for the value at which the divergence passes what the region allows; infinite where it never does."""
    allowed = np.log(1.0 / DELTA) + MARGIN + sum(price(*pair) for pair in counts)
    near, far = 0.0, 1.0
    while nearest(shape, counts, inside + sign * far) < allowed:
        near, far = far, 2.0 * far
        if far > 1e12:
            return sign * np.inf
    while far - near > 1e-9 * (1.0 + abs(inside) + far):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if nearest(shape, counts, inside + sign * middle) < allowed else (near, middle)
    return inside + sign * 0.5 * (near + far)


def sample_value(shape: Shape, counts) -> float:
    (no, yes), (other_no, other_yes) = counts
    point = np.asarray([1.0, yes / (no + yes), other_yes / (other_no + other_yes)])
    bottom = float(point @ shape.bottom)
    return float(point @ shape.top) / bottom if bottom else np.nan


CASES = [(shape, counts) for shape in SHAPES for counts in COUNTS if np.isfinite(sample_value(shape, counts))]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize(("shape", "counts"), CASES, ids=lambda item: getattr(item, "text", str(item)))
def test_ends_lie_just_outside_the_true_ends(shape, counts, monkeypatch):
    quantity, region = region_of(shape, counts)
    looks = []
    reach = Region._relative_distance
    monkeypatch.setattr(Region, "_relative_distance", lambda self, *args: looks.append(args) or reach(self, *args))
    found = region.quantity_interval(quantity)
    inside = sample_value(shape, counts)
    for end, sign in zip(found, (-1.0, 1.0), strict=True):
        true = slow_end(shape, counts, inside, sign)
        # Beyond what the quantity can be only a denominator of exactly 0 is left, which costs a little more room.
        room = (1e-3 if true >= 1.0 - 1e-6 and shape is SHAPES[4] else 1e-5) * (1.0 + abs(true))
        assert sign * end >= sign * true - 1e-8 * (1.0 + abs(inside)), "an end must never lie inside"
        assert np.isinf(true) or sign * end <= sign * true + room
    assert len(looks) <= 2 * MOST_LOOKS


def test_the_oracle_notices_an_end_that_lies_inside():
    shape, counts = SHAPES[1], COUNTS[0]
    quantity, region = region_of(shape, counts)
    _, narrow = Region(region.tallies, region.classes, DELTA * 1.001).quantity_interval(quantity)
    assert narrow < slow_end(shape, counts, sample_value(shape, counts), 1.0) - 1e-5


@pytest.mark.parametrize("counts", [((50, 50), (60, 0)), ((0, 5), (7, 0)), ((0, 0), (0, 0)), ((10**9, 1), (10**9, 0))])
def test_a_ratio_whose_denominator_may_be_zero_has_no_upper_end(counts):
    quantity, region = region_of(SHAPES[1], counts)
    low, high = region.quantity_interval(quantity)
    assert high == np.inf
    assert low < (counts[0][1] + 0.5) / (counts[1][1] + 0.5) * (sum(counts[1]) + 1.0) / (sum(counts[0]) + 1.0)


def test_a_ratio_over_a_rate_that_was_never_seen_still_has_a_lower_end():
    quantity, region = region_of(SHAPES[1], ((50, 50), (60, 0)))
    low, _ = region.quantity_interval(quantity)
    highest = region.box[leaves_of(quantity)[1]][1]
    assert 0.3 / highest < low < 0.5 / highest


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e6, 1e15])
def test_an_interval_scales_with_its_quantity(scale):
    formula = parse_formula(f"{scale!r} * P[x | g] - {scale!r} * P[y | h] >= 0")
    assert isinstance(formula, Comparison)
    _, plain = region_of(SHAPES[0], COUNTS[0])
    low, high = plain.quantity_interval(formula.first)
    expected = plain.quantity_interval(parse_formula(f"{SHAPES[0].text} >= 0").first)  # type: ignore[union-attr]
    assert (low / scale, high / scale) == pytest.approx(expected, abs=1e-5)


def test_a_quantity_that_cannot_vary_has_an_interval_of_no_width():
    formula = parse_formula("0 * P[x | g] + 1 >= 0")
    assert isinstance(formula, Comparison)
    leaves = leaves_of(formula)
    region = Region({leaf: LeafTally((0.0, 1.0), (5.0, 5.0)) for leaf in leaves}, (leaves,), DELTA)
    assert region.quantity_interval(formula.first) == pytest.approx((1.0, 1.0), abs=1e-9)


def test_a_search_ends_whatever_the_function_does():
    calls = []

    def looked(value):
        return lambda step: calls.append(step) or value(step)

    rough = np.random.default_rng(5)
    functions = [lambda _: 0.0, lambda _: 5.0, lambda step: 2.0 * (step > 1 / 3), lambda step: step**8]
    functions += [lambda _: rough.random() * 2, lambda step: np.inf if step > 7 else 0.0]
    for function in functions:
        calls.clear()
        end = confidence_sequences.crossing(looked(function), 1.0, 0.5)
        assert len(calls) <= 120
        assert end == np.inf or end in calls

"""The probability of a polytope against closed forms, other quadrature and rational arithmetic; proven errors."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import asin, comb, exp, factorial, floor, pi, sqrt

import numpy as np
import pytest
from scipy import integrate
from scipy.special import ndtr

from isonomia.evidence.cells import ONE, ZERO, DrawCell, LinearForm, Mass, Masses, StepDraw
from isonomia.evidence.polytopes import (
    LinearInequality,
    NormalDraw,
    UniformDraw,
    probability,
)
from isonomia.evidence.quadrature import (
    CDF_ERROR,
    DENSITY_ERROR,
    TooManyCellsError,
    _gauss_legendre,
    cheapest_rule,
    normal_cdf,
    normal_mass_between,
    normal_values,
)
from raising import raises

STANDARD, UNIT = NormalDraw(Fraction(1)), UniformDraw(Fraction(0), Fraction(1))
TIGHT = 2e-9


def half(*coefficients: object, bound: object = 0) -> LinearInequality:
    return LinearInequality(tuple(Fraction(c) for c in coefficients), Fraction(bound))  # type: ignore[arg-type]


def encloses(variables: list[NormalDraw | UniformDraw], halves: list[LinearInequality], truth: float) -> None:
    found = probability(variables, halves, 1e-9)
    assert found.high - found.low <= TIGHT
    # Closed forms are computed in floats: they are off by a few units in the last place themselves.
    assert found.low - 1e-14 <= truth <= found.high + 1e-14


# ---------------------------------------------------------------------------- the normal distribution


@pytest.mark.parametrize("x", ["0", "1e-10", "0.5", "1", "-3", "5", "-8", "11"])
def test_the_distribution_function_is_enclosed_to_the_last_digits_of_a_tail(x: str) -> None:
    mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference for many digits, is not installed")
    with mpmath.workdps(60):
        truth = mpmath.ncdf(mpmath.mpf(x)) * 2**128
        low, high = normal_cdf(Fraction(x), Fraction(1))
        assert low <= truth <= high
        assert high - low <= 1000


def test_a_variance_is_taken_into_account_exactly() -> None:
    assert normal_cdf(Fraction(3), Fraction(9)) == normal_cdf(Fraction(1), Fraction(1))
    low, high = normal_mass_between(Fraction(7), Fraction(8), Fraction(1))
    assert low == pytest.approx(ndtr(-7) - ndtr(-8), rel=1e-14)
    assert high / low - 1 < 1e-12  # the digits of an upper tail are not lost
    assert normal_mass_between(Fraction(2), Fraction(1), Fraction(1)) == (0.0, 0.0)
    assert normal_mass_between(None, None, Fraction(2)) == pytest.approx((1.0, 1.0), abs=1e-15)


def test_the_table_is_within_its_errors_everywhere() -> None:
    x = np.concatenate([np.linspace(-9.5, 9.5, 20_001), np.arange(-72, 73) / 8, np.arange(-72, 73) / 8 + 1 / 16])
    assert np.abs(normal_values(x) - ndtr(x)).max() <= CDF_ERROR
    density = np.exp(-(x**2) / 2) / sqrt(2 * pi)
    assert np.abs(normal_values(x, density=True) - density).max() <= DENSITY_ERROR


@pytest.mark.parametrize("nodes", [4, 6, 8, 10, 12, 16, 20, 24, 32, 48])
def test_the_rules_integrate_polynomials_of_their_degree(nodes: int) -> None:
    at, weights = _gauss_legendre(nodes)
    for degree in range(0, 2 * nodes, 2):
        exactly = sum(Fraction(w) * Fraction(x) ** degree for x, w in zip(at.tolist(), weights.tolist(), strict=True))
        assert float(exactly) == pytest.approx(2 / (degree + 1), abs=1e-15)


# ---------------------------------------------------------------------------- closed forms


def test_half_spaces_through_the_mean_have_probability_one_half() -> None:
    encloses([NormalDraw(Fraction(k)) for k in (1, 2, 3)], [half(1, -2, "0.3")], 0.5)


@pytest.mark.parametrize(("a", "b", "c"), [(3, 4, 5), (-3, 4, 5), (99, 20, 101), (20, 99, 101), (1999, 60, 0)])
def test_correlated_pairs(a: int, b: int, c: int) -> None:
    length = c or sqrt(a * a + b * b)
    encloses([STANDARD, STANDARD], [half(1, 0), half(a, b)], 0.25 + asin(a / length) / (2 * pi))


ROWS = (
    ((1, 0, 0), ("3/5", "4/5", 0), ("2/3", "1/3", "2/3")),
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((1, 1, 1), (1, -1, 0), (1, 2, -3)),
    ((3, 0, 0), (10, 1, 0), (1, 1, 8)),
)


@pytest.mark.parametrize("rows", ROWS)
def test_orthants_in_three_dimensions(rows: tuple[tuple[object, ...], ...]) -> None:
    vectors = [[float(Fraction(c)) for c in row] for row in rows]  # type: ignore[arg-type]
    angles = sum(asin(np.dot(p, q) / sqrt(np.dot(p, p) * np.dot(q, q))) for p, q in combinations(vectors, 2))
    encloses([STANDARD] * 3, [half(*row) for row in rows], 1 / 8 + angles / (4 * pi))


def test_many_variables_in_few_directions_are_as_many_as_the_directions() -> None:
    variables = [NormalDraw(Fraction(k)) for k in (1, 2, 3, 4, 5)]
    correlation = (1 - 2 + 3 + 8) / sqrt(15 * (1 + 2 + 3 + 16))
    encloses(variables, [half(1, 1, 1, 1, 1), half(1, -1, 1, 2, 0)], 0.25 + asin(correlation) / (2 * pi))


def test_sums_of_uniform_variables() -> None:
    for n in (2, 3, 4):
        for total in (Fraction(1, 2), Fraction(1), Fraction(3, 2)):
            # Irwin and Hall.
            terms = [(-1) ** k * comb(n, k) * (total - k) ** n for k in range(floor(total) + 1)]
            encloses([UNIT] * n, [half(*[1] * n, bound=total)], float(sum(terms) / factorial(n)))


def test_uniform_and_normal_variables_together() -> None:
    truth = integrate.quad(lambda u: ndtr(0.3 - u), 0, 1, epsabs=1e-14)[0]
    encloses([UNIT, STANDARD], [half(1, 1, bound="0.3")], truth)
    encloses([STANDARD, UNIT], [half(1, 1, bound="0.3")], truth)


def test_more_constraints_than_dimensions() -> None:
    halves = [
        half(1, 0, bound=1),
        half(0, 1, bound=1),
        half(-1, -1, bound=1),
        half(-1, 0, bound=3),
        half(1, 0, bound=2),
    ]
    truth = integrate.quad(
        lambda x: exp(-x * x / 2) / sqrt(2 * pi) * max(ndtr(1) - ndtr(-1 - x), 0), -2, 1, epsabs=1e-14
    )[0]
    encloses([STANDARD, STANDARD], halves, truth)


def test_steep_integrands_are_cut_into_panels() -> None:
    encloses([STANDARD, STANDARD], [half(1000, 1, bound=0), half(1, 0, bound=1)], 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_random_polytopes_against_draws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normals, uniforms = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    variables = [NormalDraw(Fraction(int(k), 2)) for k in rng.integers(1, 9, normals)]
    variables += [UniformDraw(Fraction(-1), Fraction(int(k))) for k in rng.integers(1, 4, uniforms)]  # type: ignore[misc]
    halves = [
        LinearInequality(
            tuple(Fraction(int(c)) for c in rng.integers(-3, 4, len(variables))), Fraction(int(rng.integers(-1, 4)))
        )
        for _ in range(int(rng.integers(1, 5)))
    ]
    n = 400_000
    columns = [
        rng.normal(0, sqrt(each.variance), n)
        if isinstance(each, NormalDraw)
        else rng.uniform(float(each.low), float(each.high), n)
        for each in variables
    ]
    inside = np.ones(n, dtype=bool)
    for each in halves:
        inside &= sum(float(c) * column for c, column in zip(each.coefficients, columns, strict=True)) <= float(
            each.bound
        )
    found = probability(variables, halves, 1e-6)
    spread = 5 * sqrt(max(inside.mean() * (1 - inside.mean()), 1 / n) / n)
    assert found.low - spread <= inside.mean() <= found.high + spread
    assert found.high - found.low <= 2e-6


@pytest.mark.parametrize("seed", range(40))
def test_a_wide_enclosure_contains_the_narrow_one(seed: int) -> None:
    """The errors that are claimed are not exceeded: few points are off by more than many, and by no more than said."""
    rng = np.random.default_rng(100 + seed)
    variables = [NormalDraw(Fraction(int(k), 7)) for k in rng.integers(1, 90, int(rng.integers(2, 4)))]
    steepness = 10.0 ** rng.integers(-1, 2, len(variables))
    halves = [
        LinearInequality(
            tuple(Fraction(round(c, 3)) for c in rng.normal(size=len(variables)) * steepness), Fraction(k, 2)
        )
        for k in rng.integers(-2, 4, int(rng.integers(2, 5))).tolist()
    ]
    wide, middle, narrow = (probability(variables, halves, tolerance) for tolerance in (1e-2, 1e-5, 1e-10))
    truth = (narrow.low + narrow.high) / 2
    assert narrow.high - narrow.low <= 1e-9
    for found in (wide, middle):
        assert found.low - 1e-10 <= truth <= found.high + 1e-10


# ---------------------------------------------------------------------------- edges


def test_without_any_constraint_everything_is_left() -> None:
    assert probability([STANDARD], [], 1e-9).low == 1.0
    assert probability([STANDARD], [half(0, bound=1)], 1e-9).low == 1.0


def test_what_cannot_be_has_no_probability_and_what_must_be_has_all() -> None:
    none = probability([STANDARD, STANDARD], [half(1, 1, bound=0), half(-1, -1, bound=-1)], 1e-9)
    assert none.low == 0.0
    assert none.high <= 1e-9
    assert probability([STANDARD, STANDARD], [half(0, 0, bound=-1)], 1e-9).high == 0.0
    everything = probability([UNIT, UNIT], [half(1, 1, bound=3)], 1e-9)
    assert everything.low >= 1 - 1e-9


def test_a_constraint_said_twice_counts_once() -> None:
    once = [half(1, 1, bound=1), half(1, -1, bound=1)]
    twice = [*once, half(2, 2, bound=2), half(1, 1, bound=1), half(1, 1, bound=5)]
    first, second = probability([STANDARD] * 2, once, 1e-9), probability([STANDARD] * 2, twice, 1e-9)
    assert (second.low, second.high) == pytest.approx((first.low, first.high), abs=1e-12)
    assert first.points == second.points


def test_too_much_work_is_refused_beforehand() -> None:
    with raises(TooManyCellsError, 6144):
        probability([STANDARD] * 3, [half(*row) for row in ROWS[0]], 1e-9, points=10)


def test_a_rule_that_were_a_fifth_too_coarse_would_be_noticed() -> None:
    """The enclosures are not so wide that they hide a mistake: the truth moved by three widths lies outside."""
    truth = 0.25 + asin(3 / 5) / (2 * pi)
    found = probability([STANDARD, STANDARD], [half(1, 0), half(3, 4)], 1e-9)
    assert not found.low <= truth + 3 * TIGHT <= found.high
    assert not found.low <= truth - 3 * TIGHT <= found.high


def test_an_integrand_that_is_too_steep_is_left() -> None:
    """The bound on it grows so fast off the real line that no rule is proven to reach the tolerance."""

    def steep(sideways: np.ndarray, along: np.ndarray) -> np.ndarray:
        return (1e9 * sideways) ** 2 + 0.0 * along

    with pytest.raises(TooManyCellsError, match="an integrand that is too steep"):
        cheapest_rule(steep, 1.0, 1e-9)
    points, panels, error = cheapest_rule(lambda sideways, along: (1e3 * sideways) ** 2 + 0.0 * along, 1.0, 1e-9)
    assert panels > 16, "more panels than are tried at first"
    assert points * panels < 100_000
    assert error <= 1e-9


def test_a_tail_beyond_twelve_deviations_is_enclosed_by_what_is_proven_of_it() -> None:
    low, high = normal_mass_between(Fraction(13), None, Fraction(1))
    assert low == 0.0
    assert 6.2e-39 < high < 2.0**-107  # scipy.stats.norm.sf(13) is 6.1e-39
    assert normal_mass_between(None, Fraction(-13), Fraction(1)) == (low, high)


# ---------------------------------------------------------------------------- cells of draws


def slanted() -> DrawCell:
    """Two normal draws of which the first is positive, and larger than half of the second."""
    _, positive = DrawCell({"x": STANDARD, "y": STANDARD}).split(LinearForm(ZERO, {"x": ONE}))
    assert positive is not None
    _, both = positive.split(LinearForm(ZERO, {"x": ONE, "y": -Fraction(1, 2)}))
    assert both is not None
    return both


def test_a_cell_has_the_probability_of_its_polytope_and_it_is_computed_once() -> None:
    masses = Masses(1e-9, 2**20)
    low, high = masses.of(slanted()).ends
    assert low <= 0.25 + np.arctan(2.0) / (2 * pi) <= high < low + TIGHT
    left = masses.points
    assert left < 2**20
    assert masses.of(slanted()).ends == (low, high)
    assert masses.points == left


def test_a_cell_that_no_draw_reaches_has_no_probability_and_nothing_else_is_integrated() -> None:
    step = StepDraw.of([(ZERO, ONE, ONE)])
    cell = slanted()
    beyond = DrawCell({"s": step, **cell.draws}, {(("s",), ()): (Fraction(2), Fraction(3)), **cell.bounds})
    masses = Masses(1e-9, 2**20)
    assert masses.of(beyond) == Mass(ZERO)
    assert masses.points == 2**20


@pytest.mark.parametrize(("points", "late", "why"), [(2**13, False, "too many polytopes"), (2**20, True, "time limit")])
def test_cells_that_take_too_much_are_given_up_for_good(points: int, late: bool, why: str) -> None:
    with pytest.raises(TooManyCellsError, match=why) as caught:
        Masses(1e-9, points, lambda: late).of(slanted())
    assert caught.value.hopeless


def test_draws_that_no_bound_ties_together_are_multiplied() -> None:
    one = slanted()
    again = {(tuple(name + "2" for name in names), slopes): bound for (names, slopes), bound in one.bounds.items()}
    both = DrawCell({**one.draws, "x2": STANDARD, "y2": STANDARD}, {**one.bounds, **again})
    masses = Masses(1e-9, 2**20)
    low, high = masses.of(both).ends
    assert low <= (0.25 + np.arctan(2.0) / (2 * pi)) ** 2 <= high < low + TIGHT


def test_a_strip_lies_between_two_parallel_ends() -> None:
    encloses([STANDARD], [half(1, bound=1), half(-1, bound=1)], float(ndtr(1.0) - ndtr(-1.0)))
    encloses(
        [STANDARD, STANDARD], [half(1, 1, bound=1), half(-1, -1, bound=1), half(1, 0, bound=9)], 0.5204998778130465
    )


def test_a_polytope_that_takes_too_many_cuts_is_left() -> None:
    rng = np.random.default_rng(0)
    sides = [half(*rng.integers(-9, 10, 5).tolist(), bound=10) for _ in range(12)]
    with pytest.raises(TooManyCellsError, match="too many cuts of a polytope") as caught:
        probability([STANDARD] * 5, sides, 1e-6, points=2**12)
    assert caught.value.hopeless


def test_a_strip_whose_ends_are_the_wrong_way_round_is_empty() -> None:
    found = probability([UNIT, STANDARD], [half(1, 1, bound=-1), half(-1, -1, bound=-1)], 1e-9)
    assert found.low == 0.0
    assert found.high <= 1e-9


def test_a_fraction_times_an_enclosure_stays_both() -> None:
    third, enclosed = Mass(Fraction(1, 3)), Mass(ONE, 0.25, 0.5)
    assert third * enclosed == enclosed * third == Mass(Fraction(1, 3), 0.25, 0.5)
    assert third * third == Mass(Fraction(1, 9))
    low, high = (enclosed * enclosed).ends
    assert low < 0.0625 < 0.25 < high < 0.2500001

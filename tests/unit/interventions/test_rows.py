"""Boxes that one linear row cuts: draws are exactly uniform in any number of dimensions, and the row always holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from isonomia.interventions import Feature, IfThen, Interventions, Linear, Linkage, Predicate
from isonomia.interventions.constraints.base import Condition
from isonomia.interventions.parts import PolytopePoints
from isonomia.interventions.rows import RowMoves

ALARM = 1e-6


def sets_of(rules: Any, features: Any, **person: float) -> Any:
    return Interventions(features, rules).reach({name: [value] for name, value in person.items()})


def reals(count: int, high: float = 1.0) -> tuple[Feature, ...]:
    return tuple(Feature(f"x{j}", "real", 0, high) for j in range(count))


@pytest.mark.parametrize("count", [3, 8, 20])
@pytest.mark.parametrize("sense", ["==", "<="])
def test_a_simplex_of_any_dimension_has_its_exact_marginals(count: int, sense: Any) -> None:
    features, total = reals(count), 0.3
    rule = Linear(tuple(f.name for f in features), (1.0,) * count, sense, total)
    sets = sets_of((rule,), features, **{f.name: total / count for f in features})
    (part,) = sets.parts
    if not (count == 3 and sense == "<="):  # which is wide enough for proposals of the box
        assert isinstance(part, PolytopePoints)
        assert isinstance(part.slices, RowMoves)
    assert not sets.approximate().any()
    drawn = sets.sample(3_000, np.random.default_rng(count)).values / total
    assert (drawn.sum(1) <= 1 + 1e-9).all()
    # Dirichlet: a coordinate is Beta(1, d), with d further coordinates, and the sum Beta(count, 1) where it is free.
    others = count - 1 if sense == "==" else count
    for j in (0, count - 1):
        assert stats.kstest(drawn[:, j], stats.beta(1, others).cdf).pvalue > ALARM
    pair = drawn[:, 0] + drawn[:, 1]
    assert stats.kstest(pair, stats.beta(2, others - 1).cdf).pvalue > ALARM
    if sense == "==":
        assert np.allclose(drawn.sum(1), 1.0)
    else:
        assert stats.kstest(drawn.sum(1), stats.beta(count, 1).cdf).pvalue > ALARM


def test_the_middle_of_a_cube_has_its_exact_moments() -> None:
    """Eight numbers between 0 and 1 that add up to 4: by symmetry the mean is 1/2, and pairs are equally correlated."""
    features = reals(8)
    rule = Linear(tuple(f.name for f in features), (1.0,) * 8, "==", 4.0)
    drawn = (
        sets_of((rule,), features, **{f.name: 0.5 for f in features}).sample(20_000, np.random.default_rng(3)).values
    )
    assert drawn.sum(1) == pytest.approx(4.0)
    assert drawn.mean(0) == pytest.approx(np.full(8, 0.5), abs=0.012)
    covariance = np.cov(drawn.T)
    off = (covariance.sum() - np.trace(covariance)) / 56
    assert off == pytest.approx(-np.trace(covariance) / 56, rel=1e-6)
    # By a grid: the density of seven uniform numbers at 4 - x, which is that of a coordinate.
    x = np.linspace(0, 1, 2_001)
    density = irwin_hall(7, 4 - x)
    expected = (density * (x - 0.5) ** 2).sum() / density.sum()
    assert np.diag(covariance).mean() == pytest.approx(expected, rel=0.02)


def irwin_hall(count: int, x: Any) -> Any:
    from math import comb, factorial

    terms = [(-1) ** k * comb(count, k) * np.maximum(x - k, 0.0) ** (count - 1) for k in range(count + 1)]
    return sum(terms) / factorial(count - 1)


@pytest.mark.parametrize(
    ("weights", "sense", "bound", "whole"),
    [
        ((1.0, -2.0, 0.5, 3.0), "<=", -2.5, (0, 0, 0, 1)),
        ((-1.0, -1.0, 3.0, 0.0), ">=", 5.6, (0, 0, 1, 0)),
        ((1.0, 1.0, 0.25, 0.5), "==", 1.3, (0, 0, 1, 1)),
    ],
)
def test_rows_of_mixed_values_agree_with_rejection_from_the_box(
    weights: tuple[float, ...], sense: Any, bound: float, whole: tuple[int, ...]
) -> None:
    from isonomia.interventions.blocks import MixedIntegerProgram
    from isonomia.interventions.rows import row_moves

    size, slack = np.full(4, 2.0), 1e-3 if sense == "==" else 0.0
    low, high = (-np.inf if sense == "<=" else bound), (np.inf if sense == ">=" else bound)
    ends = np.asarray([low]), np.asarray([high])
    program = MixedIntegerProgram(np.asarray([weights]), *ends, np.zeros(4), size, np.asarray(whole, dtype=bool), True)
    made = row_moves(program, 4)
    assert made is not None
    drawn = made.draw(20_000, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    box = np.where(whole, rng.integers(0, 3, (2_000_000, 4)), rng.uniform(0, 2, (2_000_000, 4)))
    sums = box @ np.asarray(weights)
    kept = box[(sums >= low - slack) & (sums <= high + slack)]
    assert len(kept) > 500
    for j in range(4):
        if whole[j]:
            counts = [np.bincount(part[:, j].astype(int), minlength=3) for part in (drawn, kept)]
            assert stats.chi2_contingency(np.asarray(counts)[:, np.sum(counts, axis=0) > 0]).pvalue > ALARM
        else:
            assert stats.ks_2samp(drawn[:, j], kept[:, j]).pvalue > ALARM


def test_other_rules_are_kept_by_drawing_again() -> None:
    features = (*reals(8), Feature("on", "binary"))
    names = tuple(f"x{j}" for j in range(8))
    rules = (
        Linear(names, (1.0,) * 8, "==", 1.0),
        Predicate("x0 <= x1"),
        IfThen(Condition("on", "==", 1), Condition("x2", ">=", 0.1)),
    )
    sets = sets_of(rules, features, on=0, **dict.fromkeys(names, 0.125))
    drawn = sets.sample(2_000, np.random.default_rng(0)).values
    assert (drawn[:, 0] <= drawn[:, 1]).all()
    assert (drawn[drawn[:, 8] == 1, 2] >= 0.1 - 1e-9).all()
    on = 0.9**7  # Beta(1, 7) beyond 0.1
    assert abs((drawn[:, 8] == 1).mean() - on / (1 + on)) < 0.06


def test_people_with_the_same_set_share_its_draws() -> None:
    rng = np.random.default_rng(0)
    start = rng.dirichlet(np.ones(3), 40)
    features = reals(3)
    rule = Linear(("x0", "x1", "x2"), (1.0,) * 3, "==", 1.0)
    sets = Interventions(features, (rule,)).reach({f"x{j}": start[:, j] for j in range(3)})
    (part,) = sets.parts
    assert len(part.rows) == 40
    drawn = sets.sample(50, rng, [3, 3, 39])
    assert np.allclose(drawn.values.sum(1), 1.0)
    assert sets.take([5, 6]).sample(2, rng).values.shape == (4, 3)


@pytest.mark.parametrize("jointly", [False, True])
def test_effects_follow_actions_that_a_row_couples(jointly: bool) -> None:
    features = (*reals(3), Feature("u", "real", 0, 1, actionable=False))
    rules = (
        Linear(("x0", "x1", "x2"), (1.0,) * 3, "==", 1.0),
        Linkage("x0", ("u",), sense="<=", jointly=jointly),
    )
    sets = sets_of(rules, features, x0=0.0, x1=0.5, x2=0.5, u=0.0)
    assert isinstance(sets.parts[0], PolytopePoints)
    drawn = sets.sample(4_000, np.random.default_rng(1)).values
    # Of three shares one is Beta(1, 2); with as many effects as it is large, it is Beta(2, 2).
    assert stats.kstest(drawn[:, 0], stats.beta(2 if jointly else 1, 2).cdf).pvalue > ALARM
    assert stats.kstest(drawn[:, 3] / drawn[:, 0], "uniform").pvalue > ALARM

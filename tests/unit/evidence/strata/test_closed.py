"""Closed forms: the paper's formulas, and what the case of two values has of its own."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from benchmarks.closed_form import ClosedBounds, closed_bounds, corollary_1, proposition_1

from effort import effort
from isonomia.errors import DataError
from raising import raises

TABLE_4 = np.asarray([[[0.53, 0.04], [0.11, 0.32]], [[0.90, 0.02], [0.03, 0.05]]])


def random_tables(count: int, seed: int, spread: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(4, spread), size=(count, 2)).reshape(count, 2, 2, 2)


def as_printed(table: np.ndarray) -> tuple[list[float], list[float]]:
    """Proposition 1 as the paper prints it, with its p_ay and q_ay, and [-1, 1] where a stratum may be empty."""
    p, bounds = table.sum(1), []
    q = table[:, 1] / p
    for y, gap in ((1, p[0, 1] - p[1, 0]), (0, p[1, 0] - p[0, 1])):
        if gap <= 0:
            bounds.append([-1.0, 1.0])
            continue
        one, zero = p[1, y] / gap, p[0, y] / gap
        lower = max(0, 1 - (1 - q[1, y]) * one) - min(1, q[0, y] * zero)
        upper = min(1, q[1, y] * one) + min(0, (1 - q[0, y]) * zero - 1)
        bounds.append([lower, upper])
    return bounds[0], bounds[1]


def test_proposition_1_is_as_printed() -> None:
    tables = random_tables(500, seed=1)
    one, zero = proposition_1(tables)
    printed = np.asarray([as_printed(table) for table in tables])
    assert one == pytest.approx(printed[:, 0], abs=1e-12)
    assert zero == pytest.approx(printed[:, 1], abs=1e-12)


def test_at_most_one_of_the_two_is_informative() -> None:
    one, zero = proposition_1(random_tables(500, seed=2))
    vague = np.asarray([-1.0, 1.0])
    assert ((one == vague).all(-1) | (zero == vague).all(-1)).all()


def test_corollary_1_is_as_printed() -> None:
    tables = random_tables(500, seed=3)
    p = tables.sum(2)
    b, z, gap = tables[:, :, 1], tables[:, :, 0], p[:, 0, 1] - p[:, 1, 0]
    printed = np.stack(
        [
            gap - (b[:, 0, 1] + z[:, 1, 1]),
            gap - (b[:, 1, 1] + z[:, 0, 1]),
            -gap - (b[:, 0, 0] + z[:, 1, 0]),
            -gap - (b[:, 1, 0] + z[:, 0, 0]),
        ],
        axis=-1,
    )
    assert corollary_1(tables) == pytest.approx(printed, abs=1e-12)


def test_corollary_1_gives_the_direction() -> None:
    tables = random_tables(2000, seed=4, spread=0.2)
    found, margins = closed_bounds(tables), corollary_1(tables)
    assert (margins > 1e-6).any(0).all()
    assert (found.tau_1[margins[:, 0] > 1e-6, 0] > 0).all()
    assert (found.tau_1[margins[:, 1] > 1e-6, 1] < 0).all()
    assert (found.tau_0[margins[:, 2] > 1e-6, 0] > 0).all()
    assert (found.tau_0[margins[:, 3] > 1e-6, 1] < 0).all()


def test_violated_means_the_instrumental_inequality_fails() -> None:
    tables = random_tables(2000, seed=5, spread=0.2)
    pearl = tables.max(1).sum(1).max(-1)  # max over y of the sum over s of the max over a
    found = closed_bounds(tables).violated
    assert 100 < found.sum() < 1900
    assert np.array_equal(found, pearl > 1.0 + 1e-9)


def test_violated_means_that_the_bounds_of_tau_exclude_zero() -> None:
    found = closed_bounds(random_tables(2000, seed=6, spread=0.2))
    for bounds in (found.tau_unnormalised, found.tau):
        outside = (bounds[:, 0] > 1e-9) | (bounds[:, 1] < -1e-9)
        assert np.array_equal(outside, found.violated)


def test_swapping_the_attribute_values_turns_the_effects_around() -> None:
    tables = random_tables(200, seed=7)
    found, swapped = closed_bounds(tables), closed_bounds(tables[:, ::-1])
    for name in ("tau_1", "tau_0", "tau", "tau_unnormalised", "tau_1_given_tau_0_zero", "counterfactual"):
        assert getattr(swapped, name) == pytest.approx(-getattr(found, name)[:, ::-1], abs=1e-12, nan_ok=True)


def test_swapping_the_outcomes_swaps_the_strata() -> None:
    tables = random_tables(200, seed=8)
    found, swapped = closed_bounds(tables), closed_bounds(tables[..., ::-1])
    assert swapped.tau_1 == pytest.approx(found.tau_0, abs=1e-12)
    assert swapped.tau_1_given_tau_0_zero == pytest.approx(found.tau_0_given_tau_1_zero, abs=1e-12, nan_ok=True)
    assert swapped.tau == pytest.approx(found.tau, abs=1e-12)


def test_an_empty_cell_tells_more_than_proposition_1() -> None:
    # The stratum Y(0) = Y(1) = 1 may be empty, but nobody with A = 1 and Y = 1 has S = 1: tau_1 cannot be positive.
    table = np.asarray([[[0.5, 0.1], [0.1, 0.3]], [[0.5, 0.2], [0.3, 0.0]]])
    assert proposition_1(table)[0].tolist() == [-1.0, 1.0]
    assert closed_bounds(table).tau_1.tolist() == [-1.0, 0.0]


def test_a_stratum_with_nobody_has_no_effect() -> None:
    table = np.asarray([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.1], [0.0, 0.9]]])
    found = closed_bounds(table)
    assert np.isnan(found.tau).all()
    assert np.isnan(found.tau_1).all()
    assert found.tau_unnormalised.tolist() == [0.0, 0.0]
    assert not found.violated


@pytest.mark.parametrize(("share", "empty"), [(0.0, True), (0.9e-9, True), (1.1e-9, False), (1e-6, False)])
def test_a_stratum_counts_as_empty_up_to_one_in_a_billion(share: float, empty: bool) -> None:
    table = np.asarray([[[0.5, 0.2], [0.2, 0.1]], [[0.6, share], [0.4 - share, 0.0]]])
    found = closed_bounds(table)
    assert np.isnan(found.tau_1).all() == empty
    assert not np.isnan(found.tau).any()


def test_leading_axes_are_kept() -> None:
    tables = random_tables(6, seed=9).reshape(3, 2, 2, 2, 2)
    assert closed_bounds(tables).tau.shape == (3, 2, 2)
    assert closed_bounds(tables).violated.shape == (3, 2)


@pytest.mark.parametrize("shape", [(3, 2), (6,), (1, 6), (6, 1)])
def test_every_bound_of_many_tables_is_that_of_each_table_alone(shape: tuple[int, ...]) -> None:
    tables = random_tables(6, seed=9, spread=0.3).reshape(*shape, 2, 2, 2)
    together = closed_bounds(tables)
    for place in np.ndindex(shape):
        alone = closed_bounds(tables[place])
        for field in fields(ClosedBounds):
            found, expected = getattr(together, field.name)[place], getattr(alone, field.name)
            assert found.shape == np.shape(expected)
            assert found == pytest.approx(expected, nan_ok=True, abs=1e-15), field.name


def test_ten_thousand_tables_take_far_less_than_ten_seconds() -> None:
    tables = random_tables(10_000, seed=10)
    with effort() as spent:
        assert closed_bounds(tables).violated.shape == (10_000,)
    assert spent.seconds < 1.0


def test_more_values_are_refused_with_a_way_out() -> None:
    with raises(DataError, 2, 3, "effect_bounds"):
        closed_bounds(np.full((2, 3, 2), 1 / 6))


def test_probabilities_that_do_not_sum_to_one_are_refused() -> None:
    with raises(DataError, 1, 0.99):
        proposition_1(TABLE_4 * 0.99)

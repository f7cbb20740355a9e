import numpy as np
import pytest
from scipy import stats

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.populations.generator import MAX_PROPOSALS, RAREST, accepted_rows, too_few_accepted
from raising import raises


def proposals(n, rng):
    """Even over [0, 1], with weights for the density 2 x, and a category that hangs on x."""
    x = rng.random(n)
    return {"x": x, "w": 2.0 * x, "high": np.where(x > 0.5, "yes", "no")}


def test_those_kept_have_the_density_that_the_weights_say():
    drawn = iso.Weighted(proposals, "w", most=2.0)(20_000, np.random.default_rng(1))
    assert list(drawn) == ["x", "high"]
    assert len(drawn["x"]) == 20_000
    assert stats.kstest(drawn["x"], lambda x: np.asarray(x) ** 2).pvalue > 1e-6
    assert np.array_equal(drawn["high"] == "yes", drawn["x"] > 0.5)


def test_a_larger_bound_costs_proposals_and_changes_nothing():
    drawn = iso.Weighted(proposals, "w", most=50.0)(5_000, np.random.default_rng(1))
    assert stats.kstest(drawn["x"], lambda x: np.asarray(x) ** 2).pvalue > 1e-6


def test_a_proposal_is_kept_with_probability_weight_over_most():
    weights = np.repeat([0.0, 0.5, 2.0], 20_000)
    kept = np.bincount(accepted_rows(weights, 2.0, np.random.default_rng(0)) // 20_000, minlength=3)
    assert kept[0] == 0
    assert stats.binomtest(int(kept[1]), 20_000, 0.25).pvalue > 1e-6
    assert kept[2] == 20_000


@pytest.mark.parametrize("weight", [2.5, -0.1, np.nan, np.inf])
def test_a_weight_out_of_bounds_is_refused(weight):
    def draw(n, rng):
        return {"x": rng.random(n), "w": np.where(np.arange(n) == 3, weight, 1.0)}

    with raises(DataError, repr(weight), "most=2.0", name="w"):
        iso.Weighted(draw, "w", most=2.0)(10, np.random.default_rng(0))


def test_a_table_without_weights_is_refused():
    with raises(DataError, ("x", "w", "high"), name="weight"):
        iso.Weighted(proposals, "weight", most=2.0)(10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("draw", "most", "name"),
    [
        ("draw", 1.0, "draw"),
        (proposals, 0.0, "most"),
        (proposals, -1.0, "most"),
        (proposals, np.inf, "most"),
        (proposals, np.nan, "most"),
        (proposals, "2", "most"),
        (proposals, None, "most"),
    ],
)
def test_impossible_arguments_are_refused(draw, most, name):
    with raises(UsageError, name=name):
        iso.Weighted(draw, "w", most=most)


def test_weights_that_keep_nobody_are_given_up():
    def draw(n, rng):
        return {"x": rng.random(n), "w": np.zeros(n)}

    with raises(DataError, 1, 0, "most=2.0"):
        iso.Weighted(draw, "w", most=2.0)(1, np.random.default_rng(0))


def test_slow_progress_is_not_given_up_and_none_is():
    assert not too_few_accepted(0, MAX_PROPOSALS - 1)
    assert too_few_accepted(0, MAX_PROPOSALS)
    assert too_few_accepted(MAX_PROPOSALS // RAREST - 1, MAX_PROPOSALS)
    assert not too_few_accepted(MAX_PROPOSALS // RAREST, MAX_PROPOSALS)


def test_weighted_draws_are_named_and_told_apart_by_their_proposals():
    def others(n, rng):
        return proposals(n, rng)

    made = [iso.Generator(iso.Weighted(draw, "w", most=2.0)) for draw in (proposals, others)]
    assert made[0].assumptions == ("proposals gives independent draws from the population",)
    assert made[0].fingerprint() != made[1].fingerprint()


def test_a_rare_group_is_checked_by_draws_nearer_to_it():
    """Normal draws above 4, proposed from an exponential tail: their mean event is known."""

    def tail(n, rng):
        x = 4.0 + rng.exponential(0.25, n)
        density = stats.norm.pdf(x) / stats.norm.sf(4.0)
        return {"x": x, "w": density / stats.expon.pdf(x, 4.0, 0.25)}

    rate = stats.norm.sf(4.2) / stats.norm.sf(4.0)
    population = iso.Generator({"x > 4": iso.Weighted(tail, "w", most=1.2)})
    held = iso.check(f"P[x > 4.2 | x > 4] >= {rate - 0.03}", population=population, delta=1e-6, seed=1)
    assert held.answer == "holds"
    refuted = iso.check(f"P[x > 4.2 | x > 4] >= {rate + 0.03}", population=population, delta=1e-6, seed=1)
    assert refuted.answer == "violated"


@pytest.mark.parametrize(("weight", "advice"), [(2.0, ["raise"]), (-1.0, ["fix"]), (np.nan, ["fix"])])
def test_a_weight_out_of_bounds_names_the_draw_and_what_to_do(weight, advice):
    def nearby(n, rng):
        return {"a": 0.9 + 0.1 * rng.random(n), "w": np.full(n, weight)}

    people = iso.Generator(lambda n, rng: {"a": rng.random(n)}, given={"a > 0.9": iso.Weighted(nearby, "w", 1.0)})
    with raises(DataError, "most=1.0", repr(weight), *advice, name="w"):
        iso.check("P[a > 0.95 | a > 0.9] >= 0.1", population=people, seed=1)

"""Causal and pairwise fairness of populations whose figures are normal integrals.

Women and men differ by what they were taught (school) and by whom they know (club). The model hires those whose sum
passes a threshold, so every rate, also of what would have been, has a closed form. Each claim is checked a little below
its true figure, where it must hold, and a little above it, where it must be violated; the risk is one in a million.
"""

from __future__ import annotations

from math import atan, pi, sqrt

import numpy as np
import pytest
from scipy import stats

import isonomia as iso

T = 13.0
GAP = 0.03
CAUSAL = iso.Causal(
    {
        "sex": iso.Categories({"F": 0.4, "M": 0.6}),
        "school": "gaussian(12, 4) if sex == 'M' else gaussian(10, 4)",
        "club": iso.Additive(lambda sex: np.where(sex == "M", 1.0, 0.0)),
        "luck": lambda noise: noise,
    }
)
INVERTIBLE = iso.Causal(
    {
        "sex": iso.Categories({"F": 0.4, "M": 0.6}),
        "school": "gaussian(12, 4) if sex == 'M' else gaussian(10, 4)",
        "club": iso.Additive(lambda sex: np.where(sex == "M", 1.0, 0.0)),
        "luck": iso.Equation(lambda noise: noise, inverse=lambda value: value),
    }
)
PROGRAM = iso.Program.of(
    """
def popModel():
    sex = step([(0, 1, 0.4), (1, 2, 0.6)])
    luck = gaussian(0, 1)
    if sex < 1:
        school = gaussian(10, 4)
        club = gaussian(0, 1)
    else:
        school = gaussian(12, 4)
        club = gaussian(1, 1)
def F():
    hired = school + club + luck > 13
    fairnessTarget(hired)
"""
)
SPREAD = sqrt(4 + 1 + 1)
WOMEN, MEN = stats.norm(10, SPREAD), stats.norm(13, SPREAD)
FLIP = WOMEN.cdf(T) - WOMEN.cdf(T - 3)  # had she been a man, her sum were 3 higher


def hire(table):
    return (table["school"] + table["club"] + table["luck"] > T).astype(int)


def real_people(model):
    drawn = model.draw(120_000, seed=11)
    return model.about(iso.Sample({name: drawn.column(name) for name in model.names}))


POPULATIONS = {"causal": lambda: CAUSAL, "real people": lambda: real_people(INVERTIBLE)}


@pytest.fixture(params=POPULATIONS, scope="module")
def population(request):
    return POPULATIONS[request.param]()


def answer(prop, population, model=hire):
    return iso.check(prop, model, population, delta=1e-6, seed=5).answer


def both_ways(make, truth, population, model=hire):
    """The claim that a figure is at least something, just below it and just above it."""
    assert answer(make(truth - GAP), population, model) == "holds"
    assert answer(make(truth + GAP), population, model) == "violated"


def test_most_women_would_be_decided_about_alike_as_men(population):
    both_ways(lambda share: iso.fairness.counterfactual("sex", "F", "M", share=share), 1 - FLIP, population)


def test_nobody_who_is_a_man_would_be_decided_about_differently_as_a_man(population):
    prop = "P[prediction == do(sex = 'M').prediction | sex == 'M'] >= 0.999"
    verdict = iso.check(prop, hire, population, delta=1e-6, seed=5)
    assert verdict.answer == "holds"
    assert verdict.leaves[0].estimate == 1.0


def test_the_effect_on_women_is_the_difference_of_two_normal_tails(population):
    effect = WOMEN.sf(T - 3) - WOMEN.sf(T)

    def within(difference):
        return iso.fairness.counterfactual_effect("sex", "F", "M", difference=difference)

    assert answer(within(effect + GAP), population) == "holds"
    assert answer(within(effect - GAP), population) == "violated"


def test_the_total_effect_is_the_difference_of_two_normal_tails(population):
    effect = MEN.sf(T) - WOMEN.sf(T)
    assert answer(iso.fairness.causal("sex", "F", "M", difference=effect + GAP), population) == "holds"
    assert answer(iso.fairness.causal("sex", "F", "M", difference=effect - GAP), population) == "violated"


def test_everybody_flips_as_often_as_a_normal_sum_falls_between(population):
    both_ways(lambda share: iso.fairness.no_causal_discrimination("sex", "F", "M", share=share), 1 - FLIP, population)


def test_with_the_school_of_men_women_lack_the_club_only(population):
    short = MEN.sf(T) - stats.norm(12, SPREAD).sf(T)

    def through_school(shortfall):
        return iso.fairness.path_specific("sex", "F", "M", mediators="school", shortfall=shortfall)

    assert answer(through_school(short + GAP), population) == "holds"
    assert answer(through_school(short - GAP), population) == "violated"
    through_both = iso.fairness.path_specific("sex", "F", "M", mediators=["school", "club"], shortfall=GAP)
    assert answer(through_both, population) == "holds"


def test_a_program_has_the_same_figures_as_the_model():
    same = "P[target == do(sex = 1.5).target | sex < 1] >= {}"
    both_ways(lambda share: same.format(share), 1 - FLIP, PROGRAM, None)
    total = "P[do(sex = 1.5).target] - P[do(sex = 0.5).target] >= {}"
    both_ways(lambda share: total.format(share), MEN.sf(T) - WOMEN.sf(T), PROGRAM, None)
    through = "P[do(school as if sex = 1.5).target | sex < 1] >= {}"
    both_ways(lambda share: through.format(share), stats.norm(12, SPREAD).sf(T), PROGRAM, None)
    direct = "P[do(sex = 1.5, school as if sex = 0.5).target | sex < 1] >= {}"
    both_ways(lambda share: direct.format(share), stats.norm(11, SPREAD).sf(T), PROGRAM, None)


def test_a_rare_group_under_an_intervention_is_drawn_directly():
    # Of women with school > 18, four deviations out: had they been men, school were school + 2.
    model = iso.Causal(
        {
            "luck": "gaussian(0, 1)",
            "sex": iso.Categories({"F": 0.4, "M": 0.6}),
            "pay": "luck + 1 if sex == 'M' else luck",
        }
    )
    share = (stats.norm.sf(4) - stats.norm.sf(4.2)) / stats.norm.sf(4)
    prop = "P[(pay > 4.2) == (do(sex = 'M').pay > 4.2) | sex == 'F' and luck > 4] >= {}"
    held = iso.check(prop.format(1 - share - GAP), population=model, delta=1e-6, seed=5, method="bets")
    assert held.answer == "holds"
    assert held.samples * 1_000 < held.leaves[0].n / (0.4 * stats.norm.sf(4))
    refuted = iso.check(prop.format(1 - share + GAP), population=model, delta=1e-6, seed=5, method="bets")
    assert refuted.answer == "violated"


# ---------------------------------------------------------------------------- pairs of people

PAIRS = iso.Causal({"x": "gaussian(0, 1)", "pay": "gaussian(0, 1)", "sex": iso.Categories({"F": 0.3, "M": 0.7})})


def sample_of(n):
    drawn = PAIRS.draw(n, seed=3)
    return iso.Sample({name: drawn.column(name) for name in PAIRS.names})


@pytest.mark.parametrize("make", [lambda: PAIRS, lambda: sample_of(60_000)])
@pytest.mark.parametrize("lipschitz", [0.5, 2.0])
def test_the_quotient_of_two_differences_is_a_cauchy_variable(make, lipschitz):
    def fair(share):
        return iso.fairness.individual("abs(x - other.x)", lipschitz=lipschitz, share=share, decision="pay")

    both_ways(fair, 2 / pi * atan(lipschitz), make(), None)


def test_a_condition_holds_for_both_of_a_pair():
    def fair(share):
        return iso.fairness.individual({"x": 1}, share=share, decision="pay", given="sex == 'F'")

    both_ways(fair, 0.5, PAIRS, None)
    verdict = iso.check(fair(0.4), population=PAIRS, delta=1e-6, seed=5)
    assert verdict.leaves[0].n == pytest.approx(0.09 * verdict.samples, rel=0.25)


# ---------------------------------------------------------------------------- seeing and doing

CONFOUNDED = iso.Causal({"z": "gaussian(0, 1)", "x": "gaussian(z, 1)", "y": "gaussian(z, 1)"})


def test_seeing_is_not_doing():
    # Given x = 2, y is normal with mean 1 and variance 3/2; under do(x = 2) it stays normal with variance 2.
    def seen(share):
        return f"P[y > 1 | x > 1.99 and x < 2.01] >= {share}"

    def done(share):
        return f"P[do(x = 2).y > 1] >= {share}"

    both_ways(seen, 0.5, CONFOUNDED, None)
    both_ways(done, stats.norm(0, sqrt(2)).sf(1), CONFOUNDED, None)


def test_a_linear_gaussian_model_has_the_covariance_of_its_equations():
    model = iso.Causal(
        {
            "a": "gaussian(1, 2)",
            "b": "gaussian(2 * a, 3)",
            "c": iso.Additive(lambda a, b: a - b, iso.Normal(0, 2)),
            "d": "b + gaussian(3 * c, 1)",
        }
    )
    drawn = model.draw(200_000, seed=1)
    found = np.cov([drawn.column(name) for name in "abcd"])
    into = np.zeros((4, 4))
    into[1, 0], into[2, 0], into[2, 1], into[3, 1], into[3, 2] = 2, 1, -1, 1, 3
    solve = np.linalg.inv(np.eye(4) - into)
    expected = solve @ np.diag([2, 3, 4, 1]) @ solve.T
    np.testing.assert_allclose(found, expected, rtol=0.03, atol=0.1)


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_a_linear_gaussian_counterfactual_moves_by_the_total_effect(name):
    effects = {"a": [1, 2, -1, -1], "b": [0, 1, -1, -2], "c": [0, 0, 1, 3]}
    model = iso.Causal(
        {
            "a": "gaussian(1, 2)",
            "b": "gaussian(2 * a, 3)",
            "c": iso.Additive(lambda a, b: a - b, iso.Normal(0, 2)),
            "d": "b + gaussian(3 * c, 1)",
        }
    )
    people = model.draw(100, seed=2)
    changed = model.counterfactual(people, **{name: 7.0})
    for variable, effect in zip("abcd", effects[name], strict=True):
        expected = people.column(variable) + effect * (7.0 - people.column(name))
        np.testing.assert_allclose(changed.column(variable), expected, atol=1e-9)

"""Plans: one look at as many people as planned decides as often as the plan says, and never by magic."""

from __future__ import annotations

import re
from math import log

import numpy as np
import pytest
from scipy.stats import binom
from simulation import most_errors

import isonomia as iso
from isonomia.evidence.look_parts import RatesPart
from isonomia.evidence.looks import looks_for
from isonomia.spec.property import parse
from isonomia.spec.tree import leaves_of


def kl(first: float, second: float) -> float:
    return first * log(first / second) + (1 - first) * log((1 - first) / (1 - second))


@pytest.mark.parametrize(
    ("threshold", "rate", "delta"),
    [
        (0.9, 0.999, 1e-6),
        (0.9, 0.999, 0.05),
        (0.99, 0.9999, 1e-10),
        (0.5, 0.999, 1e-3),
        (0.001, 0.01, 0.05),
        (0.3, 0.35, 0.01),
        (0.1, 0.2, 0.05),
    ],
)
def test_one_look_at_a_rate_decides_as_often_as_planned(threshold: float, rate: float, delta: float) -> None:
    plan = iso.plan(f"P[x] >= {threshold}", {"P[x]": rate}, delta=delta)
    people = int(plan.once)
    # The exact test proves the claim from the least count whose tail at the threshold is at most delta.
    least = binom.isf(delta, people, threshold) + 1
    power = binom.sf(least - 1, people, rate)
    assert power >= 0.8
    assert people >= kl(0.8, delta) / kl(rate, threshold), "below this no test of this risk has this power"
    smaller = int(0.8 * people)
    assert binom.sf(binom.isf(delta, smaller, threshold), smaller, rate) < 0.83, "not many more people than it takes"


@pytest.mark.parametrize(
    ("text", "rates", "share", "delta"),
    [
        ("P[h | s == 'F'] / P[h | s == 'M'] >= 0.8", (0.3, 0.3), 0.5, 0.05),
        ("P[h | s == 'F'] / P[h | s == 'M'] >= 0.5", (0.02, 0.02), 0.3, 0.01),
        ("P[h | s == 'F'] - P[h | s == 'M'] >= -0.1", (0.995, 0.998), 0.2, 1e-6),
    ],
)
def test_one_look_at_two_rates_decides_as_often_as_planned(
    text: str, rates: tuple[float, float], share: float, delta: float
) -> None:
    guesses = dict(zip(("P[h | s == 'F']", "P[h | s == 'M']"), rates, strict=True))
    plan = iso.plan(text, guesses, shares={"s == 'F'": share, "s == 'M'": 1 - share}, delta=delta)
    formula, runs, rng = parse(text).formula, 1000, np.random.default_rng(7)
    leaves = leaves_of(formula)
    looks = looks_for(formula, dict.fromkeys(leaves, (0.0, 1.0)), (None,), delta, (1,))
    ((part, threshold),) = [(part, _threshold(text)) for part in looks.parts.values()]
    assert isinstance(part, RatesPart)
    women = rng.binomial(int(plan.once), share, runs)
    n = np.stack([women, int(plan.once) - women])
    yes = rng.binomial(n, np.asarray(rates)[:, None])
    missed = 0
    for run in range(runs):
        batches = {leaf: np.asarray([[n[g, run] - yes[g, run], yes[g, run]]], float) for g, leaf in enumerate(leaves)}
        missed += not looks.proves(part, True, threshold, delta, batches)
    assert missed <= most_errors(runs, 0.2)
    assert missed >= runs - most_errors(runs, 0.87)


def _threshold(text: str) -> float:
    return float(text.split(">=")[1])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("threshold", "rate", "people"), [(0.3, 0.4, 40), (0.1, 0.2, 30), (0.9, 0.99, 25)])
def test_the_table_that_a_remark_advises_decides_as_often_as_it_says(
    threshold: float, rate: float, people: int, seed: int
) -> None:
    rows = {"x": np.random.default_rng(seed).random(people) < rate}
    verdict = iso.check(f"P[x] >= {threshold}", population=iso.Sample(rows), delta=0.01)
    advice = [found for remark in verdict.remarks if (found := re.search(r"another table of about ([\d,]+)", remark))]
    if not advice or not rows["x"].mean() > threshold:
        return
    n, guess = int(advice[0][1].replace(",", "")), (rows["x"].sum() + 0.5) / (people + 1)
    assert binom.sf(binom.isf(0.01, n, threshold), n, guess) >= 0.8


@pytest.mark.parametrize(("threshold", "rate", "delta"), [(0.9, 0.999, 1e-6), (0.001, 0.01, 0.05), (0.3, 0.4, 0.05)])
def test_checks_at_any_look_take_about_as_many_people_as_forecast(threshold: float, rate: float, delta: float) -> None:
    text = f"P[x] >= {threshold}"
    plan = iso.plan(text, {"P[x]": rate}, delta=delta)

    def draw(n: int, rng: np.random.Generator) -> dict[str, object]:
        return {"x": rng.random(n) < rate}

    taken = [iso.check(text, population=iso.Generator(draw), delta=delta, seed=run).samples for run in range(60)]
    error = np.std(taken) / np.sqrt(len(taken))
    assert abs(np.mean(taken) - plan.samples) <= 0.15 * plan.samples + 3.0 * error

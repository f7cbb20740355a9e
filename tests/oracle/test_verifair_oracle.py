"""VeriFair's rule against the paper's formulas, brute force, and a plain run of its Algorithm 1."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import isonomia as iso
from isonomia.evidence.verifair import Lemma, adaptive_error, infer, verifair_for
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Arithmetic, Column, Comparison, Constant, Extreme, Negative, Power, Rate

A, B = Rate(Column("x"), Column("f")), Rate(Column("x"), Column("m"))


@pytest.mark.parametrize("n", [1, 2, 10, 1_000, 10**9])
@pytest.mark.parametrize("delta", [0.5, 1e-10, 1e-300])
def test_the_adaptive_error_is_equation_ten(n, delta):
    inside = 0.6 * math.log(math.log(n) / math.log(1.1) + 1.0) + (5.0 / 9.0) * (math.log(24.0) - math.log(delta))
    assert adaptive_error(delta, n) == pytest.approx(math.sqrt(inside / n))


QUANTITIES = {
    "sum": Arithmetic("+", A, B),
    "difference": Arithmetic("-", A, B),
    "product": Arithmetic("*", A, B),
    "quotient": Arithmetic("/", A, B),
    "square": Power(A, 2.0),
    "inverse": Power(B, -1.0),
    "absolute": Extreme("abs", (Arithmetic("-", A, B),)),
    "largest": Extreme("max", (A, B, Constant(0.4))),
    "least": Extreme("min", (A, Negative(B))),
    "nested": Arithmetic("/", Arithmetic("-", A, B), Arithmetic("+", A, B)),
}


def evaluate(quantity, a, b):
    match quantity:
        case Rate():
            return a if quantity == A else b
        case Constant():
            return quantity.value
        case Negative():
            return -evaluate(quantity.operand, a, b)
        case Power():
            return evaluate(quantity.base, a, b) ** quantity.exponent
        case Extreme():
            parts = [evaluate(part, a, b) for part in quantity.arguments]
            return abs(parts[0]) if quantity.function == "abs" else {"min": min, "max": max}[quantity.function](parts)
        case _:
            left, right = evaluate(quantity.left, a, b), evaluate(quantity.right, a, b)
            return {"+": left + right, "-": left - right, "*": left * right}.get(quantity.sign) or (
                left / right if quantity.sign == "/" else 0.0
            )


@pytest.mark.parametrize("name", QUANTITIES)
def test_inferred_errors_cover_every_corner(name):
    rng = np.random.default_rng(7)
    for _ in range(100):
        a, b, da, db = rng.uniform(0.3, 0.9), rng.uniform(0.3, 0.9), *rng.uniform(0.0, 0.25, size=2)
        lemma = infer(QUANTITIES[name], {A: Lemma(a, da, 0.1), B: Lemma(b, db, 0.1)})
        for s, t in product(np.linspace(-1, 1, 9), repeat=2):
            truth = evaluate(QUANTITIES[name], a + s * da, b + t * db)
            assert abs(truth - lemma.estimate) <= lemma.error + 1e-12


def test_product_and_inverse_rules_are_those_of_the_appendix():
    lemmas = {A: Lemma(-0.5, 0.1, 0.01), B: Lemma(0.4, 0.05, 0.02)}
    times = infer(Arithmetic("*", A, B), lemmas)
    assert times == Lemma(pytest.approx(-0.2), pytest.approx(0.5 * 0.05 + 0.4 * 0.1 + 0.1 * 0.05), pytest.approx(0.03))
    inverse = infer(Power(B, -1.0), lemmas)
    assert inverse == Lemma(pytest.approx(2.5), pytest.approx(0.05 / (0.4 * 0.35)), pytest.approx(0.02))
    assert infer(Power(B, -1.0), {B: Lemma(0.05, 0.05, 0.02)}).error == math.inf


def algorithm_1(first, second, delta):
    """One draw of each group at a time, as printed: the ratio is at least 0.8, or it is not."""
    s = [0, 0]
    for n in range(1, len(first) + 1):
        s[0] += first[n - 1]
        s[1] += second[n - 1]
        a, b = s[0] / n, s[1] / n
        eps = math.sqrt(
            (0.6 * math.log(math.log(n) / math.log(1.1) + 1.0) + 5.0 / 9.0 * math.log(24.0 * 2 / delta)) / n
        )
        if b <= eps:
            continue
        inverse_error = eps / (b * (b - eps))
        estimate = a / b - 0.8
        error = a * inverse_error + eps / b + eps * inverse_error
        if estimate - error >= 0:
            return n, True
        if estimate + error < 0:
            return n, False
    raise AssertionError("the stream is too short")


def test_batches_growing_by_half_a_percent_stop_within_a_percent_of_the_papers_algorithm():
    formula = parse_formula("P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8")
    assert isinstance(formula, Comparison)
    leaves = (formula.first.left, formula.first.right)
    streams = [leaf.given for leaf in leaves]
    evidence = verifair_for(formula, leaves, dict.fromkeys(leaves, (0.0, 1.0)), streams, 1e-3)
    rng, plain, batched = np.random.default_rng(8), [], []
    for rates in [(0.6, 0.5), (0.3, 0.6)] * 6:
        draws = [rng.random(60_000) < rate for rate in rates]
        expected, answer = algorithm_1(draws[0].tolist(), draws[1].tolist(), 1e-3)
        state, n = evidence.begin(), 0
        while evidence.decision(state) is None:
            more = max(1, int(0.005 * n))
            tallies = {
                channel: channel.grid.tally([draws[g][n : n + more]]) for g, channel in enumerate(evidence.channels)
            }
            state, n = evidence.step(state, tallies), n + more
        assert evidence.decision(state) is answer
        assert n >= expected
        plain.append(expected)
        batched.append(n)
    assert np.mean(batched) == pytest.approx(np.mean(plain), rel=0.01)


class Recording:
    """Draws people of one sex and remembers whom it drew."""

    def __init__(self, sex, rate):
        self.sex, self.rate, self.hired = sex, rate, []

    def __call__(self, n, rng):
        hired = rng.random(n) < self.rate
        self.hired += hired.tolist()
        return {"sex": np.full(n, self.sex), "hired": hired}


def test_a_check_by_verifair_stops_within_a_percent_of_the_papers_algorithm_on_the_same_people():
    plain, checked = [], []
    for seed, rates in enumerate([(0.6, 0.5), (0.3, 0.6)] * 4):
        women, men = (Recording(sex, rate) for sex, rate in zip("FM", rates, strict=True))
        population = iso.Generator({"sex == 'F'": women, "sex == 'M'": men})
        source = population.open(np.random.SeedSequence(0))
        for stream in (0, 1):  # pilot draws are no part of the check
            source.batch(0, 1, np.random.default_rng(0), stream)
        women.hired.clear()
        men.hired.clear()
        claim = "P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8"
        verdict = iso.check(claim, population=population, delta=1e-3, seed=seed, method="verifair")
        for stream in (women, men):  # of an odd number of people, one stream has one more
            stream(1, np.random.default_rng(seed))
        expected, answer = algorithm_1(women.hired, men.hired[: len(women.hired)], 1e-3)
        assert verdict.holds is answer
        plain.append(2 * expected)
        checked.append(verdict.samples)
    assert np.mean(checked) == pytest.approx(np.mean(plain), rel=0.01)
    assert min(np.subtract(checked, plain)) >= -2

"""The responsiveness audit against going through every point by hand, and against SciPy's binomial."""

from __future__ import annotations

from itertools import product
from os import environ
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, binom

import isonomia as iso
from isonomia.evidence.binomial import draws_for_power, draws_for_width, power_below
from isonomia.interventions import Feature, Interventions, Linear

ROOT = Path(__file__).resolve().parents[2]
GERMAN = Path(environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data")) / "german" / "german_36.csv"


def test_shares_agree_with_a_loop_over_every_point() -> None:
    rng = np.random.default_rng(0)
    features = (
        Feature("a", "integer", 0, 5),
        Feature("b", "integer", 0, 5, direction="up"),
        Feature("c", "binary"),
        Feature("d", "integer", 0, 9, actionable=False),
    )
    rules = Interventions(features, (Linear(("a", "b"), (1, 1), "<=", 6),))
    start = [(int(rng.integers(0, 4)), int(rng.integers(0, 3)), int(rng.integers(0, 2)), j) for j in range(10)]
    weights = np.asarray([1.0, 2.0, -1.5, 0.7])
    people = {name: [row[j] for row in start] for j, name in enumerate("abcd")}

    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        return (np.column_stack([table[name] for name in "abcd"]) @ weights > 9.0).astype(int)

    verdict = iso.check(iso.Responsiveness(rules, 1, at_least=0.3), model, iso.Census(people))
    for row, share, n in zip(start, verdict.details["people"]["share"], verdict.details["people"]["n"], strict=True):
        points = [(a, b, c, row[3]) for a, b, c in product(range(6), range(row[1], 6), range(2)) if a + b <= 6]
        hits = [float(np.dot(weights, point)) > 9.0 for point in points]
        assert (n, share) == (len(points), pytest.approx(np.mean(hits)))


def test_draws_agree_with_the_listed_truth_on_german_credit() -> None:
    if not GERMAN.exists():
        pytest.skip(f"{GERMAN} is not here; set ISONOMIA_DATA")
    from isonomia.populations import read_table

    people = read_table(str(GERMAN)).slice(0, 300)
    free = ["HasGuarantor", "YearsEmployed_geq_1", "CheckingAcct_exists", "SavingsAcct_exists", "YearsAtResidence"]
    rules = Interventions(Interventions.draft(people, leave_out="good_customer").features)
    rules = rules.set("*", actionable=False).set(free, actionable=True, direction="up")

    def model(table: object) -> np.ndarray:
        columns = {name: np.asarray(table[name]) for name in [*free, "Age"]}  # type: ignore[index]
        score = sum(columns[name] for name in free[:4]) + 0.2 * columns["YearsAtResidence"] + 0.02 * columns["Age"]
        return (score > 5.0).astype(int)

    claims = [iso.Responsiveness(rules, 1, at_least=0.1, most_listed=most) for most in (10**6, 0)]
    truth, drawn = (iso.check(claim, model, iso.Census(people), delta=1e-6, seed=0).details for claim in claims)
    assert truth["counts"]["exact"] == 300
    assert 0 < truth["counts"]["fixed"] < 300
    assert drawn["people"]["answer"] == truth["people"]["answer"]
    low, high, share = drawn["people"]["low"], drawn["people"]["high"], truth["people"]["share"]
    assert all(np.asarray(low) <= share)
    assert all(np.asarray(high) >= share)


def test_the_width_is_that_of_scipys_quantiles() -> None:
    def widest(n: int) -> float:
        s = np.arange(n + 1)
        low = np.where(s > 0, beta.ppf(0.025, np.maximum(s, 1), n - s + 1), 0.0)
        high = np.where(s < n, beta.ppf(0.975, s + 1, np.maximum(n - s, 1)), 1.0)
        return float((high - low).max())

    assert widest(402) <= 0.1 < widest(401)
    assert draws_for_width(0.05, 0.1) == 402
    assert draws_for_width(0.05, 0.3) == next(n for n in range(1, 200) if widest(n) <= 0.3)


def test_the_power_is_that_of_going_through_every_outcome() -> None:
    def power(n: int, delta: float, threshold: float, share: float) -> float:
        s = np.arange(n + 1)
        rejects = binom.cdf(s, n, threshold) <= delta
        return float(binom.pmf(s, n, share)[rejects].sum())

    for n in (10, 29, 254, 287, 312):
        assert power_below(n, 0.01, 0.1, 0.05) == pytest.approx(power(n, 0.01, 0.1, 0.05), abs=1e-12)
    enough = [n for n in range(1, 2_000) if power(n, 0.01, 0.1, 0.05) >= 0.8]
    short = [n for n in range(1, 2_000) if n not in set(enough)]
    assert (enough[0], short[-1] + 1) == (287, 312)
    assert draws_for_power(0.01, 0.1, 0.05, 0.8, lasting=False) == 287
    assert draws_for_power(0.01, 0.1, 0.05, 0.8) == 312

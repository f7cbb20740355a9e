"""Makes up a lender's past loans, trains a scorecard on them, and draws this month's applicants: ``python make.py``.

A scorecard is how small loans are mostly decided: points for each answer on the form, a sum, and a cut-off. This one is
a logistic regression with its weights rounded to points, as lenders do, and is written down as plain JSON.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

DATA = Path(__file__).parent / "data"
PURPOSES = ("car", "furniture", "study", "other")
NUMBERS = ("income", "years_at_job", "open_loans", "savings", "amount", "half_years", "guarantor", "past_default")


def applicants(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw applicants as their forms describe them; money is in hundreds of euros."""
    age = np.clip(np.round(rng.gamma(5.0, 4.5, n) + 18), 18, 80)
    income = np.round(np.exp(rng.normal(2.9, 0.35, n)), 1)
    return {
        "age": age.astype(int),
        "income": income,
        "years_at_job": np.minimum(rng.geometric(0.2, n) - 1, age.astype(int) - 18),
        "open_loans": np.minimum(rng.poisson(1.1, n), 5),
        "savings": np.round(np.where(rng.random(n) < 0.35, 0.0, rng.gamma(0.9, 15.0, n))).astype(int),
        "amount": np.maximum(np.round(income * rng.uniform(0.4, 3.2, n)), 5).astype(int),
        "half_years": rng.choice([1, 2, 3, 4, 6, 8], n),
        "guarantor": (rng.random(n) < 0.12).astype(int),
        "past_default": (rng.random(n) < 0.10).astype(int),
        "purpose": rng.choice(PURPOSES, n, p=[0.3, 0.25, 0.1, 0.35]),
    }


def repaid(people: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Draw who repaid."""
    health = 1.8 + 0.06 * people["income"] + 0.08 * people["years_at_job"] - 0.4 * people["open_loans"]
    health = health + 0.03 * people["savings"] - 0.05 * people["amount"] - 0.06 * people["half_years"]
    health = health + 0.8 * people["guarantor"] - 2.6 * people["past_default"]
    health = health + np.select([people["purpose"] == "study", people["purpose"] == "other"], [0.5, -0.5], 0.0)
    return health + rng.logistic(0.0, 1.0, len(health)) > 0


def scorecard(people: dict[str, np.ndarray], paid: np.ndarray) -> dict[str, object]:
    """Fit the weights, and round them to points: 20 points double the odds that a loan is repaid."""
    columns = {name: people[name] for name in NUMBERS}
    columns |= {f"purpose {name}": people["purpose"] == name for name in PURPOSES}
    fitted = LogisticRegression(C=10.0, max_iter=1000).fit(np.column_stack(list(columns.values())), paid)
    points = dict(zip(columns, np.round(fitted.coef_[0] * 20 / np.log(2), 1).tolist(), strict=True))
    cut_off = round((np.log(3) - fitted.intercept_[0]) * 20 / np.log(2))  # three of four must repay
    return {"points": points, "cut_off": cut_off}


def this_month() -> dict[str, np.ndarray]:
    """The applicants of this month, 500 of them."""
    return applicants(500, np.random.default_rng(31))


def main() -> None:
    """Write the scorecard and the applicants."""
    rng = np.random.default_rng(30)
    before, people = applicants(6_000, rng), this_month()
    card = scorecard(before, repaid(before, rng))
    DATA.mkdir(exist_ok=True)
    (DATA / "scorecard.json").write_text(json.dumps(card, indent=2), encoding="utf-8")
    with (DATA / "applicants.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(people)
        writer.writerows(zip(*(column.tolist() for column in people.values()), strict=True))
    print(f"data/scorecard.json: {len(card['points'])} answers, cut-off {card['cut_off']}")
    print(f"data/applicants.csv: {len(people['age'])} people")


if __name__ == "__main__":
    main()

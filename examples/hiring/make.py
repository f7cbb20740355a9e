"""Makes up a company's applicants, trains its screening model, and writes what the model decided: ``python make.py``.

The model was trained on recruiters' invitations of earlier years. They disliked gaps in a career, whatever the reason,
and the model learned that. It never sees the applicants' sex. But gaps have reasons: in their thirties, women have far
more of them than men, because of parental leave.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

DATA = Path(__file__).parent / "data"
FEATURES = ("experience", "degree", "test_score", "gap_months")
AGES = ("20-29", "30-39", "40-49", "50-59", "60+")


def applicants(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw applicants: what the model sees, what it does not see, and who can do the job."""
    sex = np.where(rng.random(n) < 0.46, "F", "M")
    age = rng.choice(AGES, n, p=[0.34, 0.30, 0.21, 0.144, 0.006])
    years = rng.gamma(4.0, np.array([0.6, 2.0, 3.6, 5.0, 6.2])[np.searchsorted(AGES, age)])
    leave = (age == "30-39") & (rng.random(n) < np.where(sex == "F", 0.55, 0.06))
    gap = np.round(rng.exponential(2.0, n) + leave * rng.uniform(9, 30, n))
    ability = rng.normal(0.0, 1.0, n)
    degree = rng.random(n) < 1 / (1 + np.exp(-0.8 * ability))
    # Leave costs a year of experience, and no ability.
    experience = np.round(np.maximum(years - gap / 12, 0.0), 1)
    can = ability + 0.5 * np.log1p(experience) + rng.normal(0.0, 0.5, n) > 1.2
    return {
        "sex": sex,
        "age": age,
        "experience": experience,
        "degree": degree.astype(int),
        "test_score": np.round(60 + 10 * ability + rng.normal(0.0, 4.0, n)),
        "gap_months": gap,
        "qualified": can.astype(int),
    }


def train(rng: np.random.Generator) -> Pipeline:
    """Learn from 8,000 earlier applications whom recruiters invite."""
    past = applicants(8_000, rng)
    liked = 0.09 * (past["test_score"] - 60) + 0.7 * np.log1p(past["experience"]) + 0.4 * past["degree"]
    invited = liked - 0.11 * past["gap_months"] + rng.logistic(0.0, 0.4, 8_000) > 1.5
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(matrix(past), invited.astype(int))


def matrix(people: dict[str, np.ndarray]) -> np.ndarray:
    """What the model sees, as an array."""
    return np.column_stack([people[name] for name in FEATURES])


def main() -> None:
    """Write this year's applicants with what the model decided about each."""
    past, now = np.random.default_rng(7).spawn(2)
    people = applicants(24_000, now)
    people["invited"] = train(past).predict(matrix(people))
    DATA.mkdir(exist_ok=True)
    with (DATA / "decisions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(people)
        writer.writerows(zip(*(column.tolist() for column in people.values()), strict=True))
    print(f"data/decisions.csv: {len(people['sex']):,} applicants, of whom {people['invited'].mean():.0%} were invited")


if __name__ == "__main__":
    main()

"""The demonstration's world: applicants that a program makes up, and a hiring model trained on their past.

Past hiring favoured experience, and women have less of it on paper because of years outside employment; it also
favoured men a little for no reason at all. A model that never sees the sex of an applicant learns the first openly and
the second through the back door.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEATURES", "applicants", "train"]

FEATURES = ("experience", "test_score", "distance")

Columns = dict[str, NDArray[Any]]


def applicants(n: int, rng: np.random.Generator) -> Columns:
    """Draw applicants: sex, region, years of experience, test score, distance from the office, and who is qualified."""
    woman = rng.random(n) < 0.45
    region = np.where(rng.random(n) < 0.92, "town", "island")
    experience = np.maximum(rng.normal(np.where(woman, 6.8, 8.6), 3.0), 0.0)
    ability = rng.normal(0.0, 1.0, n)
    test_score = 60.0 + 10.0 * ability + rng.normal(0.0, 4.0, n)
    distance = rng.exponential(np.where(region == "island", 60.0, 15.0))
    qualified = 0.9 * ability + 0.25 * (experience - 8.0) + rng.normal(0.0, 0.7, n) > 0.0
    return {
        "sex": np.where(woman, "F", "M"),
        "region": region,
        "experience": experience,
        "test_score": test_score,
        "distance": distance,
        "qualified": qualified,
    }


def train(rng: np.random.Generator, n: int = 4000) -> Any:
    """Train a small scikit-learn model on past decisions."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    past = applicants(n, rng)
    merit = 0.09 * (past["test_score"] - 60.0) + 0.16 * (past["experience"] - 8.0) - 0.01 * past["distance"]
    hired = merit + 0.3 * (past["sex"] == "M") + rng.logistic(0.0, 0.4, n) > 0.1
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return model.fit(np.column_stack([past[name] for name in FEATURES]), hired.astype(int))

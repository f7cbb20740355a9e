"""What a case of the model contract is, and the models that need nothing but scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from contract_people import CODED, COLUMNS, FEATURES, FRAME, LABELS, NUMBERS
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from isonomia.models import Model, adapt, load_model


@dataclass(frozen=True, slots=True)
class Case:
    """One model of the contract.

    Attributes
    ----------
    make
        Makes it, with a folder for its files.
    scores
        Whether it gives scores.
    expected
        The predictions and scores for ``FRAME`` by the library itself.
    tolerance
        How far scores may differ from those: 32-bit models keep about seven digits.
    needs
        The packages without which the case is skipped.
    """

    make: Callable[[Path], Model]
    scores: bool
    expected: Callable[[], tuple[Any, Any]]
    tolerance: float = 1e-12
    needs: tuple[str, ...] = ()


def by_debt(batch):
    debt = [row["debt"] for row in batch] if isinstance(batch, list) else np.asarray(batch["debt"])
    return np.asarray(debt) > 0


def probability(batch):
    return 1 / (1 + np.exp(-by_debt(batch).astype(float)))


def mixed_pipeline():
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), FEATURES))
    return make_pipeline(encode, LogisticRegression())


def classified(estimator, given):
    return cache(lambda: (estimator.predict(given), estimator.predict_proba(given)))


def live(estimator, given=NUMBERS, features=None, **more):
    return Case(lambda _: adapt(estimator, features), True, expected=classified(estimator, given), **more)


LOGISTIC = LogisticRegression().fit(NUMBERS, LABELS)
UNNAMED = LogisticRegression().fit(NUMBERS.to_numpy(), LABELS)
PIPELINE = mixed_pipeline().fit(FRAME, LABELS)
RIDGE = RidgeClassifier().fit(NUMBERS, LABELS)
LINE = LinearRegression().fit(NUMBERS, COLUMNS["debt"] + COLUMNS["age"])


def pickled(folder):
    joblib.dump(PIPELINE, folder / "pipeline.joblib")
    return load_model(folder / "pipeline.joblib", trust_pickle=True)


CASES = {
    "callable to truth values": Case(lambda _: adapt(by_debt), False, lambda: (by_debt(FRAME), None)),
    "callable to floats": Case(lambda _: adapt(probability), True, lambda: (probability(FRAME), probability(FRAME))),
    "logistic": live(LOGISTIC),
    "logistic without names": live(UNNAMED, NUMBERS.to_numpy(), FEATURES),
    "forest": live(RandomForestClassifier(5, random_state=0).fit(NUMBERS, LABELS)),
    "boosting": live(HistGradientBoostingClassifier(max_iter=3).fit(NUMBERS, CODED == 1)),
    "regression": Case(lambda _: adapt(LINE), True, lambda: (LINE.predict(NUMBERS), LINE.predict(NUMBERS))),
    "no probabilities": Case(
        lambda _: adapt(RIDGE), True, lambda: (RIDGE.predict(NUMBERS), RIDGE.decision_function(NUMBERS))
    ),
    "pipeline with text": live(PIPELINE, FRAME),
    "pickle": Case(pickled, True, classified(PIPELINE, FRAME)),
}

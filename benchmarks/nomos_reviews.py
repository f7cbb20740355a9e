"""Hotel reviews with both of their sections and their score, and models of sentiment trained on them."""

from __future__ import annotations

import csv
import gzip
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.nomos_harder import DATA
from isonomia.populations.domains import TableDomain, Texts

FOLDER = DATA / "hotel_reviews"
NOTHING = ("No Positive", "No Negative")
"""What stands in the data for a section that a guest left empty."""

LIKED = 6.0
"""Reviews with a score above this are positive, as in the paper."""


@dataclass(frozen=True)
class Reviews:
    """Reviews: their sections, and whether each is positive (0) or negative (1)."""

    positive: list[str]
    negative: list[str]
    labels: NDArray[np.int64]

    def take(self, indices: NDArray[Any]) -> Reviews:
        """Those at these positions."""
        chosen = indices.tolist()
        return Reviews(
            [self.positive[i] for i in chosen], [self.negative[i] for i in chosen], self.labels[np.asarray(indices)]
        )

    def domain(self) -> TableDomain:
        """As inputs; the positive section is number 0 and the negative one number 1, as in the paper."""
        sections = {"positive": self.positive, "negative": self.negative}
        return Texts(sections, self.labels, missing=NOTHING)


def read() -> Reviews:
    """Read the reviews, and put each one's sections together.

    The file has one section a row: first the negative ones of 6,908 reviews with the score and with the number of words
    in either section, then the positive ones of the first 5,561 of these reviews, in the same order. That the order is
    the same is checked: every positive section has as many words as its review says.
    """
    csv.field_size_limit(sys.maxsize)
    path = next(FOLDER.glob("*.csv.gz"))
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    negative = [row for row in rows if row["Sentiment"] == "0"]
    positive = [row["Review"] for row in rows if row["Sentiment"] == "1"]
    pairs = list(zip(positive, negative, strict=False))
    said = [int(float(row["Review_Total_Positive_Word_Counts"])) for _, row in pairs]
    assert [_words(text) for text, _ in pairs] == said, "the sections of the reviews are not in the same order"
    scores = np.array([float(row["Reviewer_Score"]) for _, row in pairs])
    return Reviews(positive, [row["Review"] for _, row in pairs], (scores <= LIKED).astype(np.int64))


def _words(text: str) -> int:
    return 0 if text.strip() in NOTHING else len(text.split(" "))


def split(reviews: Reviews, share: float = 0.67, seed: int = 0) -> tuple[Reviews, Reviews]:
    """Reviews to learn from, and reviews to test with."""
    order = np.random.default_rng(seed).permutation(len(reviews.labels))
    cut = int(share * len(order))
    return reviews.take(order[:cut]), reviews.take(order[cut:])


def texts(reviews: Reviews) -> list[str]:
    """What the model is given."""
    domain = reviews.domain()
    given: list[str] = domain.table(domain.inputs(np.arange(domain.size))).native
    return given


def regression(reviews: Reviews, penalty: float) -> Pipeline:
    """Words and pairs of words, weighted, and logistic regression; both classes count the same."""
    words = TfidfVectorizer(ngram_range=(1, 2))
    model = make_pipeline(words, LogisticRegression(C=1 / penalty, class_weight="balanced", max_iter=1000))
    return model.fit(texts(reviews), reviews.labels)


def network(reviews: Reviews, penalty: float) -> Pipeline:
    """A hundred directions in the space of words, and the paper's network on them: hidden layers of 256 and 128.

    Negative reviews are few, so each is learnt from several times.
    """
    labels = reviews.labels
    encoding = make_pipeline(TfidfVectorizer(), TruncatedSVD(100, random_state=0), StandardScaler())
    encoded = encoding.fit_transform(texts(reviews))
    times = np.where(labels == 1, round(float(np.mean(labels == 0) / np.mean(labels == 1))), 1)
    drawn = np.random.default_rng(0).permutation(np.repeat(np.arange(len(labels)), times))
    layers = MLPClassifier((256, 128), alpha=penalty, max_iter=EPOCHS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all settings learn for equally long
        layers.fit(encoded[drawn], labels[drawn])
    return Pipeline([*encoding.steps, ("network", layers)])


MODELS = {"nn": network, "lr": regression}
EPOCHS, FOLDS = 20, 3
PENALTIES = {"nn": (0.0001, 0.1, 1.0, 10.0), "lr": (0.1, 1.0, 10.0)}
"""What each model is tried with; among them the default of scikit-learn."""


def trained(short: str, reviews: Reviews) -> tuple[Pipeline, float]:
    """A model of these reviews, and its penalty: the best in cross-validation among these reviews, and no others."""
    scores = {penalty: _validated(short, reviews, penalty) for penalty in PENALTIES[short]}
    best = max(scores, key=lambda penalty: scores[penalty])
    return MODELS[short](reviews, best), best


def _validated(short: str, reviews: Reviews, penalty: float) -> float:
    """The balanced accuracy on each part of the reviews after learning from the other parts, on average."""
    parts = np.array_split(np.arange(len(reviews.labels)), FOLDS)  # in random order, from the split
    scores = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(reviews.labels)), part)
        scores.append(accuracies(MODELS[short](reviews.take(rest), penalty), reviews.take(part))[1])
    return float(np.mean(scores))


def accuracies(model: Pipeline, reviews: Reviews) -> tuple[float, float]:
    """The share of reviews that the model gets right, and the mean of the shares of either class."""
    found = model.predict(texts(reviews))
    return float((found == reviews.labels).mean()), float(balanced_accuracy_score(reviews.labels, found))

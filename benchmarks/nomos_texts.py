"""Hotel reviews in the k-safety paper: adding and deleting what guests liked and what they did not.

    python -m benchmarks.nomos_texts [--tests 5000] [--seeds 10] [--json benchmarks/results/nomos_texts.json]

Deleting what a guest liked should not make a review more positive (Pos-1), and adding to it not more negative (Pos-2);
likewise what the guest did not like (Neg-1, Neg-2; the last is the paper's Fig. 1c). The paper trained a network on
sentence encodings of 170,000 reviews (82% right) and found 861.1, 876.1, 756.2 and 794.6 distinct violations in 5,000
tests. Neither is published; here a network of the same shape on a hundred directions in the space of words, and a
logistic regression on words and pairs of words, are trained on two thirds of 5,561 reviews and tested on the others.
How strongly each is penalised is chosen by cross-validation among the reviews that it is trained on.
The reviews are looked for in ``ISONOMIA_DATA``, never copied. Deleting makes no random choice, so every review is tried
and the count is exact.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.nomos_harder import SEEDS, TESTS, Row, command
from benchmarks.nomos_reviews import MODELS, accuracies, read, split, trained
from isonomia.populations.domains import TableDomain

PUBLISHED = {"Pos-1": 861.1, "Pos-2": 876.1, "Neg-1": 756.2, "Neg-2": 794.6}

DELETE = """input x1;
requires getFeat(x1, "{section}") != null;
var x2 := delete(x1, "{section}");
output d1;
output d2;
{{
    d1 = predict(x1)
    d2 = predict(x2)
}}
# 0-pos, 1-neg
ensures {ensures};
"""
ADD = """input x1;
input x2;
var v1 := getFeat(x1, "{section}");
var v2 := getFeat(x2, "{section}");
requires v2 != null;
var x3 := setFeat(x1, "{section}", strConcat(v1, v2));
output d1;
output d2;
{{
    d1 = predict(x1)
    d2 = predict(x3)
}}
# 0-pos, 1-neg
ensures {ensures};
"""
SPECIFICATIONS = {
    "Pos-1": DELETE.format(section="positive", ensures="d1 <= d2"),
    "Pos-2": ADD.format(section="positive", ensures="d2 <= d1"),
    "Neg-1": DELETE.format(section="negative", ensures="d2 <= d1"),
    "Neg-2": ADD.format(section="negative", ensures="d1 <= d2"),
}


def tested(name: str, model: Any, domain: TableDomain, tests: int, seeds: int) -> Row:
    """One row: every case where they are few enough, then random tests for each seed."""
    text, exact = SPECIFICATIONS[name], None
    if "input x2" not in text:
        every = iso.check(iso.safety.property(text, enumerate=True), model, domain, seed=0)
        exact = int(every.details["violations"]["cases"])
    prop = iso.safety.property(text, enumerate=False, stop_early=False)
    found, seconds, work = [], [], []
    for seed in range(seeds):
        began, worked = time.perf_counter(), time.process_time()
        verdict = iso.check(prop, model, domain, budget=tests, seed=seed)
        seconds.append(time.perf_counter() - began)
        work.append(time.process_time() - worked)
        found.append(verdict.details["violations"]["distinct"])
    return {
        "benchmark": "HotelReview",
        "property": name,
        "specified": 1,
        "violated": bool(exact or any(found)),
        "distinct_mean": float(np.mean(found)),
        "tests": tests,
        "seconds": float(np.median(seconds)),
        "seconds_5000": float(np.median(seconds)) * 5000 / tests,
        "cpu_seconds_5000": float(np.median(work)) * 5000 / tests,
        "exact_violations": exact,
        "published_distinct": PUBLISHED[name],
    }


def run(tests: int = TESTS, seeds: int = SEEDS) -> list[Row]:
    """The four properties of reviews that the models have not seen."""
    learn, held_out = split(read())
    domain, rows = held_out.domain(), []
    for short in MODELS:
        model, penalty = trained(short, learn)
        accuracy, balanced = accuracies(model, held_out)
        about = {"model": short, "accuracy": accuracy, "balanced_accuracy": balanced, "inputs": len(held_out.labels)}
        about["penalty"] = penalty
        rows += [tested(name, model, domain, tests, seeds) | about for name in SPECIFICATIONS]
    return rows


if __name__ == "__main__":
    command(__doc__, "hotel_reviews", run, "benchmarks/results/nomos_texts.json")

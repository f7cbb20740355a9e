"""The demonstration's hiring model, its applicants, and one question or more for each audit.

Past hiring favoured experience, and women have less of it on paper because of years outside employment; it also
favoured men a little for no reason at all. A model that never sees the sex of an applicant learns the first openly and
the second through the back door.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.check import check
from isonomia.audits.protocol import AuditProperty
from isonomia.engine.parameters import HistoryObserver, Observer
from isonomia.interventions import Feature, Interventions
from isonomia.populations import Census, Generator, Sample
from isonomia.report.entries import Entry
from isonomia.spec import parse, responsiveness, safety
from isonomia.spec.principal import PrincipalFairness

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


DELTA = 1e-6
FEW = 300

_MOVING = """
input x1;
var x2 := setFeat(x1, "distance", 15);
requires x1.region == "island";
requires x1.distance >= 60;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 == d2;
"""


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """One question: the property, the population, and the claim in a sentence.

    ``brief``: the terminal shows the finding only, and the report has the rest. ``traced``: the history of the interval
    is recorded, which takes a second or more for means and for principal fairness, and so is done for rates only.
    """

    prop: AuditProperty
    population: Any
    why: str
    brief: bool = False
    traced: bool = False


def questions(seed: int) -> list[DemoQuestion]:
    """Every question, in the order in which it is asked: those about rates first."""
    simulated = Generator(applicants)
    people = applicants(FEW, np.random.default_rng([seed, 1]))
    rates = {
        "qualified women and men": (
            "P[prediction == 1 | sex == 'F' and qualified] / P[prediction == 1 | sex == 'M' and qualified] >= 0.8"
        ),
        "four-fifths rule": (
            "for s in sex: for r in region: P[prediction == 1 | sex == s and region == r] / "
            "P[prediction == 1 | sex == 'M' and region == 'town'] >= 0.8"
        ),
        "scores by region": "abs(E[score | region == 'town'] - E[score | region == 'island']) <= 0.25",
        "islanders in a small sample": "P[prediction == 1 | region == 'island'] >= 0.25",
    }
    about_rates = []
    for name, text in rates.items():
        prop = parse(text).named(name)
        population = Sample(people) if "sample" in name else simulated
        about_rates.append(DemoQuestion(prop, population, prop.explain(), traced="E[" not in text))
    return [*about_rates, _moving(simulated), _no_way(people), _had_it_been_otherwise(simulated)]


def _moving(simulated: Generator) -> DemoQuestion:
    """k-safety: two runs of the model."""
    prop = safety.property(_MOVING, name="an islander who moves to town")
    return DemoQuestion(
        prop,
        simulated,
        "Moving from 60 km or more to 15 km from the office must not change the answer.",
        brief=True,
    )


def _no_way(people: dict[str, Any]) -> DemoQuestion:
    """Responsiveness: what people can do about it."""
    changes = Interventions(
        (
            Feature("experience", "real", 0, 50, direction="up", rise=2),
            Feature("test_score", "real", 0, 120, direction="up", rise=10),
            Feature("distance", "real", actionable=False),
        )
    )
    prop = responsiveness.preclusion(changes, 1, who="prediction == 0", name="a way to be hired")
    return DemoQuestion(
        prop,
        Census(people),
        "Each rejected applicant would be hired after at least 1% of the changes that are open to them: up to two "
        "more years of experience, up to ten more points in the test.",
        brief=True,
    )


def _had_it_been_otherwise(simulated: Generator) -> DemoQuestion:
    """Principal fairness: what would have been."""
    prop = PrincipalFairness(
        attribute="sex",
        outcome="qualified",
        definition=3,
        within=0.02,
        name="had they been of the other sex",
    )
    return DemoQuestion(
        prop,
        simulated,
        "The same people, had all been women or all men, are hired equally often, within 2%.",
        brief=True,
    )


def answers(seed: int, observer: Observer) -> Iterator[tuple[DemoQuestion, Entry]]:
    """Ask them one after the other; each answer comes with how its interval narrowed."""
    model = train(np.random.default_rng([seed, 0]))
    for question in questions(seed):
        tracing = HistoryObserver(observer)
        verdict = check(
            question.prop,
            model,
            question.population,
            delta=DELTA,
            seed=seed,
            features=list(FEATURES),
            observer=tracing if question.traced else observer,
        )
        history = tuple(tracing.points)
        last = verdict.headline
        if history and last is not None:
            history = (*history, (verdict.samples, last.low, last.estimate, last.high))
        yield question, Entry(str(verdict.name), verdict, explanation=question.why, history=history)

"""What the demonstration asks about its hiring model: one question or more of each of the four audits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.audits.audit_file.building import AnyProperty
from isonomia.audits.check import check
from isonomia.cli.hiring import FEATURES, applicants, train
from isonomia.engine.observer import Observer
from isonomia.engine.tracing import Tracing
from isonomia.interventions import Feature, Interventions
from isonomia.populations import Census, Generator, Sample
from isonomia.report.entries import Entry
from isonomia.spec import parse, responsiveness, safety
from isonomia.spec.principal import PrincipalFairness

__all__ = ["DELTA", "Question", "answers", "questions"]

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
class Question:
    """One question.

    Attributes
    ----------
    prop
        What must hold, with its name.
    population
        Whom it is about.
    why
        What is asked, in a sentence.
    traced
        Whether it is noted how the interval closes in. Of means and of what would have been, that takes a second or
        more, which a demonstration has not.
    """

    prop: AnyProperty
    population: Any
    why: str
    traced: bool = False


def questions(seed: int) -> list[Question]:
    """Every question, in the order in which it is asked: those about rates first."""
    everybody = Generator(applicants)
    people = applicants(FEW, np.random.default_rng([seed, 1]))
    rates = {
        "qualified women and men": (
            "P[prediction == 1 | sex == 'F' and qualified] / P[prediction == 1 | sex == 'M' and qualified] >= 0.8"
        ),
        "four-fifths rule": "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
        "scores by region": "abs(E[score | region == 'town'] - E[score | region == 'island']) <= 0.25",
        "islanders in a small sample": "P[prediction == 1 | region == 'island'] >= 0.25",
    }
    found = []
    for name, text in rates.items():
        prop = parse(text).named(name)
        whom = Sample(people) if "sample" in name else everybody
        found.append(Question(prop, whom, prop.explain(), traced=text.startswith("P[")))
    return [*found, _moving(everybody), _no_way(people), _had_it_been_otherwise(everybody)]


def _moving(everybody: Generator) -> Question:
    """k-safety: two runs of the model."""
    prop = safety.property(_MOVING, name="an islander who moves to town")
    return Question(
        prop, everybody, "Who lives 60 km away or more, and moves to 15 km from the office, is answered as before."
    )


def _no_way(people: dict[str, Any]) -> Question:
    """Responsiveness: what people can do about it."""
    changes = Interventions(
        (
            Feature("experience", "real", 0, 50, direction="up", rise=2),
            Feature("test_score", "real", 0, 120, direction="up", rise=10),
            Feature("distance", "real", actionable=False),
        )
    )
    prop = responsiveness.preclusion(changes, 1, who="prediction == 0", name="a way to be hired")
    return Question(
        prop,
        Census(people),
        "Everybody who is rejected would be hired after at least 1% of the changes that are open to them: up to two "
        "more years of experience, up to ten more points in the test.",
    )


def _had_it_been_otherwise(everybody: Generator) -> Question:
    """Principal fairness: what would have been."""
    prop = PrincipalFairness(
        attribute="sex",
        outcome="qualified",
        definition=3,
        within=0.02,
        name="had they been of the other sex",
    )
    return Question(
        prop, everybody, "The same people, had all been women or all men, are hired equally often, within 2%."
    )


def answers(seed: int, observer: Observer) -> Iterator[Entry]:
    """Ask them one after the other; each answer comes with how its interval closed in."""
    model = train(np.random.default_rng([seed, 0]))
    for question in questions(seed):
        tracing = Tracing(observer)
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
        if history and verdict.expressions:
            last = verdict.expressions[0]
            history = (*history, (verdict.samples, last.low, last.estimate, last.high))
        yield Entry(str(verdict.name), verdict, explanation=question.why, history=history)

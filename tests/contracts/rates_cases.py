"""Checks of rates of every kind, for the contract of all audits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from repeatable_checks import Repeatable

import isonomia as iso


def people(n: int = 1500) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {
        "sex": rng.choice(["F", "M"], n),
        "band": rng.choice(["low", "high"], n),
        "points": rng.random(n).round(3),
        "passed": rng.integers(0, 2, n),
    }


def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"sex": rng.choice(["F", "M"], n), "points": rng.random(n), "passed": rng.integers(0, 2, n)}


def model(table: Any) -> Any:
    return (np.asarray(table["points"]) > 0.4).astype(int)


PARITY = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"
SAMPLE: Callable[[], Any] = lambda: iso.Sample(people())  # noqa: E731
CENSUS: Callable[[], Any] = lambda: iso.Census(people())  # noqa: E731
DRAWN: Callable[[], Any] = lambda: iso.Census(people(), exact=False)  # noqa: E731
UNLIMITED: Callable[[], Any] = lambda: iso.Generator(draw)  # noqa: E731
WORLD: Callable[[], Any] = lambda: iso.Causal(  # noqa: E731
    {
        "sex": iso.Categories({"F": 0.5, "M": 0.5}),
        "points": "gaussian(0, 1)",
        "passed": "1 if points > 0 else 0",
        "prediction": "1 if points > (0.6 if sex == 'F' else 0.2) else 0",
    }
)


def check(prop: Any, population: Any, **options: Any) -> Repeatable:
    """A check whose model must answer alike; in batches that grow quickly, unless ``growth`` says otherwise."""
    return Repeatable(prop, model, population, {"seed": 5, "random_model": False, "growth": 1.3, **options})


def labeled() -> Any:
    """A sample of which a third has a label, with a judge that is right nine times in ten."""
    rng, table = np.random.default_rng(4), people()
    judge = np.where(rng.random(1500) < 0.9, table["passed"], 1 - table["passed"])
    label = np.where(rng.random(1500) < 0.33, table["passed"], np.nan)
    columns = {**table, "judge": judge, "label": label}
    return iso.Sample(columns, labels=iso.Labels("label", judge="judge", probability=0.33))


PROGRAM = """
def popModel():
    points = gaussian(0, 1)
    group = step([(0, 1, 0.3), (1, 2, 0.7)])

def F():
    pass
"""


def proved(prop: Any) -> Repeatable:
    """A check of a program whose every way is followed."""
    return Repeatable(prop, None, WORLD(), {"seed": 5})


CHECKS: dict[str, Callable[[], Repeatable]] = {
    "bets": lambda: check(PARITY, SAMPLE(), growth=1.01),
    "undecided": lambda: check("P[prediction == 1 | sex == 'F'] >= 0.6", SAMPLE()),
    "for every value": lambda: check("for g in sex: P[prediction == 1 | sex == g] >= 0.5", SAMPLE()),
    "region": lambda: check("P[prediction == 1 | sex == 'F'] * P[passed == 1 | sex == 'M'] >= 0.1", SAMPLE()),
    "verifair": lambda: check("P[prediction == 1] >= 0.4", UNLIMITED(), method="verifair"),
    "a mean": lambda: check("E[points | prediction == 1] >= 0.6", SAMPLE(), ranges={"points": (0, 1)}),
    "overlapping groups": lambda: check(
        "P[prediction == 1 | sex == 'F'] >= 0.7 * P[prediction == 1 | band == 'low']", SAMPLE()
    ),
    "pairs": lambda: check("P[prediction == 1 and other.prediction == 0] >= 0.1", SAMPLE()),
    "a generator": lambda: check(PARITY, UNLIMITED()),
    "a generator within a budget": lambda: check("P[prediction == 1] >= 0.6", UNLIMITED(), budget=900),
    "a budget of time": lambda: check("P[prediction == 1] >= 0.6", UNLIMITED(), budget="0.02s"),
    "exact": lambda: check(PARITY, CENSUS()),
    "proved": lambda: proved(PARITY),
    "a program, drawn": lambda: Repeatable(
        "P[points > 0 | group > 1] >= 0.4", None, iso.Program.of(PROGRAM), {"seed": 5, "method": "bets"}
    ),
    "an exact mean": lambda: check("E[points | sex == 'F'] <= 0.52", CENSUS()),
    "an exact mean of tenths": lambda: check("E[points / 10 | sex == 'F'] <= 0.052", CENSUS()),
    "exact with an empty group": lambda: check("P[prediction == 1 | points > 1000] >= 0.5", CENSUS()),
    "exact pairs": lambda: check("P[prediction > other.prediction] <= 0.3", iso.Census(people(60))),
    "constants only": lambda: check("1 < 2", CENSUS()),
    "without replacement": lambda: check(PARITY, DRAWN()),
    "drawn, then everybody": lambda: check(
        "P[prediction == 1 | sex == 'F'] >= 1.001 * P[prediction == 1 | band == 'low']",
        iso.Census(people(200), exact=False),
        delta=1e-09,
    ),
    "one look": lambda: check(PARITY, SAMPLE(), looks="once"),
    "one look at a mean": lambda: check(
        "E[points | prediction == 1] >= 0.6", SAMPLE(), ranges={"points": (0, 1)}, looks="once", budget=300
    ),
    "planned looks at a generator": lambda: check(PARITY, UNLIMITED(), looks=4, budget=900),
    "one look at a part of a census": lambda: check(PARITY, DRAWN(), looks="once", budget=600),
    "one look without a method": lambda: check(
        "P[prediction == 1 | sex == 'F'] * P[passed == 1 | sex == 'M'] >= 0.1", SAMPLE(), looks="once"
    ),
    "few labels": lambda: check("P[prediction == label | sex == 'F'] >= 0.4", labeled()),
    "a random model": lambda: check(PARITY, SAMPLE(), random_model=True),
}

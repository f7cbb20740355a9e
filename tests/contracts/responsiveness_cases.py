"""Checks of responsiveness of every kind, for the contract of all audits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from repeatable_checks import Repeatable

import isonomia as iso
from isonomia.interventions import Feature, Interventions, Linkage, Noise

STEPS = Interventions((Feature("income", "integer", 0, 9), Feature("age", "integer", 0, 99, actionable=False)))
WIDE = Interventions((Feature("income", "integer", 0, 9_999), Feature("age", "integer", 0, 99, actionable=False)))
REAL = Interventions((Feature("income", "real", 0.0, 9.0), Feature("age", "integer", 0, 99, actionable=False)))
LINKED = STEPS.constrain(Linkage("income", ("age",), sense="<="))
SHAKEN = Interventions((Feature("income", "real", 0, 9, actionable=False),), (), (Noise(("income",), (1.0,)),))
PEOPLE = {
    "income": [0, 5, 9, 3, 3, 7, 8],
    "age": [20, 40, 60, 25, 35, 50, 22],
    "city": ["A", "B", None, "A", "B", "C", "A"],
}


def old_only(table: Any) -> Any:
    return ((np.asarray(table["income"]) >= 8) & (np.asarray(table["age"]) >= 30)).astype(int)


def rich(table: Any) -> Any:
    return (np.asarray(table["income"]) >= 8).astype(int)


def words(table: Any) -> Any:
    return np.where(rich(table) == 1, "yes", "no")


def dips(table: Any) -> Any:
    """Falls where it should rise."""
    return np.where(np.asarray(table["income"]) == 5, 0.0, np.asarray(table["income"], dtype=float))


def check(prop: Any, model: Any = old_only, population: Any = None, **options: Any) -> Repeatable:
    return Repeatable(prop, model, iso.Census(PEOPLE) if population is None else population, options)


def drawn(actions: Any = STEPS, **options: Any) -> Any:
    return iso.Responsiveness(actions, **{"target": 1, "most_listed": 0, **options})


named = iso.responsiveness

CHECKS: dict[str, Callable[[], Repeatable]] = {
    "listed, holds": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.2), rich),
    "listed, violated, by groups": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, by=("city", "age"))),
    "listed, at most": lambda: check(iso.Responsiveness(STEPS, 1, at_most=0.1, by="city")),
    "listed, a sample": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), population=iso.Sample(PEOPLE)),
    "listed, the budget is spent": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget=25),
    "listed, the time is up": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget="0.000001s"),
    "listed, the budget is spent on some": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget=45),
    "listed, time enough": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget="1000s"),
    "drawn": lambda: check(drawn(WIDE, at_least=0.1)),
    "drawn, discovery": lambda: check(drawn(WIDE, at_least=0.1, control="discovery", by="city")),
    "drawn, at most": lambda: check(drawn(WIDE, at_most=0.1)),
    "drawn, then listed": lambda: check(drawn(at_least=0.15)),
    "drawn, the budget is spent": lambda: check(drawn(WIDE, at_least=0.1), budget=200),
    "drawn, the budget is spent within a round": lambda: check(drawn(WIDE, at_least=0.1), budget=90),
    "drawn, time enough": lambda: check(drawn(WIDE, at_least=0.1), budget="1000s"),
    "drawn, then listed, the budget is spent on some": lambda: check(drawn(at_least=0.15), budget=130),
    "drawn, the time is up": lambda: check(drawn(WIDE, at_least=0.1), budget="0.000001s"),
    "drawn, draws too few": lambda: check(drawn(REAL, at_least=0.11, most_draws=100), rich),
    "infinite reach": lambda: check(iso.Responsiveness(REAL, 1, at_least=0.05)),
    "some listed, others drawn": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, most_listed=9)),
    "by chance": lambda: check(named.stability(SHAKEN), rich, iso.Census({"income": [8.0, 1.0, 5.0]})),
    "fixed binomial": lambda: check(iso.Responsiveness(REAL, 1, at_least=0.1, draws=60)),
    "fixed binomial, the budget is spent on some": lambda: check(
        iso.Responsiveness(REAL, 1, at_least=0.1, draws=60), budget=150
    ),
    "misspelled, at most": lambda: check(iso.Responsiveness(STEPS, "yess", at_most=0.1), words),
    "misspelled, drawn": lambda: check(drawn(REAL, at_least=0.1, target="yess"), words),
    "never predicted": lambda: check(drawn(REAL, at_least=0.1, who="age < 30")),
    "who": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 0 and age < 45")),
    "rows": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=[4, 0])),
    "one row": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=1)),
    "who and rows": lambda: check(
        iso.Responsiveness(STEPS, 1, at_least=0.1, rows=[0, 1, 3, 4], who="prediction == 0", by="city")
    ),
    "nobody": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 7")),
    "preclusion": lambda: check(named.preclusion(STEPS, 1, who="prediction == 0")),
    "gaming": lambda: check(named.gaming(STEPS, 1, who="prediction == 0")),
    "monotonicity": lambda: check(named.monotonicity(STEPS), dips),
    "affordability": lambda: check(named.affordability(STEPS, "age", at_least=0.3), dips),
    "the average of a sample": lambda: check(drawn(WIDE, at_least=0.1, average=True), rich, iso.Sample(PEOPLE)),
    "the average by draws": lambda: check(drawn(REAL, at_least=0.05, average=True, by="city"), rich),
    "the average, the budget is spent": lambda: check(drawn(REAL, at_least=0.11, average=True), rich, budget=100),
    "the average, listed": lambda: check(iso.Responsiveness(STEPS, 1, at_most=0.1, average=True, by="city")),
    "so many people fail": lambda: check(drawn(WIDE, at_least=0.1, failing_at_most=0.5)),
    "so many of a population fail": lambda: check(
        named.preclusion(STEPS, 1, failing_at_most=0.4), population=iso.Sample(PEOPLE)
    ),
    "an effect of at most so much": lambda: check(iso.Responsiveness(LINKED, 1, at_least=0.1)),
    "several workers": lambda: check(iso.Responsiveness(WIDE, 1, at_least=0.1, most_listed=0), workers=3),
}

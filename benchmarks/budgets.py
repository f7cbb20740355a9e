"""Rows sent to the model against the budget, for every audit: ``python -m benchmarks.budgets`` prints the table.

Each model counts the rows and the calls that reach it. A budget of time runs on a clock that only the model moves, ten
seconds a call, so the table does not depend on the machine. ``allowed`` is what the budget promises: the queries; for
samples, their rows and a quarter as many (at least 64); for seconds, the time and one call. A table by group, a search
and an update of a watch need every row: ``refused`` is what they say, with nothing sent, where the budget is smaller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

import isonomia as iso
from isonomia.audits.responsiveness.adverse_action import refused_applicants
from isonomia.errors import BudgetTooSmallError
from isonomia.interventions import Feature, Interventions

PEOPLE = 4_000
CALL = 10.0
"""Seconds that one call of the model takes, on the clock that it moves."""

BUDGETS = (60, 300, 2_000, "60 queries", "300 queries", "2000 queries", "45s", "300s")


@dataclass
class Counted:
    """A model that counts the rows and calls that reach it, and moves a clock."""

    decide: Callable[[Any], Any]
    rows: int = 0
    calls: int = 0

    def __call__(self, table: Any) -> Any:
        """Decide about people."""
        self.calls += 1
        self.rows += len(table["income"])
        return self.decide(table)

    def now(self) -> float:
        """The time on the clock."""
        return CALL * self.calls


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    audit: str
    budget: str
    answer: str
    samples: int
    asked: float
    allowed: float
    counted: bool = field(default=True)  # whether the verdict states the rows that the model was sent

    @property
    def kept(self) -> bool:
        """Whether the budget was kept."""
        return self.asked <= self.allowed and self.counted


def _people() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    sex = np.where(rng.random(PEOPLE) < 0.5, "F", "M")
    return {
        "sex": sex,
        "income": rng.integers(0, 100, PEOPLE),
        "debts": rng.integers(0, 10, PEOPLE),
        "passed": rng.integers(0, 2, PEOPLE),
    }


def _fair(table: Any) -> Any:
    return (np.asarray(table["income"]) - 2 * np.asarray(table["debts"]) > 40).astype(int)


def _unfair(table: Any) -> Any:
    return _fair(table) & (np.asarray(table["sex"]) == "M") & (np.asarray(table["income"]) % 17 != 3)


RATE = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"


def _audits() -> dict[str, tuple[int, Callable[[Any, Any], iso.Verdict]]]:
    """By name: the rows of one sample, and the check of a model with a budget."""
    people = _people()
    few = {name: values[:40] for name, values in people.items()}
    change = Interventions((Feature("income", "integer", 0, 99), Feature("debts", "integer", 0, 9)))
    monotone = iso.safety.monotone("income", up=(1, 50), output="not lower")
    share = iso.Responsiveness(change, 1, at_least=0.6)
    fairness = iso.PrincipalFairness(attribute="sex", outcome="passed")
    sample, census = iso.Sample(people), iso.Census(people)
    return {
        "rates": (1, lambda model, budget: iso.check(RATE, model, sample, seed=1, budget=budget)),
        "rates, census": (1, lambda model, budget: iso.check(RATE, model, census, seed=1, budget=budget)),
        "rates, one look": (
            1,
            lambda model, budget: iso.check(RATE, model, sample, seed=1, budget=budget, looks="once"),
        ),
        "k-safety": (2, lambda model, budget: iso.check(monotone, model, sample, seed=1, budget=budget)),
        "k-safety, census": (2, lambda model, budget: iso.check(monotone, model, census, seed=1, budget=budget)),
        "responsiveness": (1, lambda model, budget: iso.check(share, model, iso.Census(few), seed=1, budget=budget)),
        "principal": (1, lambda model, budget: iso.check(fairness, model, sample, seed=1, budget=budget)),
    }


def lines(budgets: tuple[Any, ...] = BUDGETS) -> Iterator[Line]:
    """Every audit with a fair and an unfair model, with every budget."""
    for audit, (each, check) in _audits().items():
        for name, decide in (("fair", _fair), ("unfair", _unfair)):
            for budget in budgets:
                model = Counted(decide)
                limits = iso.Budget.of(budget)
                if np.isfinite(limits.seconds):
                    with patch.object(time, "monotonic", model.now):
                        verdict = check(model, budget)
                    # The first batch is always measured, with as many calls as a sample takes.
                    spent, allowed = model.now(), max(limits.seconds, each * CALL) + CALL
                else:
                    verdict = check(model, budget)
                    own = each * limits.samples
                    spent, allowed = model.rows, min(limits.queries, own + max(64, own / 4))
                counted = verdict.queries == model.rows
                yield Line(f"{audit}, {name}", str(budget), verdict.answer, verdict.samples, spent, allowed, counted)


def _passes() -> dict[str, Callable[[Any, Any], int | None]]:
    """By name: what needs every row it is given, or is refused; each gives the rows it says it has sent."""
    people = _people()

    def watched(model: Any, budget: Any) -> int:
        watch = iso.Watch("P[prediction == 1] >= 0.1", alpha=0.05, model=model, budget=budget)
        for start in range(0, PEOPLE, 250):
            watch.update({name: values[start : start + 250] for name, values in people.items()})
        return watch.queries

    return {
        "measure": lambda model, budget: iso.measure(people, model, by="sex", budget=budget).queries,
        "groups.search": lambda model, budget: (
            iso.groups.search(people, ["sex", "debts"], SUBGROUP, model=model, depth=2, budget=budget).queries
        ),
        "refusals": lambda model, budget: _refusals(model, people, budget),
        "watch": watched,
    }


SUBGROUP = "P[prediction == 1 | group] / P[prediction == 1 | not group] >= 0.8"


def _refusals(model: Any, people: dict[str, Any], budget: Any) -> int:
    few = {name: values[:40] for name, values in people.items()}
    change = Interventions((Feature("income", "integer", 0, 99),))
    found = refused_applicants(few, model, change, 1, features=list(few), budget=budget)
    return int(found.remarks[-1].split()[0].replace(",", ""))


def whole_lines(budgets: tuple[str, ...]) -> Iterator[Line]:
    """Every pass over all rows, with a fair and an unfair model."""
    for what, ask in _passes().items():
        for name, decide in (("fair", _fair), ("unfair", _unfair)):
            for budget in budgets:
                model, limit, answer = Counted(decide), iso.Budget.of(budget).queries, "complete"
                try:
                    said = ask(model, budget)
                except BudgetTooSmallError as error:
                    answer, said = "refused", model.rows if error.needed > error.allowed == limit else None
                yield Line(f"{what}, {name}", budget, answer, model.rows, model.rows, limit, said == model.rows)


@dataclass
class Trained:
    """A classifier that counts, over all of its clones, the rows that it is asked about; it is never quite fair."""

    counted: Counted

    def fit(self, rows: Any, labels: Any) -> Trained:
        """Learn nothing."""
        del rows, labels
        return self

    def predict(self, rows: Any) -> Any:
        """Decide about people."""
        return self.counted({name: np.asarray(rows[name]) for name in ("income", "debts", "sex")})


def repair_lines(budgets: tuple[str, ...]) -> Iterator[Line]:
    """A repair, with a fair and an unfair model."""
    from pandas import DataFrame

    people = DataFrame(_people())[:600]
    monotone = iso.safety.monotone("income", up=(1, 50), at_most=99, eps=0.05)
    for name, decide in (("fair", _fair), ("unfair", _unfair)):
        for budget in budgets:
            model, limit = Counted(decide), iso.Budget.of(budget).queries
            try:
                verdict = iso.repair.augment(
                    lambda model=model: Trained(model),
                    people,
                    monotone,
                    label="passed",
                    cases=100,
                    seed=1,
                    budget=budget,
                ).verdict
                answer, samples, said = verdict.answer, verdict.samples, verdict.queries
            except BudgetTooSmallError as error:
                answer, samples = "refused", 0
                said = model.rows if error.needed > error.allowed == limit else None
            yield Line(f"repair, {name}", budget, answer, samples, model.rows, limit, said == model.rows)


QUERIES = ("60 queries", "2000 queries", "4000 queries", "5000 queries")


def main() -> None:
    """Print the table."""
    print(f"{'audit':26}  {'budget':>12}  {'answer':9}  {'samples':>8}  {'spent':>7}  {'allowed':>7}")
    results = [*lines(), *whole_lines(QUERIES), *repair_lines(QUERIES)]
    for line in results:
        mark = "" if line.kept else "  ABOVE"
        print(
            f"{line.audit:26}  {line.budget:>12}  {line.answer:9}  {line.samples:>8,}  {line.asked:>7,.0f}  "
            f"{line.allowed:>7,.0f}{mark}"
        )
    print(f"{sum(line.kept for line in results)} of {len(results)} keep their budget")


if __name__ == "__main__":
    main()

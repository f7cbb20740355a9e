"""The twelve COMPAS and ten GermanCredit properties of the k-safety paper, as specifications and by brute force.

Features are addressed by name; two COMPAS properties are also tested as they were published, with a wrong column. The
bounds of GermanCredit's groups are those of the groups, where the published ones write past them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.nomos_models import GERMAN_COLUMNS, Predict, Subject, load


@dataclass(frozen=True)
class Case:
    """One property: a feature moves, the output must not move the wrong way.

    ``move`` is ``("by", low, high, most)`` for a rise by a whole number, ``("up", most)`` and ``("down", least)`` for a
    change to any value beyond the present one, and ``("flag", old, new)`` for a flag that is set or unset.
    """

    name: str
    feature: str
    move: tuple[Any, ...]
    ensures: str

    def text(self) -> str:
        """The specification."""
        feature = f'"{self.feature}"'
        lines = ["input x1;", f"var v1 := getFeat(x1, {feature});"]
        match self.move:
            case ("by", low, high, most):
                lines += [f"var v2 := v1 + randInt({low}, {high});", f"requires v2 <= {most};"]
            case ("up", most):
                lines += [f"var v2 := randInt(v1 + 1, {most});"]
            case ("down", least):
                lines += [f"var v2 := randInt({least}, v1 - 1);"]
            case _:
                lines += [f"requires v1 == {self.move[1]};", f"var v2 := {self.move[2]};"]
        lines += [f"var x2 := setFeat(x1, {feature}, v2);", "output d1;", "output d2;"]
        lines += ["{", "    d1 = predict(x1)", "    d2 = predict(x2)", "}", f"ensures {self.ensures};"]
        return "\n".join(lines) + "\n"

    def choices(self, value: float) -> list[int]:
        """The new values that a feature with this value may get."""
        match self.move:
            case ("by", low, high, most):
                return [int(value) + step for step in range(low, high + 1) if value + step <= most]
            case ("up", most):
                return list(range(int(value) + 1, most + 1))
            case ("down", least):
                return list(range(least, int(value)))
            case _:
                return [self.move[2]] if value == self.move[1] else []

    def draws(self, value: float) -> int:
        """How many equally likely draws there are at this value, those that are rejected among them."""
        return self.move[2] - self.move[1] + 1 if self.move[0] == "by" else len(self.choices(value))


RISES, FALLS = "d1 <= d2", "d2 <= d1"
COMPAS_CASES = [
    Case("compas/felony_inc", "juv_fel_count", ("by", 1, 10, 20), RISES),
    Case("compas/misd_inc", "juv_misd_count", ("up", 15), RISES),
    Case("compas/priors_inc", "priors_count", ("up", 40), RISES),
    Case("compas/other_inc", "juv_other_count", ("up", 20), RISES),
    Case("compas/felony_dec", "juv_fel_count", ("down", 0), FALLS),
    Case("compas/misd_dec", "juv_misd_count", ("down", 0), FALLS),
    Case("compas/priors_dec", "priors_count", ("down", 0), FALLS),
    Case("compas/other_dec", "juv_other_count", ("down", 0), FALLS),
    Case("compas/is_recid(idx5 as shipped)_set", "days_b_screening_arrest", ("flag", 0, 1), RISES),
    Case("compas/is_recid(idx5 as shipped)_unset", "days_b_screening_arrest", ("flag", 1, 0), FALLS),
    Case("compas/is_recid(idx7 corrected)_set", "is_recid", ("flag", 0, 1), RISES),
    Case("compas/is_recid(idx7 corrected)_unset", "is_recid", ("flag", 1, 0), FALLS),
    Case("compas/is_violnt_recid_set", "is_violent_recid", ("flag", 0, 1), RISES),
    Case("compas/is_violnt_recid_unset", "is_violent_recid", ("flag", 1, 0), FALLS),
]
GERMAN_CASES = [
    Case("german/credit_amnt_inc", "amount", ("up", 18000), RISES),
    Case("german/credit_amnt_dec", "amount", ("down", 250), FALLS),
    Case("german/credit_hist_inc", "crdt_hist", ("up", 4), RISES),
    Case("german/credit_hist_dec", "crdt_hist", ("down", 0), FALLS),
    Case("german/empl_since_inc", "empl_since", ("up", 4), FALLS),
    Case("german/empl_since_dec", "empl_since", ("down", 0), RISES),
    Case("german/installment_rate_inc", "instl_rate", ("up", 4), RISES),
    Case("german/installment_rate_dec", "instl_rate", ("down", 1), FALLS),
    Case("german/job_inc", "job", ("up", 3), FALLS),
    Case("german/job_dec", "job", ("down", 0), RISES),
]


@dataclass(frozen=True)
class Expected:
    """What brute force finds: inputs with a case, cases, violating ones, violating inputs, and the exact rate.

    ``unique`` is the expected number of distinct violations in 5,000 random tests, ``spread`` a bound on its standard
    deviation: whether one violation is found and whether another is are never positively correlated.
    """

    eligible: int
    pairs: int
    violating: int
    violating_inputs: int
    rate: float
    unique: float
    spread: float


def brute_force(case: Case, subject: Subject, predict: Predict, tests: int = 5000) -> Expected:
    """Try every input and every choice, in the plainest way: no part of Isonomia is used."""
    eligible, pairs, violating, violating_inputs = 0, 0, 0, 0
    total, bad_weight, shares = Fraction(0), Fraction(0), []
    for row in subject.inputs:
        value = _value(case, subject, row)
        choices = case.choices(value)
        if not choices:
            continue
        after = predict(np.stack([_changed(case, subject, row, new) for new in choices]))
        before = predict(row[None])[0]
        bad = int(np.sum(before > after if case.ensures == RISES else after > before))
        weight = Fraction(1, case.draws(value))
        eligible, pairs = eligible + 1, pairs + len(choices)
        violating, violating_inputs = violating + bad, violating_inputs + (bad > 0)
        total, bad_weight = total + weight * len(choices), bad_weight + weight * bad
        shares.append((weight, bad))
    found = [(1.0 - (1.0 - float(weight / total)) ** tests, bad) for weight, bad in shares]
    unique = sum(chance * bad for chance, bad in found)
    spread = sum(chance * (1.0 - chance) * bad for chance, bad in found) ** 0.5
    return Expected(eligible, pairs, violating, violating_inputs, float(bad_weight / total), unique, spread)


def violating_cases(case: Case, subject: Subject, predict: Predict) -> set[tuple[int, int]]:
    """Every case that violates, as the row of its input and the new value of the feature, in the same plain way."""
    found: set[tuple[int, int]] = set()
    for number, row in enumerate(subject.inputs):
        choices = case.choices(_value(case, subject, row))
        if not choices:
            continue
        after = predict(np.stack([_changed(case, subject, row, new) for new in choices]))
        before = predict(row[None])[0]
        bad = before > after if case.ensures == RISES else after > before
        found |= {(number, int(new)) for new, is_bad in zip(choices, bad.tolist(), strict=True) if is_bad}
    return found


PUBLISHED_COLUMNS = {"crdt_hist": range(11, 16), "empl_since": range(30, 35), "job": range(50, 54)}
"""Where the published program looks for these groups: history is right, employment one column and job three too early.
It reads the first column that is 1, else the last, and writes by clearing all and setting one. What rises may rise by
one too many, which sets the column behind the group."""

PUBLISHED_BUGS = {
    "credit_amnt_inc": (0.0, 122.3), "credit_amnt_dec": (0.0, 75.4), "credit_hist_inc": (78.1, 8.0),
    "credit_hist_dec": (122.8, 31.2), "empl_since_inc": (13.5, 9.1), "empl_since_dec": (30.9, 40.9),
    "installment_rate_inc": (0.0, 0.0), "installment_rate_dec": (0.0, 0.0), "job_inc": (47.9, 0.0),
    "job_dec": (2.0, 0.0),
}  # fmt: skip
"""The paper's Table 4: unique bugs of the network and of the tree in 5,000 tests."""

AS_PUBLISHED = ", as published"


def as_published() -> list[tuple[str, str, float, float, float]]:
    """GermanCredit as the paper's program had it: property, model, corrected, as published, and the paper's figure."""
    subject, rows = load("german"), []
    for case in GERMAN_CASES:
        if case.feature == "amount":
            continue  # it has millions of cases and a column of its own, so nothing differs
        name = case.name.split("/")[1]
        wrong = replace(case, name=case.name + AS_PUBLISHED)
        if case.feature in PUBLISHED_COLUMNS and case.move[0] == "up":
            wrong = replace(wrong, move=("up", case.move[1] + 1))
        for model, paper in zip(("nn", "dt"), PUBLISHED_BUGS[name], strict=True):
            right, its = (brute_force(each, subject, subject.models[model]).unique for each in (case, wrong))
            rows.append((name, model, right, its, paper))
    return rows


def _value(case: Case, subject: Subject, row: NDArray[Any]) -> float:
    if AS_PUBLISHED in case.name and case.feature in PUBLISHED_COLUMNS:
        columns = row[list(PUBLISHED_COLUMNS[case.feature])].tolist()
        return float(columns.index(1) if 1 in columns else len(columns) - 1)
    if case.feature in GERMAN_COLUMNS and subject.name == "german":
        return float([row[subject.columns.index(name)] for name in GERMAN_COLUMNS[case.feature]].index(1))
    return float(row[subject.columns.index(case.feature)])


def _changed(case: Case, subject: Subject, row: NDArray[Any], new: int) -> NDArray[Any]:
    made = row.copy()
    if AS_PUBLISHED in case.name and case.feature in PUBLISHED_COLUMNS:
        columns = list(PUBLISHED_COLUMNS[case.feature])
        made[columns] = 0
        made[columns[0] + new] = 1
        return made
    if case.feature in GERMAN_COLUMNS and subject.name == "german":
        for place, name in enumerate(GERMAN_COLUMNS[case.feature]):
            made[subject.columns.index(name)] = 1 if place == new else 0
    else:
        made[subject.columns.index(case.feature)] = new
    return made

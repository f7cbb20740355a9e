"""What the contract of audits runs: for each audit its checks, its properties in an audit file, and how to tamper."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import ksafety_cases
import numpy as np
import principal_cases
import rates_cases
import responsiveness_cases
from repeatable_checks import Repeatable
from toy_audit import KIND as TOY_KIND
from toy_audit import OneAnswer

import isonomia as iso
from isonomia.audits.ksafety import cases as ksafety_steps
from isonomia.audits.responsiveness import sampling as responsiveness_steps
from isonomia.audits.responsiveness.setup import packed, unpacked

Path = tuple[Any, ...]


def _as_it_is(prop: Any) -> Any:
    return prop


def _never(name: str, path: Path) -> bool:  # noqa: ARG001
    return False


@dataclass(frozen=True)
class AuditCases:
    """The cases of one audit.

    ``checks`` are run in every way. ``tables`` state properties in an audit file about ``PEOPLE_CSV``.
    """

    checks: Mapping[str, Callable[[], Repeatable]]
    tables: str
    has_counterexamples: bool = False
    bare: Callable[[Any], Any] = _as_it_is
    """The property without what a replay needs no permission for."""
    tampered: tuple[str, ...] = ()
    """Checks of whose journals every number is changed in turn."""
    least_tried: int = 1
    """More changes than this are tried of each of them."""
    beside: Callable[[str, Path], bool] = _never
    """Whether nothing in the verdict of a check rests on the number at a path of its journal."""
    timed: frozenset[str] = frozenset()
    """Checks that end when a real time is up: where, no two runs agree on."""
    slow: frozenset[str] = frozenset()
    """Checks that take about a second: they go on from their first entry, and are repeated, and that has to do."""
    stepless: frozenset[str] = frozenset()
    """Checks that end before they report a step, so that Ctrl-C cannot stop them between two; all others it stops."""
    most_cuts: int | None = None
    """How many cuts of a journal are tried; all of them where it is ``None``."""
    small_steps: tuple[ModuleType, str, int] | None = None
    """A limit to lower, so that few people come in several steps."""


BESIDE = {"seconds", "queries", "start", "index", "draws"}
"""What says where a batch lies and what it cost is no statistic: nothing in the answer rests on it."""


def _beside_draws(name: str, path: Path) -> bool:  # noqa: ARG001
    # How many people there are decides something only where all of them are used up.
    return path[0] == "available"


def _beside_safety(name: str, path: Path) -> bool:
    # Cases in which nothing was tested are told of all cases of a sample, and not of the random ones among them. Only
    # the cases of a census are weighed.
    vacuous, weight = path[0] == "batch 0" and path[-1] == "vacuous", "weight" in path[1]
    return name == "sample with violations" and (vacuous or weight)


def _beside_responsiveness(name: str, path: Path) -> bool:
    # How much those can reach who are drawn from decides at most when they are all looked at after all.
    return path[0] == "reach" and name in {"drawn", "fixed binomial", "shares"}


def _without_permissions(prop: Any) -> Any:
    return replace(prop, allow_code=False, functions={}, domains={}, known=())


def variants(value: Any) -> list[Any]:
    """A number a little larger, also where it is written as text; of packed numbers, each of them in turn."""
    if isinstance(value, dict) and "bytes" in value:
        numbers = unpacked(value)
        return [packed(np.where(np.arange(len(numbers)) == k, numbers + 1, numbers)) for k in range(len(numbers))]
    if isinstance(value, str) and value.isdigit():
        return [str(int(value) + 1)]
    if isinstance(value, str) and value.startswith("0x"):
        number = float.fromhex(value)
        return [other.hex() for other in (number * 1.01, number - 0.01) if other != number]
    if isinstance(value, str) and re.fullmatch(r"\d+/\d+", value):
        return [str(Fraction(value) * Fraction(101, 100))]
    return [value + 1] if isinstance(value, int | float) and not isinstance(value, bool) else []


def statistics(entries: Mapping[str, Any], beside: Callable[[Path], bool]) -> list[Path]:
    """Where the numbers of a journal are, except those on which nothing rests."""
    kept = {key: entry for key, entry in entries.items() if not key.startswith(("answer", "population", "model"))}
    return [path for path in _leaves(kept) if not BESIDE & set(path) and not beside(path)]


def _leaves(value: Any, path: Path = ()) -> list[Path]:
    if variants(value):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [leaf for key, item in items for leaf in _leaves(item, (*path, key))]


# ------------------------------------------------------------------------------------------------------ the audit file

MODEL = """
import numpy as np

def model(table):
    return ((np.asarray(table["points"]) > 0.4) & (np.asarray(table["priors"]) < 4)).astype(int)

def changed(table):
    return 1 - model(table)
"""

HEAD = """
title = "Contract"
seed = 7
delta = 0.2

[model]
load = "{module}:model"

[population]
census = "people.csv"

[populations.some]
sample = "people.csv"

[interventions]
changes = "changes.toml"
"""

CHANGES = """
[features.points]
kind = "real"
low = 0.0
high = 1.0

[features.priors]
kind = "integer"
low = 0
high = 5
direction = "down"
"""

NOMOS = """
input x1;
var v1 := getFeat(x1, "priors");
var x2 := setFeat(x1, "priors", v1 + 1);
requires v1 <= 4;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 <= d2;
"""


def people_csv(n: int = 60) -> str:
    rng = np.random.default_rng(5)
    columns = (
        rng.choice(["F", "M"], n),
        rng.random(n).round(4),
        rng.integers(0, 6, n),
        rng.integers(0, 2, n),
    )
    rows = zip(*columns, strict=True)
    return "\n".join(["sex,points,priors,passed", *(",".join(map(str, row)) for row in rows)]) + "\n"


RATES = """
[[property]]
name = "a rate"
population = "some"
check = "P[prediction == 1 | sex == 'F'] >= 0.05"

[[property]]
name = "another rate"
population = "some"
check = "P[prediction == 1] >= 0.5"

[[property]]
name = "parity"
fairness = "demographic_parity"
with = {attribute = "sex", minority = "F", majority = "M", ratio = 0.5}
"""

PRINCIPAL = """
[[property]]
name = "strata"
principal = true
with = {attribute = "sex", outcome = "passed", within = 0.5}
"""

SAFETY = """
[[property]]
name = "a relation"
nomos = "priors.nom"

[[property]]
name = "a named relation"
safety = "monotone"
with = {feature = "priors", up = [1, 2], at_most = 5, output = "not higher"}
"""

RESPONSIVENESS = """
[[property]]
name = "shares"
responsiveness = "share"
with = {interventions = "changes", target = 1, at_least = 0.9, who = "prediction == 0 and points > 0.8"}
"""

TOY = """
[[property]]
name = "all refused"
one_answer = true
with = {answer = 0}

[[property]]
name = "all passed"
one_answer = true
with = {answer = 1}
"""


# ----------------------------------------------------------------------------------------------------- the toy's checks


def _one_answer(answer: int, model: Any = rates_cases.model, **options: Any) -> Repeatable:
    return Repeatable(OneAnswer(answer), model, iso.Census(rates_cases.people(100)), options)


def _always(table: Any) -> Any:
    return np.ones(len(table["points"]), dtype=int)


TOY_CHECKS: Mapping[str, Callable[[], Repeatable]] = {
    "everybody": lambda: _one_answer(1, _always),
    "not everybody": lambda: _one_answer(1),
    "the budget is spent": lambda: _one_answer(1, _always, budget=50),
    "a model that must answer alike": lambda: _one_answer(1, random_model=False),
}


CASES: Mapping[str, AuditCases] = {
    "rates": AuditCases(
        rates_cases.CHECKS,
        RATES,
        tampered=("exact", "proved", "an exact mean", "without replacement"),
        beside=_beside_draws,
        timed=frozenset({"a budget of time"}),
        stepless=frozenset({"constants only"}),
        slow=frozenset({"a mean", "overlapping groups", "drawn, then everybody", "verifair"}),
        most_cuts=2,
    ),
    "principal fairness": AuditCases(
        principal_cases.CHECKS,
        PRINCIPAL,
        tampered=("principal, exact", "principal, exact by proof"),
        beside=_beside_draws,
        slow=frozenset(name for name in principal_cases.CHECKS if "exact" not in name),
        most_cuts=2,
    ),
    "k-safety": AuditCases(
        ksafety_cases.CHECKS,
        SAFETY,
        has_counterexamples=True,
        bare=_without_permissions,
        tampered=(
            "every case, violated",
            "drawn, some fail",
            "drawn, rated, holds",
            "sample with violations",
            "edge case and draws, violated",
        ),
        least_tried=20,
        beside=_beside_safety,
        stepless=frozenset({"edge case in code, violated", "code that draws"}),
        small_steps=(ksafety_steps, "CHUNK", 8),
    ),
    "responsiveness": AuditCases(
        responsiveness_cases.CHECKS,
        RESPONSIVENESS,
        has_counterexamples=True,
        tampered=("drawn", "fixed binomial", "listed, violated, by groups", "who"),
        least_tried=10,
        beside=_beside_responsiveness,
        stepless=frozenset({"listed, the time is up", "nobody"}),
        small_steps=(responsiveness_steps, "_CHUNK", 40),
    ),
    TOY_KIND: AuditCases(
        TOY_CHECKS,
        TOY,
        has_counterexamples=True,
        tampered=("everybody", "not everybody"),
    ),
}
"""By the kind of the audit."""

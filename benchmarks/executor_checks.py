"""Checks over the four audits, with models that every worker can open, for ``benchmarks.executors`` and its test.

Each is a function without arguments that gives what ``iso.check`` takes; the same seed is used wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import isonomia as iso
from isonomia.interventions import Feature, Interventions, Linear
from isonomia.populations.domains import Function

__all__ = ["CHECKS", "FEW", "Arguments", "plain", "run"]

Arguments: TypeAlias = tuple[Any, Any, Any, dict[str, Any]]
"""A property, a model, a population, and options."""


def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """People of whom women have a little less."""
    sex = rng.choice(np.array(["F", "M"], dtype=object), n)
    income = rng.normal(0.0, 1.0, n) - 0.1 * (sex == "F")
    return {"sex": sex, "income": income, "age": rng.integers(18, 80, n), "repaid": (rng.random(n) < 0.6).astype(int)}


def lends(table: Any) -> Any:
    """A prediction of 0 or 1."""
    return (np.asarray(table["income"], dtype=float) + np.asarray(table["age"]) / 100 > 0.3).astype(int)


def scores(table: Any) -> Any:
    """A score between 0 and 1."""
    return 1.0 / (1.0 + np.exp(-np.asarray(table["income"], dtype=float)))


def steps(table: Any) -> Any:
    """A decision that falls at 60 years."""
    age = np.asarray(table["age"])
    return ((age >= 30) & (age < 60)).astype(int)


def rises(table: Any) -> Any:
    """A decision that only rises with age."""
    return (np.asarray(table["age"]) >= 40).astype(int)


def climbs(table: Any) -> Any:
    """A decision about four steps."""
    return (sum((number + 1) * np.asarray(table[f"step{number}"]) for number in range(4)) > 24).astype(int)


PEOPLE = draw(3000, np.random.default_rng(7))
SMALL = {name: column[:40] for name, column in PEOPLE.items()}
RATIO = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= {}"
PROGRAM = """
def popModel():
    woman = step([(0, 1, 0.5), (1, 2, 0.5)])
    income = gaussian(0, 1)
    age = gaussian(40, 100)
    sensitiveAttribute(woman < 1)
def F():
    t = income > 0
    fairnessTarget(t)
"""


def _rates() -> dict[str, Callable[[], Arguments]]:
    made: dict[str, Callable[[], Arguments]] = {}
    for number, ratio in enumerate((0.7, 0.8, 0.9, 0.97)):
        made[f"ratio {ratio} of a generator"] = lambda r=ratio: (RATIO.format(r), lends, iso.Generator(draw), {})
        made[f"ratio {ratio} of a sample"] = lambda r=ratio: (RATIO.format(r), lends, iso.Sample(PEOPLE), {})
        made[f"mean score above {0.3 + number / 10:.1f}"] = lambda k=number: (
            f"E[score] >= {0.3 + k / 10:.1f}",
            scores,
            iso.Generator(draw),
            {"ranges": {"score": (0, 1)}, "budget": 20_000},
        )
    made["a census, drawn"] = lambda: (RATIO.format(0.8), lends, iso.Census(PEOPLE, exact=False), {})
    made["a census, counted"] = lambda: (RATIO.format(0.8), lends, iso.Census(PEOPLE), {})
    made["a region"] = lambda: (RATIO.format(0.6), lends, iso.Generator(draw), {"method": "region"})
    made["VeriFair's rule"] = lambda: (
        RATIO.format(0.6),
        lends,
        iso.Generator(draw),
        {"method": "verifair", "budget": 4000},
    )
    made["one look"] = lambda: (RATIO.format(0.8), lends, iso.Generator(draw), {"looks": "once", "budget": 3000})
    made["five looks"] = lambda: (RATIO.format(0.8), lends, iso.Sample(PEOPLE), {"looks": 5})
    made["a program"] = lambda: (
        "P[prediction == 1 | minority] / P[prediction == 1 | not minority] >= 0.9",
        lends,
        iso.Program.of(PROGRAM, "people.fr"),
        {},
    )
    made["what would have been"] = lambda: (
        "P[prediction != do(woman = 0.5).prediction] <= 0.1",
        lends,
        iso.Program.of(PROGRAM, "people.fr"),
        {},
    )
    made["pairs of people"] = lambda: (
        "P[prediction != other.prediction | abs(income - other.income) < 0.1] <= 0.3",
        lends,
        iso.Generator(draw),
        {"budget": 20_000},
    )
    made["every group"] = lambda: (
        "for s in sex: P[prediction == 1 | sex == s] >= 0.3",
        lends,
        iso.Sample(PEOPLE),
        {"delta": 1e-3},
    )
    return made


SPEC = """
input x1;
{before}
requires age(x1) < 79;
var x2 := setFeat(x1, "age", age(x1) + randInt(1, 80 - age(x1)));
output d1;
output d2;
{{
    d1 = predict(x1)
    d2 = predict(x2)
}}
ensures d1 <= d2{more};
"""


def age(row: Any) -> int:
    """A function of one case."""
    return int(row["age"])


def jitter(row: Any, seed: int) -> int:
    """A function of one case that draws."""
    return int(np.random.default_rng(seed).integers(-1, 1)) * int(row["age"] > 30)


def decade(row: Any) -> int:
    """A function of one case that does not always rise."""
    return int(row["age"]) // 10 % 6


FUNCTIONS = {
    "age": Function(age, 1, "number", single=True),
    "jitter": Function(jitter, 1, "number", True, True),
    "decade": Function(decade, 1, "number", single=True),
}
JITTERED = "var step := randInt(0, 5) + jitter(x1);\nrequires step >= 0;"
CODE = "    answers = []\n    for x in (x1, x2):\n        answers.append(predict(x))\n    d1, d2 = answers"


def spec(before: str = "", more: str = "", code: bool = False, asks: bool = True, **options: Any) -> Any:
    """A property with functions of one case; without a model, one of them is what is tested."""
    text = SPEC.format(before=before, more=more)
    text = text.replace("    d1 = predict(x1)\n    d2 = predict(x2)", CODE) if code else text
    text = text if asks else text.replace("predict(", "decade(")
    return iso.safety.property(text, functions=FUNCTIONS | options.pop("functions", {}), allow_code=code, **options)


def _safety() -> dict[str, Callable[[], Arguments]]:
    people = iso.Census(SMALL)
    made: dict[str, Callable[[], Arguments]] = {
        "functions, listed": lambda: (spec(), steps, people, {}),
        "functions, drawn": lambda: (spec(enumerate=False), rises, people, {"budget": 400}),
        "functions, fresh people": lambda: (
            spec(JITTERED, edge_cases=False),
            steps,
            iso.Generator(draw),
            {"budget": 300},
        ),
        "functions, a rate": lambda: (spec(JITTERED, " in 68% of cases"), steps, iso.Census(PEOPLE), {"budget": 1000}),
        "a block that is code": lambda: (spec(code=True, enumerate=False), rises, people, {"budget": 150}),
        "functions alone, listed": lambda: (spec(asks=False), None, people, {}),
        "functions alone, drawn": lambda: (spec(asks=False, enumerate=False), None, people, {"budget": 400}),
        "functions alone, a rate": lambda: (
            spec(JITTERED, " in 68% of cases", asks=False),
            None,
            iso.Census(PEOPLE),
            {"budget": 1000},
        ),
        "code alone": lambda: (spec(code=True, asks=False, enumerate=False), None, people, {"budget": 150}),
    }
    for number, model in enumerate((steps, rises)):
        census = {"seed": 3, "budget": 600}
        for listed in (True, False):
            made[f"monotone, {model.__name__}, {'listed' if listed else 'drawn'}"] = (
                lambda m=model, e=listed, o=census: (
                    iso.safety.monotone("age", up=(1, 20), at_most=80, enumerate=e),
                    m,
                    iso.Census(SMALL),
                    o,
                )
            )
        made[f"robust, {model.__name__}"] = lambda m=model, k=number: (
            iso.safety.robust("age", 1 + k, whole=True, enumerate=False),
            m,
            iso.Census(SMALL),
            {"budget": 500},
        )
    return made


def _responsiveness() -> dict[str, Callable[[], Arguments]]:
    whole = Interventions((Feature("age", "integer", 18, 80), Feature("income", "real", -3, 3, actionable=False)))
    real = Interventions((Feature("income", "real", -3, 3), Feature("age", "integer", 18, 80, actionable=False)))
    few = {name: SMALL[name][:8] for name in ("age", "income")}
    steps_of = {f"step{number}": np.arange(9) % (number + 2) for number in range(4)}
    bound = Linear(tuple(steps_of), (1.0,) * 4, "<=", 14.0)
    coupled = Interventions(tuple(Feature(name, "integer", 0, 5) for name in steps_of), (bound,))
    made: dict[str, Callable[[], Arguments]] = {
        "coupled, listed": lambda: (
            iso.Responsiveness(coupled, 1, at_least=0.2, most_listed=2000),
            climbs,
            iso.Census(steps_of),
            {},
        ),
        "coupled, drawn": lambda: (
            iso.Responsiveness(coupled, 1, at_least=0.5, most_listed=0),
            climbs,
            iso.Census(steps_of),
            {"budget": 3000},
        ),
    }
    for at_least in (0.2, 0.4):
        made[f"listed, at least {at_least}"] = lambda a=at_least: (
            iso.Responsiveness(whole, 1, at_least=a),
            steps,
            iso.Census(few),
            {},
        )
        made[f"drawn, at least {at_least}"] = lambda a=at_least: (
            iso.Responsiveness(real, 1, at_least=a, most_listed=0),
            lends,
            iso.Census(few),
            {"budget": 4000},
        )
        made[f"drawn, at most {at_least}"] = lambda a=at_least: (
            iso.Responsiveness(real, 1, at_most=a, most_listed=0),
            lends,
            iso.Census(few),
            {"budget": 4000},
        )
    return made


def _principal() -> dict[str, Callable[[], Arguments]]:
    made: dict[str, Callable[[], Arguments]] = {}
    for definition in (1, 2, 3):
        roles = {"attribute": "sex", "outcome": "repaid", "prediction": "prediction", "definition": definition}
        made[f"definition {definition}, drawn"] = lambda r=roles: (
            iso.PrincipalFairness(**r),
            lends,
            iso.Generator(draw),
            {"budget": 1000},
        )
        made[f"definition {definition}, a census"] = lambda r=roles: (
            iso.PrincipalFairness(**r),
            lends,
            iso.Census(PEOPLE),
            {},
        )
    return made


CHECKS: dict[str, Callable[[], Arguments]] = {
    **{f"rates: {name}": check for name, check in _rates().items()},
    **{f"k-safety: {name}": check for name, check in _safety().items()},
    **{f"responsiveness: {name}": check for name, check in _responsiveness().items()},
    **{f"principal: {name}": check for name, check in _principal().items()},
}
"""Every check by its name."""

FEW = (
    "rates: ratio 0.8 of a generator",
    "rates: mean score above 0.4",
    "rates: a census, drawn",
    "k-safety: monotone, steps, drawn",
    "k-safety: functions alone, drawn",
    "responsiveness: drawn, at least 0.2",
    "responsiveness: coupled, listed",
    "principal: definition 1, drawn",
)
"""Some of each audit, for a quick test."""


def run(name: str, executor: Any, **options: Any) -> dict[str, Any]:
    """What a check comes to, but for the time it took."""
    prop, model, population, own = CHECKS[name]()
    given = {"seed": 11, **own, **options}
    return plain(iso.check(prop, given.pop("model", model), population, executor=executor, **given))


def plain(verdict: Any) -> dict[str, Any]:
    """A verdict as values that can be compared, without what it cost: time, and rows sent, which may be sent ahead."""
    found: dict[str, Any] = verdict.to_dict()
    return {key: value for key, value in found.items() if key not in {"seconds", "queries", "repeated"}}

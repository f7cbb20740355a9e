"""Whether every picture says what its verdict says, over random claims of every kind until many are decided.

    python -m benchmarks.agreement --decided 1000

A verdict is contradicted by its picture where a claim with one comparison is decided and the interval of what it
compares does not lie on that side of the threshold, or is not decided and the interval does; and where a claim with
several comparisons is decided and their intervals, taken together, say the opposite. So is the answer for a group whose
interval says something else, and for a person who is called responsive or fixed. A k-safety property that holds leaves
no larger share open than it says, and one that is violated has a counterexample.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np

import isonomia as iso
from isonomia.interventions import Feature, Interventions
from isonomia.records.verdict import Expression, Verdict
from isonomia.spec.tree import Comparison, Formula, Implies, Junction, Not


def claims(rng: np.random.Generator) -> tuple[str, str]:
    """A kind of claim about rates, and one of that kind."""
    a, b, everybody = "P[y | g == 'a']", "P[y | g == 'b']", "P[y]"
    sign, low = rng.choice([">=", "<=", ">", "<"]), round(float(rng.uniform(0.1, 0.9)), 3)
    small, times = round(float(rng.uniform(0.02, 0.4)), 3), round(float(rng.uniform(0.5, 1.5)), 3)
    kinds = {
        "rate": f"{everybody} {sign} {low}",
        "ratio": f"{a} / {b} {sign} {times}",
        "difference": f"{a} - {b} {sign} {small}",
        "size": f"abs({a} - {b}) {sign} {small}",
        "other side": f"{low} {sign} {a}",
        "both vary": f"{a} {sign} {times} * {b}",
        "overlap": f"{a} {sign} {times} * {everybody}",
        "mean": f"E[x | g == 'a'] {sign} {low}",
        "means": f"E[x | g == 'a'] - E[x | g == 'b'] {sign} {small}",
        "product": f"{a} * {b} {sign} {round(low * low, 3)}",
        "and": f"{a} {sign} {low} and {b} >= {small}",
        "or": f"{a} {sign} {low} or {b} >= {min(times, 0.99)}",
        "implies": f"{a} {sign} {low} ==> {b} >= {small}",
        "not": f"not ({a} / {b} {sign} {times})",
        "largest": f"max({a}, {b}) {sign} {low}",
    }
    kind = str(rng.choice(list(kinds)))
    return kind, kinds[kind]


def rates(rng: np.random.Generator) -> tuple[str, Verdict]:
    """A check of rates of a random population, in a random way."""
    n = int(rng.integers(100, 3_000))
    group = np.where(rng.random(n) < rng.uniform(0.2, 0.8), "a", "b")
    table = {
        "g": group,
        "y": rng.random(n) < np.where(group == "a", *rng.uniform(0.05, 0.95, 2)),
        "x": rng.beta(*rng.uniform(0.5, 3.0, 2), n),
    }
    kind, claim = claims(rng)
    where = str(rng.choice(["sample", "census", "generator", "once"]))
    options: dict[str, Any] = {"seed": int(rng.integers(1 << 30)), "delta": float(rng.choice([0.2, 0.05, 1e-3]))}
    population: Any = iso.Sample(table)
    if where == "census":
        population, options["budget"] = iso.Census(table), n // 2
    elif where == "generator":
        shares = [float(table["y"][group == name].mean()) if (group == name).any() else 0.5 for name in "ab"]
        population, options["budget"] = iso.Generator(_drawing(shares)), 3_000
    elif where == "once":
        options["looks"] = "once"
    return f"{where}: {kind}", iso.check(claim, population=population, ranges={"x": (0.0, 1.0)}, **options)


def _drawing(shares: list[float]) -> Callable[[int, np.random.Generator], dict[str, Any]]:
    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        group = np.where(rng.random(n) < 0.5, "a", "b")
        return {"g": group, "y": rng.random(n) < np.where(group == "a", *shares), "x": rng.random(n)}

    return draw


def principal(rng: np.random.Generator) -> tuple[str, Verdict]:
    """A check of principal fairness."""
    n = int(rng.integers(200, 2_000))
    a, outcome = rng.random(n) < 0.5, rng.random(n) < rng.uniform(0.2, 0.8)
    decided = rng.random(n) < np.where(a, *rng.uniform(0.05, 0.95, 2))
    claim = iso.PrincipalFairness(
        attribute="a",
        prediction="d",
        outcome="y",
        definition=int(rng.integers(1, 5)),
        within=float(rng.choice([0, 0.1])),
    )
    table = iso.Sample({"a": a.astype(int), "d": decided.astype(int), "y": outcome.astype(int)})
    return "principal fairness", iso.check(claim, population=table, seed=int(rng.integers(1 << 30)), delta=0.1)


def groups(rng: np.random.Generator) -> tuple[str, Verdict]:
    """A claim for every group."""
    n, number = int(rng.integers(300, 6_000)), int(rng.integers(2, 6))
    group = rng.integers(0, number, n)
    table = {
        "g": np.asarray(list("abcde"))[group],
        "y": rng.random(n) < rng.uniform(0.05, 0.95, number)[group],
        "all": np.ones(n, dtype=int),
    }
    low, times = round(float(rng.uniform(0.05, 0.9)), 3), round(float(rng.uniform(0.3, 1.2)), 3)
    claim = str(
        rng.choice(
            [
                f"for v in g: P[y | g == v] >= {low}",
                f"for v in g: P[y | g == v] <= {low}",
                f"for v in g: P[y | g == v] >= {times} * P[y | g == 'a']",
                f"for v in g: abs(P[y | g == v] - P[y | g == 'a']) <= {low / 2:.3f}",
            ]
        )
    )
    options: dict[str, Any] = {"seed": int(rng.integers(1 << 30)), "delta": float(rng.choice([0.2, 0.05, 1e-3]))}
    way = str(rng.choice(["any", "discovery", "once", "planned", "region", "verifair"]))
    options |= {
        "any": {},
        "discovery": {"control": "discovery"},
        "once": {"looks": "once"},
        "planned": {"looks": 3},
        "region": {"method": "region"},
        "verifair": {"method": "verifair"},
    }[way]
    return f"groups: {way}", iso.check(claim, population=iso.Sample(table), **options)


def safety(rng: np.random.Generator) -> tuple[str, Verdict]:
    """A k-safety property of a model that sometimes breaks it."""
    n, steps = int(rng.integers(200, 4_000)), rng.normal(0.5, rng.choice([0.1, 0.5]), 60)
    scores = np.cumsum(steps)
    table = {"age": rng.integers(18, 70, n), "felonies": rng.integers(0, int(rng.integers(3, 50)), n)}

    def model(rows: Any) -> Any:
        return scores[np.clip(np.asarray(rows["felonies"], dtype=int), 0, len(scores) - 1)]

    claim = iso.safety.monotone("felonies", eps=float(rng.choice([0.3, 0.1, 0.01])))
    population = iso.Sample(table) if rng.random() < 0.6 else iso.Census(table)
    options: dict[str, Any] = {"seed": int(rng.integers(1 << 30)), "delta": float(rng.choice([0.2, 0.05, 1e-3]))}
    return "k-safety", iso.check(claim, model, population, budget=int(rng.integers(50, 4_000)), **options)


def responsiveness(rng: np.random.Generator) -> tuple[str, Verdict]:
    """What a few people can reach."""
    most = int(rng.integers(10, 60))
    rules = Interventions((Feature("a", "integer", 0, most), Feature("b", "integer", 0, most)))
    people = {name: rng.integers(0, most + 1, int(rng.integers(1, 8))) for name in "a"}
    people["b"] = rng.integers(0, most + 1, len(people["a"]))
    direction, edge = rng.normal(size=2), float(rng.normal(scale=most / 2))

    def model(rows: Any) -> Any:
        return (np.asarray(rows["a"]) * direction[0] + np.asarray(rows["b"]) * direction[1] > edge).astype(int)

    claim = iso.Responsiveness(
        rules,
        1,
        **{str(rng.choice(["at_least", "at_most"])): round(float(rng.uniform(0.05, 0.9)), 3)},
        control=str(rng.choice(["family", "discovery"])),
        most_listed=int(rng.choice([20, 500])),
        most_draws=int(rng.integers(50, 2_000)),
    )
    options: dict[str, Any] = {"seed": int(rng.integers(1 << 30)), "delta": float(rng.choice([0.2, 0.05, 1e-3]))}
    return "responsiveness", iso.check(claim, model, iso.Census(people), **options)


def contradicted(verdict: Verdict) -> bool:
    """Whether the picture says something else than the verdict."""
    said = {"holds": True, "violated": False, "undecided": None}[verdict.answer]
    if verdict.details.get("audit") == "responsiveness":
        return any(
            map(opposed, *(verdict.details["people"][key] for key in ("answer", "low", "high")), repeat(verdict))
        )
    if verdict.details.get("audit") == "k-safety" and said is False:
        # A case that was tried on purpose is proof, and says nothing of the share among random ones.
        return verdict.expressions[0].settled is True or not verdict.counterexamples
    if verdict.details.get("audit") in {"principal fairness", "k-safety"}:
        return verdict.expressions[0].settled is not said
    if verdict.groups:
        named = {"holds": True, "violated": False, "undecided": None}
        shown = [
            Expression(each.text, each.relation, each.threshold, each.estimate, each.low, each.high).settled
            for each in verdict.groups
        ]
        return any(one is not named[each.answer] for one, each in zip(shown, verdict.groups, strict=True)) or (
            said is True and not all(shown)
        )
    shown = truth(iso.parse(verdict.text).formula, iter(item.settled for item in verdict.expressions))
    return shown is not said if len(verdict.expressions) == 1 else said is not None and shown is (not said)


def opposed(answer: str, low: float, high: float, verdict: Verdict) -> bool:
    """Whether a person's interval says something else than what they are called."""
    edge, reached = verdict.details["threshold"], verdict.details["relation"] == ">="
    responsive, fixed = (low >= edge, high < edge) if reached else (low > edge, high <= edge)
    return {"responsive": not responsive, "fixed": not fixed}.get(answer, False)


def truth(formula: Formula, settled: Iterator[bool | None]) -> bool | None:
    """What intervals say of a formula, in Kleene's logic, where they say so much of each comparison in turn."""
    match formula:
        case Comparison(rest=rest):
            return every([next(settled) for _ in rest])
        case Not(operand=operand):
            return opposite(truth(operand, settled))
        case Junction(connective=connective, operands=operands):
            parts = [truth(operand, settled) for operand in operands]
            return every(parts) if connective == "and" else opposite(every([opposite(part) for part in parts]))
        case Implies(premise=premise, conclusion=conclusion):
            first, second = truth(premise, settled), truth(conclusion, settled)
            return opposite(every([first, opposite(second)]))
    raise TypeError(formula)


def every(parts: list[bool | None]) -> bool | None:
    """Whether all are true."""
    return False if False in parts else None if None in parts else True


def opposite(value: bool | None) -> bool | None:
    """Not so."""
    return None if value is None else not value


AUDITS: Any = [principal, rates, groups, safety, responsiveness]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decided", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, began = np.random.default_rng(arguments.seed), time.perf_counter()
    decided, wrong, undecided = Counter[str](), Counter[str](), 0
    while sum(decided.values()) < arguments.decided:
        try:
            kind, verdict = rng.choice(AUDITS, p=[0.05, 0.6, 0.15, 0.1, 0.1])(rng)
        except iso.IsonomiaError as error:
            print(f"refused: {str(error)[:100]}", flush=True)
            continue
        undecided += verdict.answer == "undecided"
        decided[kind] += verdict.answer != "undecided"
        if contradicted(verdict):
            wrong[kind] += 1
            print(f"{kind}: {verdict.text}\n  {verdict.answer}: {verdict.expressions}", flush=True)
    print(f"{sum(decided.values()):,} decided claims of {len(decided)} kinds, {undecided:,} undecided ones")
    print(f"pictures that contradict their verdict: {sum(wrong.values()):,}; {time.perf_counter() - began:.0f} s")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()

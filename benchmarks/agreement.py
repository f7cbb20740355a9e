"""Whether every picture says what its verdict says, over random claims of every kind until many are decided.

    python -m benchmarks.agreement --decided 1000

A verdict is contradicted by its picture where a claim with one comparison is decided and the interval of what it
compares does not lie on that side of the threshold, or is not decided and the interval does; and where a claim with
several comparisons is decided and their intervals, taken together, say the opposite.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import isonomia as iso
from isonomia.records.verdict import Verdict
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
        "or": f"{a} {sign} {low} or {b} >= {times}",
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


def contradicted(verdict: Verdict) -> bool:
    """Whether the picture says something else than the verdict."""
    said = {"holds": True, "violated": False, "undecided": None}[verdict.answer]
    if verdict.details.get("audit") == "principal fairness":
        return verdict.expressions[0].settled is not said
    shown = truth(iso.parse(verdict.text).formula, iter(item.settled for item in verdict.expressions))
    return shown is not said if len(verdict.expressions) == 1 else said is not None and shown is (not said)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decided", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, began = np.random.default_rng(arguments.seed), time.perf_counter()
    decided, wrong, undecided = Counter[str](), Counter[str](), 0
    while sum(decided.values()) < arguments.decided:
        try:
            kind, verdict = (principal if rng.random() < 0.05 else rates)(rng)
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

"""The FairSquare benchmark proved: 39 programs and three causal ones with no risk, beside SPPL and beside bets.

    python -m benchmarks.exact [--random 2000] [--draws 1000000] [--json benchmarks/results/exact.json]

Each program is read and checked afresh by ``method="exact"`` and by ``method="bets"`` at a risk of 1e-10; the table has
the processor time of both, the width of the widest enclosure, and whether the enclosures contain the rates that the
case file has from 12 million draws and, for trees, those of SPPL. With ``--random`` so many random programs are held
against as many draws. SPPL is run by a Python that has it (``--peers-python``).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.fairsquare_programs import cases, program_text
from benchmarks.peers.running import Absent, add_option, python_with, run_peer
from isonomia.cli.check import ratio_property

RATIO, DELTA = 0.85, 1e-10
CAUSAL = ("DT_V3_D2_N44", "SVM_V6", "NN_V3_H2")
CAUSAL_PROPERTY = (
    "P[do(education_num as if sex = 1.5).target | minority and qualified] "
    "- P[target | not minority and qualified] >= -0.15"
)


@dataclass(frozen=True)
class Row:
    """One program."""

    population: str
    classifier: str
    right: bool
    seconds: float
    bets_seconds: float
    width: float
    deviations: float
    sppl_seconds: float | None
    sppl_off: float | None


def timed(text: str, prop: str | None, method: str) -> tuple[iso.Verdict, float]:
    """A verdict about a program that is read afresh, and the processor time of reading and checking it."""
    began = time.process_time()
    program = iso.Program.of(text)
    verdict = iso.check(prop or ratio_property(program, RATIO), population=program, delta=DELTA, seed=0, method=method)
    return verdict, time.process_time() - began


def measured(text: str, known: dict[str, Any], sppl: dict[str, Any] | None, prop: str | None = None) -> Row:
    verdict, seconds = timed(text, prop, "exact")
    drawn, bets_seconds = timed(text, prop, "bets")
    right = verdict.risk == 0 and verdict.answer == drawn.answer == ("holds" if known["fair"] else "violated")
    middle = [(leaf.low + leaf.high) / 2 for leaf in verdict.leaves]
    sampled = [
        (known[f"rate_{group}"], known[f"se_{group}"]) for group in ("minority", "majority") if f"rate_{group}" in known
    ]
    deviations = [abs(value - rate) / error for value, (rate, error) in zip(middle, sampled, strict=False)]
    off = None
    if sppl is not None:
        # Floats: SPPL's are off by some units in the last place.
        off = max(
            max(leaf.low - rate, rate - leaf.high, 0.0)
            for leaf, rate in zip(verdict.leaves, sppl["rates"], strict=True)
        )
    return Row(
        known["population"],
        known["classifier"],
        right,
        seconds,
        bets_seconds,
        max(leaf.high - leaf.low for leaf in verdict.leaves),
        max(deviations, default=float("nan")),
        None if sppl is None else sppl["seconds"],
        off,
    )


def show(row: Row) -> None:
    sppl = "" if row.sppl_seconds is None else f"{1e3 * row.sppl_seconds:>9.0f}{row.sppl_off:>10.1e}"
    print(
        f"{row.population:<11}{row.classifier:<14}{'right' if row.right else 'WRONG':<7}{1e3 * row.seconds:>8.1f}"
        f"{1e3 * row.bets_seconds:>8.1f}{row.width:>10.1e}{row.deviations:>8.1f}{sppl}",
        flush=True,
    )


def by_sppl(found: dict[str, Any], given: str | None) -> dict[tuple[str, str], dict[str, Any]]:
    """SPPL's rates and times of the tree programs; none where there is no SPPL."""
    python = python_with("sppl", given)
    if isinstance(python, Absent):
        print(f"without SPPL: {python.reason}", file=sys.stderr)
        return {}
    trees = [
        {"population": item["population"], "classifier": item["classifier"]}
        for item in found["instances"]
        if item["classifier"].startswith("DT")
    ]
    job = {"populations": found["populations"], "classifiers": found["classifiers"], "instances": trees}
    rows = run_peer(python, "sppl_trees.py", job)["rows"]
    return {(row["population"], row["classifier"]): row for row in rows}


def random_programs(count: int, draws: int) -> dict[str, float]:
    """Random programs against draws: how many enclosures miss the mean by more than five standard errors."""
    rng, missed, worst, reasons = np.random.default_rng(0), 0, 0.0, 0
    for _ in range(count):
        program = iso.Program.of(random_program(rng))
        try:
            verdict = iso.check("P[target] >= 2 * P[minority]", population=program, seed=0, method="exact")
        except iso.errors.UsageError:
            reasons += 1
            continue
        columns = program.world.draw(draws, rng, ("target", "minority"), {}).columns
        for leaf, name in zip(verdict.leaves, ("target", "minority"), strict=True):
            mean = float(columns[name].mean())
            error = max(sqrt(mean * (1 - mean) / draws), 1 / draws)
            off = max(leaf.low - mean, mean - leaf.high, 0.0) / error
            worst = max(worst, off)
            missed += off > 5
    print(
        f"{count:,} random programs, {draws:,} draws each: {missed} missed, worst {worst:.2f} standard errors, "
        f"{reasons} refused"
    )
    return {"programs": count, "draws": draws, "missed": missed, "worst": worst, "refused": reasons}


def random_program(rng: np.random.Generator) -> str:
    """A program of up to four draws, linear assignments and branches."""
    lines, names = ["def popModel():"], []

    def number() -> str:
        return f"{rng.integers(-40, 41) / 10}"

    def linear() -> str:
        return (
            " + ".join(f"({number()}) * {name}" for name in rng.choice(names, rng.integers(1, 3))) + f" + ({number()})"
        )

    for k in range(rng.integers(1, 5)):
        if rng.random() < 0.4:
            cuts = np.unique(rng.integers(-30, 31, rng.integers(2, 5))) / 10
            cuts = np.append(cuts, cuts[-1] + 1)
            shares = rng.integers(1, 5, len(cuts) - 1)
            cells = ", ".join(
                f"({a}, {b}, {p} / {shares.sum()})" for a, b, p in zip(cuts[:-1], cuts[1:], shares, strict=True)
            )
            lines.append(f"    x{k} = step([{cells}])")
        else:
            mean = linear() if names and rng.random() < 0.4 else number()
            lines.append(f"    x{k} = gaussian({mean}, {rng.integers(1, 90) / 10})")
        names.append(f"x{k}")
    for k in range(rng.integers(0, 3)):
        lines += [f"    if {linear()} < {number()}:", f"        y{k} = {linear()}"]
        lines += ["    else:", f"        y{k} = {number()}"]
        names.append(f"y{k}")
    lines += [f"    sensitiveAttribute({linear()} < {number()})", "def F():"]
    lines.append(f"    fairnessTarget({linear()} > {number()} or {linear()} > {number()})")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/exact.json"))
    add_option(parser)
    arguments = parser.parse_args()
    found = cases()
    if found is None:
        print("skipped: there is no cases/fairsquare.json beside ISONOMIA_DATA", file=sys.stderr)
        return
    sppl = by_sppl(found, arguments.peers_python)
    timed(program_text(found, "ind", "DT_A"), None, "bets")  # what is imported at the first use
    heads = f"{'ms':>8}{'bets':>8}{'width':>10}{'s.e.':>8}{'SPPL ms':>9}{'off':>10}"
    print(f"{'population':<11}{'classifier':<14}{'answer':<7}{heads}")
    rows = []
    for item in found["instances"]:
        text = program_text(found, item["population"], item["classifier"])
        rows.append(measured(text, item, sppl.get((item["population"], item["classifier"]))))
        show(rows[-1])
    causal = []
    for classifier in CAUSAL:
        text = program_text(found, "bnc", classifier)
        known = {"population": "bnc causal", "classifier": classifier, "fair": True}
        causal.append(measured(text, known, None, CAUSAL_PROPERTY))
        show(causal[-1])
    trees = [row for row in rows if row.classifier.startswith("DT")]
    total = {
        "right": sum(row.right for row in (*rows, *causal)),
        "seconds": sum(row.seconds for row in rows),
        "bets_seconds": sum(row.bets_seconds for row in rows),
        "trees": sum(row.seconds for row in trees),
        "trees_sppl": sum(row.sppl_seconds or 0.0 for row in trees),
        "causal": sum(row.seconds for row in causal),
        "width": max(row.width for row in (*rows, *causal)),
    }
    print(
        f"{total['right']} of {len(rows) + len(causal)} right, risk 0; 39 programs {total['seconds']:.2f} s of "
        f"processor time ({total['bets_seconds']:.2f} s by bets), the 15 trees {total['trees']:.2f} s "
        f"(SPPL {total['trees_sppl']:.2f} s), the causal ones {total['causal']:.2f} s; "
        f"widest enclosure {total['width']:.1e}"
    )
    drawn = random_programs(arguments.random, arguments.draws) if arguments.random else None
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"total": total, "rows": [asdict(row) for row in (*rows, *causal)], "random": drawn}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

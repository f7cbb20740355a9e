"""How sharp answers are, beside what they were, the best methods known and what anyone could reach.

    python -m benchmarks.sharper [--tables 40] [--boundary 2000] [--only NAME ...] [--json FILE]

One table. *Before* is version 0.1; *best known* is a method of others on the same numbers; *limit* is what no method
can pass. Each measurement yields its lines, so a new one is a function here. ``--boundary`` is how many runs with the
truth on the boundary are made for evidence of its own: the share that errs must be at most the risk.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import log, sqrt
from pathlib import Path

import numpy as np

from isonomia.engine.loop import Schedule
from isonomia.evidence.inversion import Inversion, inversion_for
from isonomia.evidence.protocol import Tallies
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Comparison, leaves_of

PEOPLE, DELTA = 2_000, 0.05


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table; ``before``, ``best`` and ``limit`` are empty where there is nothing to compare with."""

    what: str
    new: str
    before: str = ""
    best: str = ""
    limit: str = ""
    aim: str = ""


def against_everyone(
    share: float, rates: tuple[float, float], rng: np.random.Generator
) -> tuple[Inversion, list[Tallies]]:
    """A table of which a share is in the group, in the batches of a check; rates of the group and of the others."""
    formula = parse_formula("P[y | a] - P[y] >= 0")
    assert isinstance(formula, Comparison)
    inverted = inversion_for(formula.first, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,))
    assert inverted is not None
    (channel,), total, history = inverted.channels, 0, []
    while total < PEOPLE:
        n = min(Schedule().size(total, 0.5), PEOPLE - total)
        total += n
        inside = rng.random(n) < share
        yes = rng.random(n) < np.where(inside, *rates)
        shown = [yes if leaf.given is None else yes & inside for leaf in channel.leaves]
        history.append({channel: channel.grid.tally([inside, *shown])})
    return inverted, history


def group_against_everyone(tables: int, boundary: int) -> Iterator[Line]:
    """The interval of P[y | a] - P[y] at any look, over the asymptotic one for a single look."""
    said = {0.5: ("5.7", "1.9"), 0.1: ("5.7", "2.2")}
    for share, (before, aim) in said.items():
        rates = 0.4, 0.5
        truth = (1 - share) * (rates[0] - rates[1])
        spread = sum(rate * (1 - rate) / part for rate, part in zip(rates, (share, 1 - share), strict=True))
        error, widths = (1 - share) * sqrt(spread / PEOPLE), []
        for seed in range(tables):
            inverted, history = against_everyone(share, rates, np.random.default_rng(seed))
            low, high = inverted.interval(history, DELTA, (truth, error), (-1.0, 1.0))
            widths.append((high - low) / (2 * 1.96 * error))
        what = f"interval of a group of {share:.0%} against everyone, any look: width over the asymptotic one"
        yield Line(what, f"{np.mean(widths):.2f}", before, "", "1", f"at most {aim}")
    for share, rates in ((0.5, (0.4, 0.5)), (0.03, (0.3, 0.02)), (0.3, (0.97, 0.99))):
        truth, errors = (1 - share) * (rates[0] - rates[1]), np.zeros(2)
        for seed in range(boundary):
            inverted, history = against_everyone(share, rates, np.random.default_rng(seed))
            paths = inverted.paths(history)
            errors += [paths(np.asarray([truth]), above)[-1, 0] >= log(1 / DELTA) for above in (False, True)]
        what = (
            f"its ends miss the truth at any of its looks: a group of {share:.0%}, rates {rates[0]:g} and {rates[1]:g}"
        )
        if boundary:
            found = " and ".join(f"{100 * count / boundary:.1f}" for count in errors)
            yield Line(what, f"{found} in a hundred of {boundary:,}", aim=f"at most {100 * DELTA:g}")


MEASUREMENTS: dict[str, Callable[[int, int], Iterator[Line]]] = {"group-against-everyone": group_against_everyone}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--boundary", type=int, default=2_000, metavar="RUNS")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/sharper.json"))
    arguments = parser.parse_args()
    lines = []
    print("| what | before | new | best known | limit | aim |\n|---|---|---|---|---|---|")
    for name in arguments.only:
        for line in MEASUREMENTS[name](arguments.tables, arguments.boundary):
            lines.append(line)
            print(f"| {line.what} | {line.before} | {line.new} | {line.best} | {line.limit} | {line.aim} |", flush=True)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

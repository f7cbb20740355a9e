"""What a verdict costs: people drawn as the threshold nears the true ratio, and as the risk shrinks.

    python -m benchmarks.cost [--seeds 100] [--json benchmarks/results/cost.json] [--chart docs/images/cost.svg]

The kind of picture that the VeriFair paper draws (its Fig. 6), for a small program whose true ratio is known in closed
form. Beside the limit, which no method can beat on average, stand projection bets and the paper's rule, both on the
same draws: one stream that serves both groups. The paper's rule, whose cost varies little, has a tenth of the seeds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import isonomia as iso
from isonomia.cli.check import ratio_property
from isonomia.evidence.planning import limit
from isonomia.evidence.stakes import best_stakes

PROGRAM = """
def popModel():
    group = step([(0, 1, 0.3), (1, 2, 0.7)])
    if group < 1:
        skill = gaussian(48, 100)
    else:
        skill = gaussian(50, 100)
    sensitiveAttribute(group < 1)

def F():
    fairnessTarget(skill > 52)
"""
SHARES = np.asarray([0.3, 0.7])
RATES = norm.sf((52 - np.asarray([48.0, 50.0])) / 10)
TRUE_RATIO = float(RATES[0] / RATES[1])

THRESHOLDS = (0.5, 0.6, 0.65, 0.7, 0.73, 0.76, 0.79, 0.87, 0.9, 0.93, 0.96, 1.0)
THRESHOLD_RISK = 1e-6
RISKS = tuple(10.0**-k for k in range(1, 11))
RISK_THRESHOLD = 0.7
METHODS = {"bets": "projection bets", "verifair": "the paper's rule"}
COLOURS = {"projection bets": "#3f51b5", "the paper's rule": "#e07b39", "limit": "#777777"}


@dataclass(frozen=True)
class Point:
    """The mean cost of one method at one threshold and risk."""

    panel: str
    threshold: float
    delta: float
    method: str
    people: float
    answer: str


def least(threshold: float, delta: float) -> float:
    """The fewest people that any method with this risk can draw on average, from one stream."""
    sign = 1.0 if threshold < TRUE_RATIO else -1.0
    payoffs = np.zeros((1, 1, 2, 2))
    payoffs[0, 0, :, 1] = sign, -sign * threshold
    estimate = np.stack([1 - RATES, RATES], axis=-1)[None]
    stakes = best_stakes(payoffs, np.zeros((1, 1)), estimate, SHARES[None])
    nats = float(SHARES @ ((estimate[0] * np.log(stakes.factors[0])).sum(-1) + 1 - stakes.intercepts[0]))
    return limit(delta, nats)


def points(program: iso.Program, panel: str, pairs: Iterable[tuple[float, float]], seeds: int) -> list[Point]:
    """The cost of every method for some thresholds and risks."""
    found = []
    for threshold, delta in pairs:
        prop = ratio_property(program, threshold)
        found.append(Point(panel, threshold, delta, "limit", least(threshold, delta), ""))
        for method, name in METHODS.items():
            verdicts = [
                iso.check(prop, population=program, delta=delta, seed=seed, method=method, budget=1e9)
                for seed in range(seeds if method == "bets" else max(seeds // 10, 1))
            ]
            answers = sorted({verdict.answer for verdict in verdicts})
            people = float(np.mean([verdict.samples for verdict in verdicts]))
            found.append(Point(panel, threshold, delta, name, people, ", ".join(answers)))
        bound, ours, theirs = (point.people for point in found[-3:])
        print(
            f"{panel:<10}{threshold:>7.2f}{delta:>9.0e}{bound:>12,.0f}{ours:>12,.0f}{ours / bound:>7.2f}"
            f"{theirs:>14,.0f}{theirs / bound:>8.2f}   {found[-1].answer}",
            flush=True,
        )
    return found


def chart(found: list[Point]) -> Any:
    """The two panels side by side."""
    import altair as alt

    rows = [asdict(point) for point in found]
    colour = alt.Color("method:N", title=None, scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())))
    powers = alt.Axis(format="~s", values=[1e3, 1e4, 1e5, 1e6])
    people = alt.Y("people:Q", title="people drawn", scale=alt.Scale(type="log", domain=[1e3, 1e6]), axis=powers)
    threshold = alt.X("threshold:Q", title="least ratio that is asked for", scale=alt.Scale(zero=False))
    decades = alt.Axis(format="e", values=list(RISKS), grid=False)
    risk = alt.X("delta:Q", title="risk of error", scale=alt.Scale(type="log", reverse=True), axis=decades)
    true_ratio = (
        alt.Chart(alt.Data(values=[{"at": TRUE_RATIO}]))
        .mark_rule(strokeDash=[4, 4], color="#999999")
        .encode(x=alt.X("at:Q"))
    )
    panels = []
    for panel, axis, title in (
        ("threshold", threshold, f"as the threshold nears the true ratio, {TRUE_RATIO:.2f} (risk 1e-6)"),
        ("risk", risk, f"as the risk shrinks (threshold {RISK_THRESHOLD})"),
    ):
        data = alt.Data(values=[row for row in rows if row["panel"] == panel])
        lines = alt.Chart(data).mark_line(point=True).encode(x=axis, y=people, color=colour)
        if panel == "threshold":
            lines = lines.transform_calculate(side=f"datum.threshold < {TRUE_RATIO} ? 'holds' : 'violated'").encode(
                detail="side:N"
            )
            lines = lines + true_ratio
        panels.append(lines.properties(width=330, height=260, title=title))
    return alt.hconcat(*panels).configure_view(stroke=None).configure(background="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/cost.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/cost.svg"))
    arguments = parser.parse_args()
    program = iso.Program.of(PROGRAM)
    print(f"{'panel':<10}{'ratio':>7}{'risk':>9}{'limit':>12}{'bets':>12}{'/limit':>7}{'paper':>14}{'/limit':>8}")
    found = points(program, "threshold", ((ratio, THRESHOLD_RISK) for ratio in THRESHOLDS), arguments.seeds)
    found += points(program, "risk", ((RISK_THRESHOLD, risk) for risk in RISKS), arguments.seeds)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"true_ratio": TRUE_RATIO, "points": [asdict(point) for point in found]}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    chart(found).save(str(arguments.chart))


if __name__ == "__main__":
    main()

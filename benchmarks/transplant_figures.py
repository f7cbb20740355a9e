"""The cohort of the transplant study, and its average predictions: Figures 7 and 8 of the responsiveness paper.

    python -m benchmarks.transplant_figures [--patients 1000] [--draws 100]
        [--json benchmarks/results/transplant_figures.json] [--chart docs/images/transplant_figures.svg]

Figure 7 shows the four liver parameters of the cohort in pairs; here also their correlations, next to those of the
noise in the paper's equation 11, and their means and ends. Figure 8 shows the average predictions of the three models
before and after patients get cancer, by age. Tumours are two of exactly 2 or 5 cm, as in the supplement. The paper
prints no numbers with either figure. The data are found through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.transplant import AGES, CORRELATION, FOLDER, LIVER, MODELS, SETS, SIZES, Floats, cancer, cohort
from benchmarks.transplant_score import Score, read_score
from isonomia.populations import Table

SHOWN = 250
"""Patients in a panel of the chart."""


def pairs(people: dict[str, Floats]) -> list[dict[str, Any]]:
    """The correlation of each pair of liver parameters, and that of the noise behind it."""
    place = {name: j for j, name in enumerate(LIVER)}
    return [
        {
            "first": first,
            "second": second,
            "correlation": float(np.corrcoef(people[first], people[second])[0, 1]),
            "noise": CORRELATION[place[first]][place[second]],
        }
        for first, second in combinations(LIVER, 2)
    ]


def averages(score: Score, people: dict[str, Floats], draws: int) -> list[dict[str, Any]]:
    """The average prediction of each model by age: without cancer, and over what is reached with it."""
    table, rows = Table.of(people), list[dict[str, Any]]()
    reached = dict[str, dict[str, Any]]()
    for size, limit in SIZES.items():
        points = cancer(limit, SETS[0]).reach(table).sample(draws, np.random.default_rng(0)).columns()
        reached[size] = {name: points.column(name) for name in people}
    for model in MODELS:
        predict = getattr(score, model)
        states = {"no cancer": np.asarray(predict(people), dtype=np.float64)}
        for size in reached:
            states[size] = np.asarray(predict(reached[size]), dtype=np.float64).reshape(table.rows, draws).mean(1)
        for state, values in states.items():
            for low, high in pairwise(AGES):
                mine = values[(people["age"] >= low) & (people["age"] < high)]
                half = 1.96 * float(mine.std(ddof=1)) / len(mine) ** 0.5
                cell = {"model": model, "state": state, "ages": f"{low}-{high - 1}", "mean": float(mine.mean())}
                rows.append({**cell, "low": cell["mean"] - half, "high": cell["mean"] + half})
    return rows


def chart(people: dict[str, Floats], rows: list[dict[str, Any]]) -> Any:
    """Pairs of parameters above, average predictions below."""
    import altair as alt

    some = [{name: float(people[name][j]) for name in LIVER} for j in range(min(SHOWN, len(people["age"])))]
    free = alt.Scale(zero=False)
    clouds = [
        alt.Chart(alt.Data(values=some))
        .mark_circle(size=8, opacity=0.5, color="#3f51b5")
        .encode(x=alt.X(f"{first}:Q", scale=free), y=alt.Y(f"{second}:Q", scale=free))
        .properties(width=130, height=110)
        for first, second in combinations(LIVER, 2)
    ]
    states = ["no cancer", *SIZES]
    colours = alt.Scale(range=["#bbbbbb", "#9fa8da", "#3f51b5"])
    colour = alt.Color("state:N", title="tumours", sort=states, scale=colours)
    panels = []
    for model in MODELS:
        base = alt.Chart(alt.Data(values=[row for row in rows if row["model"] == model])).encode(
            x=alt.X("ages:N", title="age", axis=alt.Axis(labelAngle=0)), xOffset=alt.XOffset("state:N", sort=states)
        )
        bars = base.mark_bar().encode(y=alt.Y("mean:Q", title="days, on average"), color=colour)
        ends = base.mark_rule(color="#333333").encode(y=alt.Y("low:Q"), y2="high:Q")
        panels.append((bars + ends).properties(width=230, height=200, title=model))
    top = alt.vconcat(alt.hconcat(*clouds[:3]), alt.hconcat(*clouds[3:]))
    return alt.vconcat(top, alt.hconcat(*panels)).configure_view(stroke=None).configure(background="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=1_000)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/transplant_figures.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/transplant_figures.svg"))
    arguments = parser.parse_args()
    if not FOLDER.exists():
        print(f"{FOLDER} is not here; set ISONOMIA_DATA")
        return
    score, people = read_score(FOLDER), cohort(arguments.patients)
    coupled, rows = pairs(people), averages(score, people, arguments.draws)
    print(f"{'parameter':<12}{'mean':>8}{'least':>8}{'most':>8}")
    for name in LIVER:
        print(f"{name:<12}{people[name].mean():>8.2f}{people[name].min():>8.2f}{people[name].max():>8.2f}")
    print(f"\n{'pair':<24}{'correlation':>12}{'of the noise (paper)':>22}")
    for pair in coupled:
        print(f"{pair['first'] + ', ' + pair['second']:<24}{pair['correlation']:>12.2f}{pair['noise']:>22.2f}")
    for model in MODELS:
        print(f"\n{model + ', days':<14}" + "".join(f"{low}-{high - 1}".rjust(16) for low, high in pairwise(AGES)))
        for state in ("no cancer", *SIZES):
            mine = [row for row in rows if (row["model"], row["state"]) == (model, state)]
            cells = (f"{row['mean']:.0f} ±{row['high'] - row['mean']:.0f}" for row in mine)
            print(f"{state:<14}" + "".join(cell.rjust(16) for cell in cells))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"patients": arguments.patients, "draws": arguments.draws, "pairs": coupled, "averages": rows}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    chart(people, rows).save(str(arguments.chart))


if __name__ == "__main__":
    main()

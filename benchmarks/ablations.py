"""What fixes predictions of arrest: Table 7 and Figures 3 (right) and 4 of the responsiveness paper, on COMPAS data.

    python -m benchmarks.ablations [--json benchmarks/results/ablations.json] [--chart docs/images/ablations.svg]

The people, the model and the clearing of a record in part are those of ``benchmarks/recidivism.py``. For each row of
Table 7, features are left out and the model is fitted again, or the constraints are left out, so that every entry of a
record changes by itself. The data have no treatment and no programmes, which the paper leaves out; juvenile offences
and time in jail take their place. A prediction is *fixed* when a share of less than 0.1 of what a person can do reaches
"not arrested"; here that is exact, where the paper draws. The chart has the part of people with at most a share, for
training and test people (Figures 3 and 4), and the ablations. The data are found through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.recidivism import (
    COMPAS,
    JAIL,
    JUVENILE,
    PRIORS,
    RECORD,
    Columns,
    audited,
    distribution,
    features_of,
    fitted,
    people_of,
)
from isonomia.interventions import Constraint, Feature, Interventions, Reachability, Thermometer
from isonomia.populations import read_table

DROPPED = ("nothing", "age", "juvenile offences", "time in jail", "both", "the constraints")
"""What is left out, row by row."""
PAPER = {
    "age": ("all age bins", (39.0, 65.6, 39.0), (51.4, 69.2, 51.4), (0.696, 0.686)),
    "juvenile offences": ("treatment", (49.8, 66.8, 49.8), (61.9, 73.3, 61.9), (0.699, 0.690)),
    "both": ("treatment and abuse", (50.5, 67.3, 50.5), (61.8, 73.1, 61.8), (0.698, 0.691)),
    "time in jail": ("programmes", (43.2, 66.3, 43.2), (56.3, 67.9, 56.3), (0.701, 0.691)),
    "the constraints": ("all constraints", (42.1, 64.3, 42.1), (51.0, 66.8, 51.0), (0.706, 0.699)),
}
"""Table 7: what the paper left out, % fixed of white people and others in its three age groups, AUC train and test."""


def kept(people: Columns, dropped: str) -> Columns:
    """The columns without those left out."""
    out = {
        "age": tuple(name for name in people if name.startswith("age_class")),
        "juvenile offences": JUVENILE,
        "time in jail": JAIL,
        "both": (*JUVENILE, *JAIL),
    }.get(dropped, ())
    return {name: column for name, column in people.items() if name not in out}


def rules_of(people: Columns, dropped: str) -> Interventions:
    """Prior arrests fall to any lower class, and each other entry is cleared or not; or all change as they will."""
    free = dropped == "the constraints"
    features = tuple(
        Feature(name, "binary", actionable=name in RECORD, direction="both" if free or name in PRIORS else "down")
        for name in features_of(people)
    )
    levels = [tuple(np.eye(len(PRIORS))[j]) for j in range(len(PRIORS))]
    fall = tuple(tuple(int(to <= at) for to in range(len(levels))) for at in range(len(levels)))
    rules: list[Constraint] = [] if free else [Reachability(PRIORS, tuple(levels), fall)]
    if not free and set(JAIL) <= set(people):
        rules.append(Thermometer(JAIL, "down"))
    return Interventions(features, tuple(rules))


def halves(people: Columns) -> dict[str, NDArray[np.intp]]:
    """The people that the model was fitted to, and the others."""
    from sklearn.model_selection import train_test_split

    rows, arrested = np.arange(len(people["arrested"])), people["arrested"]
    train, test = train_test_split(rows, test_size=0.2, random_state=0, stratify=arrested)
    return {"train": train, "test": test}


def ablated(people: Columns, dropped: str) -> tuple[dict[str, Any], iso.Verdict, Columns]:
    """One row of the table."""
    columns = kept(people, dropped)
    model, auc = fitted(columns)
    verdict = audited(columns, model, rules_of(columns, dropped))
    groups = {
        f"{item['group']['race']}, {item['group']['age_group']}": item["fixed"] / item["people"]
        for item in verdict.details["groups"]
        if item["people"]
    }
    counts = verdict.details["counts"]
    row = {"dropped": dropped, "fixed": counts["fixed"], "people": counts["people"], "auc": auc, "groups": groups}
    return row, verdict, columns


def chart(curves: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Any:
    """Figures 3 (right) and 4, and the ablations."""
    import altair as alt

    race = alt.Color("race:N", title=None, scale=alt.Scale(range=["#e07b39", "#3f51b5"]), sort=["white", "not white"])
    lines = (
        alt.Chart(alt.Data(values=curves))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("share:Q", title="share of clearings that help"),
            y=alt.Y("below:Q", title="people with at most this share", axis=alt.Axis(format="%")),
            color=race,
            strokeDash=alt.StrokeDash("age_group:N", title=None),
        )
        .properties(width=210, height=200)
        .facet(column=alt.Column("part:N", title=None, sort=["train", "test"]))
    )
    bars = [
        {"dropped": row["dropped"], "group": group, "race": group.split(",")[0], "part": part}
        for row in rows
        for group, part in row["groups"].items()
        if "21-29" in group
    ]
    table = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar()
        .encode(
            y=alt.Y("dropped:N", title="left out", sort=list(DROPPED)),
            yOffset=alt.YOffset("race:N", sort=["white", "not white"]),
            x=alt.X("part:Q", title="fixed, ages 21 to 29", axis=alt.Axis(format="%")),
            color=race,
        )
        .properties(width=210, height=200)
    )
    return alt.hconcat(lines, table).configure_view(stroke=None).configure(background="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/ablations.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/ablations.svg"))
    arguments = parser.parse_args()
    if not COMPAS.exists():
        print(f"{COMPAS} is not here; set ISONOMIA_DATA")
        return
    people = people_of(read_table(str(COMPAS)))
    rows, curves = [], list[dict[str, Any]]()
    print(f"{'left out':<20}{'fixed':>7}{'white':>8}{'':>16}{'not white':>10}{'':>14}{'AUC':>6}")
    print(f"{'':<20}{'':>7}" + f"{'18-20':>8}{'21-29':>8}{'30+':>8}" * 2 + f"{'train':>8}{'test':>8}")
    for dropped in DROPPED:
        row, verdict, columns = ablated(people, dropped)
        rows.append(row)
        if dropped == "nothing":
            found = np.asarray(verdict.details["people"]["row"])
            for part, at in halves(columns).items():
                mine = np.isin(found, at)
                curves += [{**point, "part": part} for point in distribution(columns, part_of(verdict, mine))]
        shares = [row["groups"].get(f"{race}, {ages}") for race in ("white", "not white") for ages in AGES]
        _print(dropped, f"{row['fixed']:,}", shares, (row["auc"]["train"], row["auc"]["test"]))
        if dropped in PAPER:
            name, white, other, auc = PAPER[dropped]
            _print(f"  paper: {name}", "", [part / 100 for part in (*white, *other)], auc)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"rows": rows, "curves": curves}, indent=1) + "\n", encoding="utf-8")
    chart(curves, rows).save(str(arguments.chart))


AGES = ("18-20", "21-29", "30 and over")


def part_of(verdict: iso.Verdict, mine: NDArray[np.bool_]) -> Any:
    """A verdict's people and groups, for some of the people."""
    from types import SimpleNamespace

    found = verdict.details["people"].items()
    people = {name: [value for value, keep in zip(values, mine, strict=True) if keep] for name, values in found}
    return SimpleNamespace(details={"people": people, "groups": verdict.details["groups"]})


def _print(name: str, fixed: str, shares: list[float | None], auc: tuple[float, float]) -> None:
    cells = "".join(f"{'-' if share is None else format(share, '.1%'):>8}" for share in shares)
    print(f"{name:<20.20}{fixed:>7}{cells}{auc[0]:>8.3f}{auc[1]:>8.3f}")


if __name__ == "__main__":
    main()

"""Who is predicted to reoffend whatever their record? The first study of the responsiveness paper, on COMPAS data.

    python -m benchmarks.recidivism [--json benchmarks/results/recidivism.json] [--chart docs/images/recidivism.svg]

Instead of the paper's prisoners of New York there are the people of ProPublica's two-year set, from Broward County. It
has most of what the paper uses: sex, age, prior arrests in four classes, juvenile felonies, misdemeanours and other
offences, time in jail. Treatment and programmes are not in it. Race is no feature. A logistic model is fitted, and for
everybody who is predicted to be arrested again the question is whether a hypothetical clearing of their record would
change that:

* clear: the whole record is cleared or nothing is, the paper's reachability constraint;
* Table 5: prior arrests are cleared or not, and a class that goes takes every other entry with it, as the linkages of
  the paper's Table 5 say; their effects are clipped at 0, or they would make no sense;
* in part: prior arrests fall to any lower class, and each other entry is cleared or not.

A prediction is *fixed* when a share of less than 0.1 of these reach "not arrested". The reachable points are few, so
that shares are exact. The second table says what draws would have found, which the paper uses: its 20 a person can
never show anything at 0.05. The data are found through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.reach import DATA
from isonomia.evidence.binomial import least_draws, least_sequential_draws
from isonomia.evidence.confidence_sequences import log_wealth_below, tail_below
from isonomia.evidence.multiple import e_bh, holm
from isonomia.interventions import Feature, Interventions, Linkage, Reachability, Thermometer
from isonomia.populations import Table, read_table

COMPAS = DATA / "compas" / "compas-scores-two-years.csv.gz"
Columns = dict[str, NDArray[Any]]

SHARE, ALPHA = 0.1, 0.05
AGES = (19, 23, 27, 30, 35, 40, 45)
"""Where the paper's classes of age begin; nobody here is under 18."""
PRIORS = ("priors_0", "priors_1", "priors_2_to_4", "priors_5_or_more")
JUVENILE = ("juvenile_felony", "juvenile_misdemeanour", "juvenile_other")
JAIL = ("jail_over_30_days", "jail_over_180_days")
RECORD = (*PRIORS, *JUVENILE, *JAIL)
GROUPS = ("age_group", "race")
DRAWS = (20, 29, 50, 100, 200, 400)


def people_of(raw: Table) -> Columns:
    """Dummies as in the paper, of the people whom ProPublica kept: charged within 30 days of the screening."""
    gap = _numbers(raw, "days_b_screening_arrest")
    kept = np.flatnonzero((np.abs(gap) <= 30) & (_numbers(raw, "is_recid") != -1))
    table = raw.take(kept)
    age, priors, jail = _numbers(table, "age"), _numbers(table, "priors_count"), _days_in_jail(table)
    classes = np.digitize(age, AGES)
    columns: Columns = {"arrested": _numbers(table, "two_year_recid").astype(int)}
    columns |= {f"age_class_{j}": (classes == j).astype(float) for j in range(len(AGES) + 1)}
    columns["woman"] = (table.column("sex") == "Female").astype(float)
    columns["felony_charge"] = (table.column("c_charge_degree") == "F").astype(float)
    level = np.digitize(priors, (1, 2, 5))
    columns |= {name: (level == j).astype(float) for j, name in enumerate(PRIORS)}
    for name, column in zip(JUVENILE, ("juv_fel_count", "juv_misd_count", "juv_other_count"), strict=True):
        columns[name] = (_numbers(table, column) > 0).astype(float)
    columns |= {name: (jail > limit).astype(float) for name, limit in zip(JAIL, (30, 180), strict=True)}
    columns["age_group"] = np.where(age < 21, "18-20", np.where(age < 30, "21-29", "30 and over"))
    columns["race"] = np.where(table.column("race") == "Caucasian", "white", "not white")
    return columns


def features_of(people: Columns) -> list[str]:
    return [name for name in people if name not in ("arrested", *GROUPS)]


def clearings(people: Columns) -> dict[str, Interventions]:
    """The ways of clearing a record."""
    names = features_of(people)
    free = tuple(Feature(name, "binary", actionable=name in RECORD) for name in names)
    one_way = tuple(
        Feature(name, "binary", actionable=name in RECORD, direction="both" if name in PRIORS else "down")
        for name in names
    )
    levels = [tuple(np.eye(len(PRIORS))[j]) for j in range(len(PRIORS))]
    fall = tuple(tuple(int(to <= at) for to in range(len(levels))) for at in range(len(levels)))
    jails = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]
    records = [
        (*level, *juvenile, *jail) for level, juvenile, jail in product(levels, product((0.0, 1.0), repeat=3), jails)
    ]
    no_priors = tuple(tuple(int(at == to or to == 0) for to in range(len(levels))) for at in range(len(levels)))
    others = (*JUVENILE, *JAIL)
    table_5 = [Linkage(name, others, clip=True) for name in PRIORS[1:]]
    clear = tuple(tuple(int(at == to or to == 0) for to in range(len(records))) for at in range(len(records)))
    return {
        "clear": Interventions(free, (Reachability(RECORD, tuple(records), clear),)),
        "Table 5": Interventions(
            tuple(Feature(name, "binary", actionable=name in PRIORS) for name in names),
            (Reachability(PRIORS, tuple(levels), no_priors), *table_5),
        ),
        "in part": Interventions(one_way, (Reachability(PRIORS, tuple(levels), fall), Thermometer(JAIL, "down"))),
    }


def fitted(people: Columns) -> tuple[Any, dict[str, float]]:
    """A logistic model on four fifths of the people, and how well it ranks."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    rows = np.column_stack([people[name] for name in features_of(people)])
    parts = train_test_split(rows, people["arrested"], test_size=0.2, random_state=0, stratify=people["arrested"])
    model = LogisticRegression(max_iter=1_000).fit(parts[0], parts[2])
    pairs = {"train": (parts[0], parts[2]), "test": (parts[1], parts[3])}
    return model, {name: float(roc_auc_score(y, model.predict_proba(x)[:, 1])) for name, (x, y) in pairs.items()}


def audited(people: Columns, model: Any, rules: Interventions) -> iso.Verdict:
    """Everybody who is predicted to be arrested, every reachable point."""
    claim = iso.Responsiveness(rules, 0, at_least=SHARE, who="prediction == 1", by=GROUPS)
    return iso.check(claim, model, iso.Census(people), delta=ALPHA, seed=0, features=features_of(people))


def by_draws(people: Columns, model: Any, rules: Interventions, verdict: iso.Verdict) -> list[dict[str, Any]]:
    """Who is named fixed from so many draws a person: each alone, by Holm's procedure, and by e-BH."""
    found, names = verdict.details["people"], features_of(people)
    table = Table.of({name: people[name][found["row"]] for name in names})
    points = rules.reach(table).sample(DRAWS[-1], np.random.default_rng(0)).columns(names)
    answers = model.predict(np.column_stack([points.column(name) for name in names]).astype(float))
    reached = np.cumsum((answers == 0).reshape(table.rows, -1), axis=1)
    fixed = np.asarray(found["answer"]) == "fixed"
    rows = []
    for draws in DRAWS:
        counts = reached[:, draws - 1], draws, SHARE
        tails, wealths = tail_below(*counts), np.exp(np.minimum(log_wealth_below(*counts), 690.0))
        named = {"alone": tails <= ALPHA, "family": holm(tails, ALPHA), "discovery": e_bh(wealths, ALPHA)}
        rows.append({"draws": draws})
        for rule, claimed in named.items():
            rows[-1] |= {rule: int(claimed.sum()), f"{rule}_wrong": int((claimed & ~fixed).sum())}
    return rows


def chart(groups: list[dict[str, Any]], shares: list[dict[str, Any]]) -> Any:
    """The paper's Fig. 3: the part that is fixed by age and race, and how many have at most a share."""
    import altair as alt

    colour = alt.Color("race:N", title=None, scale=alt.Scale(range=["#e07b39", "#3f51b5"]), sort=["white", "not white"])
    bars = [
        {"kind": row["kind"], **row["group"], "part": row["fixed"] / row["people"]} for row in groups if row["people"]
    ]
    left = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar()
        .encode(
            x=alt.X("age_group:N", title=None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("race:N", sort=["white", "not white"]),
            y=alt.Y("part:Q", title="fixed predictions", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            color=colour,
        )
        .properties(width=190, height=210)
        .facet(column=alt.Column("kind:N", title=None))
    )
    right = (
        alt.Chart(alt.Data(values=shares))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("share:Q", title="share of clearings that help (in part)"),
            y=alt.Y("below:Q", title="people with at most this share", axis=alt.Axis(format="%")),
            color=colour,
            strokeDash=alt.StrokeDash("age_group:N", title=None),
        )
        .properties(width=230, height=210)
    )
    return alt.hconcat(left, right).configure_view(stroke=None).configure(background="white")


def distribution(people: Columns, verdict: iso.Verdict) -> list[dict[str, Any]]:
    """For each group, which part of its people has at most a share, at a grid of shares."""
    found = verdict.details["people"]
    rows, share = np.asarray(found["row"]), np.asarray(found["share"], dtype=np.float64)
    points = []
    for item in verdict.details["groups"]:
        group = item["group"]
        mine = share[np.all([people[name][rows] == value for name, value in group.items()], axis=0)]
        points += [{**group, "share": at, "below": float((mine <= at + 1e-9).mean())} for at in np.linspace(0, 1, 41)]
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/recidivism.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/recidivism.svg"))
    arguments = parser.parse_args()
    if not COMPAS.exists():
        print(f"{COMPAS} is not here; set ISONOMIA_DATA")
        return
    people = people_of(read_table(str(COMPAS)))
    model, auc = fitted(people)
    print(f"{len(people['arrested']):,} people; AUC {auc['train']:.3f} train, {auc['test']:.3f} test")
    groups = []
    for kind, rules in clearings(people).items():
        verdict = audited(people, model, rules)
        groups += [{"kind": kind, **item} for item in verdict.details["groups"]]
        _print_groups(kind, verdict)
    tests = by_draws(people, model, rules, verdict)
    _print_tests(tests, verdict.details["counts"])
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"share": SHARE, "alpha": ALPHA, "auc": auc, "groups": groups, "draws": tests}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    chart(groups, distribution(people, verdict)).save(str(arguments.chart))


def _print_groups(kind: str, verdict: iso.Verdict) -> None:
    counts = verdict.details["counts"]
    print(
        f"\n{kind}: {counts['people']:,} predicted to be arrested, {counts['fixed']:,} of them fixed ({verdict.answer})"
    )
    print(f"{'age':<14}{'race':<12}{'people':>8}{'fixed':>8}{'part':>8}")
    for item in verdict.details["groups"]:
        part = item["fixed"] / item["people"]
        print(
            f"{item['group']['age_group']:<14}{item['group']['race']:<12}{item['people']:>8}{item['fixed']:>8}{part:>8.1%}"
        )


def _print_tests(tests: list[dict[str, Any]], counts: dict[str, int]) -> None:
    count = counts["people"]
    print(f"\nin part, by draws: of {count:,} people {counts['fixed']:,} are fixed; wrong names in brackets")
    print(
        f"least draws for a claim: {least_draws(ALPHA, SHARE)} for one person, {least_draws(ALPHA / count, SHARE)} for "
        f"one among {count:,} (Holm), {least_sequential_draws(ALPHA, SHARE)} for one person with looking at will"
    )
    print(f"{'draws':<8}{'each alone':>16}{'Holm':>16}{'e-BH':>16}")
    for row in tests:
        cells = (f"{row[rule]:>9} ({row[f'{rule}_wrong']:>4})" for rule in ("alone", "family", "discovery"))
        print(f"{row['draws']:<8}" + "".join(cells))


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    return np.asarray([np.nan if value in ("", None) else float(value) for value in table.column(name)])


def _days_in_jail(table: Table) -> NDArray[np.float64]:
    """Days between the two dates, at least 0, and 0 where one is missing."""
    ends = []
    for name in ("c_jail_in", "c_jail_out"):
        text = [str(value)[:10] if value not in ("", None) else "NaT" for value in table.column(name)]
        ends.append(np.asarray(["NaT" if len(one) < 10 else one for one in text], dtype="datetime64[D]"))
    days = (ends[1] - ends[0]).astype("timedelta64[D]")
    return np.where(np.isnat(days), 0.0, np.maximum(days.astype(np.float64), 0.0))


if __name__ == "__main__":
    main()

"""Does getting cancer ever lower the score by which livers are offered? The third study of the responsiveness paper.

    python -m benchmarks.transplant [--patients 1000] [--draws 100] [--json benchmarks/results/transplant.json]
                                    [--chart docs/images/transplant.svg]

The model is the Transplant Benefit Score, see ``benchmarks/transplant_score.py``. Records of patients are not public.
As in the paper (its section C.3), a cohort without cancer is drawn: the default patient of the public calculator, with
age, sex, albumin and potassium drawn uniformly, and four liver parameters from a structural causal model with
correlated noise. Each patient is then given cancer, once with small and once with large tumours, while the liver
parameters vary: the noise behind them is found out, more noise is added, and the equations say what follows. The
share of such points that move a score the wrong way is the rate at which monotonicity is violated.

The main text speaks of tumours of *at most* 2 or 5 cm, the supplement of two tumours of *exactly* 2 or 5 cm; both are
here. The data are found through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.reach import DATA
from benchmarks.transplant_score import ALCOHOL, CANCER, DEFAULT_PATIENT, Score, read_score
from isonomia.interventions import Causes, Condition, Feature, IfThen, Interventions, Noise, Sampler

FOLDER = DATA / "liver"
Floats = NDArray[np.float64]

CORRELATION = (
    (1.0, 0.447, 0.320, -0.257),
    (0.447, 1.0, 0.370, -0.043),
    (0.320, 0.370, 1.0, -0.091),
    (-0.257, -0.043, -0.091, 1.0),
)
"""Equation 11 of the paper, in the order of the liver parameters."""
LIVER = ("bilirubin", "sodium", "inr", "creatinine")
HIDDEN = tuple(f"noise_{name}" for name in LIVER)
SIZES = {"small": 2.0, "large": 5.0}
SETS = ("exactly", "at most")
MODELS = {"need": "down", "utility": "up", "benefit": "up"}
"""Where each prediction should go when a patient gets cancer: fewer days without a transplant, a higher score."""
AGES = (30, 40, 50, 60, 70, 81)
THRESHOLD, DELTA = 0.5, 0.05


def bilirubin(noise_bilirubin: Floats) -> Floats:
    return np.clip(np.exp(0.5 * noise_bilirubin + 3.5), 15.0, 200.0)


def sodium(noise_sodium: Floats) -> Floats:
    return np.clip(5.0 * noise_sodium + 137.0, 125.0, 145.0)


def inr(noise_inr: Floats) -> Floats:
    return np.clip(np.exp(0.3 * noise_inr - 0.2) + 0.8, 0.9, 2.4)


def creatinine(noise_creatinine: Floats) -> Floats:
    return np.clip(np.exp(0.4 * noise_creatinine + 4.2), 45.0, 200.0)


EQUATIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "bilirubin": bilirubin,
    "sodium": sodium,
    "inr": inr,
    "creatinine": creatinine,
}
UNDONE: Mapping[str, Callable[[Floats], Floats]] = {
    "bilirubin": lambda value: (np.log(value) - 3.5) / 0.5,
    "sodium": lambda value: (value - 137.0) / 5.0,
    "inr": lambda value: (np.log(value - 0.8) + 0.2) / 0.3,
    "creatinine": lambda value: (np.log(value) - 4.2) / 0.4,
}
"""What noise a value betrays; for one at a bound, the least noise that leads there (the paper: approximately)."""


def liver_model() -> iso.Causal:
    """Equations 11 to 15: hidden noise, each given those before it, and what it makes of the liver parameters."""
    matrix = np.asarray(CORRELATION)
    equations: dict[str, Any] = {}
    for j, name in enumerate(HIDDEN):
        weights = np.linalg.solve(matrix[:j, :j], matrix[:j, j])
        mean = " + ".join(f"{weight!r} * {before}" for weight, before in zip(weights.tolist(), HIDDEN[:j], strict=True))
        equations[name] = f"gaussian({mean or 0}, {float(1.0 - weights @ matrix[:j, j])!r})"
    return iso.Causal({**equations, **EQUATIONS})


def cohort(patients: int, seed: int = 0) -> dict[str, Floats]:
    """Patients without cancer; the noise behind their liver parameters is what their values betray."""
    rng = np.random.default_rng(seed)
    drawn = liver_model().draw(patients, seed)
    columns = {name: np.full(patients, float(value)) for name, value in DEFAULT_PATIENT.items()}
    columns |= {name: np.asarray(drawn.column(name), dtype=np.float64) for name in LIVER}
    columns |= {hidden: UNDONE[name](columns[name]) for name, hidden in zip(LIVER, HIDDEN, strict=True)}
    columns["age"] = rng.integers(30, 81, patients).astype(np.float64)
    columns["woman"] = rng.integers(0, 2, patients).astype(np.float64)
    columns["albumin"] = rng.uniform(30.0, 40.0, patients)
    columns["potassium"] = rng.uniform(3.5, 5.0, patients)
    return columns | {"tumour_size": np.zeros(patients)}


def cancer(size: float, kind: str) -> Interventions:
    """Cancer with tumours of exactly or at most so many centimetres, while the liver parameters vary.

    Exactly: two tumours of this size are *assigned*, whatever the patient does. At most: number and size are actions,
    and a size is a real number; so patients with cancer have all the mass, and those without it none.
    """
    assigned = kind == "exactly"
    features = (
        Feature("disease", "categorical", values=(CANCER, ALCOHOL), actionable=not assigned, direction="down"),
        Feature("tumours", "integer", 1, 3, actionable=not assigned),
        Feature("tumour_size", "real", 0, size, actionable=not assigned),
        *(Feature(name, "real", actionable=False) for name in (*HIDDEN, *LIVER)),
    )
    vary = (Noise(HIDDEN, 1.0, correlation=CORRELATION), Causes(liver_model()))
    if assigned:
        return Interventions(features, (), (Sampler(("tumours", "tumour_size", "disease"), diagnosis(size)), *vary))
    rules = (
        IfThen(Condition("tumours", ">=", 2), Condition("disease", "==", CANCER)),
        IfThen(Condition("disease", "!=", CANCER), Condition("tumour_size", "==", 0)),
    )
    return Interventions(features, rules, vary)


def diagnosis(size: float) -> Callable[..., dict[str, Floats]]:
    """The change from a patient without cancer to one with two tumours of a size."""

    def draw(before: Any, after: Any, rng: np.random.Generator) -> dict[str, Floats]:  # noqa: ARG001
        wanted = {"tumours": 2.0, "tumour_size": size, "disease": float(CANCER)}
        return {name: value - np.asarray(after[name], dtype=np.float64) for name, value in wanted.items()}

    return draw


def audited(score: Score, people: Mapping[str, Floats], size: str, kind: str, draws: int) -> list[dict[str, Any]]:
    """One row for each part of the score and age group: how often monotonicity is violated, and how surely."""
    rows, changes = [], cancer(SIZES[size], kind)
    for part, direction in MODELS.items():
        claim = iso.responsiveness.monotonicity(changes, direction, at_least=THRESHOLD, draws=draws)
        verdict = iso.check(claim, getattr(score, part), iso.Census(people), delta=DELTA, seed=0)
        found = verdict.details["people"]
        violated = 1.0 - np.asarray(found["share"], dtype=np.float64)
        named = np.asarray(found["answer"]) == "fixed"
        for low, high in pairwise(AGES):
            group = (people["age"] >= low) & (people["age"] < high)
            rows.append({"model": part, "set": size, "sizes": kind, "ages": f"{low}-{high - 1}"})
            rows[-1] |= _average(violated[group]) | {"patients": int(group.sum()), "named": int(named[group].sum())}
    return rows


def _average(values: Floats) -> dict[str, float]:
    """The mean with a 95% interval over the cohort."""
    half = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
    return {"violated": float(values.mean()), "low": float(values.mean() - half), "high": float(values.mean() + half)}


def chart(rows: list[dict[str, Any]]) -> Any:
    """The paper's Fig. 6: a panel for each model, bars for age groups, small beside large."""
    import altair as alt

    titles = {"need": "need: days without it rise", "utility": "utility falls", "benefit": "score falls"}
    colour = alt.Color(
        "set:N", title="tumours", scale=alt.Scale(domain=list(SIZES), range=["#9fa8da", "#3f51b5"]), sort=list(SIZES)
    )
    side = alt.XOffset("set:N", sort=list(SIZES))
    panels = []
    for part, title in titles.items():
        chosen = [row for row in rows if row["model"] == part and row["sizes"] == SETS[0]]
        share = alt.Axis(format="%")
        base = alt.Chart(alt.Data(values=chosen)).encode(
            x=alt.X("ages:N", title="age", axis=alt.Axis(labelAngle=0)), xOffset=side
        )
        bars = base.mark_bar().encode(
            y=alt.Y("violated:Q", title="violated, on average", scale=alt.Scale(domain=[0, 1]), axis=share),
            color=colour,
        )
        ends = base.mark_rule(color="#333333").encode(y=alt.Y("low:Q"), y2="high:Q")
        panels.append((bars + ends).properties(width=230, height=220, title=title))
    return alt.hconcat(*panels).configure_view(stroke=None).configure(background="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=1_000)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/transplant.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/transplant.svg"))
    arguments = parser.parse_args()
    if not FOLDER.exists():
        print(f"{FOLDER} is not here; set ISONOMIA_DATA")
        return
    score, people = read_score(FOLDER), cohort(arguments.patients)
    rows = []
    for kind in SETS:
        for size, limit in SIZES.items():
            found = audited(score, people, size, kind, arguments.draws)
            rows += found
            print(f"\n{size} tumours: {kind} {limit:g} cm; {arguments.draws} draws a patient")
            _print(found)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"patients": arguments.patients, "draws": arguments.draws, "threshold": THRESHOLD, "delta": DELTA}
    arguments.json.write_text(json.dumps({**content, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    chart(rows).save(str(arguments.chart))


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"{'ages':<8}" + "".join(f"{part:>28}" for part in MODELS))
    for ages in dict.fromkeys(row["ages"] for row in rows):
        cells = [next(row for row in rows if row["ages"] == ages and row["model"] == part) for part in MODELS]
        print(f"{ages:<8}" + "".join(f"{_cell(row):>28}" for row in cells))


def _cell(row: dict[str, Any]) -> str:
    half = (row["high"] - row["low"]) / 2
    return f"{row['violated']:6.1%} ±{half:5.1%} ({row['named']:>3}/{row['patients']})"


if __name__ == "__main__":
    main()

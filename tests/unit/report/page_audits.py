"""Audits to show: verdicts that the four audits really gave, on little data."""

from __future__ import annotations

from functools import cache

import numpy as np

import isonomia as iso
from isonomia.interventions import Feature, Interventions
from isonomia.records.verdict import Verdict
from isonomia.report.entries import AuditReport, Entry

NASTY = "<img src=x onerror=window.owned=1>"
REVIEW = "It was <script>window.owned=1</script></script></title></style> & a film of which I expected a good deal more"


@cache
def rates(threshold: float = 0.8) -> Verdict:
    rng = np.random.default_rng(7)
    sex = np.where(rng.random(3_000) < 0.5, "F", "M")
    hired = rng.random(3_000) < np.where(sex == "F", 0.2, 0.4)
    text = f"P[hired | sex == 'F'] / P[hired | sex == 'M'] >= {threshold}"
    return iso.check(text, population=iso.Sample({"sex": sex, "hired": hired}), delta=1e-3, seed=1)


@cache
def safety() -> Verdict:
    """Twenty people; one more prior makes the risk class fall where there were three."""
    people = {"priors": [0, 1, 2, 3] * 5, "age": list(range(20, 40)), NASTY: [REVIEW] * 20}

    def model(table):
        priors = np.asarray(table["priors"])
        return np.where(priors == 4, 0, priors)

    rising = iso.safety.monotone("priors", up=(1, 2), at_most=7, output="not lower")
    return iso.check(rising, model, iso.Census(people), seed=1)


@cache
def responsiveness() -> Verdict:
    changes = Interventions(
        (Feature("savings", "integer", 0, 9, direction="up"), Feature("age", "integer", 18, 99, actionable=False))
    )
    people = {"savings": [0, 3, 8, 2, 1, 5], "age": [20, 45, 60, 22, 19, 33], "sex": ["F", "M", "M", "F", "F", NASTY]}

    def model(table):
        return np.where((np.asarray(table["savings"]) >= 6) & (np.asarray(table["age"]) >= 21), "approved", "refused")

    prop = iso.Responsiveness(target="approved", at_least=0.3, interventions=changes, by=["sex"])
    return iso.check(prop, model, iso.Census(people), seed=1)


@cache
def principal() -> Verdict:
    people = {
        "school": ["A"] * 40 + [NASTY] * 40,
        "sex": ["F", "M"] * 40,
        "passed": [0] * 20 + [1] * 20 + [1] * 36 + [0] * 4,
        "predicted": [0] * 20 + [1] * 20 + [0, 1] * 20,
    }
    prop = iso.PrincipalFairness(
        attribute="sex", outcome="passed", prediction="predicted", given=["school"], definition=2
    )
    return iso.check(prop, population=iso.Census(people), seed=1)


@cache
def undecided() -> Verdict:
    return iso.check("P[hired] >= 0.6", population=iso.Sample({"hired": [1, 0, 1]}), seed=1)


def closing(verdict: Verdict, points: int = 40) -> tuple[tuple[int, float, float | None, float], ...]:
    """A history as a run keeps it: from everything to the final interval."""
    last = verdict.expressions[0]
    return tuple(
        (
            10 * (k + 1),
            -float("inf") if k == 0 else last.low - 1 / k,
            None if k == 0 else last.estimate,
            float("inf") if k == 0 else last.high + 1 / k,
        )
        for k in range(points)
    )


@cache
def every_kind() -> AuditReport:
    """A property of each kind and of each answer, with hostile texts in names, columns and reviews."""
    return AuditReport(
        f"Spring audit {NASTY}",
        (
            Entry("holds", rates(0.3), why="the policy"),
            Entry("not known", undecided()),
            Entry("four-fifths rule", rates(), history=closing(rates()), why=REVIEW),
            Entry("more priors, no less risk", safety(), explanation="Another prior never lowers the risk class."),
            Entry("something can be done", responsiveness()),
            Entry(f"equal prospects {NASTY}", principal()),
        ),
        run="20261115-1200-ab12",
        when="2026-11-15T12:00:00+00:00",
        file="audits/spring audit.toml",
    )

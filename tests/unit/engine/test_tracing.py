"""How an interval narrowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

import isonomia as iso
from isonomia.engine.parameters import STEP, HistoryObserver, Progress
from isonomia.records.verdict import Expression

TABLE = {
    "sex": np.repeat(["F", "M"], 20_000),
    "hired": (np.random.default_rng(1).random(40_000) < np.repeat([0.30, 0.36], 20_000)).astype(int),
}


@dataclass
class Watching:
    seen: list[str] = field(default_factory=list)

    def begin(self, text: str) -> None:
        self.seen.append(f"begin {text}")

    def advance(self, progress: Progress) -> None:
        self.seen.append(f"advance {progress.samples}")

    def end(self) -> None:
        self.seen.append("end")


def _progress(samples: int, known: Expression | None) -> Progress:
    return Progress(samples, float("inf"), 0.5, 1.0, lambda: "", "people", lambda: known)


def test_the_trace_of_a_check_ends_near_its_verdict_and_looks_seldom() -> None:
    trace = HistoryObserver()
    text = "P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.7"
    verdict = iso.check(text, population=iso.Sample(TABLE), delta=0.01, seed=3, observer=trace)
    samples = [point[0] for point in trace.points]
    assert len(samples) >= 5
    assert all(later >= STEP * earlier for earlier, later in pairwise(samples))
    assert samples[-1] * STEP > verdict.samples
    _, low, estimate, high = trace.points[-1]
    assert estimate is not None
    assert low < estimate < high
    assert verdict.interval == pytest.approx((low, high), rel=0.2)


def test_a_trace_changes_nothing_of_the_verdict() -> None:
    def verdict(**options: object) -> iso.Verdict:
        return iso.check("P[hired] >= 0.3", population=iso.Sample(TABLE), seed=3, **options)  # type: ignore[arg-type]

    plain, traced = verdict(), verdict(observer=HistoryObserver())
    assert (plain.answer, plain.samples, plain.leaves) == (traced.answer, traced.samples, traced.leaves)


def test_another_observer_is_told_everything() -> None:
    other = Watching()
    trace = HistoryObserver(other)
    trace.begin("a property")
    for samples in (8, 9, 10):
        trace.advance(_progress(samples, None))
    trace.end()
    assert other.seen == ["begin a property", "advance 8", "advance 9", "advance 10", "end"]


def test_where_nothing_is_told_along_the_way_nothing_is_noted() -> None:
    trace = HistoryObserver()
    trace.advance(_progress(8, None))
    trace.advance(_progress(80, Expression("P[a]", ">=", 0.5, 0.6, 0.4, 0.8)))
    assert trace.points == [(80, 0.4, 0.6, 0.8)]


def test_an_effect_of_principal_fairness_is_traced() -> None:
    rng = np.random.default_rng(5)
    people = {
        "sex": rng.choice(["F", "M"], 3_000),
        "predicted": rng.integers(0, 2, 3_000),
        "passed": rng.integers(0, 2, 3_000),
    }
    trace = HistoryObserver()
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed", prediction="predicted", within=0.2)
    iso.check(prop, population=iso.Sample(people), seed=1, observer=trace)
    assert len(trace.points) >= 3
    widths = [high - low for _, low, _, high in trace.points]
    assert widths[-1] <= widths[0]

"""Counting distinct violations: speed, memory, and what happens when there are too many."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import isonomia as iso
from effort import effort
from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.violations import KEPT, Violations
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.table import Table
from isonomia.records import violations as violations_module
from isonomia.records.violations import DistinctCount, digests, first_of_each

DOMAIN = table_domain(Table.of({"a": [0]}), {}, {}, None, {})
MILLION = 1_000_000
NEVER = "input x1;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 0;\n"


def violations_of(cases: Cases, costs: np.ndarray, size: int) -> Violations:
    violations = Violations()
    for start in range(0, len(cases), size):
        part = np.arange(start, min(start + size, len(cases)))
        violations.add_cases(DOMAIN, cases.take(part), costs[:, part])
    return violations


@pytest.fixture(scope="module")
def many() -> tuple[Cases, np.ndarray]:
    rng = np.random.default_rng(1)
    cases = Cases((rng.integers(0, 50_000, MILLION),), (rng.integers(0, 100, MILLION), rng.random(MILLION)))
    return cases, rng.integers(0, 9, (2, MILLION)).astype(float)


@pytest.mark.parametrize("size", [2**16, 2_000])
def test_a_million_violations_take_about_a_second_of_the_processor(many: tuple[Cases, np.ndarray], size: int) -> None:
    with effort() as spent:
        violations = violations_of(*many, size)
        assert len(violations.distinct) == MILLION
        # 0.4 s measured; the limit leaves room for a machine that is busy or slow.
    assert spent.seconds < 2.5


def test_a_million_violations_take_less_than_a_hundred_megabytes(many: tuple[Cases, np.ndarray]) -> None:
    tracemalloc.start()
    try:
        violations = violations_of(*many, 2**16)
        len(violations.distinct)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # 51e6 measured
    assert kept < 20e6


def test_the_smallest_changes_are_kept_whatever_the_batches(many: tuple[Cases, np.ndarray]) -> None:
    cases, costs = (many[0].take(np.arange(20_000)), many[1][:, :20_000])
    best = {}
    for index in np.lexsort((costs[1], costs[0])).tolist():
        best.setdefault(int(cases.inputs[0][index]), tuple(costs[:, index].tolist()))
    expected = sorted((cost, origin) for origin, cost in best.items())[:KEPT]
    for size in (20_000, 700):
        found = [
            (violation.cost, int(violation.case.inputs[0][0]))
            for violation in violations_of(cases, costs, size).ranked(KEPT)
        ]
        assert found == expected


def test_beyond_the_limit_the_count_stops_and_the_memory_is_free() -> None:
    count = DistinctCount(limit=4096)
    for start in range(0, 300_000, 10_000):
        count.add(digests((np.arange(start, start + 10_000),)))
        count.add(digests((np.arange(start, start + 5_000),)))  # again
    assert (len(count), count.exact) == (4096, False)
    assert not count._parts


def test_at_the_limit_the_count_is_exact() -> None:
    count = DistinctCount(limit=4096)
    count.add(digests((np.arange(4096),)))
    count.add(digests((np.arange(4096),)))
    assert (len(count), count.exact) == (4096, True)


def test_a_verdict_says_that_there_are_more_violations_than_were_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(violations_module, "MAX_DISTINCT", 3)
    people = iso.Census({"a": np.arange(10)})
    verdict = iso.check(iso.safety.property(NEVER), lambda table: np.ones(len(table["a"])), people)
    assert "more than 3 distinct violations of at least 3 inputs were found" in verdict.remarks
    assert verdict.details["violations"] == {
        "cases": 10,
        "distinct": 3,
        "exact": False,
        "inputs": 3,
        "by_ensures": {"d1 == 0": 10},
    }


def test_digests_that_share_their_first_word_are_told_apart() -> None:
    words = np.array([[5, 5, 5, 1], [7, 8, 7, 7]], dtype=np.uint64)
    assert first_of_each(words).tolist() == [3, 0, 1]


def test_whole_numbers_are_kept_apart_where_floats_would_not_be() -> None:
    count = DistinctCount()
    count.add(digests((np.array([2**53, 2**53 + 1]),)))
    assert len(count) == 2


def test_zero_with_a_sign_is_zero() -> None:
    count = DistinctCount()
    count.add(digests((np.array([0.0, -0.0]),)))
    assert len(count) == 1


def test_inputs_of_another_draw_are_others() -> None:
    violations, one = Violations(), Cases((np.array([3]),), (np.array([1]),))
    for draw in (0, 1, 2, 2):
        violations.add_cases(DOMAIN, one, np.zeros((2, 1)), draw)
    assert (len(violations.distinct), len(violations.inputs)) == (3, 3)

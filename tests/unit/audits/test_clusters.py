"""Checks and tables of rows that belong together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.evidence.clusters import ClusterBatch, ClusterTests
from isonomia.populations.protocol import facts_of
from raising import raises


def visits(clusters: int = 120, each: int = 10, seed: int = 1, correlated: bool = True) -> dict[str, Any]:
    """Several visits of each customer, in random order."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(1.2, 1.2, clusters) if correlated else np.full(clusters, 0.5)
    order = rng.permutation(clusters * each)
    sex = rng.choice(["F", "M"], clusters * each)
    hired = rng.random(clusters * each) < np.repeat(rate, each)
    return {
        "customer": np.repeat(np.arange(clusters), each)[order],
        "sex": sex[order],
        "hired": hired[order].astype(int),
        "pay": rng.random(clusters * each)[order],
    }


CLAIMS = [
    "P[hired == 1] >= 0.3",
    "P[hired == 1 | sex == 'F'] / P[hired == 1 | sex == 'M'] >= 0.6",
    "abs(P[hired == 1 | sex == 'F'] - P[hired == 1 | sex == 'M']) <= 0.25",
    "for g in sex: P[hired == 1 | sex == g] >= 0.2",
    "E[pay from 0 to 1 | sex == 'F'] - E[pay from 0 to 1 | sex == 'M'] <= 0.3",
    "P[hired == 1 | sex == 'F'] - P[hired == 1] >= -0.25",
]
BOXED = [
    "P[hired == 1 | sex == 'F'] * P[hired == 1 | sex == 'M'] >= 0.02",
    "P[hired == 1 | sex == 'F'] + P[hired == 1 | sex == 'M'] + P[pay > 0.5] >= 0.6",
]


@pytest.mark.parametrize("looks", ["any", "once"])
@pytest.mark.parametrize("claim", [*CLAIMS, *BOXED])
def test_what_is_true_of_clusters_is_shown(claim: str, looks: str) -> None:
    verdict = iso.check(claim, population=iso.Sample(visits(60), cluster="customer"), seed=1, looks=looks)
    assert verdict.answer == "holds"
    assert verdict.counted == "clusters"
    assert verdict.samples <= 60
    assert all(item.low <= item.estimate <= item.high for item in verdict.expressions if item.estimate is not None)
    assert all(item.settled is True for item in verdict.expressions)


def test_a_verdict_counts_clusters_and_rows_and_names_each_as_what_it_is() -> None:
    people = iso.Sample(visits(60), cluster="customer")
    text = str(iso.check("P[hired == 1] >= 0.3", population=people, seed=1, stop="all"))
    assert "after 60 clusters" in text
    assert "n = 600 rows" in text
    assert "samples" not in text
    spent = iso.check("P[hired == 1] >= 0.5", population=people, seed=1, budget=20)
    assert (spent.samples, spent.stopped) == (20, "the budget of clusters is spent")


@pytest.mark.parametrize(
    "claim", ["P[hired == 1] >= 0.9", "P[hired == 1 | sex == 'F'] <= P[hired == 1 | sex == 'M'] - 0.3"]
)
def test_what_is_false_of_clusters_is_refuted(claim: str) -> None:
    verdict = iso.check(claim, population=iso.Sample(visits(), cluster="customer"), seed=1)
    assert verdict.answer == "violated"


def test_estimates_weigh_rows_or_clusters() -> None:
    table = {"who": ["a"] * 8 + ["b", "c"] * 1, "y": [1] * 8 + [0, 0]}
    for weigh, rate in (("rows", 0.8), ("clusters", 1 / 3)):
        people = iso.Sample(table, cluster="who", weigh=weigh)
        verdict = iso.check("P[y] >= 0.5", population=people, seed=1, stop="all")
        assert verdict.leaves[0].estimate == pytest.approx(rate)
        assert verdict.answer == "undecided"


def test_one_row_per_cluster_is_the_check_of_independent_rows() -> None:
    table = {"who": np.arange(500), "y": np.arange(500) % 3 == 0}
    plain = iso.check("P[y] >= 0.25", population=iso.Sample(table), seed=1)
    alone = iso.check("P[y] >= 0.25", population=iso.Sample(table, cluster="who"), seed=1)
    assert (alone.answer, alone.samples, alone.interval) == (plain.answer, plain.samples, plain.interval)


def test_a_cluster_of_the_largest_size_alone_decides_nothing() -> None:
    """A single huge cluster has all rows: nothing is known of other clusters."""
    people = iso.Sample({"who": ["a"] * 5000, "y": [1] * 5000}, cluster="who")
    assert iso.check("P[y] >= 0.5", population=people, seed=1).answer == "undecided"


def test_a_declared_size_widens_intervals() -> None:
    table = visits(60)
    narrow, wide = (
        iso.check("P[hired == 1] >= 0.5", population=iso.Sample(table, cluster="customer", **more), seed=1, stop="all")
        for more in ({}, {"max_cluster": 100})
    )
    assert narrow.interval is not None
    assert wide.interval is not None
    assert wide.interval[1] - wide.interval[0] > narrow.interval[1] - narrow.interval[0]


def test_the_order_of_rows_within_a_table_does_not_split_clusters() -> None:
    people = iso.Sample(visits(), cluster="customer")
    seed = np.random.SeedSequence(3)
    edges = people.cluster_edges(seed)
    rows = people.open(seed).batch(0, people.size, np.random.default_rng(0)).column("customer")
    for start, stop in pairwise(edges):
        assert len(set(rows[start:stop])) == 1
    assert len(edges) == 121


@pytest.mark.parametrize(
    "given",
    [
        {"cluster": "nobody"},
        {"cluster": 3},
        {"cluster": "customer", "weigh": "people"},
        {"cluster": "customer", "max_cluster": 9},
        {"weigh": "clusters"},
        {"max_cluster": 10},
    ],
)
def test_odd_clusters_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises((UsageError, DataError)):
        iso.Sample(visits(), **given)


def test_a_row_without_its_cluster_is_refused() -> None:
    with raises(DataError, "who", 1):
        iso.Sample({"who": ["a", None, "b"], "y": [1, 0, 1]}, cluster="who")


def test_audits_without_a_method_for_clusters_refuse_them() -> None:
    people = iso.Sample(visits(), cluster="customer")
    with raises(UsageError, name="customer"):
        iso.check(iso.safety.invariant_to("sex"), lambda table: np.ones(len(table["sex"])), people)
    with raises(UsageError, name="customer"):
        iso.check(
            iso.PrincipalFairness(attribute="sex", outcome="hired"), lambda table: np.ones(len(table["sex"])), people
        )
    with raises(UsageError, name="customer"):
        iso.groups.search(people, ["sex"], "P[hired == 1] >= 0.1")
    with pytest.raises(UsageError):
        iso.check("P[hired == 1] >= 0.3", population=people, method="verifair")


def test_signs_of_clusters_are_remarked_on() -> None:
    assert any(
        "'customer'" in remark
        for remark in iso.check("P[hired == 1] >= 0.1", population=iso.Sample(visits()), seed=1).remarks
    )
    rng = np.random.default_rng(0)
    copies = {"x": np.tile(rng.integers(0, 1000, 100), 20), "y": np.tile(rng.integers(0, 2, 100), 20)}
    assert any("whole rows repeat" in remark for remark in iso.Sample(copies).facts.remarks)
    assert any("whole rows repeat" in remark for remark in iso.Sample({"x": np.tile(rng.random(50), 3)}).facts.remarks)


def test_ordinary_tables_get_no_remark() -> None:
    rng = np.random.default_rng(0)
    for table in (
        {"sex": rng.choice(["F", "M"], 5000), "hired": rng.integers(0, 2, 5000)},
        {"id": np.arange(300), "x": rng.random(300)},
        {"school": rng.choice(list("abcde"), 1000), "x": rng.random(1000)},
        {
            "age": rng.integers(18, 90, 3000),
            "income": np.round(rng.random(3000), 2),
            "sex": rng.choice(["F", "M"], 3000),
        },
    ):
        assert iso.Sample(table).facts.remarks == ()


def test_measure_has_intervals_for_clusters() -> None:
    table = visits(60)
    plain, together = (
        iso.measure(data, by="sex", decision="hired", reference="M")
        for data in (table, iso.Sample(table, cluster="customer"))
    )
    for one, two in zip(plain["sex"], together["sex"], strict=True):
        rate, wider = one["selection_rate"], two["selection_rate"]
        assert rate.value == wider.value
        assert wider.high - wider.low > rate.high - rate.low
    ratio = together["sex"][0]["impact_ratio"]
    assert ratio.low < ratio.value < ratio.high
    assert any("customer" in text for text in together.assumptions)
    assert not any("rows may belong together" in text for text in together.remarks)
    highest = iso.measure(iso.Sample(table, cluster="customer"), by="sex", decision="hired")
    assert all(
        row["impact_ratio"].low < row["impact_ratio"].value <= row["impact_ratio"].high for row in highest["sex"]
    )


@pytest.mark.parametrize(
    ("claim", "ranges"),
    [
        ("0.7 * P[one | sex == 'F'] + 0.1 * P[one | sex == 'M'] >= 0.8", {}),
        ("E[x | sex == 'F'] - E[x | sex == 'M'] >= 0.2", {"x": (0.1, 0.3)}),
    ],
)
def test_a_truth_in_an_edge_case_is_not_refuted_by_rounding(claim: str, ranges: dict[str, tuple[float, float]]) -> None:
    sex = np.asarray(["F", "M"] * 120)
    table = {"who": np.repeat(np.arange(60), 4), "sex": sex, "one": [True] * 240, "x": np.where(sex == "F", 0.3, 0.1)}
    verdict = iso.check(claim, population=iso.Sample(table, cluster="who"), ranges=ranges, stop="all", seed=1)
    assert verdict.answer != "violated"


def test_numbers_that_are_none_refute_nothing() -> None:
    tests = ClusterTests((0,), np.asarray([[1.0, 0.0]]), np.asarray([0.5]), 1.0, True, 0.05)
    with np.errstate(invalid="ignore"):
        assert not tests.run([ClusterBatch(np.asarray([[1.0]]), np.asarray([[np.nan]]), np.ones(1))]).any()


def test_the_lower_limit_of_an_absolute_value_takes_its_risk_from_both_ends() -> None:
    people = iso.Sample(visits(60), cluster="customer")
    difference = "P[hired == 1 | sex == 'F'] - P[hired == 1 | sex == 'M']"
    for data in (people, iso.Sample(visits(60))):
        inner = iso.check(f"{difference} >= -0.9", population=data, delta=0.025, stop="all", seed=1).interval
        wider = iso.check(f"{difference} >= -0.9", population=data, delta=0.05, stop="all", seed=1).interval
        low, high = iso.check(
            f"abs({difference}) <= 0.9", population=data, delta=0.05, stop="all", seed=1
        ).interval or (1, 0)
        assert inner is not None
        assert wider is not None
        assert low == pytest.approx(max(0.0, inner[0], -inner[1]), abs=1e-6)
        assert high == pytest.approx(max(-wider[0], wider[1]), abs=1e-6)


def test_a_table_of_clusters_that_grows_is_covered_only_as_far_as_it_can_be() -> None:
    table = visits(20)
    texts = {
        options: " ".join(iso.Sample(table, cluster="customer", **dict(options)).assumptions)
        for options in ((), (("order", "file"),), (("order", "file"), ("max_cluster", 12)))
    }
    assert "order='file'" not in texts[()]
    assert "not checked again" in texts[(("order", "file"),)]
    assert "not in the table yet" in texts[(("order", "file"), ("max_cluster", 12))]


def test_the_largest_cluster_is_a_number_that_can_be_computed_with() -> None:
    assert facts_of(iso.Sample(visits(20), cluster="customer", max_cluster=np.int64(12))).clusters.largest == 12
    for odd in (10**400, True, 12.5):
        with pytest.raises(UsageError):
            iso.Sample(visits(20), cluster="customer", max_cluster=odd)


def test_columns_that_only_sound_like_units_get_no_remark() -> None:
    rng = np.random.default_rng(0)
    for name in ("user_tweeted", "person_age", "account_length", "customer_age", "item_price", "CaseOrder"):
        assert iso.Sample({name: rng.integers(0, 60, 400), "x": rng.random(400)}).facts.remarks == ()
    for name in ("Hotel_Name", "cust_no", "student", "doctor_id", "conversation"):
        assert iso.Sample({name: rng.integers(0, 60, 400), "x": rng.random(400)}).facts.remarks
    copied = {"x": np.tile(rng.random(15_000), 2), "sex": np.tile(rng.integers(0, 2, 15_000), 2)}
    assert any("whole rows repeat" in remark for remark in iso.Sample(copied).facts.remarks)

"""Searching for subgroups: p-values that are valid for every table there can be, and names that can be relied on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

import isonomia as iso
from isonomia.errors import SpecError, UsageError
from isonomia.evidence.binomial import half_space_p_values
from isonomia.evidence.multiple import discovered, discovery_levels


def every_table(n0, n1):
    x = np.stack(np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij"), axis=-1).reshape(-1, 2)
    return x, np.broadcast_to([n0, n1], x.shape)


def in_parts(x, n, factors, bound, **options):
    """The p-values of few pairs of counts at a time, for which sums over tables are not too long."""
    parts = zip(np.array_split(x, 3), np.array_split(n, 3), strict=True)
    return np.concatenate([half_space_p_values(*part, factors, bound, **options) for part in parts])


@pytest.mark.parametrize(
    ("factors", "bound", "rates"),
    [
        ((-1.0, 0.8), 0.0, [(0.24, 0.3), (0.4, 0.5), (0.04, 0.05), (0.76, 0.95)]),
        ((1.0, -0.8), 0.0, [(0.24, 0.3), (0.8, 1.0)]),
        ((1.0, -1.0), 0.1, [(0.3, 0.2), (0.1, 0.0), (1.0, 0.9)]),
        ((1.0, 1.0), 1.0, [(0.5, 0.5), (0.9, 0.1)]),
        ((-1.0, 0.0), -0.3, [(0.3, 0.5)]),
        ((0.0, 1.0), 0.3, [(0.5, 0.3)]),
    ],
)
@pytest.mark.parametrize("together", [True, False])  # more than a thousand at a time are combined as Fisher does
def test_p_values_are_valid_at_every_level_for_every_table(factors, bound, rates, together):
    n0, n1 = 25, 40
    x, n = every_table(n0, n1)
    p_values = half_space_p_values(x, n, factors, bound) if together else in_parts(x, n, factors, bound)
    for first, second in rates:  # on the boundary, where a p-value is least honest
        chance = binom.pmf(x[:, 0], n0, first) * binom.pmf(x[:, 1], n1, second)
        for level in (0.001, 0.01, 0.05, 0.2, 0.5):
            assert chance[p_values <= level].sum() <= level * (1.0 + 1e-9)


@pytest.mark.parametrize("count", [400, 2_000])
def test_p_values_are_near_those_of_the_normal_approximation(count):
    (p_value,) = half_space_p_values([[0.3 * count, 0.5 * count]], [[count, count]], (-1.0, 0.8), 0.0)
    normal = norm.sf(0.1 / np.sqrt((0.3 * 0.7 + 0.64 * 0.25) / count))
    assert normal < p_value  # of the best test, nearly
    assert np.log(p_value) < 0.75 * np.log(normal)  # evidence grows with people: at most a third more of them


def test_with_a_rate_known_well_a_p_value_is_nearly_that_of_the_best_test():
    (p_value,) = half_space_p_values([[220, 2_667]], [[667, 5_333]], (-1.0, 0.8), 0.0)
    score = (0.8 * 2_667 / 5_333 - 220 / 667) / np.sqrt(0.4 * 0.6 / 667 + 0.64 * 0.25 / 5_333)
    assert norm.sf(score) < p_value < 1.4 * norm.sf(score)


def test_p_values_that_do_not_matter_are_only_bounded():
    x, n = every_table(25, 40)
    exact = in_parts(x, n, (-1.0, 0.8), 0.0)
    bounds = in_parts(x, n, (-1.0, 0.8), 0.0, between=(1e-4, 0.05))
    assert (bounds >= exact * (1.0 - 1e-9)).all()
    assert (bounds[bounds <= 1e-4] > exact[bounds <= 1e-4]).any()
    within = (exact > 1e-4) & (exact <= 0.05)
    assert bounds[within] == pytest.approx(exact[within])


def test_a_pair_among_276_subgroups_is_found_in_half_of_the_tables():
    found = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        table = {f"a{k}": rng.integers(0, 3, 6_000) for k in range(8)}
        hit = (table["a0"] == 0) & (table["a1"] == 0)
        table |= {"y": rng.random(6_000) < np.where(hit, 0.325, 0.5)}
        claim = "P[y | group] / P[y | not group] >= 0.8"
        result = iso.groups.search(iso.Sample(table), [f"a{k}" for k in range(8)], claim, depth=2)
        assert result.searched == 276
        found += "a0 == 0, a1 == 0" in {item.group for item in result}
    assert (
        found >= 9
    )  # of 200 tables, in 56%; with Fisher's combination and Benjamini and Yekutieli's levels in 25% of 60


def test_half_of_the_rate_goes_to_a_lone_discovery_and_half_is_shared_as_by_benjamini_and_yekutieli():
    whole = 1 + 1 / 2 + 1 / 3 + 1 / 4
    levels = [0.05 / 4 * (0.5 + 0.5 * k / whole) for k in (1, 2, 3, 4)]
    assert discovery_levels(0.05, 4).tolist() == pytest.approx(levels)
    assert discovered([0.001, 0.004, 0.02, 0.9], 0.05).tolist() == [True, True, False, False]
    assert discovered([levels[0] * 1.001, 1, 1, 1], 0.05).tolist() == [False] * 4
    assert discovered([levels[3] * 0.999] * 4, 0.05).tolist() == [True] * 4


def test_a_rank_that_depends_on_a_p_value_in_the_worst_way_keeps_its_level():
    # Over all ranks V with U <= level_V, the largest 1 / V: no dependence is worse.
    levels, u = discovery_levels(0.2, 30), (np.arange(200_000) + 0.5) / 200_000
    rank = np.searchsorted(levels, u) + 1
    worst = np.where(rank <= 30, 1.0 / rank, 0.0).mean()
    assert 0.99 * 0.2 / 30 < worst < 1.01 * 0.2 / 30


def people(n=6_000, seed=1, worse=0.3):
    rng = np.random.default_rng(seed)
    table = {"sex": rng.choice(["F", "M"], n), "race": rng.choice(list("ABC"), n), "age": rng.choice(["old", "new"], n)}
    hit = (table["sex"] == "F") & (table["age"] == "old")
    return table | {"hired": rng.random(n) < np.where(hit, worse, 0.5)}


def test_the_subgroup_that_is_worse_off_is_found_with_its_parts_and_an_interval():
    found = iso.groups.search(
        iso.Sample(people()), ["sex", "race", "age"], "P[hired | group] / P[hired | not group] >= 0.8"
    )
    names = {item.group for item in found}
    assert found[0].group == "sex == 'F', age == 'old'"
    assert "sex == 'F', race == 'A', age == 'old'" in names
    assert "sex == 'M'" not in names
    assert found.searched == 35  # 7 alone, 16 pairs, 12 triples
    for item in found:
        assert item.high < 0.8
        assert item.low <= item.estimate
    assert str(found).splitlines()[2].split() == ["subgroup", "people", "estimate", "interval", "p-value"]
    assert found.rows()[0]["group"] == found[0].group


@pytest.mark.parametrize("claim", ["P[hired | group] >= 0.45", "P[hired | group] - P[hired | not group] >= -0.05"])
def test_other_claims_are_searched_too(claim):
    found = iso.groups.search(people(), ["sex", "age"], claim)
    assert found[0].group == "sex == 'F', age == 'old'"


def test_a_difference_either_way_is_found_on_either_side():
    found = iso.groups.search(people(), ["sex", "age"], "abs(P[hired | group] - P[hired | not group]) <= 0.1")
    assert found[0].group == "sex == 'F', age == 'old'"
    assert found[0].low > 0.1


def test_few_tables_without_a_difference_name_anybody():
    names = 0
    for seed in range(40):
        table = people(800, seed=seed, worse=0.5)
        table["hired"] = np.random.default_rng(seed + 1000).random(800) < 0.4
        names += bool(iso.groups.search(table, ["sex", "race", "age"], "P[hired | group] >= 0.4", fdr=0.1).found)
    assert names <= binom.ppf(1 - 1e-6, 40, 0.1)


def test_a_census_is_counted():
    table = {"sex": ["F", "F", "M", "M"], "hired": [1, 0, 1, 1]}
    found = iso.groups.search(iso.Census(table), ["sex"], "P[hired | group] >= 0.8", at_least=1)
    assert [(item.group, item.low, item.high, item.p_value) for item in found] == [("sex == 'F'", 0.5, 0.5, 0.0)]


def test_the_same_people_are_named_once_and_missing_values_make_no_subgroup():
    table = {"sex": ["F", "M"] * 200, "title": ["Ms", "Mr"] * 199 + [None, None], "hired": [0, 1] * 200}
    found = iso.groups.search(table, ["sex", "title"], "P[hired | group] >= 0.5")
    assert [item.group for item in found] == ["sex == 'F'", "title == 'Ms'"]


def test_a_model_is_asked():
    table = {"sex": ["F", "M"] * 200, "income": [1.0, 2.0] * 200}
    found = iso.groups.search(
        table, ["sex"], "P[prediction == 1 | group] >= 0.5", model=lambda rows: [int(x > 1.5) for x in rows["income"]]
    )
    assert [item.group for item in found] == ["sex == 'F'"]


def test_people_may_be_narrowed_by_a_condition():
    found = iso.groups.search(people(), ["sex"], "P[hired | group and age == 'old'] >= 0.4")
    assert [item.group for item in found] == ["sex == 'F'"]
    assert found.people == found[0].n + np.sum((people()["sex"] == "M") & (people()["age"] == "old"))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"attributes": ["sez"]}, UsageError, "expected attributes among the columns, but 'sez' is not a column"),
        ({"attributes": []}, UsageError, "expected one attribute or several"),
        ({"depth": 0}, UsageError, "expected depth"),
        ({"fdr": 1.0}, UsageError, "expected fdr"),
        ({"at_least": 10_000}, UsageError, "expected subgroups of at least 10,000 people"),
        ({"property": "P[hired] >= 0.5"}, SpecError, "expected a rate of `group`"),
        ({"property": "P[hired | group] >= 0.8 * P[hired | age == 'old']"}, SpecError, "expected a rate of `group`"),
        ({"property": "P[hired | group] >= 0.8 * P[age == 'old' | not group]"}, SpecError, "expected one comparison"),
        ({"property": "P[fired | group] >= 0.5"}, SpecError, "there is no column 'fired'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, error, words):
    usual = {"population": people(200), "attributes": ["sex", "age"], "property": "P[hired | group] >= 0.5"}
    with pytest.raises(error, match=words.replace("[", r"\[")):
        iso.groups.search(**(usual | arguments))


def test_the_text_of_a_search_states_the_false_coverage_rate_of_its_intervals():
    people = {"sex": ["F", "M"] * 500, "hired": [0, 1] * 500}
    found = iso.groups.search(iso.Sample(people), ["sex"], "P[hired | group] >= 0.5", fdr=0.05)
    assert len(found) == 1
    assert "false-coverage rate of the intervals at most 0.1" in str(found)

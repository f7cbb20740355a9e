from __future__ import annotations

import numpy as np

from isonomia.populations import Census, Sample

RNG = np.random.default_rng(0)


def test_an_exact_census_goes_through_the_table_in_order():
    source = Census({"a": np.arange(100)}).open(np.random.SeedSequence(1))
    assert source.batch(10, 3, RNG).column("a").tolist() == [10, 11, 12]


def test_a_sampled_census_draws_without_replacement():
    source = Census({"a": np.arange(100)}, exact=False).open(np.random.SeedSequence(1))
    drawn = source.batch(0, 100, RNG).column("a").tolist()
    assert drawn != list(range(100))
    assert sorted(drawn) == list(range(100))


def test_every_row_is_as_likely_to_come_first():
    # Chi-square with 9 degrees of freedom over 5,000 seeds: 45 is exceeded with probability below 1e-6.
    census = Census({"a": np.arange(10)}, exact=False)
    seeds = map(np.random.SeedSequence, range(5000))
    firsts = [int(census.open(seed).batch(0, 1, RNG).column("a")[0]) for seed in seeds]
    counts = np.bincount(firsts, minlength=10)
    assert ((counts - 500) ** 2 / 500).sum() < 45


def test_a_census_says_what_it_assumes():
    assert Census({"a": np.arange(1000)}).assumptions == ("the 1,000 rows are the whole population",)


def test_a_census_is_not_the_sample_with_the_same_rows():
    rows = {"a": [1, 2]}
    prints = {Census(rows).fingerprint(), Census(rows, exact=False).fingerprint(), Sample(rows).fingerprint()}
    assert len(prints) == 3

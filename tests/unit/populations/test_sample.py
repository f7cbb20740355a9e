from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import DataError, UsageError
from isonomia.populations import Sample
from isonomia.populations.finite import ONE_TABLE
from raising import raises

RNG = np.random.default_rng(0)


def test_a_sorted_table_is_shuffled_by_the_seed():
    sample = Sample({"a": np.arange(100)})
    first = sample.open(np.random.SeedSequence(1)).batch(0, 100, RNG).column("a")
    assert first.tolist() != list(range(100))
    assert sorted(first) == list(range(100))


def test_without_shuffling_rows_come_as_given():
    source = Sample({"a": np.arange(100)}, order="file").open(np.random.SeedSequence(1))
    assert source.batch(10, 3, RNG).column("a").tolist() == [10, 11, 12]


def test_a_sample_says_what_it_assumes():
    rows = {"a": np.arange(1000)}
    draws = "the 1,000 rows are independent draws from the population"
    assert Sample(rows).assumptions == (draws, ONE_TABLE)
    assert Sample(rows).continuing(()).assumptions == (draws,)
    assert Sample(rows, order="file").assumptions[0].endswith("in the order in which they are given")


def test_shuffling_counts_in_the_fingerprint():
    assert Sample({"a": [1]}).fingerprint() != Sample({"a": [1]}, order="file").fingerprint()


def test_a_sample_reads_a_file(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n2\n")
    assert Sample(tmp_path / "a.csv").size == 2
    with raises(DataError, f"{tmp_path}/missing.csv", name="missing.csv"):
        Sample(str(tmp_path / "missing.csv"))


def test_an_unknown_order_is_refused():
    with pytest.raises(UsageError):
        Sample({"a": [1]}, order="sorted")


def test_rows_of_earlier_looks_keep_their_places_and_each_increment_is_shuffled_alone():
    seed = np.random.SeedSequence(1)
    first = Sample({"a": np.arange(100)}).positions(seed)
    second = Sample({"a": np.arange(150)}).continuing([100]).positions(seed)
    third = Sample({"a": np.arange(180)}).continuing([100, 150]).positions(seed)
    assert (second[:100] == first).all()
    assert (third[:150] == second).all()
    assert sorted(third[100:150]) == list(range(100, 150))
    assert not (np.diff(third[100:150]) > 0).all()
    assert sorted(third) == list(range(180))


def test_earlier_looks_are_part_of_the_fingerprint():
    people = Sample({"a": np.arange(100)})
    assert people.continuing([50]).fingerprint() != people.fingerprint()
    assert people.continuing([100]).fingerprint() == people.fingerprint()

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from isonomia.populations import Census, Sample, Table
from isonomia.populations.fingerprint import callable_name, fingerprint_of, identity_of, source_of, table_fingerprint


def draw_one(n, rng):
    return rng.random((n, 1))


def draw_two(n, rng):
    return rng.random((n, 2))


class Drawer:
    def __call__(self, n, rng):
        return rng.random((n, 1))


@pytest.mark.parametrize(
    "other",
    [
        {"a": [1, 3], "b": ["x", None]},
        {"a": [2, 1], "b": ["x", None]},
        {"b": ["x", None], "a": [1, 2]},
        {"a": [1.0, 2.0], "b": ["x", None]},
        {"a": [1, 2], "b": ["x", "None"]},
        {"a": [1, 2], "c": ["x", None]},
    ],
)
def test_other_content_has_another_fingerprint(other):
    assert table_fingerprint(Table.of(other)) != table_fingerprint(Table.of({"a": [1, 2], "b": ["x", None]}))


def test_the_width_of_numbers_does_not_count():
    narrow = Table.of({"a": np.array([1, 2], dtype=np.uint8), "b": np.array([0.5, np.nan], dtype=np.float32)})
    assert table_fingerprint(narrow) == table_fingerprint(Table.of({"a": [1, 2], "b": [0.5, np.nan]}))


@pytest.mark.parametrize("kind", [Sample, Census])
def test_a_table_that_its_owner_writes_into_has_another_fingerprint(kind, tmp_path):
    ages = np.arange(5)
    own, file = kind({"age": ages}), tmp_path / "people.csv"
    file.write_text("age\n" + "".join(f"{age}\n" for age in ages))
    read = kind(file)
    before = own.fingerprint()
    assert before == read.fingerprint() == read.fingerprint()
    ages[0] = 7
    assert own.fingerprint() != before


def test_parts_do_not_run_together():
    assert fingerprint_of("ab", "c") != fingerprint_of("a", "bc")
    assert len(fingerprint_of("a")) == 64


def test_callables_are_told_apart_by_name_and_source():
    assert identity_of(draw_one) == identity_of(draw_one)
    assert len({identity_of(f) for f in (draw_one, draw_two, Drawer(), len)}) == 4


def test_the_arguments_of_a_partial_application_count():
    assert identity_of(partial(draw_one, 3)) == identity_of(partial(draw_one, 3))
    assert identity_of(partial(draw_one, 3)) != identity_of(partial(draw_one, 4))


def test_callables_are_named_as_a_person_would():
    assert callable_name(draw_one) == "draw_one"
    assert callable_name(partial(draw_one, 3)) == "draw_one"
    assert callable_name(Drawer()) == "Drawer"


def test_a_lambda_on_the_line_where_a_long_text_ends_has_a_source():
    first = """
    """, lambda row: row + 1  # fmt: skip
    second = """
    """, lambda row: row + 2  # fmt: skip
    assert "row + 1" in source_of(first[1])
    assert source_of(first[1]) != source_of(second[1])

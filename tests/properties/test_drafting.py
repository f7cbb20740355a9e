"""Whatever the table: a draft can be used with it at once, and its file reads back."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.errors import DataError
from isonomia.interventions import Draft, Interventions

NAMES = st.sampled_from(
    ["age", "Male", "job_a", "job_b", "job_c", "x_geq_1", "x_geq_2", "x_leq_0", "LoanForCar", "LoanForHome", "years",
     "education", "education_num", "score", "late", "id", "default", "a b", 'q"', "share", "n"]
)  # fmt: skip


def columns(rows: int) -> st.SearchStrategy[Any]:
    missing = st.floats(allow_nan=True, allow_infinity=True, width=32)
    kinds = (
        st.lists(st.integers(0, 1), min_size=rows, max_size=rows),
        st.lists(st.booleans(), min_size=rows, max_size=rows),
        st.lists(st.integers(-3, 90), min_size=rows, max_size=rows),
        st.lists(st.floats(0, 1), min_size=rows, max_size=rows),
        st.lists(missing, min_size=rows, max_size=rows),
        st.lists(st.sampled_from(["u", "v", "w \n x", None]), min_size=rows, max_size=rows),
        st.lists(st.text(max_size=3), min_size=rows, max_size=rows),
    )
    return st.one_of(*kinds)


tables = st.integers(1, 30).flatmap(lambda rows: st.dictionaries(NAMES, columns(rows), min_size=1, max_size=8))


@given(tables)
@settings(max_examples=60, deadline=None)
def test_a_draft_refuses_nobody_of_its_own_table_and_reads_back(table: dict[str, list[Any]]) -> None:
    try:
        draft = Draft.of(table)
    except DataError:
        return
    assert set(draft.left_out) | {feature.name for feature in draft.features} == set(table)
    assert Interventions.from_toml(draft.to_toml()) == draft.interventions
    assert draft.interventions.refusals(table) == ()
    sets = draft.interventions.reach(table)
    drawn = sets.sample(3, np.random.default_rng(0))
    assert len(drawn) == 3 * len(next(iter(table.values())))

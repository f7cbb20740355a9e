"""Whatever is asked, in whatever order, a model with a cache answers as it does without."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.models import Answer, ask
from isonomia.models.cache import Cached
from isonomia.populations import Table

VALUES = {
    "float": st.floats(allow_nan=True, allow_infinity=True, width=64),
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "text": st.one_of(st.none(), st.text(max_size=4)),
}
KINDS = {
    "columns": dict,
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "rows": lambda columns: pd.DataFrame(columns).astype(object).to_dict("records"),
}


@dataclass
class Hashing:
    """A model whose answer depends on every bit of a row."""

    style: str
    name: str = "hashing"
    score_range: tuple[float, float] | None = None
    classes: tuple[str, ...] = ("a", "b", "c")

    def answer(self, table, *, want_score, want_prediction):
        columns = [table.column(name).tolist() for name in table.names]
        rows = table.native if table.kind == "rows" else zip(*columns, strict=True)
        numbers = np.array([hash(repr(row)) % 1000 for row in rows])
        predictions = {
            "text": np.array(["a", "b", "c"])[numbers % 3],
            "int": numbers.astype(np.int16),
            "float": numbers / 7,
            "bool": numbers % 2 == 0,
        }
        score = np.column_stack([numbers / 3, numbers / 7, -numbers]) if want_score else None
        return Answer(predictions[self.style] if want_prediction else None, score, self.classes if want_score else ())

    def fingerprint(self):
        return self.style.ljust(64, "0")


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    rows = draw(st.integers(1, 6))
    columns = {f"c{i}": draw(st.lists(VALUES[kind], min_size=rows, max_size=rows)) for i, kind in enumerate(kinds)}
    return Table.of(KINDS[draw(st.sampled_from(sorted(KINDS)))](columns))


ASKED = st.tuples(st.booleans(), st.booleans()).filter(any)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(["text", "int", "float", "bool"]),
    st.lists(tables(), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 5), min_size=1, max_size=8), ASKED), max_size=6),
)
def test_a_cache_changes_no_answer(style, people, questions):
    model = Hashing(style)
    with tempfile.TemporaryDirectory() as folder:
        cached = Cached(model, Path(folder) / "answers.sqlite")
        for which, rows, (want_score, want_prediction) in questions:
            table = people[which % len(people)]
            batch = table.take(np.array(rows, dtype=np.intp) % table.rows)
            without, found = (ask(one, batch, want_score, want_prediction) for one in (model, cached))
            assert found.classes == without.classes
            for what in ("prediction", "score"):
                expected, came = getattr(without, what), getattr(found, what)
                assert (expected is None) == (came is None)
                if expected is not None:
                    assert (came.dtype, came.shape) == (expected.dtype, expected.shape)
                    assert came.tolist() == expected.tolist()
        cached.cache.store.close()

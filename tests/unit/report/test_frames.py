"""Every verdict is a frame of every library, with the numbers of the verdict."""

from __future__ import annotations

import math

import pytest
from page_audits import every_kind

from isonomia.errors import UsageError
from isonomia.report.entries import Entry
from raising import raises

COLUMNS = [
    *("property", "answer", "kind", "group", "quantity", "relation", "threshold", "estimate", "low", "high", "n"),
]


@pytest.mark.parametrize("entry", every_kind().entries, ids=lambda entry: entry.verdict.answer)
def test_a_verdict_of_any_kind_is_a_frame_of_any_library(entry: Entry) -> None:
    verdict = entry.verdict
    pandas, polars, arrow = (verdict.to_frame(library) for library in ("pandas", "polars", "pyarrow"))
    assert list(pandas.columns) == polars.columns == arrow.column_names == COLUMNS
    rows = len(verdict.expressions) + len(verdict.groups) + len(verdict.leaves)
    assert len(pandas) == len(polars) == arrow.num_rows == max(rows, 1)
    compared = [row for row in arrow.to_pylist() if row["kind"] == "compared"]
    for row, item in zip(compared, verdict.expressions, strict=True):
        told = (row["quantity"], row["relation"], row["threshold"], row["estimate"], row["low"], row["high"])
        assert told == (item.text, item.relation, item.threshold, item.estimate, item.low, item.high)
    if not rows:
        assert pandas["answer"].tolist() == [verdict.answer]
    for name in ("threshold", "estimate", "low", "high"):
        assert all(
            value is None or isinstance(value, float) or math.isfinite(value) for value in arrow[name].to_pylist()
        )


def test_a_library_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with raises(UsageError, "panda", meant="pandas"):
        every_kind().entries[0].verdict.to_frame("panda")

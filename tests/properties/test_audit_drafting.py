"""Whatever the table and whatever its names: a draft of an audit is a file that reads, as it is and uncommented."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isonomia.audits.audit_file.drafting import DraftFiles, DraftRequest, draft_audit
from isonomia.audits.audit_file.planner import property_of
from isonomia.audits.audit_file.reader import AuditFile, read_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.errors import DataError, UsageError
from isonomia.interventions import Interventions
from isonomia.models.adapt import adapt
from isonomia.populations.table import Table

USUAL = ["sex", "Age", "race", "score", "prediction", "id", "repaid", "default", "income", "experience", "for", "own"]
ODD = [
    'q"',
    "a b",
    "`",
    "\\",
    "x = 1",
    "# no",
    "<script>",
    "[[property]]",
    "'",
    "\x7f",
    "\n",
    "\u2028",
    "ß性",
    "a\x00b",
]
NAMES = st.one_of(st.sampled_from(USUAL), st.sampled_from(ODD), st.text(min_size=1, max_size=6))
TEXTS = st.one_of(st.sampled_from(["F", "M", "yes", "no", "x'\"`\\", "\n", ""]), st.text(max_size=3))


def columns(rows: int) -> st.SearchStrategy[Any]:
    def lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(items, min_size=rows, max_size=rows)

    few = st.lists(TEXTS, min_size=1, max_size=4)
    return st.one_of(
        lists(st.integers(0, 1)),
        lists(st.booleans()),
        lists(st.integers(-3, 90)),
        lists(st.floats(allow_nan=True, allow_infinity=True, width=32)),
        few.flatmap(lambda values: lists(st.sampled_from([*values, None]))),
        lists(TEXTS),
    )


tables = st.integers(1, 40).flatmap(lambda rows: st.dictionaries(NAMES, columns(rows), min_size=1, max_size=6))


def first_column(asked: Any) -> Any:
    """A model that answers with 0 and 1 by whatever it is given first."""
    values = next(iter(asked.values()))
    return np.asarray([crc32(repr(value).encode("utf-8", "replace")) % 2 for value in values])


def uncommented(text: str) -> str:
    """The draft with every suggestion made active."""
    parts = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        start = next((k for k, line in enumerate(lines) if line == "# [[property]]"), None)
        parts.append(block if start is None else "\n".join(re.sub("^# ", "", line) for line in lines[start:]))
    return "\n\n".join(parts)


def read(text: str) -> AuditFile:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "audit.toml"
        path.write_text(text, encoding="utf-8", newline="\n")
        return read_audit_file(path)


@given(tables, st.booleans())
@example({"sex": [0, 0, 1] + [0] * 24 + [1], "experience": [0.0, 0.0, 1.0] + [0.0] * 24 + [0.5]}, True)
@example({"sex": [False, True], "Age": [2.0**63, 0.0], 'q"': [0, -1]}, True)
@example({"sex": [0.0] * 12 + [float("inf")], "id": [0] * 12 + [1]}, True)
@settings(max_examples=40, deadline=None)
def test_a_draft_reads_as_it_is_and_uncommented(table: dict[str, list[Any]], with_model: bool) -> None:
    opened = (lambda features: adapt(first_column, features)) if with_model else None
    wishes = DraftRequest() if with_model else DraftRequest(decision=next(iter(table)))
    try:
        draft = draft_audit(Table.of(table), opened, DraftFiles("m:f" if with_model else None, 'd"\\.csv'), wishes)
    except (DataError, UsageError):
        return  # a table of which nothing can be made, or a column that holds no decisions
    known = {} if draft.changes is None else {"changes": Interventions.from_toml(draft.changes)}
    active = read(draft.text).properties()
    assert [entry.get("name") for entry in active] == [claim.name for claim in draft.suggestions if claim.active]
    for entry in active:
        property_of(entry, known, Permissions())
    every = read(uncommented(draft.text)).properties()
    assert [entry.get("name") for entry in every] == [claim.name for claim in draft.suggestions]

"""The stored answers of two models to the same questions, joined question by question.

Each question is then one row with both results, for the properties of :mod:`isonomia.evals`. What is left out, and what
counts as wrong since it has no score, is said in the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.files import table_of
from isonomia.populations.finite import Sample, rows_from
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table, check_known
from isonomia.spec.columns import missing, normalise, plain
from isonomia.wording import brief, first_few, listed, plural

_REPEAT = "repeat"
_OF_THE_QUESTION = ("target", "doc_hash")
"""Columns that logs of evals have, and that are the same in both where the questions are."""


def paired(*, new: object, old: object, on: str = "item", value: str | None = None) -> Sample:
    """Join two tables or logs of evals, question by question, as a sample with columns ``new`` and ``old``.

    Parameters
    ----------
    new, old
        What a :class:`~isonomia.Sample` takes: the log of an eval, another file, or a table in memory.
    on
        The column that identifies a question. Where a question has several answers, they are joined by their column
        ``repeat``, and are one draw together.
    value
        The column with the results. By default ``correct``, where both have it, in which a missing value is wrong;
        otherwise ``score``.

    Returns
    -------
    Sample
        A row for each answer that both have: ``on``, ``new``, ``old``, and every column that is the same in both, such
        as a topic.

    Raises
    ------
    DataError
        Where they have no question in common, a question is not told from others, or it is another one in each.

    Examples
    --------
    >>> from isonomia import check, evals
    >>> old = {"item": list(range(400)), "correct": [0, 1, 1, 1] * 100}
    >>> new = {"item": list(range(400)), "correct": [1, 1, 1, 1] * 100}
    >>> check(evals.better(), {"new": "new", "old": "old"}, paired(new=new, old=old), seed=1).answer
    'holds'
    """
    tables = {"new": _held(new), "old": _held(old)}
    for name, table in tables.items():
        if on not in table.names:
            raise UsageError(
                f"expected the column {on!r}, which identifies a question, in both, but the {name} one has "
                f"{listed(table.names)}. Name it: on=..., or --on",
                name="on",
            )
    chosen = value or next((each for each in ("correct", "score") if _in_both(each, tables)), "score")
    for table in tables.values():
        check_known([chosen], table.names)
    keys = [on, _REPEAT] if on != _REPEAT and _in_both(_REPEAT, tables) else [on]
    places = {name: _places(name, table, keys) for name, table in tables.items()}
    shared = [key for key in places["old"] if key in places["new"]]
    if not shared:
        examples = " and ".join(f"{brief(next(iter(places[name]))[0])} in the {name} one" for name in ("old", "new"))
        raise DataError(f"expected questions in common, but found no common question: there is {examples}", name=on)
    rows = {name: tables[name].take(np.asarray([places[name][key] for key in shared])) for name in tables}
    for name in _OF_THE_QUESTION:
        _check_same(name, on, rows)
    remarks = [f"{name}: {remark}" for name, table in tables.items() for remark in table.remarks]
    left_out = {name: len(places[name]) - len(shared) for name in ("old", "new")}
    counted = " and ".join(f"{count:,} that only the {name} one has" for name, count in left_out.items() if count)
    remarks.append(
        f"joined by {listed([repr(key) for key in keys])}: {plural(len(shared), 'answer')} that both have"
        + (f"; left out: {counted}" if counted else "")
    )
    columns = _columns(rows, on, chosen, remarks)
    repeated = len(set(columns[on])) < len(shared)
    joined = table_of(columns, "the joined answers")
    return Sample(replace(joined, remarks=tuple(remarks), together=on if repeated else None))


def _held(data: object) -> Table:
    rows = rows_from(data.table if isinstance(data, Sample) else data)
    return rows.table() if isinstance(rows, LongTable) else rows


def _in_both(column: str, tables: Mapping[str, Table]) -> bool:
    return all(column in table.names for table in tables.values())


def _places(name: str, table: Table, keys: Sequence[str]) -> dict[tuple[Any, ...], int]:
    """The row of each answer."""
    columns = [_comparable(table, key) for key in keys]
    places: dict[tuple[Any, ...], int] = {}
    for row, key in enumerate(zip(*columns, strict=True)):
        if key in places:
            several = [each for each in ("provider", "prompt") if each in table.names]
            hint = (
                f"Give the rows of one {' and '.join(several)}"
                if several
                else f"Number the answers to a question in a column {_REPEAT!r}, in both"
            )
            known = ", ".join(f"{column}={brief(part)}" for column, part in zip(keys, key, strict=True))
            raise DataError(f"expected each answer once, but the {name} one has {known} twice. {hint}.", row=row)
        places[key] = row
    return places


def _comparable(table: Table, column: str) -> list[Any]:
    values = np.asarray(plain(table.column(column), column))
    if missing(values).any():
        raise DataError(f"expected {column!r} in every row, but it is missing in row {_first(missing(values))}.")
    return [value.strip() if isinstance(value, str) else value for value in values.tolist()]


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.argmax(mask))


def _check_same(name: str, on: str, rows: Mapping[str, Table]) -> None:
    """Refuse questions with one name that are not the same."""
    if not _in_both(name, rows):
        return
    new, old = (rows[each].column(name).astype(object) for each in ("new", "old"))
    differ = np.asarray([one != other for one, other in zip(new, old, strict=True)])
    if differ.any():
        row = _first(differ)
        item = brief(rows["new"].column(on)[row])
        raise DataError(
            f"expected the same questions in both, but {on}={item} has {name} {brief(old[row])} in the old one and "
            f"{brief(new[row])} in the new one. Rename {name!r} if it may differ.",
            name=name,
        )


def _columns(rows: Mapping[str, Table], on: str, value: str, remarks: list[str]) -> dict[str, list[Any]]:
    """The columns of the joined table."""
    columns: dict[str, list[Any]] = {on: rows["new"].column(on).tolist()}
    for name in ("new", "old"):
        results = normalise(rows[name].column(value))
        empty = missing(results)
        if empty.any() and value == "correct":
            items = first_few([brief(item) for item in np.asarray(columns[on], dtype=object)[empty]], 5)
            remarks.append(f"without a score in the {name} one, and so counted as wrong: {items}")
            results = np.where(empty, 0, results)
        columns[name] = results.tolist()
    for name in rows["new"].names:
        if name not in (*columns, value) and name in rows["old"].names:
            new, old = (rows[each].column(name).astype(object) for each in ("new", "old"))
            if all(one == other for one, other in zip(new, old, strict=True)):
                columns[name] = new.tolist()
    return columns

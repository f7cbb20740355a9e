"""Texts as inputs: delete, append, swap and shuffle their sections, change case, misspell.

A text is made of named sections, such as what a guest liked and what they did not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains.protocol import Function, as_function
from isonomia.populations.domains.tables import Gap, TableDomain, TableRecords
from isonomia.populations.table import Table, batch_table, column_from

Text = str | None

LABEL = "label"

WHOLE = "text"
"""The only section of texts without sections."""


def Texts(  # noqa: N802  (a kind of domain, named like the others)
    documents: object,
    labels: str | Sequence[Any] | NDArray[Any] | None = None,
    *,
    sections: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    join: str = " ",
    as_table: bool = False,
    functions: Mapping[str, Any] | None = None,
) -> TableDomain:
    """Texts as the inputs of a k-safety property.

    The sections of a text are its features, by name and by number from 0. A section may be missing: it is ``null`` in a
    specification, and an empty text for ``strConcat``. The functions are ``delete(x, section)``,
    ``append(x, section, text)``, ``swap(x, section, section)``, ``upper(x)`` and ``lower(x)``. Two are random:
    ``typo(x)`` exchanges two neighbouring letters, and ``shuffle(x, section)`` changes the order of words. A text
    without such letters or words is rejected, and counted.

    Parameters
    ----------
    documents
        A list of texts; or a table with a column for each section, of any kind that a census takes.
    labels
        The right answers, for ``label(x)``: a column of that table, or one value per text.
    sections
        Which columns are sections, and in which order; by default all but the labels.
    missing
        Texts that stand for a missing section, such as ``"No Negative"``; spaces around them do not matter.
    join
        What is put between two sections when they are joined.
    as_table
        Whether the model is given the sections in columns; otherwise it is given one text for each document, its
        sections in order, as a list of ``str``.
    functions
        Further functions that a specification may call: Python functions of one text (of a mapping, if it has several
        sections), or a ``Function`` for whole batches.

    Raises
    ------
    DataError
        If a section is not a text, or there are more or fewer labels than texts.
    UsageError
        If an option makes no sense.
    """
    table = _table(documents)
    answers, names = _labelled(table, labels, sections)
    columns = {name: _section(table, name, frozenset(text.strip() for text in missing)) for name in names}
    label = None if answers is None else _free_name(names)
    whole = Table.of(columns if label is None else {**columns, label: answers})
    gaps = {name: _text_gap(max(len(text or "") for text in column)) for name, column in columns.items()}
    view = None if as_table else _joined(tuple(names), join)
    plain = WHOLE if isinstance(documents, list | tuple) and names == [WHOLE] else None
    domain = TableDomain(whole, label_column=label, name="the texts", view=view, gaps=gaps, what="text", plain=plain)
    brought = {name: as_function(value) for name, value in (functions or {}).items()}
    return replace(domain, functions={**_functions(domain, join), **brought})


def _table(documents: object) -> Table:
    if isinstance(documents, list | tuple) and all(isinstance(text, str | None) for text in documents):
        if not documents:
            raise DataError("expected at least one text, but got an empty list", name="texts")
        return Table.of({WHOLE: column_from(list(documents), "the texts")})
    return Table.of(documents)


def _labelled(
    table: Table, labels: str | Sequence[Any] | NDArray[Any] | None, sections: Sequence[str] | None
) -> tuple[NDArray[Any] | None, list[str]]:
    """The right answers, and the names of the sections."""
    answers, named = None, None
    if isinstance(labels, str):
        answers, named = table.column(labels), labels
    elif labels is not None:
        answers = column_from(labels, "the labels")
        if len(answers) != table.rows:
            raise DataError(f"expected a label for each of {table.rows:,} texts, but got {len(answers):,}")
    names = [name for name in table.names if name != named] if sections is None else list(sections)
    if not names or isinstance(sections, str) or len(set(names)) != len(names):
        raise UsageError(f"expected sections as a list of different columns, but got {sections!r}")
    return answers, names


def _section(table: Table, name: str, missing: frozenset[str]) -> NDArray[Any]:
    column = np.empty(table.rows, dtype=object)
    for row, text in enumerate(table.column(name).tolist()):
        if text is None or (isinstance(text, float) and np.isnan(text)):
            continue
        if not isinstance(text, str):
            raise DataError(
                f"expected a text in every row of the section {name!r}, but row {row} has {text!r} of type "
                f"{type(text).__name__}. Name the sections: sections=[...]"
            )
        column[row] = None if text.strip() in missing else text
    return column


def _free_name(names: Sequence[str]) -> str:
    name = LABEL
    while name in names:
        name = f"{name}_"
    return name


def _joined(names: tuple[str, ...], join: str) -> Any:
    """Joins the sections of each document; missing and empty ones are left out."""

    def view(rows: Table) -> Table:
        parts = zip(*(rows.column(name).tolist() for name in names), strict=True)
        return batch_table([join.join(part for part in document if part) for document in parts], WHOLE)

    return view


def _functions(domain: TableDomain, join: str) -> Mapping[str, Function]:
    """The functions of texts whose sections are the features of a domain."""
    calls: dict[str, tuple[Callable[..., Any], int, bool]] = {
        "delete": (partial(_delete, domain), 2, False),
        "append": (partial(_append, domain, join), 3, False),
        "swap": (partial(_swap, domain), 3, False),
        "upper": (partial(_everywhere, domain, str.upper), 1, False),
        "lower": (partial(_everywhere, domain, str.lower), 1, False),
        "typo": (partial(_typo, domain), 1, True),
        "shuffle": (partial(_shuffle, domain), 2, True),
    }
    return {
        name: Function(partial(_of_texts, name, call), takes, "record", random=random)
        for name, (call, takes, random) in calls.items()
    }


def _of_texts(name: str, call: Callable[..., Any], records: Any, *arguments: Any) -> Any:
    if not isinstance(records, TableRecords):
        raise DataError(
            f"{name}(...) takes a text first, such as an input; a section of a text is not a text", name=name
        )
    return call(records, *arguments)


def _rewritten(
    domain: TableDomain, records: TableRecords, sections: NDArray[Any], change: Callable[[int, Text], Text]
) -> TableRecords:
    """Every record with one section changed, each its own; ``change`` takes the record's number and the old text."""
    names = [domain.feature(section) for section in sections.tolist()]
    changed = dict(records.changed)
    for name in dict.fromkeys(names):
        column = domain.column(records, name).astype(object)
        for index in (index for index, other in enumerate(names) if other == name):
            column[index] = change(index, column[index])
        changed[name] = column
    return TableRecords(records.rows, changed)


def _delete(domain: TableDomain, records: TableRecords, sections: NDArray[Any]) -> TableRecords:
    return _rewritten(domain, records, sections, lambda _index, _text: None)


def _append(
    domain: TableDomain, join: str, records: TableRecords, sections: NDArray[Any], texts: NDArray[Any]
) -> TableRecords:
    more = texts.tolist()

    def change(index: int, text: Text) -> Text:
        parts = [part for part in (text, more[index]) if part]
        return join.join(map(str, parts)) if parts else text

    return _rewritten(domain, records, sections, change)


def _swap(domain: TableDomain, records: TableRecords, first: NDArray[Any], second: NDArray[Any]) -> TableRecords:
    before = [_read(domain, records, sections) for sections in (first, second)]
    half = _rewritten(domain, records, first, lambda index, _: before[1][index])
    return _rewritten(domain, half, second, lambda index, _: before[0][index])


def _read(domain: TableDomain, records: TableRecords, sections: NDArray[Any]) -> list[Text]:
    names = [domain.feature(section) for section in sections.tolist()]
    columns = {name: domain.column(records, name) for name in dict.fromkeys(names)}
    return [columns[name][index] for index, name in enumerate(names)]


def _everywhere(domain: TableDomain, change: Callable[[str], str], records: TableRecords) -> TableRecords:
    changed = dict(records.changed)
    for name in domain.columns:
        texts = [None if text is None else change(text) for text in domain.column(records, name).tolist()]
        changed[name] = np.fromiter(texts, dtype=object, count=len(texts))
    return TableRecords(records.rows, changed)


def _typo(domain: TableDomain, records: TableRecords, seeds: NDArray[Any]) -> tuple[TableRecords, NDArray[np.bool_]]:
    """Two neighbouring letters exchanged, at a random one of the positions where that makes a difference."""
    columns = {name: domain.column(records, name).astype(object) for name in domain.columns}
    none = np.zeros(len(records), dtype=bool)
    for number, seed in enumerate(seeds.tolist()):
        choices = [(name, index) for name, column in columns.items() for index in _exchangeable(column[number])]
        if not choices:
            none[number] = True
            continue
        name, index = choices[int(np.random.default_rng(seed).integers(len(choices)))]
        text = columns[name][number]
        columns[name][number] = f"{text[:index]}{text[index + 1]}{text[index]}{text[index + 2 :]}"
    return TableRecords(records.rows, {**records.changed, **columns}), none


def _exchangeable(text: Text) -> list[int]:
    pairs = enumerate(pairwise(text or ""))
    return [index for index, (one, other) in pairs if one != other and one.isalpha() and other.isalpha()]


def _shuffle(
    domain: TableDomain, records: TableRecords, sections: NDArray[Any], seeds: NDArray[Any]
) -> tuple[TableRecords, NDArray[np.bool_]]:
    """The words of a section in a uniformly random order, which may be the same by chance."""
    none = np.array([len(set((text or "").split())) < 2 for text in _read(domain, records, sections)], dtype=bool)

    def change(index: int, text: Text) -> Text:
        if none[index] or text is None:
            return text
        words = text.split()
        return " ".join(words[word] for word in np.random.default_rng(int(seeds[index])).permutation(len(words)))

    return _rewritten(domain, records, sections, change), none


def _text_gap(longest: int) -> Gap:
    """The length of the one stretch in which two texts differ, relative to the longest text.

    What two texts have in common at their beginnings and at their ends is not counted. So deleting or adding a stretch
    counts as its length.
    """

    def gap(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([_changed(one or "", other or "") for one, other in pairs]) / max(longest, 1)

    return gap


def _changed(left: str, right: str) -> float:
    shorter, longer = sorted((left, right), key=len)
    head = _common(len(shorter), lambda n: left[:n] == right[:n])
    tail = _common(len(shorter) - head, lambda n: left[len(left) - n :] == right[len(right) - n :])
    return float(len(longer) - head - tail)


def _common(longest: int, same: Callable[[int], bool]) -> int:
    """The largest length up to ``longest`` for which two ends are the same, by bisection."""
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if same(middle) else (low, middle - 1)
    return low

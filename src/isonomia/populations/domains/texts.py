"""Texts made of named sections as inputs, such as what a guest liked and what he did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.batches import batch_table
from isonomia.populations.columns import column_from
from isonomia.populations.domains.differing import text_gap
from isonomia.populations.domains.protocol import Function
from isonomia.populations.domains.rewriting import text_functions
from isonomia.populations.domains.tables import TableDomain
from isonomia.populations.table import Table

__all__ = ["Texts"]

LABEL = "label"
WHOLE = "text"
"""The one section of texts that have none."""


def Texts(  # noqa: N802  (a kind of domain, named like the others)
    documents: object,
    labels: str | Sequence[Any] | NDArray[Any] | None = None,
    *,
    sections: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    join: str = " ",
    as_table: bool = False,
    functions: Mapping[str, Function] | None = None,
) -> TableDomain:
    """Texts as the inputs of a k-safety property.

    The sections of a text are its features, by name and by number from 0. A section may be missing; a specification
    sees that as ``null``, and ``strConcat`` as no text. The functions are ``delete(x, section)``,
    ``append(x, section, text)``, ``swap(x, section, section)``, ``upper(x)`` and ``lower(x)``. Two are random:
    ``typo(x)`` exchanges two neighbouring letters, and ``shuffle(x, section)`` changes the order of words. A text that
    has no such letters or words is turned away, and counted.

    Parameters
    ----------
    documents
        A list of texts; or a table with a column for each section, of any kind that a census takes.
    labels
        The right answers, for ``label(x)``: a column of that table, or one value a text.
    sections
        Which columns are sections, and in which order; all but the labels unless given.
    missing
        Texts that stand for a section without any, such as ``"No Negative"``; blanks around them do not matter.
    join
        What stands between two sections where they are put together.
    as_table
        Whether the model is given the sections in columns; otherwise it is given one text for each document, its
        sections in order, as a list of ``str``.
    functions
        What a specification may call besides.

    Raises
    ------
    DataError
        Where a section is no text, or there are more or fewer labels than texts.
    UsageError
        Where an option makes no sense.
    """
    table = _table(documents)
    answers, names = _labelled(table, labels, sections)
    columns = {name: _section(table, name, frozenset(text.strip() for text in missing)) for name in names}
    label = None if answers is None else _free_name(names)
    whole = Table.of(columns if label is None else {**columns, label: answers})
    gaps = {name: text_gap(max(len(text or "") for text in column)) for name, column in columns.items()}
    view = None if as_table else _joined(tuple(names), join)
    domain = TableDomain(whole, label_column=label, name="the texts", view=view, gaps=gaps, what="text")
    return replace(domain, functions={**text_functions(domain, join), **(functions or {})})


def _table(documents: object) -> Table:
    if isinstance(documents, list | tuple) and all(isinstance(text, str | None) for text in documents):
        if not documents:
            raise DataError("expected at least one text, but an empty list came")
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
            raise DataError(f"expected a label for each of {table.rows:,} texts, but {len(answers):,} came")
    names = [name for name in table.names if name != named] if sections is None else list(sections)
    if not names or isinstance(sections, str) or len(set(names)) != len(names):
        raise UsageError(f"expected sections as a list of different columns, but {sections!r} came")
    return answers, names


def _section(table: Table, name: str, missing: frozenset[str]) -> NDArray[Any]:
    column = np.empty(table.rows, dtype=object)
    for place, text in enumerate(table.column(name).tolist()):
        if text is None or (isinstance(text, float) and np.isnan(text)):
            continue
        if not isinstance(text, str):
            raise DataError(
                f"expected a text in every row of the section {name!r}, but row {place} has {text!r} of type "
                f"{type(text).__name__}. Name the sections: sections=[...]"
            )
        column[place] = None if text.strip() in missing else text
    return column


def _free_name(names: Sequence[str]) -> str:
    name = LABEL
    while name in names:
        name = f"{name}_"
    return name


def _joined(names: tuple[str, ...], join: str) -> Any:
    """Puts the sections of each document together; a missing one leaves nothing behind, nor does an empty one."""

    def view(rows: Table) -> Table:
        parts = zip(*(rows.column(name).tolist() for name in names), strict=True)
        return batch_table([join.join(part for part in document if part) for document in parts], WHOLE)

    return view

"""What a specification can do with texts: delete, append, swap, change case, misspell, shuffle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.domains.protocol import Function
from isonomia.populations.domains.table_records import TableRecords
from isonomia.populations.domains.tables import TableDomain

__all__ = ["text_functions"]

Text = str | None


def text_functions(domain: TableDomain, join: str) -> Mapping[str, Function]:
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
        raise DataError(f"{name}(...) takes a text first, such as an input; a section of one is no text by itself")
    return call(records, *arguments)


def _rewritten(
    domain: TableDomain, records: TableRecords, sections: NDArray[Any], change: Callable[[int, Text], Text]
) -> TableRecords:
    """Every record with one section changed, each its own; ``change`` takes the record's number and the section."""
    names = [domain.feature(section) for section in sections.tolist()]
    changed = dict(records.changed)
    for name in dict.fromkeys(names):
        column = domain.column(records, name).astype(object)
        for place in (place for place, other in enumerate(names) if other == name):
            column[place] = change(place, column[place])
        changed[name] = column
    return TableRecords(records.rows, changed)


def _delete(domain: TableDomain, records: TableRecords, sections: NDArray[Any]) -> TableRecords:
    return _rewritten(domain, records, sections, lambda place, text: None)  # noqa: ARG005


def _append(
    domain: TableDomain, join: str, records: TableRecords, sections: NDArray[Any], texts: NDArray[Any]
) -> TableRecords:
    more = texts.tolist()

    def change(place: int, text: Text) -> Text:
        parts = [part for part in (text, more[place]) if part]
        return join.join(map(str, parts)) if parts else text

    return _rewritten(domain, records, sections, change)


def _swap(domain: TableDomain, records: TableRecords, first: NDArray[Any], second: NDArray[Any]) -> TableRecords:
    before = [_read(domain, records, sections) for sections in (first, second)]
    half = _rewritten(domain, records, first, lambda place, _: before[1][place])
    return _rewritten(domain, half, second, lambda place, _: before[0][place])


def _read(domain: TableDomain, records: TableRecords, sections: NDArray[Any]) -> list[Text]:
    names = [domain.feature(section) for section in sections.tolist()]
    columns = {name: domain.column(records, name) for name in dict.fromkeys(names)}
    return [columns[name][place] for place, name in enumerate(names)]


def _everywhere(domain: TableDomain, change: Callable[[str], str], records: TableRecords) -> TableRecords:
    changed = dict(records.changed)
    for name in domain.columns:
        texts = [None if text is None else change(text) for text in domain.column(records, name).tolist()]
        changed[name] = np.fromiter(texts, dtype=object, count=len(texts))
    return TableRecords(records.rows, changed)


def _typo(domain: TableDomain, records: TableRecords, seeds: NDArray[Any]) -> tuple[TableRecords, NDArray[np.bool_]]:
    """Two neighbouring letters exchanged, at a place drawn from all where that makes a difference."""
    columns = {name: domain.column(records, name).astype(object) for name in domain.columns}
    none = np.zeros(len(records), dtype=bool)
    for number, seed in enumerate(seeds.tolist()):
        places = [(name, place) for name, column in columns.items() for place in _exchangeable(column[number])]
        if not places:
            none[number] = True
            continue
        name, place = places[int(np.random.default_rng(seed).integers(len(places)))]
        text = columns[name][number]
        columns[name][number] = f"{text[:place]}{text[place + 1]}{text[place]}{text[place + 2 :]}"
    return TableRecords(records.rows, {**records.changed, **columns}), none


def _exchangeable(text: Text) -> list[int]:
    pairs = enumerate(pairwise(text or ""))
    return [place for place, (one, other) in pairs if one != other and one.isalpha() and other.isalpha()]


def _shuffle(
    domain: TableDomain, records: TableRecords, sections: NDArray[Any], seeds: NDArray[Any]
) -> tuple[TableRecords, NDArray[np.bool_]]:
    """The words of a section in an order drawn uniformly from all, so that it may be the same by chance."""
    none = np.array([len(set((text or "").split())) < 2 for text in _read(domain, records, sections)], dtype=bool)

    def change(place: int, text: Text) -> Text:
        if none[place] or text is None:
            return text
        words = text.split()
        return " ".join(words[index] for index in np.random.default_rng(int(seeds[place])).permutation(len(words)))

    return _rewritten(domain, records, sections, change), none

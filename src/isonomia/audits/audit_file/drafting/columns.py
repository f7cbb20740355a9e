"""Profile of a column, words of a name.

What each column of a table holds, as far as a draft of an audit needs to know.

The words of a column's name, in whatever script and spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from isonomia.interventions.hints import is_identifier
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

__all__ = ["FEW", "Column", "columns_of_table", "has_word", "plain", "vocabulary", "words_in"]


FEW = 12
"""Up to so many different numbers are taken for a list of choices."""
_KEPT = 1000
"""More different texts than this are no groups of anybody."""

Kind = Literal["truth", "whole", "number", "text", "date", "other", "nothing"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column in short.

    Attributes
    ----------
    name, kind
        Its name, and what its values are.
    rows, missing
        How many rows there are, and in how many of them it is missing.
    counts
        How often each value occurs, the most frequent first; empty where there are very many.
    varieties
        How many different values there are.
    low, high
        The least and the greatest number; NaN for what are no numbers.
    identifier
        Whether it tells people apart.
    """

    name: str
    kind: Kind
    rows: int
    missing: int
    counts: Mapping[Any, int]
    varieties: int
    low: float
    high: float
    identifier: bool

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers that are no truth values."""
        return self.kind in ("whole", "number")

    @property
    def few(self) -> bool:
        """Whether it has so few values that each can be a group."""
        return 1 < self.varieties <= FEW and bool(self.counts)

    def words(self) -> str:
        """What it holds, as a part of a sentence."""
        missing = f", missing in {self.missing:,} of {self.rows:,} rows" if self.missing else ""
        match self.kind:
            case "truth":
                return f"true or false{missing}"
            case "whole" | "number":
                what = "whole numbers" if self.kind == "whole" else "numbers"
                return f"{what} from {self.low:g} to {self.high:g}{missing}"
            case "text":
                return f"{self.varieties:,} different texts{missing}"
            case "date":
                return f"dates{missing}"
            case "nothing":
                return "no value at all"
            case "other":
                return f"neither numbers nor truth values nor texts{missing}"


def columns_of_table(table: Table) -> dict[str, Column]:
    """Look at every column whose name can be written down."""
    return {name: _column(table, name) for name in table.names if _can_be_written(name)}


def _column(table: Table, name: str) -> Column:
    array = table.column(name)
    if array.dtype.kind in "biuf":
        present = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        values, times = np.unique(present, return_counts=True)
        counts = dict(zip(values.tolist(), times.tolist(), strict=True)) if len(values) <= _KEPT else {}
        kind: Kind = "truth" if array.dtype.kind == "b" else "whole" if _whole(values) else "number"
    elif array.dtype.kind == "O":
        plain = [value for value in map(plain_value, array) if value is not None]
        kind, counts = _of_objects(plain)
        values = np.asarray([float(value) for value in counts]) if kind in ("whole", "number", "truth") else np.empty(0)
        return _made(name, kind if plain else "nothing", table.rows, len(plain), counts, len(counts), values)
    else:
        return _made(name, "date" if array.dtype.kind == "M" else "other", table.rows, table.rows, {}, 0, np.empty(0))
    return _made(name, kind if len(values) else "nothing", table.rows, len(present), counts, len(values), values)


def _made(name: str, kind: Kind, rows: int, present: int, counts: Mapping[Any, int], varieties: int, v: Any) -> Column:
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))
    usable = {value: times for value, times in ordered.items() if _can_be_written(value)}
    low, high = (float(v.min()), float(v.max())) if len(v) else (np.nan, np.nan)
    apart = is_identifier(name) and varieties > 0.9 * present > 2
    return Column(
        name,
        kind,
        rows,
        rows - present,
        usable if len(usable) <= _KEPT else {},
        varieties,
        low,
        high,
        bool(apart or (kind == "text" and varieties == present > 20)),
    )


def _of_objects(values: list[Any]) -> tuple[Kind, dict[Any, int]]:
    if all(isinstance(value, bool) for value in values):
        return "truth", dict(Counter(values))
    if all(isinstance(value, str) for value in values):
        return "text", dict(Counter(values))
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return "whole", dict(Counter(values))
    return "other", {}


def _whole(values: Any) -> bool:
    return bool((values == np.round(values)).all())


def _can_be_written(value: Any) -> bool:
    """Whether a text is one that a file in UTF-8 can hold: half a character, as JSON allows, is not."""
    if not isinstance(value, str):
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(value)


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that put no blank between words."""


def plain(text: str) -> str:
    """A text without case and accents: ``Género`` and ``GENERO`` are the same."""
    return _bare(text.casefold())


def _bare(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if unicodedata.category(sign) != "Mn"))


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name: ``maritalStatus``, ``marital_status`` and ``Marital-Status`` have the same two."""
    return tuple(plain(word) for word in _BETWEEN.split(_CAMEL.sub(" ", _bare(name))) if word)


def vocabulary(words: str) -> frozenset[str]:
    """Words with blanks between them, without case and accents."""
    return frozenset(map(plain, words.split()))


def has_word(name: str, words: frozenset[str]) -> bool:
    """Whether a name has one of some words; in scripts without blanks, anywhere in it."""
    if not words.isdisjoint(words_in(name)):
        return True
    whole = plain(name)
    return bool(_UNSPACED.search(whole)) and any(word in whole for word in words if _UNSPACED.search(word))

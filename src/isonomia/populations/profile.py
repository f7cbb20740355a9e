"""A summary of one column of a table: its kind, its values, and whether it identifies people.

What the names and the values of columns suggest: usual words, in several languages.

They are guesses for drafts that a person corrects. Words have no case and no accents: ``Género`` is ``genero``.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.streaming import LongTable, Rows
from isonomia.populations.table import Table, plain_value

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts without spaces between words."""


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name: ``maritalStatus``, ``marital_status`` and ``Marital-Status`` have the same two."""
    return tuple(plain_text(word) for word in _BETWEEN.split(_CAMEL.sub(" ", _without_accents(name))) if word)


def has_word(name: str, words: frozenset[str]) -> bool:
    """Whether a name has one of the words; in scripts without spaces, anywhere in it."""
    if not words.isdisjoint(words_in(name)):
        return True
    whole = plain_text(name)
    return bool(_UNSPACED.search(whole)) and any(word in whole for word in words if _UNSPACED.search(word))


def plain_text(text: str) -> str:
    """A text without case and accents: ``Género`` and ``GENERO`` are the same."""
    return _without_accents(text.casefold())


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(sign for sign in parts if unicodedata.category(sign) != "Mn"))


_VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))


def _words(text: str) -> frozenset[str]:
    return frozenset(map(plain_text, text.split()))


# Who people are ------------------------------------------------------------------------------------------------------

AGE: Final = "age"

PROTECTED: Mapping[str, frozenset[str]] = {name: _words(text) for name, text in _VOCABULARY["protected"].items()}
"""The words of each protected attribute; if a name has words of several, the first attribute counts."""
_PAIRS: Sequence[tuple[frozenset[str], str]] = [
    (_words(pair), kind) for kind, pairs in _VOCABULARY["pairs"].items() for pair in pairs
]
THINGS = _words(_VOCABULARY["things"])
"""Things that have an age but are not people."""
ORIGIN = _words(_VOCABULARY["origin"])
"""Too vague for a protected attribute, but nothing that people can change."""
FAMILY = _words(_VOCABULARY["family"])
_NUMBERS_OF_UNITS = _words(_VOCABULARY["numbers_of_units"])
_IDENTIFIERS = _words(_VOCABULARY["identifiers"])

_SEXES = _words(_VOCABULARY["sexes"])
_NEITHER_SEX = _words(_VOCABULARY["neither_sex"])
_RACES = _words(_VOCABULARY["races"])
_MAX_RACES = 15


def protected_attribute(name: str) -> str | None:
    """The protected attribute that a column's name suggests; ``None`` if it suggests none."""
    words = set(words_in(name))
    for pair, kind in _PAIRS:
        if pair <= words:
            return kind
    for kind, known in PROTECTED.items():
        if has_word(name, known) and (kind != AGE or is_age(name)):
            return kind
    return None


def is_age(name: str) -> bool:
    """Whether a name is that of a person's age."""
    return has_word(name, PROTECTED[AGE]) and not has_word(name, THINGS)


def protected_by_values(values: Sequence[Any]) -> str | None:
    """The protected attribute whose usual values these texts are."""
    texts = {plain_text(value.strip()).replace(" ", "_") for value in values if isinstance(value, str)}
    if not texts or len(texts) < len(values):
        return None
    if len(texts & _SEXES) >= 2 and texts <= _SEXES | _NEITHER_SEX:
        return "sex"
    if len(texts & _RACES) >= 2 and len(texts) <= _MAX_RACES:
        return "race"
    return None


def is_identifier(name: str) -> bool:
    """Whether a name is that of a column that identifies people."""
    return has_word(name, _IDENTIFIERS)


_UNITS = _words(_VOCABULARY["units"])
_NUMBERING = _words(_VOCABULARY["numbering"])


def names_a_unit(name: str) -> bool:
    """Whether a name says which rows belong together: an identifier, a kind of unit, or a unit's number or name."""
    words = set(words_in(name))
    return has_word(name, _NUMBERS_OF_UNITS) or (bool(words & _UNITS) and words <= _UNITS | _NUMBERING)


# What was predicted, decided, and what became of it ------------------------------------------------------------------

SURE_OUTCOMES = _words(_VOCABULARY["sure_outcomes"])
"""Names that, as a whole, are usual for outcomes."""
OUTCOMES = _words(_VOCABULARY["outcomes"])
PREDICTIONS = _words(_VOCABULARY["predictions"])
SCORES = _words(_VOCABULARY["scores"])
DECISIONS = _words(_VOCABULARY["decisions"])
HARMS = _words(_VOCABULARY["harms"])
"""Outcomes that people do not want."""
BENEFITS = _words(_VOCABULARY["benefits"])
"""Outcomes that people want."""
GOOD_VALUES = _words(_VOCABULARY["good_values"])
BAD_VALUES = _words(_VOCABULARY["bad_values"])


CHARGES = _words(_VOCABULARY["charges"])
"""What people pay: for numbers with such a name, smaller is better for them."""
USES: Mapping[str, frozenset[str]] = {name: _words(text) for name, text in _VOCABULARY["uses"].items()}
"""What a decision is about, by words in the names of columns: it decides which law applies."""


def likely_use(telling: Sequence[str], others: Sequence[str]) -> str | None:
    """What a decision is about: judged by the names of decision and outcome first, then by those of other columns."""
    for names in (telling, others):
        for use, words in USES.items():
            if any(has_word(name, words) for name in names):
                return use
    return None


def is_sure_outcome(name: str) -> bool:
    """Whether a name as a whole is usual for outcomes."""
    return "".join(words_in(name)) in SURE_OUTCOMES


def is_model_answer(name: str) -> bool:
    """Whether a name is that of a model's answer."""
    return has_word(name, PREDICTIONS) or has_word(name, SCORES)


# What people do, and what has happened to them -----------------------------------------------------------------------

PAST = _words(_VOCABULARY["past"])
TIME = _words(_VOCABULARY["time"])
LEARNING = _words(_VOCABULARY["learning"])
PURPOSES = _words(_VOCABULARY["purposes"])
"""Words that turn a name with a word of learning into a purpose, such as a loan for education."""
SURVEY_WEIGHTS = _words(_VOCABULARY["survey_weights"])


_MAX_CHOICES = 12
"""A column with at most this many different values counts as a list of choices."""
_MAX_COUNTED = 1000
"""Values are counted only if there are at most this many different ones; more cannot be groups."""
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}")

Kind: TypeAlias = Literal["truth", "whole", "number", "text", "date", "other", "nothing"]
"""The kind of the values; ``"nothing"`` if all are missing."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnProfile:
    """A summary of one column.

    Attributes
    ----------
    name, kind
        Its name, and the kind of its values.
    rows, missing
        How many rows there are, and in how many the value is missing; infinite numbers count as missing.
    numbers
        The numbers that are present, truth values as 0 and 1; empty for a column of another kind.
    counts
        How often each value occurs, in the declared order of its categories if there is one, else sorted; empty if
        there are very many.
    varieties
        How many different values there are.
    identifier
        Whether it identifies people.
    """

    name: str
    kind: Kind
    rows: int
    missing: int
    numbers: NDArray[np.float64]
    counts: Mapping[Any, int]
    varieties: int
    identifier: bool

    @property
    def low(self) -> float:
        """The least number; NaN if there are no numbers."""
        return float(self.numbers.min()) if len(self.numbers) else nan

    @property
    def high(self) -> float:
        """The greatest number; NaN if there are no numbers."""
        return float(self.numbers.max()) if len(self.numbers) else nan

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers that are not truth values."""
        return self.kind in ("whole", "number")

    @property
    def few(self) -> bool:
        """Whether it has so few values that each can be a group."""
        return 1 < self.varieties <= _MAX_CHOICES and bool(self.counts)

    def words(self) -> str:
        """What it holds, as part of a sentence."""
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


def profile_of(table: Table, name: str) -> ColumnProfile:
    """Summarize one column."""
    column = table.column(name)
    if column.dtype.kind in "biuf":
        return _of_numbers(name, column)
    if column.dtype.kind == "O":
        return _of_objects(name, column, table.order(name))
    kind: Kind = "date" if column.dtype.kind == "M" else "other"
    return ColumnProfile(name, kind, len(column), 0, np.empty(0), {}, 0, identifier=False)


def _of_numbers(name: str, column: NDArray[Any]) -> ColumnProfile:
    present = column[np.isfinite(column)]
    values, times = np.unique(present, return_counts=True)
    kind: Kind = "truth" if column.dtype.kind == "b" else "whole" if (values == np.round(values)).all() else "number"
    counts = dict(zip(values.tolist(), times.tolist(), strict=True)) if len(values) <= _MAX_COUNTED else {}
    return ColumnProfile(
        name=name,
        kind=kind if len(present) else "nothing",
        rows=len(column),
        missing=len(column) - len(present),
        numbers=present.astype(np.float64),
        counts=counts,
        varieties=len(values),
        identifier=_named_identifier(name, len(values), len(present)),
    )


def _of_objects(name: str, column: NDArray[Any], order: tuple[str, ...]) -> ColumnProfile:
    values = [value for value in map(plain_value, column) if value is not None]
    kind = _kind_of_objects(values)
    times = Counter(values) if kind != "other" else Counter[Any]()
    in_order = [value for value in order if value in times] or sorted(times)
    all_differ = kind in ("text", "date") and len(times) == len(values) > 20
    return ColumnProfile(
        name=name,
        kind=kind,
        rows=len(column),
        missing=len(column) - len(values),
        numbers=np.asarray(values, dtype=np.float64) if kind in ("truth", "whole") else np.empty(0),
        counts={value: times[value] for value in in_order} if len(times) <= _MAX_COUNTED else {},
        varieties=len(times),
        identifier=all_differ or _named_identifier(name, len(times), len(values)),
    )


def _kind_of_objects(values: list[Any]) -> Kind:
    if not values:
        return "nothing"
    if all(isinstance(value, bool) for value in values):
        return "truth"
    if all(isinstance(value, str) for value in values):
        return "date" if all(map(_DATE.match, set(values))) else "text"
    whole = all(type(value) is int and -(2**63) <= value < 2**63 for value in values)
    return "whole" if whole else "other"


def _named_identifier(name: str, varieties: int, present: int) -> bool:
    """Whether a column has the name of an identifier, and nearly all of its values differ."""
    return is_identifier(name) and varieties > 0.9 * present > 2


LOOKED_AT = 20_000
"""Rows in which repeats are looked for; of a longer table, a random part. It changes a remark only."""

FEWEST = 20
"""Fewer different values are taken for groups, not for customers or prompts; fewer different rows say nothing."""

REPEATED = 0.1
"""The share of rows that may occur twice by accident."""

NEARLY_UNIQUE = 0.4
"""A column with this share of different values is taken for one whose values rarely coincide."""

MORE_THAN_CHANCE = 5.0
"""How many times as many equal pairs there must be as if columns were independent."""


def signs_of_repeats(rows: Rows) -> tuple[str, ...]:
    """Remarks on rows that do not look independent: an identifier that repeats, or whole rows that do.

    Of a table in memory, rows drawn at random are looked at; of one that is not, the first ones.

    Whole rows repeat where a tenth of them have an equal although a column has fractions, far more than if columns were
    independent, or where all of them occur a multiple of two, three, ... times.
    """
    remarks = []
    if isinstance(rows, LongTable):
        part, chosen = rows.head(min(rows.rows, LOOKED_AT)), "the first ones"
    elif rows.rows > LOOKED_AT:
        drawn = np.random.default_rng(0).choice(rows.rows, LOOKED_AT, replace=False)
        part, chosen = rows.take(np.sort(drawn)), "drawn at random"
    else:
        part, chosen = rows, ""
    whole = part.rows == rows.rows
    columns = {name: part.column(name) for name in part.names}
    codes = {name: _codes(values) for name, values in columns.items()}
    varieties = {name: int(column.max(initial=-1)) + 1 for name, column in codes.items()}
    fractional = {
        name
        for name, values in columns.items()
        if values.dtype.kind == "f" and np.any(np.isfinite(values) & (values != np.floor(values)))
    }
    for name, different in varieties.items():
        if names_a_unit(name) and name not in fractional and FEWEST <= different <= part.rows // 2:
            looked = f"{part.rows:,} rows" if whole else f"{part.rows:,} of {rows.rows:,} rows, {chosen}"
            remarks.append(
                f"rows may belong together: {name!r} has {different:,} different values in {looked}. If rows "
                f"with the same value depend on each other, the stated risk is wrong: say so, cluster={name!r}"
            )
    together = np.zeros(part.rows, dtype=np.int64)
    for name in sorted(codes, key=lambda each: -varieties[each]):
        _, together = np.unique(together * varieties[name] + codes[name], return_inverse=True)
        if int(together.max(initial=0)) + 1 == part.rows:
            return tuple(remarks)
    times = np.bincount(together) if part.rows else np.zeros(0, dtype=np.int64)
    fractions = bool(fractional) or max(varieties.values()) > NEARLY_UNIQUE * part.rows
    copies = whole and len(times) >= FEWEST and int(np.gcd.reduce(times)) > 1
    distinct = np.unique(together, return_index=True)[1]  # copies must not make copies likely
    by_chance = float(np.prod([_coincidence(each[distinct]) for each in codes.values()]))
    pairs = float(times @ (times - 1.0)) / 2.0
    many = pairs > FEWEST + MORE_THAN_CHANCE * by_chance * part.rows**2 / 2.0
    if copies or (fractions and many and times[times > 1].sum() > REPEATED * part.rows):
        remarks.append(
            f"whole rows repeat: {part.rows:,} rows have {len(times):,} different ones. Copies are not independent "
            "draws: remove them, or name the column that says which rows belong together, cluster='...'"
        )
    return tuple(remarks)


def _coincidence(codes: NDArray[np.int64]) -> float:
    """The share of pairs that have the same value."""
    counts, n = np.bincount(codes).astype(float), len(codes)
    return float(counts @ (counts - 1.0)) / max(n * (n - 1.0), 1.0)


def _codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """A number for each different value."""
    if values.dtype.kind in "biuf":
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    numbers: dict[Any, int] = {}
    return np.fromiter((numbers.setdefault(str(value), len(numbers)) for value in values), np.int64, len(values))

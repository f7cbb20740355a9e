"""Protected attributes and their groups.

Which columns hold a protected attribute, by their names and by their values.

The words are the usual spellings in data of several languages, without accents. They are guesses for a draft that a
person corrects, so a wrong one costs a line to delete; what is missed has to be named with ``--protected``.

The groups of a protected attribute: who is compared with whom, and who is too few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from isonomia.audits.audit_file.drafting.columns import Column, has_word, plain, vocabulary, words_in
from isonomia.errors import UsageError, nearest
from isonomia.populations.table import Table
from isonomia.spec.text import name_text, number_text, value_text

__all__ = ["AGE", "LEAST", "MOST_ATTRIBUTES", "Attribute", "Group", "attribute_kind", "attributes_of", "has_usual_name"]


AGE: Final = "age"

_WORDS: Mapping[str, frozenset[str]] = {
    "sex": vocabulary(
        "sex sexe sexo sesso sexus gender genre geschlecht genero plec pol cinsiyet kon kjonn køn sukupuoli geslacht "
        "male female ismale isfemale woman mujer femme frau donna mulher пол стать 性别 性別 성별 جنس लिंग מין φυλο"
    ),
    "race": vocabulary(
        "race racial ethnicity ethnic ethnie ethnizitat raza etnia etnicidad etnicidade raca razza etnicita rasse "
        "hautfarbe skin caste casta kaste tribe indigenous aboriginal hispanic latino black white asian раса 种族 民族 "
        "人種 인종"
    ),
    "religion": vocabulary(
        "religion religious religiao religione konfession creed faith glaube религия 宗教 종교 دين धर्म"
    ),
    "disability": vocabulary(
        "disability disabilities disabled handicap handicapped handicape behinderung behindert schwerbehindert "
        "discapacidad discapacitado deficiencia invalidite invalidita disabilita инвалидность 障害 残疾 장애"
    ),
    "nationality": vocabulary(
        "nationality nationalite nationalitat nacionalidad nacionalidade nazionalita citizenship citizen "
        "staatsangehorigkeit staatsburgerschaft ciudadania cidadania cittadinanza foreign foreigner auslander "
        "extranjero etranger immigrant immigration migrant migrationshintergrund native birthplace гражданство "
        "национальность 国籍 국적"
    ),
    "marital status": vocabulary(
        "marital martial maritalstatus married divorced widowed spouse matrimonial familienstand zivilstand "
        "personenstand 婚姻 婚姻状况 결혼"
    ),
    "pregnancy": vocabulary("pregnant pregnancy maternity schwanger schwangerschaft embarazada embarazo enceinte"),
    "sexual orientation": vocabulary("lgbt lgbtq homosexual heterosexual"),
    AGE: vocabulary("age alter edad idade eta leeftijd wiek yas alder ika возраст 年龄 年齢 나이 연령"),
}
_PAIRS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"civil", "estado"}), "marital status"),
    (frozenset({"civil", "etat"}), "marital status"),
    (frozenset({"civile", "stato"}), "marital status"),
    (frozenset({"civil", "status"}), "marital status"),
    (frozenset({"situation", "familiale"}), "marital status"),
    (frozenset({"national", "origin"}), "nationality"),
    (frozenset({"country", "birth"}), "nationality"),
    (frozenset({"country", "origin"}), "nationality"),
    (frozenset({"sexual", "orientation"}), "sexual orientation"),
)
_THINGS = vocabulary("account company firm vehicle car house home building property loan file customer machine oldest")
"""What has an age without being a person."""
_SEXES = vocabulary(
    "m f w male female man woman men women masculin feminin masculino femenino feminino maschio femmina mannlich "
    "weiblich homme femme hombre mujer homem mulher uomo donna mann frau мужской женский 男 女 남 여"
)
_NEITHER = vocabulary("x d divers diverse other others nonbinary non-binary unknown n/a na unspecified")
_RACES = vocabulary(
    "white black asian hispanic latino caucasian african-american african_american native_american indian "
    "pacific_islander mixed multiracial"
)
_MOST_SEXES = 6


def attribute_kind(name: str, values: Sequence[Any]) -> tuple[str, str] | None:
    """Which protected attribute a column seems to hold, and what speaks for it; ``None`` where nothing does.

    Parameters
    ----------
    name
        The column.
    values
        The values that occur in it; only texts are looked at.
    """
    named = _by_name(name)
    if named == "sex" and len(values) > _MOST_SEXES:
        named = None  # a genre of music has more
    if named is not None:
        return named, f"its name is a usual one for {named}"
    valued = _by_values(values)
    return None if valued is None else (valued, f"its values are usual ones for {valued}")


def has_usual_name(name: str) -> bool:
    """Whether a column's name alone says that it holds a protected attribute."""
    return _by_name(name) is not None


def _by_name(name: str) -> str | None:
    words = set(words_in(name))
    for pair, kind in _PAIRS:
        if pair <= words:
            return kind
    for kind, known in _WORDS.items():
        if has_word(name, known) and not (kind == AGE and words & _THINGS):
            return kind
    return None


def _by_values(values: Sequence[Any]) -> str | None:
    texts = {plain(value.strip()).replace(" ", "_") for value in values if isinstance(value, str)}
    if not texts or len(texts) < len(values):
        return None
    if len(texts & _SEXES) >= 2 and texts <= _SEXES | _NEITHER:
        return "sex"
    if len(texts & _RACES) >= 2 and len(texts) <= 15:
        return "race"
    return None


SHARE, LEAST = 0.02, 30
"""A group below this share of the people, or of fewer people than this, is set aside. The share is that of the Uniform
Guidelines on Employee Selection Procedures (1978), 29 CFR 1607.15 A(2); the number is what a rate takes to say
much."""
MOST_ATTRIBUTES, MOST_GROUPS = 8, 8
_AGES = (25.0, 40.0, 60.0)
"""Where ranges of age begin. 40 is where the Age Discrimination in Employment Act (29 USC 631) begins to protect."""
_OLDEST, _CODES = 120.0, 12.0
"""Ages that are numbers end here; numbers up to the second are codes of ranges."""
_MANY = 60
"""With more different texts than this, a column is not taken for groups of people by its name alone."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some people: what to call them, the condition that they meet, and how many they are."""

    label: str
    condition: str
    people: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """A protected attribute.

    Attributes
    ----------
    column, kind, why
        The column, which attribute it seems to be, and what speaks for it.
    reference
        The largest group, with which the others are compared.
    groups
        The other groups that are large enough.
    rare
        Those that are not, each with the reason.
    values
        How many values the column has, where each is a group; 0 where ranges are.
    """

    column: str
    kind: str
    why: str
    reference: Group
    groups: tuple[Group, ...]
    rare: tuple[tuple[Group, str], ...]
    values: int


def attributes_of(
    table: Table, columns: Mapping[str, Column], wanted: Sequence[str], taken: Sequence[str]
) -> tuple[Attribute, ...]:
    """The protected attributes of a table: those that are wanted, or all that look like one.

    Parameters
    ----------
    table, columns
        The people.
    wanted
        The columns that the user named; with none, names and values decide.
    taken
        Columns that are something else: the outcome, the decision.

    Raises
    ------
    UsageError
        Where a wanted column is not there, or does not make two groups.
    """
    if wanted:
        return tuple(_wanted(table, columns, name) for name in dict.fromkeys(wanted))
    found = [_guessed(table, column) for name, column in columns.items() if name not in taken]
    kept = [attribute for attribute in found if attribute is not None]
    named = {attribute.kind for attribute in kept if has_usual_name(attribute.column)}
    # F and M are felonies and misdemeanours as well: values alone speak only where no name does.
    return tuple(each for each in kept if has_usual_name(each.column) or each.kind not in named)


def _wanted(table: Table, columns: Mapping[str, Column], name: str) -> Attribute:
    if name not in columns:
        raise UsageError(f"expected --protected to name a column, but there is no column {name!r}.{_near(name, table)}")
    column = columns[name]
    guess = attribute_kind(name, list(column.counts))
    found = _attribute(table, column, name if guess is None else guess[0], "you said so")
    if found is None:
        raise UsageError(
            f"expected --protected to name a column that makes two groups or more, but {name!r} has {column.words()}"
        )
    return found


def _near(name: str, table: Table) -> str:
    return nearest(name, table.names)


def _guessed(table: Table, column: Column) -> Attribute | None:
    if column.identifier or (column.kind == "text" and column.varieties > _MANY):
        return None
    guess = attribute_kind(column.name, list(column.counts))
    if guess is None:
        return None
    kind, why = guess
    if column.numeric and not column.few and kind != AGE:
        return None
    if kind == AGE and column.numeric and not (column.low >= 0.0 and column.high <= _OLDEST):
        return None
    return _attribute(table, column, kind, why)


def _attribute(table: Table, column: Column, kind: str, why: str) -> Attribute | None:
    in_years = kind == AGE and column.high > _CODES
    by_range = column.numeric and (in_years or not column.few)
    groups = _ranges(table, column, kind) if by_range else _values(column)
    groups = sorted(groups, key=lambda group: -group.people)
    if len(groups) < 2:
        return None
    large = [group for group in groups if _reason(group, column) is None]
    if len(large) < 2:
        large = groups[:2]  # a small table is audited all the same, and the verdict says what it cannot tell
    kept = large[1 : MOST_GROUPS + 1]
    rare = tuple(
        (group, _reason(group, column) or "there are larger ones") for group in groups[1:] if group not in kept
    )
    return Attribute(column.name, kind, why, large[0], tuple(kept), rare, 0 if by_range else column.varieties)


def _reason(group: Group, column: Column) -> str | None:
    if group.people < LEAST:
        return f"only {group.people:,} of {column.rows:,} rows: too few for a rate to mean much"
    if group.people < SHARE * column.rows:
        return f"{group.people / column.rows:.1%} of the rows, below the 2% from which 29 CFR 1607.15 A(2) counts"
    return None


def _values(column: Column) -> list[Group]:
    spelled = name_text(column.name)
    return [Group(_label(value), f"{spelled} == {value_text(value)}", n) for value, n in column.counts.items()]


def _label(value: Any) -> str:
    return value if isinstance(value, str) else value_text(value)


def _ranges(table: Table, column: Column, kind: str) -> list[Group]:
    """Ranges of age; any other number is cut in two at its median."""
    array = table.column(column.name)
    numbers = np.asarray([np.nan if value is None else float(value) for value in array])
    middle = float(np.nanmedian(numbers))
    cuts = _AGES if kind == AGE else (middle,)
    found = [_range(column.name, numbers, *ends) for ends in zip((None, *cuts), (*cuts, None), strict=True)]
    return [group for group in found if group.people]


def _range(name: str, numbers: Any, low: float | None, high: float | None) -> Group:
    spelled = name_text(name)
    inside = np.isfinite(numbers)
    sides = []
    if low is not None:
        sides.append(f"{spelled} >= {number_text(low)}")
        inside &= numbers >= low
    if high is not None:
        sides.append(f"{spelled} < {number_text(high)}")
        inside &= numbers < high
    if low is None:
        label = f"under {number_text(high or 0.0)}"
    elif high is None:
        label = f"{number_text(low)} and over"
    else:
        label = f"{number_text(low)} to under {number_text(high)}"
    return Group(label, " and ".join(sides), int(inside.sum()))

"""Which columns hold a protected attribute, by their names and by their values.

The words are the usual spellings in data of several languages, without accents. They are guesses for a draft that a
person corrects, so a wrong one costs a line to delete; what is missed has to be named with ``--protected``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from isonomia.audits.audit_file.drafting.naming import has_word, plain, vocabulary, words_in

__all__ = ["AGE", "attribute_kind", "has_usual_name"]

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

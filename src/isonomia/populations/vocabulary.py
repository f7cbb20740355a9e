"""What the names and the values of columns suggest: usual words, in several languages.

They are guesses for drafts that a person corrects. Words have no case and no accents: ``Género`` is ``genero``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

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


def _words(text: str) -> frozenset[str]:
    return frozenset(map(plain_text, text.split()))


# Who people are ------------------------------------------------------------------------------------------------------

AGE: Final = "age"

PROTECTED: Mapping[str, frozenset[str]] = {
    "sex": _words(
        "sex sexe sexo sesso sexus gender genre geschlecht genero plec pol cinsiyet kon kjonn køn sukupuoli geslacht "
        "male female ismale isfemale man woman mujer femme frau donna mulher пол стать 性别 性別 성별 جنس लिंग מין φυλο"
    ),
    "race": _words(
        "race racial ethnicity ethnic ethnie ethnizitat raza etnia etnicidad etnicidade raca razza etnicita rasse "
        "hautfarbe skin caste casta kaste tribe indigenous aboriginal hispanic latino black white asian раса 种族 民族 "
        "人種 인종"
    ),
    "religion": _words("religion religious religiao religione konfession creed faith glaube религия 宗教 종교 دين धर्म"),
    "disability": _words(
        "disability disabilities disabled handicap handicapped handicape behinderung behindert schwerbehindert "
        "discapacidad discapacitado deficiencia invalidite invalidita disabilita инвалидность 障害 残疾 장애"
    ),
    "nationality": _words(
        "nationality nationalite nationalitat nacionalidad nacionalidade nazionalita citizenship citizen "
        "staatsangehorigkeit staatsburgerschaft ciudadania cidadania cittadinanza foreign foreigner auslander "
        "extranjero etranger immigrant immigration migrant migrationshintergrund native birthplace гражданство "
        "национальность 国籍 국적"
    ),
    "marital status": _words(
        "marital martial maritalstatus married divorced widowed spouse matrimonial familienstand zivilstand "
        "personenstand 婚姻 婚姻状况 결혼"
    ),
    "pregnancy": _words("pregnant pregnancy maternity schwanger schwangerschaft embarazada embarazo enceinte"),
    "sexual orientation": _words("lgbt lgbtq homosexual heterosexual"),
    AGE: _words("age alter edad idade eta leeftijd wiek yas alder ika возраст 年龄 年齢 나이 연령"),
}
"""The words of each protected attribute; if a name has words of several, the first attribute counts."""
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
THINGS = _words("account company firm vehicle car house home building property loan file customer machine oldest")
"""Things that have an age but are not people."""
ORIGIN = _words("country national origin born birth orientation")
"""Too vague for a protected attribute, but nothing that people can change."""
FAMILY = _words(
    "single husband wife relationship children child kids dependent dependents dependants liable family famsize"
)
_NUMBERS_OF_UNITS = _words("id ids uuid guid identifier ssn email")
_IDENTIFIERS = _words("id ids uuid guid identifier index unnamed ssn email name firstname lastname surname")

_SEXES = _words(
    "m f w male female man woman men women masculin feminin masculino femenino feminino maschio femmina mannlich "
    "weiblich homme femme hombre mujer homem mulher uomo donna mann frau мужской женский 男 女 남 여"
)
_NEITHER_SEX = _words("x d divers diverse other others nonbinary non-binary unknown n/a na unspecified")
_RACES = _words(
    "white black asian hispanic latino caucasian african-american african_american native_american indian "
    "pacific_islander mixed multiracial"
)
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


_UNITS = _words(
    "customer cust client user patient subject person applicant borrower account household family school pupil student "
    "teacher doctor hospital hotel store shop judge employee driver prompt item task question session visit "
    "conversation document author"
)
_NUMBERING = _words("id ids uuid guid no nr num number key code name identifier")


def names_a_unit(name: str) -> bool:
    """Whether a name says which rows belong together: an identifier, a kind of unit, or a unit's number or name."""
    words = set(words_in(name))
    return has_word(name, _NUMBERS_OF_UNITS) or (bool(words & _UNITS) and words <= _UNITS | _NUMBERING)


# What was predicted, decided, and what became of it ------------------------------------------------------------------

SURE_OUTCOMES = _words(
    "target label outcome groundtruth ytrue ergebnis zielvariable resultado objetivo resultat esito etiqueta etichetta "
    "结果 標籤 标签 결과 результат"
)
"""Names that, as a whole, are usual for outcomes."""
OUTCOMES = _words(
    "y class klasse classe clase response good bad default defaults defaulted risk recid recidivism income human bot "
    "fraud fraudulent churn churned approved approval accepted granted hired admitted passed survived readmitted "
    "decision result event repaid paid reoffended qualified graduated ausfall zuruckgezahlt pagado remboursé bestanden"
)
PREDICTIONS = _words("prediction predictions predicted predict pred yhat vorhersage prediccion previsao prevision")
SCORES = _words("score scores decile percentile probability proba prob propensity punktzahl puntaje wahrscheinlichkeit")
DECISIONS = _words(
    "decision decisions decided approved approval accepted granted hired admitted rejected denied selected "
    "shortlisted invited promoted entscheidung entscheid decisione decisao contratado embauche eingestellt genehmigt "
    "决定 決定"
)
HARMS = _words(
    "bad default defaults defaulted risk risky recid recidivism reoffended reoffend fraud fraudulent churn churned "
    "late delinquent delinquency readmitted rejected denied refused arrest arrested jailed guilty failure failed "
    "dropout died death bankrupt bankruptcy charged violation toxic spam bot ausfall abgelehnt impago morosidad defaut"
)
"""Outcomes that nobody wants."""
BENEFITS = _words(
    "good approved approval accepted granted hired admitted passed survived repaid paid qualified graduated selected "
    "shortlisted invited promoted eligible income success"
)
"""Outcomes that people want."""
GOOD_VALUES = _words(
    "yes y true good approve approved accept accepted grant granted hire hired admit admitted pass passed positive "
    "repaid paid low lowrisk low_risk ok success successful graduate graduated select selected qualified eligible "
    "invited invite offer offered promoted ja gut genehmigt angenommen bestanden si oui bon accepte sim bom bueno "
    "aprobado aprovado ano tak да 是 有 通过 合格 はい 예"
)
BAD_VALUES = _words(
    "no n false bad reject rejected deny denied refuse refused decline declined fail failed negative default defaulted "
    "high highrisk high_risk fraud fraudulent churn churned dropout recidivist nein schlecht abgelehnt non mauvais "
    "refuse nao ruim malo rechazado rejeitado ne nie нет 否 无 不合格 いいえ 아니오 bot spam toxic"
)


CHARGES = _words(
    "charge charges price prices premium premiums cost costs fee fees rent interest apr loss losses claim claims "
    "payment payments preis kosten gebuhr pramie prix cout prime precio costo prima prezzo"
)
"""What people pay: for numbers with such a name, smaller is better for them."""
USES: Mapping[str, frozenset[str]] = {
    "employment": _words(
        "hired hire hiring promoted promotion shortlisted interview interviewed invited candidate recruit "
        "recruited recruitment employee eingestellt bewerber contratado embauche"
    ),
    "credit": _words(
        "credit loan loans creditworthy repaid repayment default defaulted borrower lender kredit credito pret darlehen"
    ),
    "housing": _words("tenant tenants mortgage landlord rental lease miete mieter alquiler"),
}
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

PAST = _words(
    "history historic prior priors previous past juv juvenile felony felonies misd misdemeanor misdemeanors conviction "
    "convictions convicted arrest arrests arrested offense offence offenses charge charges crime crimes jail prison "
    "custody delinquency delinquencies delinquent late delay delayed delays defaulted bankrupt bankruptcy bankruptcies "
    "recid recidivism failures was were had paid refunded"
)
TIME = _words("years yrs tenure seniority experience since")
LEARNING = _words("education educational schooling degree degrees qualification qualifications edu")
PURPOSES = _words("for purpose loan required")
"""Words that turn a name with a word of learning into a purpose, such as a loan for education."""
SURVEY_WEIGHTS = _words("fnlwgt wgt")
HELPS = _words(
    "experience education educational schooling degree qualification qualifications skill skills grade grades gpa "
    "income salary wage savings saving assets tenure employment erfahrung einkommen gehalt experiencia ingresos "
    "revenu salaire esperienza reddito"
)
"""More of these should not hurt."""
HURTS = _words(
    "debt debts priors prior convictions arrests delinquencies delinquency late defaults overdue absences failures "
    "bankruptcies charges felonies misdemeanors schulden deudas dettes"
)
"""More of these should not help."""

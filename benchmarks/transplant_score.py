"""The Transplant Benefit Score of the United Kingdom's liver allocation, as a model that takes a table of patients.

The score is ``utility - need``: the days within five years that a patient is expected to live with the transplant,
less those without it. Each is a sum over days of ``S0(day) ** exp(beta . (x - mean))``, a Cox model; there are two
models for patients with cancer and two for others. Coefficients, means and baseline survival are read from the folder
``liver`` of the data (``betas.csv``, ``surv_cancer.csv``, ``surv_noncancer.csv``), as NHS Blood and Transplant
published them. What each row of ``betas.csv`` stands for is said below, one line a row: nothing is guessed from the
names in the file, and a row that is not known is refused.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError

__all__ = ["CANCER", "DEFAULT_PATIENT", "Score", "read_score"]

Floats = NDArray[np.float64]
Patients = Mapping[str, Floats]

CANCER, HEPATITIS_C, ALCOHOL, OTHER, AGAIN = 1, 2, 3, 9, 10
"""Groups of diseases; a patient who had a transplant before is in the last one, whatever the disease."""
_PORTION = 2_048
"""Patients whose survival on all days is held in memory together."""
_GROUPS = (2, 4, 5, 6, 7, 8, 9, 10)

DEFAULT_PATIENT: Mapping[str, float] = {
    "inpatient": 0,
    "registration": 1,
    "waiting_days": 30,
    "age": 52,
    "woman": 0,
    "disease": ALCOHOL,
    "second_disease": OTHER,
    "third_disease": OTHER,
    "transplants_before": 0,
    "abdominal_surgery": 0,
    "bilirubin": 20,
    "inr": 1.0,
    "creatinine": 70,
    "renal_support": 0,
    "sodium": 135,
    "potassium": 4.5,
    "albumin": 30,
    "encephalopathy": 0,
    "ascites": 0,
    "diabetes": 0,
    "afp": 5,
    "tumours": 1,
    "tumour_size": 1,
    "donor_age": 52,
    "donor_cause": 1,
    "donor_bmi": 25,
    "donor_diabetes": 1,
    "donor_type": 0,
    "blood_group": 0,
    "splittable": 0,
}
"""The patient with whom the public calculator starts. ``tumours`` is 1 for none or one, 2 for two, 3 for more."""


@dataclass(frozen=True, slots=True, eq=False)
class Survival:
    """The expected days of one Cox model.

    Attributes
    ----------
    beta, mean
        One entry for each term.
    baseline, days
        The different values of the baseline survival, and on how many days it has each.
    """

    beta: Floats
    mean: Floats
    baseline: Floats
    days: Floats

    def __call__(self, terms: Floats) -> Floats:
        """The days for each row of terms."""
        hazard, logarithm = np.exp((terms - self.mean) @ self.beta), np.log(self.baseline)
        portions = (hazard[first : first + _PORTION] for first in range(0, len(hazard), _PORTION))
        found = [np.exp(np.outer(portion, logarithm)) @ self.days for portion in portions]
        return np.concatenate([np.empty(0), *found])


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """The score and its two parts; each method takes a table of patients and gives days.

    Attributes
    ----------
    models
        Survival without (``"need"``) and with (``"utility"``) the transplant, for patients with cancer and others.
    """

    models: Mapping[tuple[str, bool], Survival]

    def need(self, patients: Any) -> Floats:
        """Days expected without a transplant: the fewer, the greater the need."""
        return self._days("need", patients)

    def utility(self, patients: Any) -> Floats:
        """Days expected with the transplant."""
        return self._days("utility", patients)

    def benefit(self, patients: Any) -> Floats:
        """Days gained: the score by which livers are offered."""
        return np.asarray(self.utility(patients) - self.need(patients))

    def _days(self, part: str, patients: Any) -> Floats:
        columns = {name: np.asarray(patients[name], dtype=np.float64) for name in DEFAULT_PATIENT}
        terms = np.column_stack([term(columns) for term in TERMS.values()])
        sick = _with_disease(columns, CANCER)
        days = np.empty(len(terms))
        for cancer in (False, True):
            rows = np.flatnonzero(sick == cancer)
            days[rows] = self.models[part, cancer](terms[rows])
        return days


def read_score(folder: Path) -> Score:
    """Read the coefficients and the baselines.

    Raises
    ------
    DataError
        Where a row of the coefficients is not one of the known terms, or one is missing.
    """
    with (folder / "betas.csv").open(encoding="utf-8") as file:
        rows = {row["parameter"]: row for row in csv.DictReader(file)}
    if set(rows) != set(TERMS):
        odd = sorted(set(rows) ^ set(TERMS))
        raise DataError(f"expected the {len(TERMS)} known terms in {folder / 'betas.csv'}, but these differ: {odd}")
    models = {}
    for kind, cancer in (("cancer", True), ("noncancer", False)):
        with (folder / f"surv_{kind}.csv").open(encoding="utf-8") as file:
            days = list(csv.DictReader(file))
        for name, part in (("m1", "need"), ("m2", "utility")):
            value, count = np.unique([float(day[f"{name}_surv"]) for day in days], return_counts=True)
            beta, mean = (
                np.asarray([float(rows[term][f"{name}_{kind}_{what}"]) for term in TERMS]) for what in ("beta", "mean")
            )
            models[part, cancer] = Survival(beta, mean, value, count.astype(np.float64))
    return Score(models)


def _with_disease(patient: Patients, disease: int) -> NDArray[np.bool_]:
    return np.asarray(
        (patient["disease"] == disease) | (patient["second_disease"] == disease) | (patient["third_disease"] == disease)
    )


def _group(patient: Patients) -> Floats:
    """The first of the patient's diseases in the order of the groups; those before a second transplant go first."""
    listed = np.column_stack([patient[name] for name in ("disease", "second_disease", "third_disease")])
    return np.where(patient["transplants_before"] > 0, AGAIN, listed.min(axis=1))


Term = Callable[[Patients], Any]


def _terms() -> Iterator[tuple[str, Term]]:
    """Every term by the name that it has in the file."""
    yield "RAGE - MEAN(RAGE)", lambda p: p["age"]
    yield "RAGE SQUARED - MEAN(RAGE SQUARED)", lambda p: p["age"] ** 2
    yield "RGENDER", lambda p: p["woman"]
    yield "RHCV", lambda p: _with_disease(p, HEPATITIS_C)
    for name, with_logarithm in (("RCREATININE", "creatinine"), ("RBILIRUBIN", "bilirubin"), ("RINR", "inr")):
        yield f"LN({name}) - MEAN(LN({name}))", _logarithm(with_logarithm)
    for name, column in (("RSODIUM", "sodium"), ("RPOTASSIUM", "potassium"), ("RALBUMIN", "albumin")):
        yield f"{name} - MEAN({name})", _column(column)
    yield "LN(RBILIRUBIN)*RSODIUM - MEAN(LN(RBILIRUBIN)*RSODIUM)", lambda p: np.log(p["bilirubin"]) * p["sodium"]
    yield "RAGE*LN(RCREATININE) - MEAN(RAGE*LN(RCREATININE))", lambda p: p["age"] * np.log(p["creatinine"])
    yield "LN(RWAITING TIME+1) - MEAN(LN(RWAITING TIME+1))", lambda p: np.log(p["waiting_days"] + 1)
    yield "LN(RMAXIMUM AFP LEVEL+1) - MEAN(LN(RMAXIMUM AFP LEVEL+1))", lambda p: np.log(p["afp"] + 1)
    yield "RMAXIMUM TUMOUR SIZE - MEAN(RMAXIMUM TUMOUR SIZE)", lambda p: p["tumour_size"]
    yield "DAGE - MEAN(DAGE)", lambda p: p["donor_age"]
    yield "DBMI - MEAN(DBMI)", lambda p: p["donor_bmi"]
    yield from _flags()
    yield from _by_disease()
    yield from _by_donor()


def _flags() -> Iterator[tuple[str, Term]]:
    for name, column in (
        ("RRENAL", "renal_support"),
        ("RINPATIENT", "inpatient"),
        ("RPREVIOUS ABDOMINAL SURGERY", "abdominal_surgery"),
        ("RENCEPHALOPATHY", "encephalopathy"),
        ("RASCITES", "ascites"),
        ("RDIABETES", "diabetes"),
        ("BLOOD GROUP COMPATIBILITY", "blood_group"),
        ("LIVER MEETS SPLIT CRITERIA", "splittable"),
    ):
        yield name, _column(column)
    for year in range(2007, 2013):
        yield f"RREGISTRATION YEAR={year}", _is("registration", year - 2005)
    yield "RTWO TUMOUR", _is("tumours", 2)
    yield "RTHREE OR MORE TUMOURS", _is("tumours", 3)


def _by_disease() -> Iterator[tuple[str, Term]]:
    for group in _GROUPS:
        yield f"RDISEASE GROUP={group}", lambda p, g=group: _group(p) == g
        yield f"RDISEASE GROUP={group}*LN(RBILIRUBIN)", lambda p, g=group: (_group(p) == g) * np.log(p["bilirubin"])
        yield f"RDISEASE GROUP={group}*RAGE", lambda p, g=group: (_group(p) == g) * p["age"]
        yield f"RDISEASE GROUP={group}*DTYPE=2", lambda p, g=group: (_group(p) == g) * p["donor_type"]


def _by_donor() -> Iterator[tuple[str, Term]]:
    for cause in (2, 3, 4):
        yield f"DCAUSE OF DEATH={cause}", _is("donor_cause", cause)
    for label, place in ((2, 2), (9, 3)):
        yield f"DHISTORY OF DIABETES={label}", _is("donor_diabetes", place)
        yield (
            f"RHCV*DHISTORY OF DIABETES={label}",
            lambda p, at=place: _with_disease(p, HEPATITIS_C) * (p["donor_diabetes"] == at),
        )
    yield "RHCV*DAGE", lambda p: _with_disease(p, HEPATITIS_C) * p["donor_age"]
    yield "DTYPE=2", _column("donor_type")
    yield "DTYPE=2*RAGE", lambda p: p["donor_type"] * p["age"]
    yield "DTYPE=2*LN(RCREATININE)", lambda p: p["donor_type"] * np.log(p["creatinine"])


def _column(name: str) -> Term:
    return lambda patient: patient[name]


def _logarithm(name: str) -> Term:
    return lambda patient: np.log(patient[name])


def _is(name: str, value: float) -> Term:
    return lambda patient: patient[name] == value


TERMS: Mapping[str, Term] = dict(_terms())
"""What each row of the coefficients is multiplied with, before its mean is taken off."""

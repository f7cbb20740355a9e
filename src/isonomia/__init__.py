"""Isonomia audits machine-learning models as black boxes.

You state what must hold; Isonomia answers *holds*, *violated* or *undecided*, with a risk of error that you chose
beforehand.

>>> import isonomia as iso
>>> verdict = iso.check(
...     "P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8",
...     population=iso.Census({"sex": ["F", "F", "M", "M"], "hired": [1, 1, 1, 0]}),
... )
>>> verdict.answer
'holds'

Terms
-----
property
    What must hold: a formula over rates ``P[event | condition]`` and means ``E[term | condition]``.
population
    Whom it is about: a :class:`Sample`, a :class:`Census`, a :class:`Generator`, a :class:`Program` or a
    :class:`Causal` model.
verdict
    The answer, with its guarantee and what it rests on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isonomia.version import __version__

if TYPE_CHECKING:
    from isonomia.audits import repair
    from isonomia.audits.assert_holds import PropertyFailure, assert_holds
    from isonomia.audits.check import check, plan
    from isonomia.audits.measure.measure import measure
    from isonomia.audits.principal.repair import PrincipalRepair
    from isonomia.audits.rates import subgroups as groups
    from isonomia.engine.parameters import Budget
    from isonomia.errors import (
        ChangingModelError,
        DataError,
        IsonomiaError,
        ModelError,
        NumericalError,
        RecordError,
        SpecError,
        UnreliableModelError,
        UsageError,
    )
    from isonomia.interventions import Interventions
    from isonomia.models import load_model
    from isonomia.models.cache import Cached
    from isonomia.models.executable import ExecutableModel
    from isonomia.models.http import HttpModel
    from isonomia.models.loader import read_service
    from isonomia.populations import Census, Generator, Ranges, Sample, Weighted
    from isonomia.populations.causal import Causal
    from isonomia.populations.domains import Games, Images, LunarLander, Sounds, Texts
    from isonomia.populations.program import Program
    from isonomia.populations.worlds.mechanisms import Additive, Categories, Custom, Equation, Normal, Uniform
    from isonomia.records import Verdict
    from isonomia.report.tracking import log_to_mlflow
    from isonomia.spec import (
        E,
        P,
        Property,
        as_if,
        col,
        do,
        each,
        fairness,
        maximum,
        minimum,
        other,
        pair_function,
        parse,
        prediction,
        responsiveness,
        safety,
        score,
    )
    from isonomia.spec.principal import PrincipalFairness
    from isonomia.spec.responsiveness import Responsiveness
    from isonomia.watch import Watch

__all__ = [
    "Additive",
    "Budget",
    "Cached",
    "Categories",
    "Causal",
    "Census",
    "ChangingModelError",
    "Custom",
    "DataError",
    "E",
    "Equation",
    "ExecutableModel",
    "Games",
    "Generator",
    "HttpModel",
    "Images",
    "Interventions",
    "IsonomiaError",
    "LunarLander",
    "ModelError",
    "Normal",
    "NumericalError",
    "P",
    "PrincipalFairness",
    "PrincipalRepair",
    "Program",
    "Property",
    "PropertyFailure",
    "Ranges",
    "RecordError",
    "Responsiveness",
    "Sample",
    "Sounds",
    "SpecError",
    "Texts",
    "Uniform",
    "UnreliableModelError",
    "UsageError",
    "Verdict",
    "Watch",
    "Weighted",
    "__version__",
    "as_if",
    "assert_holds",
    "check",
    "col",
    "do",
    "each",
    "fairness",
    "groups",
    "load_model",
    "log_to_mlflow",
    "maximum",
    "measure",
    "minimum",
    "other",
    "pair_function",
    "parse",
    "plan",
    "prediction",
    "read_service",
    "repair",
    "responsiveness",
    "safety",
    "score",
]

_SPEC = (
    "E",
    "P",
    "Property",
    "as_if",
    "col",
    "do",
    "each",
    "maximum",
    "minimum",
    "other",
    "pair_function",
    "parse",
    "prediction",
    "score",
)
_ERRORS = (
    "ChangingModelError",
    "DataError",
    "IsonomiaError",
    "ModelError",
    "NumericalError",
    "RecordError",
    "SpecError",
    "UnreliableModelError",
    "UsageError",
)
_LATER = {
    "Budget": "isonomia.engine.parameters",
    "Cached": "isonomia.models.cache",
    "Causal": "isonomia.populations.causal",
    "ExecutableModel": "isonomia.models.executable",
    "HttpModel": "isonomia.models.http",
    "Interventions": "isonomia.interventions",
    "PrincipalFairness": "isonomia.spec.principal",
    "PrincipalRepair": "isonomia.audits.principal.repair",
    "Program": "isonomia.populations.program",
    "PropertyFailure": "isonomia.audits.assert_holds",
    "Responsiveness": "isonomia.spec.responsiveness",
    "Verdict": "isonomia.audits.registry",
    "Watch": "isonomia.watch",
    "assert_holds": "isonomia.audits.assert_holds",
    "check": "isonomia.audits.check",
    "load_model": "isonomia.models",
    "log_to_mlflow": "isonomia.report.tracking",
    "measure": "isonomia.report",
    "plan": "isonomia.audits.check",
    "read_service": "isonomia.models.loader",
    **dict.fromkeys(_SPEC, "isonomia.spec"),
    **dict.fromkeys(_ERRORS, "isonomia.errors"),
    **dict.fromkeys(("Census", "Generator", "Ranges", "Sample", "Weighted"), "isonomia.populations"),
    **dict.fromkeys(("Games", "Images", "LunarLander", "Sounds", "Texts"), "isonomia.populations.domains"),
    **dict.fromkeys(
        ("Additive", "Categories", "Custom", "Equation", "Normal", "Uniform"),
        "isonomia.populations.worlds.mechanisms",
    ),
}


def __getattr__(name: str) -> Any:
    """Load each name on first use, so that NumPy and SciPy are loaded only when something needs them."""
    if name in {"fairness", "responsiveness", "safety"}:
        found: Any = import_module(f"isonomia.spec.{name}")
    elif name == "repair":
        found = import_module("isonomia.audits.repair")
    elif name == "groups":
        found = import_module("isonomia.audits.rates.subgroups")
    elif name in _LATER:
        found = getattr(import_module(_LATER[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Every public name, including those that are not loaded yet."""
    return sorted({*globals(), *__all__})

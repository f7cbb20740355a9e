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

from isonomia.engine.budget import Budget
from isonomia.errors import DataError, IsonomiaError, ModelError, NumericalError, SpecError, UsageError
from isonomia.populations import Census, Generator, Sample, Weighted
from isonomia.records import Verdict
from isonomia.spec import (
    E,
    P,
    Property,
    as_if,
    col,
    do,
    each,
    maximum,
    minimum,
    other,
    pair_function,
    parse,
    prediction,
    score,
)
from isonomia.version import __version__

if TYPE_CHECKING:
    from isonomia.audits.check import check, plan
    from isonomia.audits.principal import PrincipalRepair
    from isonomia.interventions import Interventions
    from isonomia.populations.causal import Causal
    from isonomia.populations.program import Program
    from isonomia.populations.programs.mechanisms import Additive, Categories, Custom, Equation, Normal, Uniform
    from isonomia.spec import fairness, responsiveness, safety
    from isonomia.spec.principal import PrincipalFairness
    from isonomia.spec.responsiveness import Responsiveness

__all__ = [
    "Additive",
    "Budget",
    "Categories",
    "Causal",
    "Census",
    "Custom",
    "DataError",
    "E",
    "Equation",
    "Generator",
    "Interventions",
    "IsonomiaError",
    "ModelError",
    "Normal",
    "NumericalError",
    "P",
    "PrincipalFairness",
    "PrincipalRepair",
    "Program",
    "Property",
    "Responsiveness",
    "Sample",
    "SpecError",
    "Uniform",
    "UsageError",
    "Verdict",
    "Weighted",
    "__version__",
    "as_if",
    "check",
    "col",
    "do",
    "each",
    "fairness",
    "maximum",
    "minimum",
    "other",
    "pair_function",
    "parse",
    "plan",
    "prediction",
    "responsiveness",
    "safety",
    "score",
]

_LATER = {
    "check": "isonomia.audits.check",
    "plan": "isonomia.audits.check",
    "Causal": "isonomia.populations.causal",
    "PrincipalFairness": "isonomia.spec.principal",
    "PrincipalRepair": "isonomia.audits.principal.wrapper",
    "Program": "isonomia.populations.program",
    "Interventions": "isonomia.interventions",
    "Responsiveness": "isonomia.spec.responsiveness",
    **dict.fromkeys(
        ("Additive", "Categories", "Custom", "Equation", "Normal", "Uniform"),
        "isonomia.populations.programs.mechanisms",
    ),
}


def __getattr__(name: str) -> Any:
    """Load what is not always needed, such as the audits with SciPy behind them, when it is first used."""
    if name in {"fairness", "responsiveness", "safety"}:
        found: Any = import_module(f"isonomia.spec.{name}")
    elif name in _LATER:
        found = getattr(import_module(_LATER[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found

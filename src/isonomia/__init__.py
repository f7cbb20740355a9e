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
    Whom it is about: a :class:`Sample`, a :class:`Census` or a :class:`Generator`.
verdict
    The answer, with its guarantee and what it rests on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isonomia.engine.budget import Budget
from isonomia.errors import DataError, IsonomiaError, ModelError, NumericalError, SpecError, UsageError
from isonomia.populations import Census, Generator, Sample
from isonomia.records import Verdict
from isonomia.spec import E, P, Property, col, each, maximum, minimum, parse, prediction, score
from isonomia.version import __version__

if TYPE_CHECKING:
    from isonomia.audits.check import check, plan

__all__ = [
    "Budget",
    "Census",
    "DataError",
    "E",
    "Generator",
    "IsonomiaError",
    "ModelError",
    "NumericalError",
    "P",
    "Property",
    "Sample",
    "SpecError",
    "UsageError",
    "Verdict",
    "__version__",
    "check",
    "col",
    "each",
    "maximum",
    "minimum",
    "parse",
    "plan",
    "prediction",
    "score",
]


def __getattr__(name: str) -> Any:
    """Load the audits, with SciPy behind them, when they are first used: importing the package stays quick."""
    if name in {"check", "plan"}:
        from isonomia.audits import check as verbs

        globals().update(check=verbs.check, plan=verbs.plan)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

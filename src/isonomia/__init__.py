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
    The answer, with its guarantee and its assumptions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isonomia.version import __version__ as __version__

if TYPE_CHECKING:
    from isonomia.audits import evals as evals
    from isonomia.audits import repair as repair
    from isonomia.audits.assert_holds import PropertyFailure as PropertyFailure
    from isonomia.audits.assert_holds import assert_holds as assert_holds
    from isonomia.audits.check import check as check
    from isonomia.audits.check import plan as plan
    from isonomia.audits.measure.measure import measure as measure
    from isonomia.audits.principal.repair import PrincipalRepair as PrincipalRepair
    from isonomia.audits.rates import subgroups as groups  # noqa: F401  (`iso.groups`)
    from isonomia.engine.parameters import Budget as Budget
    from isonomia.errors import ChangingModelError as ChangingModelError
    from isonomia.errors import DataError as DataError
    from isonomia.errors import IsonomiaError as IsonomiaError
    from isonomia.errors import ModelError as ModelError
    from isonomia.errors import NumericalError as NumericalError
    from isonomia.errors import RecordError as RecordError
    from isonomia.errors import SpecError as SpecError
    from isonomia.errors import UnreliableModelError as UnreliableModelError
    from isonomia.errors import UsageError as UsageError
    from isonomia.interventions import Interventions as Interventions
    from isonomia.models import load_model as load_model
    from isonomia.models.cache import Cached as Cached
    from isonomia.models.chat import ChatModel as ChatModel
    from isonomia.models.executable import ExecutableModel as ExecutableModel
    from isonomia.models.http import HttpModel as HttpModel
    from isonomia.models.loader import read_service as read_service
    from isonomia.populations import Census as Census
    from isonomia.populations import Generator as Generator
    from isonomia.populations import Labels as Labels
    from isonomia.populations import Ranges as Ranges
    from isonomia.populations import Sample as Sample
    from isonomia.populations import Weighted as Weighted
    from isonomia.populations.causal import Causal as Causal
    from isonomia.populations.domains import Games as Games
    from isonomia.populations.domains import Images as Images
    from isonomia.populations.domains import LunarLander as LunarLander
    from isonomia.populations.domains import Sounds as Sounds
    from isonomia.populations.domains import Texts as Texts
    from isonomia.populations.paired import paired as paired
    from isonomia.populations.program import Program as Program
    from isonomia.populations.prompts import Prompts as Prompts
    from isonomia.populations.worlds.mechanisms import Additive as Additive
    from isonomia.populations.worlds.mechanisms import Categories as Categories
    from isonomia.populations.worlds.mechanisms import Custom as Custom
    from isonomia.populations.worlds.mechanisms import Equation as Equation
    from isonomia.populations.worlds.mechanisms import Normal as Normal
    from isonomia.populations.worlds.mechanisms import Uniform as Uniform
    from isonomia.records import Verdict as Verdict
    from isonomia.report.tracking import log_to_mlflow as log_to_mlflow
    from isonomia.spec import E as E
    from isonomia.spec import P as P
    from isonomia.spec import Property as Property
    from isonomia.spec import as_if as as_if
    from isonomia.spec import col as col
    from isonomia.spec import do as do
    from isonomia.spec import each as each
    from isonomia.spec import fairness as fairness
    from isonomia.spec import maximum as maximum
    from isonomia.spec import minimum as minimum
    from isonomia.spec import other as other
    from isonomia.spec import pair_function as pair_function
    from isonomia.spec import parse as parse
    from isonomia.spec import prediction as prediction
    from isonomia.spec import responsiveness as responsiveness
    from isonomia.spec import safety as safety
    from isonomia.spec import score as score
    from isonomia.spec.principal import PrincipalFairness as PrincipalFairness
    from isonomia.spec.responsiveness import Responsiveness as Responsiveness
    from isonomia.watch import Watch as Watch
    from isonomia.watch.evals import StopEarly as StopEarly

_MODULES = {
    "evals": "isonomia.audits.evals",
    "fairness": "isonomia.spec.fairness",
    "groups": "isonomia.audits.rates.subgroups",
    "repair": "isonomia.audits.repair",
    "responsiveness": "isonomia.spec.responsiveness",
    "safety": "isonomia.spec.safety",
}
_NAMES = {
    "isonomia.audits.assert_holds": "PropertyFailure assert_holds",
    "isonomia.audits.check": "check plan",
    "isonomia.audits.principal.repair": "PrincipalRepair",
    "isonomia.audits.registry": "Verdict",
    "isonomia.engine.parameters": "Budget",
    "isonomia.errors": "ChangingModelError DataError IsonomiaError ModelError NumericalError RecordError SpecError "
    "UnreliableModelError UsageError",
    "isonomia.interventions": "Interventions",
    "isonomia.models": "load_model",
    "isonomia.models.loader": "read_service",
    "isonomia.models.cache": "Cached",
    "isonomia.models.chat": "ChatModel",
    "isonomia.models.executable": "ExecutableModel",
    "isonomia.models.http": "HttpModel",
    "isonomia.populations": "Census Generator Labels Ranges Sample Weighted",
    "isonomia.populations.causal": "Causal",
    "isonomia.populations.domains": "Games Images LunarLander Sounds Texts",
    "isonomia.populations.paired": "paired",
    "isonomia.populations.program": "Program",
    "isonomia.populations.prompts": "Prompts",
    "isonomia.populations.worlds.mechanisms": "Additive Categories Custom Equation Normal Uniform",
    "isonomia.report": "measure",
    "isonomia.report.tracking": "log_to_mlflow",
    "isonomia.spec": "E P Property as_if col do each maximum minimum other pair_function parse prediction score",
    "isonomia.spec.principal": "PrincipalFairness",
    "isonomia.spec.responsiveness": "Responsiveness",
    "isonomia.watch": "Watch",
    "isonomia.watch.evals": "StopEarly",
}
_LATER = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_LATER, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    """Load each name on first use, so that NumPy and SciPy are loaded only when something needs them."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _LATER:
        value = getattr(import_module(_LATER[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, including those that are not loaded yet."""
    return sorted({*globals(), *__all__})

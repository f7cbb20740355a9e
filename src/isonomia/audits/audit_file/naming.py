"""Names in the properties of an audit file that there are not: found before anything is asked."""

from __future__ import annotations

from isonomia.audits.check import Arranged
from isonomia.audits.ksafety.request import Request as SafetyRequest
from isonomia.audits.principal.question import need_columns
from isonomia.audits.principal.request import Request as PrincipalRequest
from isonomia.audits.rates.refusals import refuse_classes
from isonomia.audits.rates.request import Request as RatesRequest
from isonomia.audits.responsiveness import members
from isonomia.audits.responsiveness.request import Request as ResponsivenessRequest
from isonomia.errors import UsageError
from isonomia.spec.names import check_names

__all__ = ["refuse_unknown_names"]


def refuse_unknown_names(arranged: Arranged) -> None:
    """Refuse a check that speaks of columns or classes that there are not, as far as that is known beforehand.

    A generator says its columns only when it draws, and a k-safety property may have inputs of its own; they are left
    to the check itself.

    Raises
    ------
    IsonomiaError
        For the first name that is not there, with the nearest one that is.
    """
    match arranged.request:
        case SafetyRequest():
            pass
        case request if not hasattr(request.population, "streams"):
            raise UsageError("expected people, but this population has inputs for k-safety properties (nomos, safety)")
        case request if request.population.kind == "generator":
            pass
        case RatesRequest(prop=prop, model=model, population=population):
            check_names(prop.formula, population.names, model is not None)
            if model is not None:
                refuse_classes(prop, model)
        case PrincipalRequest(prop=prop, model=model, population=population):
            need_columns(prop, population, model)
        case ResponsivenessRequest() as request:
            members.check_names(request)

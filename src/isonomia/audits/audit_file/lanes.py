"""Which checks of an audit may run side by side.

Checks that share something which only one thread may use, or whose order matters, are in one lane and run one after
the other; lanes run side by side. A model itself needs no lane: it lets in only as many callers at once as its owner
said (:class:`isonomia.models.guarded.Guarded`), unless it answers at random, where the order of the questions would
show in the verdicts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.rates.request import Request
from isonomia.models.cache import Cached
from isonomia.models.guarded import Guarded
from isonomia.models.steady import Steady
from isonomia.populations import Census, Sample
from isonomia.populations.table import Table
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["lanes"]


def lanes(planned: Sequence[Planned], numbers: Sequence[int]) -> list[list[int]]:
    """Spread checks over lanes, so that no two lanes have anything in common that would matter.

    Parameters
    ----------
    planned
        Every check of the audit.
    numbers
        Which of them are to be carried out, in order.

    Returns
    -------
    list
        The numbers of the checks in each lane, ascending; the lanes by their first number.
    """
    found: list[tuple[set[Hashable], list[int]]] = []
    for number in numbers:
        common, members = set(_shares(planned[number])), [number]
        apart = []
        for tokens, others in found:
            if tokens & common:
                common |= tokens
                members += others
            else:
                apart.append((tokens, others))
        found = [*apart, (common, sorted(members))]
    return sorted(members for _, members in found)


def _shares(each: Planned) -> list[Hashable]:
    """What a check has that at most one lane may have."""
    request = each.arranged.request
    shared: list[Hashable] = []
    if isinstance(request, Request) and request.sharing is not None:
        shared.append(("pool", id(request.sharing)))
    if request.model is not None and each.arranged.random_model:
        shared.append(("model", _gate(request.model)))
    if request.population is not None and not _is_held(request.population):
        shared.append(("population", id(request.population)))
    if isinstance(request.prop, Safety) and (request.prop.spec.imports or request.prop.allow_code):
        shared.append("modules")  # finding them changes where Python looks
    if isinstance(request.prop, Responsiveness):
        shared.append(("interventions", id(request.prop.interventions)))
    return shared


def _is_held(population: Any) -> bool:
    """Whether it is a table in memory, which nobody changes; anything else runs code of its own to give people."""
    return isinstance(population, Sample | Census) and isinstance(population.rows, Table)


def _gate(model: Any) -> int:
    """What tells a model from others, through everything that was put around it for one check."""
    while isinstance(model, Cached | Steady):
        model = model.model
    return id(model.gate) if isinstance(model, Guarded) else id(model)

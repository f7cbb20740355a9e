"""Which checks of an audit share their people and the model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.rates.request import Request
from isonomia.audits.rates.sharing import Sharing
from isonomia.spec.names import outputs_of, versions_of

__all__ = ["shared_out"]


def shared_out(planned: Sequence[Planned]) -> list[Planned]:
    """Let the properties about rates that speak of one model and one population draw and ask together."""
    groups: dict[tuple[object, object], list[int]] = {}
    for place, each in enumerate(planned):
        if isinstance(each.arranged.request, Request):
            groups.setdefault((each.definition.get("model"), each.definition.get("population")), []).append(place)
    found = list(planned)
    for places in groups.values():
        if len(places) > 1:
            sharing = _sharing([planned[place].arranged.request for place in places])  # type: ignore[misc]
            for place in places:
                found[place] = _with(planned[place], sharing)
    return found


def _sharing(requests: Sequence[Request]) -> Sharing:
    formulas = [request.prop.formula for request in requests]
    versions = {formula: (None, *versions_of(formula)) for formula in formulas}
    wanted = {output.name for each, of in versions.items() for version in of for output in outputs_of(each, version)}
    first = requests[0]
    return Sharing(first.population, first.model, first.seed, first.workers, "prediction" in wanted, "score" in wanted)


def _with(each: Planned, sharing: Sharing) -> Planned:
    request = each.arranged.request
    assert isinstance(request, Request)
    return replace(each, arranged=replace(each.arranged, request=replace(request, sharing=sharing)))

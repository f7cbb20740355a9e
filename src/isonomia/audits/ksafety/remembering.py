"""Counterexamples of earlier verdicts, tried before anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isonomia.audits.ksafety.operators import missing
from isonomia.audits.ksafety.preparing import prepare_known
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.showing import shown
from isonomia.audits.ksafety.supply import Given, ReachedError
from isonomia.audits.ksafety.values import Value
from isonomia.errors import DataError, UsageError
from isonomia.populations.domains import Domain, TableDomain

__all__ = ["among", "checked_known", "gone_elsewhere", "still_violating"]


def checked_known(known: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
    """Counterexamples of earlier verdicts, as they came.

    Raises
    ------
    UsageError
        Where something else came.
    """
    for item in known:
        if not isinstance(item, Mapping) or not {"inputs", "choices"} <= set(item):
            raise UsageError(f"expected counterexamples of earlier verdicts as known, but {str(item)[:80]} came")
    return list(known)


def still_violating(runner: Runner, domain: Domain, known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those counterexamples that violate the property still, computed anew from their inputs and choices.

    One that no longer fits, because the specification or the data have changed, is passed over.
    """
    tried = (_again(runner, domain, item) for item in known)
    return [again for again in tried if again is not None]


def among(domain: Domain, item: Mapping[str, Any]) -> bool:
    """Whether every input of a counterexample is one of the table's rows; other domains are not looked through."""
    return not isinstance(domain, TableDomain) or all(_has(domain, record) for record in item["inputs"].values())


def gone_elsewhere(domain: Domain, known: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Say of counterexamples whose inputs the table does not have, or not so, that the violation is not among its rows.

    They are proof that the model violates the property all the same; other domains than tables are not looked through.
    """
    if not isinstance(domain, TableDomain):
        return ()
    rows = [record for item in known for record in item["inputs"].values()]
    if not rows or any(_has(domain, record) for record in rows):
        return ()
    return ("none of them is among the inputs that were given: they come from other data, or the data have changed",)


def _has(domain: TableDomain, record: Mapping[str, Any]) -> bool:
    restored, same = domain.restore([record]), np.ones(domain.size, dtype=bool)
    for name in domain.whole.names:
        here, there = domain.whole.column(name), domain.column(restored, name)
        same &= (here == there[0]) | (missing(here) & missing(there)[0])
    return bool(same.any())


def _again(runner: Runner, domain: Domain, item: Mapping[str, Any]) -> dict[str, Any] | None:
    names = runner.program.spec.inputs
    if not isinstance(item["inputs"], Mapping) or set(item["inputs"]) != set(names):
        return None
    try:
        choices = [np.array([choice]) for choice in item["choices"]]
        records = {name: Value(domain.restore([item["inputs"][name]])) for name in names}
        prepared = prepare_known(runner.program, domain, records, Given(choices))
    except (ReachedError, DataError, ValueError, TypeError, LookupError, AttributeError):
        return None
    if not prepared.accepted[0] or (runner.draws and not choices):
        return None
    seeds = choices[-1].astype(np.int64) if runner.draws else np.zeros(1, dtype=np.int64)
    judged = runner.judged(prepared, seeds)
    if not judged.violating[0]:
        return None
    return shown(runner, judged, list(item["choices"]), dict(item.get("rows", {}))) | {
        "minimal": bool(item.get("minimal", False))
    }

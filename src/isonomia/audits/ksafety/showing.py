"""Counterexamples as plain values: inputs, choices, outputs, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isonomia.audits.ksafety.cases import joined_cases
from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.judging import Judged
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.values import is_column
from isonomia.populations.columns import plain_value
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.text import expression_text

__all__ = ["shown", "shown_finds"]


def shown_finds(runner: Runner, finds: Sequence[Find], minimal: Sequence[bool]) -> list[dict[str, Any]]:
    """Violations, computed once more from their inputs and choices; those of one domain together.

    One that does not occur again is left out: the model, a function or the block draws from something else than its
    seed.
    """
    found: dict[int, dict[str, Any]] = {}
    for domain in {id(find.domain): find.domain for find in finds}.values():
        places = [place for place, find in enumerate(finds) if find.domain is domain]
        cases = joined_cases([finds[place].case for place in places])
        judged, accepted = runner.run(domain, cases)
        if len(accepted) < len(cases):
            continue
        for index in np.flatnonzero(judged.violating).tolist():
            place = places[index]
            choices = [plain_value(column[index]) for column in cases.choices]
            inputs = zip(runner.program.spec.inputs, cases.inputs, strict=True)
            rows = {name: int(column[index]) for name, column in inputs}
            found[place] = shown(runner, judged, choices, rows, index) | {"minimal": minimal[place]}
    return [found[place] for place in sorted(found)]


def shown(runner: Runner, judged: Judged, choices: list[Any], rows: dict[str, int], index: int = 0) -> dict[str, Any]:
    """One case of a batch, as plain values that JSON can hold."""
    batch, program, domain = judged.batch, runner.program, judged.batch.domain
    first = program.spec.inputs[0]
    records, scalars = {}, {}
    for name, value in batch.known.items():
        if not is_column(value):
            records[name] = value.data
        elif name in {step.name for step in program.spec.variables}:
            scalars[name] = plain_value(value.data[index])
    return {
        "inputs": {name: domain.show(records[name], index) for name in program.spec.inputs},
        "rows": rows,
        "choices": choices,
        "variables": scalars,
        "outputs": {name: plain_value(batch.known[final].data[index]) for name, final in program.finals.items()},
        "differs": {
            name: changes
            for name, record in records.items()
            if name != first
            and ((changes := _difference(domain, records[first], record, index)) or name in program.compared)
        },
        "violates": [
            expression_text(item.condition)
            for item, bad in zip(program.spec.ensures, judged.violates, strict=True)
            if bad[index]
        ],
        "features_changed": int(judged.changed[0, index]),
        "distance": float(np.round(judged.changed[1, index], 12)),
    }


def _difference(domain: Domain, before: Any, after: Any, index: int) -> dict[str, list[Any]]:
    """What two records differ in: as the domain says it, or every value that is shown differently."""
    own = getattr(domain, "difference", None)
    if own is not None:
        return dict(own(before, after, index))
    old, new = domain.show(before, index), domain.show(after, index)
    return {name: [old[name], new[name]] for name in old if old[name] != new.get(name)}

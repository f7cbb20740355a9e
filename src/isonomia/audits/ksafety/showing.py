"""Counterexamples as plain values: inputs, choices, outputs, and what differs."""

from __future__ import annotations

from typing import Any

import numpy as np

from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.judging import Judged
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.values import is_column
from isonomia.populations.columns import plain_value
from isonomia.spec.nomos.text import expression_text

__all__ = ["shown", "shown_find"]


def shown_find(runner: Runner, find: Find, minimal: bool) -> dict[str, Any]:
    """A violation, computed once more from its inputs and choices."""
    judged, _ = runner.run(find.domain, find.case)
    choices = [plain_value(column[0]) for column in find.case.choices]
    rows = {name: int(column[0]) for name, column in zip(runner.program.spec.inputs, find.case.inputs, strict=True)}
    return shown(runner, judged, choices, rows) | {"minimal": minimal}


def shown(runner: Runner, judged: Judged, choices: list[Any], rows: dict[str, int], index: int = 0) -> dict[str, Any]:
    """One case of a batch, as plain values that JSON can hold."""
    batch, program, domain = judged.batch, runner.program, judged.batch.domain
    first = program.spec.inputs[0]
    records, scalars = {}, {}
    for name, value in batch.known.items():
        if not is_column(value):
            records[name] = domain.show(value.data, index)
        elif name in {step.name for step in program.spec.variables}:
            scalars[name] = plain_value(value.data[index])
    return {
        "inputs": {name: records[name] for name in program.spec.inputs},
        "rows": rows,
        "choices": choices,
        "variables": scalars,
        "outputs": {name: plain_value(batch.known[final].data[index]) for name, final in program.finals.items()},
        "differs": {
            name: changes
            for name, record in records.items()
            if name != first and ((changes := _difference(records[first], record)) or name in program.compared)
        },
        "violates": [
            expression_text(item.condition)
            for item, bad in zip(program.spec.ensures, judged.violates, strict=True)
            if bad[index]
        ],
        "features_changed": int(judged.changed[0, index]),
        "distance": float(np.round(judged.changed[1, index], 12)),
    }


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [before[name], after[name]] for name in before if before[name] != after.get(name)}

"""The tree programs of the FairSquare benchmark by SPPL, exactly: both rates of each, and the processor time.

    python sppl_trees.py JOB.json RESULT.json

Run by a Python that has SPPL 2.0.4 (with numpy 1.26.4, scipy 1.10.1, sympy 1.6.2 and astunparse 1.6.3). SPPL compares
one variable at a time, so that ``age = max(age, education_num)`` is written into the conditions: it is below a number
where both are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

from sppl.compilers.sppl_to_python import SPPL_Compiler

INDENT = "    "


def draw(name: str, parameters: dict[str, Any]) -> str:
    """A draw in SPPL's words: it takes deviations; of several ``discrete`` in branches it keeps the first alone."""
    if "gaussian" in parameters:
        mean, variance = parameters["gaussian"]
        return f"{name} ~= norm(loc={mean!r}, scale={sqrt(variance)!r})"
    total = sum(parameters["cells"])
    cells = [f"{p / total!r} * uniform(loc={k}, scale=1)" for k, p in enumerate(parameters["cells"]) if p]
    return f"{name} ~= {' | '.join(cells)}"


def population(populations: dict[str, Any], name: str) -> Iterator[str]:
    if name == "ind":
        for variable, parameters in populations["ind"]["variables"].items():
            yield draw(variable, parameters)
        return
    net = populations["bn"]
    yield draw("sex", net["sex"])
    for opening, group in (("if (sex < 1):", "minority"), ("else:", "majority")):
        branch = net[group]
        yield opening
        yield INDENT + draw("capital_gain", branch["capital_gain"])
        yield f"{INDENT}if (capital_gain < {branch['capital_gain_threshold']!r}):"
        yield from (INDENT * 2 + draw(variable, parameters) for variable, parameters in branch["below"].items())
        yield f"{INDENT}else:"
        yield from (INDENT * 2 + draw(variable, parameters) for variable, parameters in branch["otherwise"].items())


def tree(node: Any, corrected: bool) -> Iterator[str]:
    if isinstance(node, int):
        yield f"t ~= atomic(loc={node})"
        return
    variable, relation, threshold = node["test"]
    test = f"({variable} {relation} {threshold!r})"
    if variable == "age" and corrected:
        assert relation == "<", "the larger of two is below a number where both are"
        test = f"({test} & (education_num < {threshold!r}))"
    yield f"if {test}:"
    yield from (INDENT + line for line in tree(node["yes"], corrected))
    yield "else:"
    yield from (INDENT + line for line in tree(node["no"], corrected))


def program(job: dict[str, Any], instance: dict[str, str]) -> str:
    classifier = job["classifiers"][instance["classifier"]]
    lines = [*population(job["populations"], instance["population"])]
    lines += tree(classifier["tree"], instance["population"] == "bnc")
    if "then" in classifier:
        lines += ["change ~= 0.15 * uniform(loc=0, scale=1) | 0.85 * uniform(loc=1, scale=1)"]
    return "\n".join(lines) + "\n"


def rates(job: dict[str, Any], instance: dict[str, str]) -> tuple[float, float]:
    """The rate of the minority and that of the majority."""
    found = SPPL_Compiler(program(job, instance)).execute_module()
    model = found.model
    qualified = found.age > 18
    if instance["population"] == "bnc":
        qualified = qualified | (found.education_num > 18)
    favourable = found.t < 0.5
    results = []
    for minority in (True, False):
        group = (found.sex < 1 if minority else found.sex >= 1) & qualified
        event = favourable
        if minority and "then" in job["classifiers"][instance["classifier"]]:
            event = favourable | ((found.t > 0.5) & (found.change < 1))
        results.append(model.prob(event & group) / model.prob(group))
    return results[0], results[1]


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    rows = []
    for instance in job["instances"]:
        began = time.process_time()
        minority, majority = rates(job, instance)
        rows.append({**instance, "rates": [minority, majority], "seconds": time.process_time() - began})
    Path(sys.argv[2]).write_text(json.dumps({"rows": rows}), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The FairSquare benchmark as programs: each instance of the case file written out as a ``.fr`` text.

The case file gives populations and classifiers as parameters (Albarghouthi et al. 2017, as in Bastani et al. 2019);
it is read from the folder ``cases`` beside ``ISONOMIA_DATA`` and never copied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["cases", "program_text"]

INDENT = "    "


def cases() -> dict[str, Any] | None:
    """The case file; ``None`` where it is absent."""
    root = Path(__file__).resolve().parents[1]
    data = Path(os.environ.get("ISONOMIA_DATA", root.parent / "shared" / "data"))
    path = data.parent / "cases" / "fairsquare.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def program_text(found: dict[str, Any], population: str, classifier: str) -> str:
    """One instance as a program."""
    lines = [
        f"# {classifier} on the population {population}",
        "def popModel():",
        *_indented(_population(found["populations"], population)),
        *_indented(["sensitiveAttribute(sex < 1)", "qualified(age > 18)"]),
        "",
        "def F():",
        *_indented(_classifier(found["classifiers"][classifier])),
    ]
    return "\n".join(lines) + "\n"


def _indented(lines: Iterator[str] | list[str]) -> list[str]:
    return [f"{INDENT}{line}" for line in lines]


def _draw(name: str, parameters: dict[str, Any]) -> str:
    if "gaussian" in parameters:
        mean, variance = parameters["gaussian"]
        return f"{name} = gaussian({mean!r}, {variance!r})"
    cells = ", ".join(f"({k}, {k + 1}, {p!r})" for k, p in enumerate(parameters["cells"]))
    return f"{name} = step([{cells}])"


def _population(populations: dict[str, Any], name: str) -> Iterator[str]:
    if name == "ind":
        for variable, parameters in populations["ind"]["variables"].items():
            yield _draw(variable, parameters)
        return
    net = populations["bn"]
    yield _draw("sex", net["sex"])
    for opening, group in (("if sex < 1:", "minority"), ("else:", "majority")):
        branch = net[group]
        yield opening
        yield INDENT + _draw("capital_gain", branch["capital_gain"])
        yield f"{INDENT}if capital_gain < {branch['capital_gain_threshold']!r}:"
        yield from (INDENT * 2 + _draw(variable, parameters) for variable, parameters in branch["below"].items())
        yield f"{INDENT}else:"
        yield from (INDENT * 2 + _draw(variable, parameters) for variable, parameters in branch["otherwise"].items())
    if name == "bnc":
        yield "if education_num > age:"
        yield f"{INDENT}age = education_num"


def _classifier(classifier: dict[str, Any]) -> Iterator[str]:
    if classifier["kind"] == "decision tree":
        yield from _tree(classifier["tree"])
        if "then" in classifier:
            yield "if sex < 1 and t > 0.5:"
            yield f"{INDENT}change = step([(0, 1, 0.15), (1, 2, 0.85)])"
            yield f"{INDENT}if change < 1:"
            yield f"{INDENT * 2}t = 0"
        yield "fairnessTarget(t < 0.5)"
        return
    for name, scaling in classifier["scaled"].items():
        yield f"{name} = {scaling['of']} * {scaling['times']!r} + ({scaling['plus']!r})"
    if classifier["kind"] == "linear":
        yield f"score = {_sum(classifier['weights'])}"
        yield "if sex < 1:"
        yield f"{INDENT}score = score + ({classifier['if_sex_cell_0_add']!r})"
        yield "else:"
        yield f"{INDENT}score = score + ({classifier['if_sex_cell_1_add']!r})"
        yield "fairnessTarget(score < 0)"
        return
    for unit, weights in classifier["units"].items():
        yield f"{unit} = {_sum(weights)}"
        yield f"if {unit} < 0:"
        yield f"{INDENT}{unit} = 0"
    yield "fairnessTarget(o1 < o2)"


def _tree(node: dict[str, Any] | int) -> Iterator[str]:
    if isinstance(node, int):
        yield f"t = {node}"
        return
    variable, relation, threshold = node["test"]
    yield f"if {variable} {relation} {threshold!r}:"
    yield from _indented(list(_tree(node["yes"])))
    yield "else:"
    yield from _indented(list(_tree(node["no"])))


def _sum(weights: dict[str, float]) -> str:
    return " + ".join(f"({weight!r})" if name == "1" else f"({weight!r}) * {name}" for name, weight in weights.items())

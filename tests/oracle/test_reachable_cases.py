"""Reachable sets whose points were obtained independently of this project, by brute force over integer actions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.reach import german_interventions

from isonomia.errors import DataError
from isonomia.interventions import (
    AdditiveLinkage,
    Condition,
    Constraint,
    Feature,
    IfChanged,
    Interventions,
    Linkage,
    MutabilitySwitch,
    OneHot,
    Ordinal,
    Reachability,
    Thermometer,
)
from isonomia.populations import Table, read_table

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data"))
FILE = DATA / ".." / "cases" / "reachable_sets.json"
CONTENT: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
CASES = [*CONTENT.get("cases", []), *CONTENT.get("harder_cases", {}).get("cases", [])]
GERMAN = DATA / "german" / "german_36.csv"

pytestmark = pytest.mark.skipif(not CONTENT, reason="the conformance cases are not here; set ISONOMIA_DATA")

KINDS = {"bool": "binary", "int": "integer", "float": "real"}
WAYS = {1: "up", -1: "down", 0: "both"}
SENSES = {"E": "==", "G": ">=", "L": "<=", "=": "==", "==": "==", ">=": ">=", "<=": "<="}


def feature(given: dict[str, Any]) -> Feature:
    fall = None if given["step_lb"] is None else -given["step_lb"]
    way = WAYS[given["step_direction"]]
    return Feature(
        given["name"],
        KINDS[given["type"]],
        given["lb"],
        given["ub"],
        given["actionable"],
        way,
        given["step_ub"],
        fall,  # type: ignore[arg-type]
    )


def constraint(given: dict[str, Any]) -> Constraint:
    match given["type"]:
        case "one_hot":
            return OneHot(given["names"], given["limit"], "==" if given["limit_type"] == "equal" else "<=")
        case "ordinal":
            return Ordinal(given["names"], given["exhaustive"], WAYS[given["step_direction"]])  # type: ignore[arg-type]
        case "thermometer":
            keep = not given.get("drop_invalid_values", True)
            return Thermometer(given["names"], WAYS[given["step_direction"]], keep)  # type: ignore[arg-type]
        case "reachability":
            return Reachability(given["names"], given["values"], given["reachability"])
        case "mutability_switch":
            force = given["force_change_when_off"]
            return MutabilitySwitch(given["switch"], given["targets"], given["on_value"], force)
        case "directional_linkage":
            source, *targets = given["names"]
            scales = [scale / given["scales"][0] for scale in given["scales"][1:]]
            return Linkage(source, tuple(targets), tuple(scales), keep_bounds=given.get("keep_bounds", False))
        case "if_then":
            return IfChanged(condition(given["if"]), condition(given["then"]))
        case "additive_linkage":
            source, *targets = given["names"]
            weight, *coefficients = given["coeffs"]
            return AdditiveLinkage(source, tuple(targets), tuple(coefficients), SENSES[given["sense"]], weight)  # type: ignore[arg-type]
        case other:
            raise AssertionError(f"no constraint is called {other!r}")


def condition(given: dict[str, Any]) -> Condition:
    return Condition(given["name"], SENSES[given["sense"]], given["value"])  # type: ignore[arg-type]


def interventions(case: dict[str, Any]) -> Interventions:
    return Interventions(
        tuple(feature(one) for one in case["features"]), tuple(constraint(one) for one in case["constraints"])
    )


def person(case: dict[str, Any]) -> Table:
    return Table.of({one["name"]: [value] for one, value in zip(case["features"], case["x"], strict=True)})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_point_is_found_and_no_other(case: dict[str, Any]) -> None:
    if case["expected"]["status"] == "refused":
        with pytest.raises(DataError, match="breaks"):
            interventions(case).reach(person(case))
        return
    sets = interventions(case).reach(person(case))
    found = sets.points().values
    assert sets.count(0) == case["expected"]["count"] == len(found)
    assert {tuple(point) for point in found.tolist()} == {tuple(point) for point in case["expected"]["points"]}


def test_the_first_people_of_german_credit_reach_as_many_points_as_by_brute_force() -> None:
    german = CONTENT["german"]
    names = [one["name"] for one in german["features"]]
    people = Table.of({name: [row["x"][j] for row in german["rows"]] for j, name in enumerate(names)})
    sets = interventions(german).reach(people)
    assert sets.counts().tolist() == [row["count_brute_force"] for row in german["rows"]]


@pytest.mark.skipif(not GERMAN.exists(), reason="the german credit data is not here; set ISONOMIA_DATA")
def test_all_people_of_german_credit_are_enumerated_without_doubles() -> None:
    people = read_table(str(GERMAN))
    sets = interventions(CONTENT["german"]).reach(people)
    assert np.array_equal(sets.counts(), german_interventions(people).reach(people).counts())
    points = sets.points()
    assert np.array_equal(np.bincount(points.owner), sets.counts())
    whole = np.column_stack([points.owner, points.values])
    assert len(np.unique(whole, axis=0)) == len(whole)


def test_the_german_features_fall_into_32_blocks() -> None:
    blocks = interventions(CONTENT["german"]).blocks
    assert len(blocks) == 32
    assert blocks[0] == ("Age", "YearsAtResidence", "YearsEmployed_geq_1")

"""``null`` is a value of the language, and objects are outputs, whatever the inputs are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import isonomia as iso
from isonomia.audits.ksafety.functions import FunctionAlwaysRaisedError
from isonomia.errors import SpecError, UsageError
from isonomia.populations.domains.items import Items
from isonomia.records.store import Store
from isonomia.report import show
from raising import raises

ASKED = """input x1;
var x2 := half(x1);
requires x2 != null;
output d1; output d2;
{
d1 = predict(x1)
d2 = predict(x2)
}
ensures d1 >= d2;
"""
UNASKED = ASKED.replace("requires x2 != null;\n", "")
CODED = UNASKED.replace("{\n", "{\nfor _ in range(1):\n    pass\n")
LOOKED_AT = CODED.replace("d2 = predict(x2)", "d2 = 0 if x2 is None else predict(x2)")
N = 24


def half_of(number: float) -> int | None:
    """Half of an even number; there is none of an odd one."""
    return None if number % 2 else int(number) // 2


def of_row(row: Mapping[str, Any]) -> dict[str, Any] | None:
    half = half_of(row["a"])
    return None if half is None else {**row, "a": half}


def of_text(text: str) -> str | None:
    half = half_of(len(text))
    return None if half is None else text[:half]


def of_array(array: np.ndarray) -> np.ndarray | None:
    half = half_of(array.flat[0])
    return None if half is None else np.full_like(array, half)


DOMAINS: dict[str, tuple[Any, Any, Any]] = {
    "table": (iso.Census({"a": np.arange(N), "b": ["x"] * N}), of_row, lambda table: np.asarray(table["a"])),
    "list": (Items(list(range(N))), half_of, lambda items: [int(item) for item in items]),
    "texts": (iso.Texts(["x" * number for number in range(1, N + 1)]), of_text, lambda texts: [len(t) for t in texts]),
    "arrays": (
        Items(np.tile(np.arange(N)[:, None], (1, 3))),
        of_array,
        lambda arrays: np.asarray(arrays)[:, 0].astype(int),
    ),
    "images": (
        iso.Images(np.tile(np.arange(N, dtype=np.uint8)[:, None, None], (1, 4, 4))),
        of_array,
        lambda images: np.asarray(images)[:, 0, 0].astype(int),
    ),
}
each_domain = pytest.mark.parametrize("kind", DOMAINS)


def check(text: str, kind: str, **options: Any) -> iso.Verdict:
    population, half, model = DOMAINS[kind]
    return iso.check(iso.safety.property(text, functions={"half": half}, **options), model, population, seed=1)


@each_domain
def test_cases_without_a_record_are_turned_away_where_it_is_required(kind: str) -> None:
    verdict = check(ASKED, kind)
    assert (verdict.answer, verdict.details["cases"]["tested"], verdict.details["cases"]["rejected"]) == (
        "holds", N // 2, N // 2,
    )  # fmt: skip


@each_domain
def test_a_null_that_is_used_is_a_failed_case_with_its_line(kind: str) -> None:
    verdict = check(UNASKED, kind)
    assert verdict.details["failures"] == {"predict(...) needs a record, but it is null here (line 6)": N // 2}
    assert verdict.answer == "undecided"


@each_domain
def test_code_sees_nothing_as_none(kind: str) -> None:
    failing = check(CODED, kind, allow_code=True)
    ((reason, count),) = failing.details["failures"].items()
    assert ("predict(...) takes a record, but got None" in reason, "(line 8)" in reason, count) == (True, True, N // 2)
    assert check(LOOKED_AT, kind, allow_code=True).answer == "holds"


@each_domain
def test_null_equals_null_and_nothing_else(kind: str) -> None:
    text = "input x1; var x2 := half(x1); var x3 := half(x1); var x4 := half(x2); output d1; { d1 = predict(x1) } "
    claim = "ensures x2 == x3 && (x2 == null ==> x4 == null) && (x2 == null ==> x2 != x1);"

    def half_or_none(item: Any) -> Any:
        return None if item is None else DOMAINS[kind][1](item)

    prop = iso.safety.property(text + claim, functions={"half": half_or_none})
    assert iso.check(prop, DOMAINS[kind][2], DOMAINS[kind][0]).answer == "holds"


def test_a_feature_of_nothing_is_a_failed_case() -> None:
    text = UNASKED.replace("d2 = predict(x2)", "d2 = 0").replace("output d1;", "var v := x2.a; output d1;")
    verdict = check(text.replace("d1 >= d2", "v >= 0"), "table")
    assert verdict.details["failures"] == {"the feature 'a' needs a record, but it is null here (line 3)": N // 2}


def test_a_value_in_the_place_of_a_record_is_a_failed_case() -> None:
    verdict = iso.check(
        iso.safety.property(UNASKED, functions={"half": lambda row: row["a"]}), DOMAINS["table"][2], DOMAINS["table"][0]
    )
    assert verdict.details["failures"] == {"predict(...) needs a record, but got a value (line 6)": N}


# ------------------------------------------------------------------------------------------------- objects as outputs


class Parcel:
    """An object with equality and a ``repr`` of its own."""

    def __init__(self, weight: int) -> None:
        self.weight = weight

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parcel) and other.weight == self.weight

    def __hash__(self) -> int:
        return self.weight

    def __repr__(self) -> str:
        return f"Parcel({self.weight} kg)"


MAKERS: dict[str, tuple[Any, Any]] = {
    "objects": (lambda item: Parcel(item // 4), "Parcel(0 kg)"),
    "dictionaries": (lambda item: {"weight": item // 4, "tags": [1, 2]}, {"weight": 0, "tags": [1, 2]}),
    "texts": (lambda item: f"weight\n{item // 4}\n", "weight\n0\n"),
    "arrays": (lambda item: np.array([item // 4, 1]), [0, 1]),
    "numbers like the inputs": (lambda item: item // 4, 0),
}


PLAIN = "{\nd1 = pack(x1)\nd2 = pack(x2)\n}"
LOOP = "{\nfor _ in range(1):\n    d1 = pack(x1)\nd2 = pack(x2)\n}"


@pytest.mark.parametrize("block", [PLAIN, LOOP])
@pytest.mark.parametrize("maker", MAKERS)
def test_objects_are_compared_violated_shown_and_stored(maker: str, block: str, tmp_path: Path) -> None:
    pack, first = MAKERS[maker]
    text = f"input x1; input x2; output d1; output d2; {block}\nensures d1 == d2;"
    prop = iso.safety.property(text, functions={"pack": pack}, allow_code=True)
    verdict = iso.check(prop, population=Items(list(range(8))))
    assert (verdict.answer, verdict.model) == ("violated", {})
    assert verdict.details["violations"]["cases"] == 8 * 8 - 2 * 4 * 4
    assert {str(item["outputs"]["d1"]) for item in verdict.violations()} >= {str(first)}
    again = iso.Verdict.from_dict(json.loads(json.dumps(verdict.to_dict(), allow_nan=False)))
    assert again == verdict
    for shown in (str(verdict), verdict._repr_html_()):
        assert "d1 == d2" in shown
    store = Store(tmp_path)
    journal = store.journal(store.begin("test", {}, [("packs", {}, {})]), 0)
    journal.keep_violations(verdict.violations())
    kept = journal.violations()
    journal.close()
    assert kept is not None
    assert list(kept) == list(verdict.violations())


def test_a_text_that_came_out_is_shown_as_a_difference() -> None:
    long = "\n".join(f"line {number}" for number in range(20))
    prop = iso.safety.property(
        "input x1; output d1; output d2; { d1 = old(x1); d2 = new(x1) } ensures d1 == d2;",
        functions={"old": lambda item: f"{long}\n{item}", "new": lambda item: f"{long}\n{item + 1}"},
    )
    verdict = iso.check(prop, population=Items([1, 2]))
    console = Console(width=100, record=True, file=StringIO())
    show(verdict, console)
    text = console.export_text()
    assert "- 1" in text
    assert "+ 2" in text


# ------------------------------------------------------------------------------------------ no model, and own functions


def test_a_specification_that_asks_needs_a_model() -> None:
    text = "input x1; output d1; { d1 = predict(x1) } ensures d1 == 1;"
    with raises(UsageError, name="model"):
        iso.check(iso.safety.property(text), population=iso.Census({"a": [1]}))


def test_the_predict_of_an_import_is_the_system_under_test() -> None:
    text = "import shop;\ninput x1; output d1; { d1 = shop.predict(x1) } ensures d1 <= 2;"
    entry = {"inputs": {"a": [1, 2, 3]}, "functions": {"predict": lambda row: row["a"]}}
    verdict = iso.check(iso.safety.property(text, domains={"shop": entry}))
    assert (verdict.answer, verdict.details["violations"]["cases"], verdict.details["k"]) == ("violated", 1, 1)
    coded = text.replace("{ d1 = shop.predict(x1) }", "{\nfor _ in range(1):\n    d1 = shop.predict(x1)\n}")
    again = iso.check(iso.safety.property(coded, domains={"shop": entry}, allow_code=True))
    assert again.details["violations"]["cases"] == 1
    without = {"inputs": {"a": [1]}, "functions": {"other": lambda row: row["a"]}}
    with raises(UsageError, "predict", name="model"):
        iso.check(iso.safety.property(text, domains={"shop": without}))


NEGATIVE = "import shop;\ninput x1; var v := getFeat(x1, -1); var x2 := setFeat(x1, -1, v + 1); output d1; output d2;"
NEGATIVE += " { d1 = predict(x1); d2 = predict(x2) } ensures d1 < d2;"


def test_a_negative_number_is_refused_with_the_way_that_works() -> None:
    with raises(SpecError, -1, 1, at="-1"):
        iso.check(iso.safety.property(NEGATIVE), DOMAINS["table"][2], iso.Census({"a": [1, 2], "b": [3, 4]}))


def test_a_getfeat_of_ones_own_is_taken_on_a_table_too() -> None:
    def set_last(row: Any, number: int, value: Any) -> Any:
        changed = row.copy()
        changed[number] = value
        return changed

    functions = {"getFeat": lambda row, number: row[number], "setFeat": set_last}
    people = {"a": [1, 2], "b": [3, 4]}
    for options in ({"functions": functions}, {"domains": {"shop": {"inputs": people, "functions": functions}}}):
        verdict = iso.check(
            iso.safety.property(NEGATIVE, **options), lambda table: np.asarray(table["b"]), iso.Census(people)
        )
        assert (verdict.answer, verdict.details["cases"]["tested"]) == ("holds", 2)


def test_a_function_that_is_not_taken_for_one_of_the_language_is_named() -> None:
    text = (
        "import shop;\ninput x1; var v := shop.randInt(1, 2); output d1; { d1 = shop.predict(x1) } ensures d1 <= v + 9;"
    )
    entry = {
        "inputs": {"a": [1, 2]},
        "functions": {"randInt": lambda low, high: low + high, "predict": lambda row: row["a"]},
    }
    prop = iso.safety.property(text, domains={"shop": entry})
    given = iso.check(prop, lambda table: np.asarray(table["a"]))
    assert any(remark.startswith("predict, randInt of the imports is not used") for remark in given.remarks)
    alone = iso.check(prop)
    assert any(remark.startswith("randInt of the imports is not used") for remark in alone.remarks)


def test_plain_callables_are_functions_of_every_domain() -> None:
    text = (
        "input x1; var x2 := flip(x1); output d1; output d2; { d1 = predict(x1); d2 = predict(x2) } ensures d1 == d2;"
    )
    images = iso.Images(np.zeros((3, 2, 2), dtype=np.uint8), functions={"flip": lambda image: image[::-1]})
    assert iso.check(iso.safety.property(text), lambda images: np.zeros(len(images), int), images).answer == "holds"
    items = Items([1, 2], functions={"flip": lambda item: -item})  # type: ignore[dict-item]
    assert iso.check(iso.safety.property(text), lambda items: [abs(item) for item in items], items).answer == "holds"
    many = Items(list(range(20)), functions={"flip": lambda item: item.nothing})  # type: ignore[dict-item]
    with raises(FunctionAlwaysRaisedError, "flip(...)", "AttributeError"):
        iso.check(iso.safety.property(text), lambda items: [abs(item) for item in items], many)

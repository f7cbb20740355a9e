"""Imports as domains: modules beside a specification, entries in Python, and what is said where they do not serve."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from known_people import PEOPLE, RISING, at_least_three, spared_at_six
from numpy.typing import NDArray

import isonomia as iso
from isonomia.audits.ksafety.imports import imported_domain
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations.domains import Function, Images
from isonomia.records import Verdict
from raising import raises

SPEC = "import people;\n" + RISING
LABELLED = "import people;\ninput x1;\noutput d1;\n{ d1 = people.predict(x1) }\nensures d1 == label(x1);\n"
WORSE = (
    "import people;\ninput x1;\nvar x2 := worse(x1);\noutput d1;\noutput d2;\n{ d1 = predict(x1); d2 = predict(x2) }\n"
)
WORSE += "ensures d1 <= d2;\n"
MODULE = """
inputs = {"age": [20, 30, 40, 50, 60, 70], "priors": [0, 1, 2, 3, 4, 5]}
labels = [0, 0, 0, 1, 1, 1]


def worse(row, by=1):
    return {**row, "priors": row["priors"] + by}
"""


def check(text: str | Path, model: Any = at_least_three, population: Any = None, **options: Any) -> Verdict:
    return iso.check(iso.safety.property(text, **options), model, population, seed=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.py").write_text(MODULE, encoding="utf-8")
    for name, text in (("rising", SPEC), ("labelled", LABELLED), ("worse", WORSE)):
        (tmp_path / f"{name}.nom").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_module_beside_the_specification_offers_inputs(folder: Path) -> None:
    verdict = check(folder / "rising.nom", spared_at_six, allow_code=True)
    assert (verdict.answer, verdict.risk) == ("violated", 0.0)
    assert verdict.details["violations"]["cases"] == 3
    assert verdict.population["kind"] == "census"
    assert verdict.counterexamples[0]["differs"] == {"x2": {"priors": [5, 6]}}


def test_it_offers_labels_and_the_model_is_not_given_them(folder: Path) -> None:
    seen: set[str] = set()

    def looks(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        seen.update(table)
        return at_least_three(table)

    assert check(folder / "labelled.nom", looks, allow_code=True).answer == "holds"
    assert seen == {"age", "priors"}


def test_it_offers_functions_whose_later_arguments_may_be_left_out(folder: Path) -> None:
    verdict = check(folder / "worse.nom", spared_at_six, allow_code=True)
    assert verdict.details["violations"]["cases"] == 1
    (folder / "worse.nom").write_text(WORSE.replace("worse(x1)", "worse(x1, 2)"), encoding="utf-8")
    assert check(folder / "worse.nom", spared_at_six, allow_code=True).counterexamples[0]["rows"] == {"x1": 4}


def test_it_offers_functions_to_code(folder: Path) -> None:
    text = "import people;\ninput x1;\noutput d1;\noutput d2;\n{\n    for _ in range(1):\n        d1 = predict(x1)\n"
    text += "    d2 = predict(people.worse(x1))\n}\nensures d1 <= d2;\n"
    (folder / "code.nom").write_text(text, encoding="utf-8")
    assert check(folder / "code.nom", spared_at_six, allow_code=True).details["violations"]["cases"] == 1


def test_a_given_population_goes_before_the_import(folder: Path) -> None:
    verdict = check(folder / "rising.nom", spared_at_six, iso.Census({"age": [1], "priors": [5]}), allow_code=True)
    assert verdict.details["cases"]["tested"] == 2


def test_two_folders_each_have_a_module_of_their_own(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "people.py").write_text('inputs = {"age": [1, 2], "priors": [0, 1]}', encoding="utf-8")
    (other / "rising.nom").write_text(SPEC, encoding="utf-8")
    sizes = [check(place / "rising.nom", allow_code=True).population["size"] for place in (folder, other, folder)]
    assert sizes == [6, 2, 6]


def test_the_current_folder_comes_second(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert check(SPEC, allow_code=True).answer == "holds"


def test_without_permission_nothing_is_imported_and_the_message_says_why(folder: Path) -> None:
    (folder / "people.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    with raises(SpecError, "allow_code=True", "--allow-code", "people", "--data", at="people"):
        check(folder / "rising.nom")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("x = 1", ("offers no inputs", "`inputs`", "`domain`", "people.py")),
        ("x = 1\nraise ValueError('no file')", ("people.py, line 2", "ValueError: no file")),
        ("x = [1", ("people.py, line 1", "SyntaxError")),
        ("import sys\nsys.exit(3)", ("SystemExit: 3", "line 2")),
        ("import nothing_of_the_kind", ("ModuleNotFoundError", "nothing_of_the_kind")),
    ],
)
def test_a_module_that_does_not_serve_is_named_with_the_reason(folder: Path, module: str, words: Any) -> None:
    (folder / "people.py").write_text(module, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        check(folder / "rising.nom", allow_code=True)
    for word in (*words, "line 1, column 8"):
        assert word in str(caught.value)


def test_a_module_that_is_not_there_is_said_with_where_it_was_looked_for(folder: Path) -> None:
    (folder / "rising.nom").write_text(SPEC.replace("import people", "import peopl"), encoding="utf-8")
    with raises(SpecError, "peopl", str(folder), meant="people"):
        check(folder / "rising.nom", allow_code=True)


def test_inputs_that_are_nothing_to_check_on_are_refused() -> None:
    with raises(DataError, "people", 3.5):
        check(SPEC, domains={"people": 3.5})
    with raises(DataError, "people", 6, 2, "inputs"):
        check(LABELLED, domains={"people": {"inputs": PEOPLE, "labels": [1, 2]}})


def test_without_imports_a_population_is_asked_for() -> None:
    with raises(UsageError, name="population"):
        check(RISING)


# ---------------------------------------------------------------- entries instead of modules


ROWS = [{"age": 20 + 10 * i, "priors": i} for i in range(6)]


@pytest.mark.parametrize(
    "entry",
    [
        {"age": [20, 30, 40, 50, 60, 70], "priors": list(range(6))},
        ROWS,
        pd.DataFrame(ROWS),
        iso.Census(ROWS),
        {"inputs": ROWS},
        {"inputs": pd.DataFrame(ROWS), "labels": [0] * 6},
    ],
)
def test_an_entry_needs_no_permission_and_may_be_any_table_or_population(entry: Any) -> None:
    def model(table: Any) -> NDArray[Any]:
        return spared_at_six(pd.DataFrame(table))  # rows come as rows

    assert check(SPEC, model, domains={"people": entry}).details["violations"]["cases"] == 3


def test_a_sample_stays_a_sample() -> None:
    assert check(SPEC, domains={"people": iso.Sample(pd.DataFrame(ROWS))}).answer == "undecided"


def test_an_array_with_text_labels_is_given_to_the_model_as_an_array() -> None:
    def reads(array: NDArray[Any]) -> list[str]:
        assert array.dtype == np.float32
        assert array.shape[1] == 2
        return ["low" if row[1] < 3 else "high" for row in array]

    array = np.array([[20.0 + i, i] for i in range(6)], dtype=np.float32)
    entry = {"inputs": array, "labels": ["low"] * 3 + ["high"] * 3}
    assert check(LABELLED, reads, domains={"people": entry}).answer == "holds"


def test_an_entry_says_what_columns_mean_and_the_property_may_say_it_again() -> None:
    text = (
        "import people;\ninput x1;\nrequires x1.level < 2;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 != x1.level;\n"
    )
    entry = {"inputs": {"level": ["low", "high", "mid"]}, "orders": {"level": ["low", "mid", "high"]}}

    def model(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        return np.full(len(table["level"]), 7)

    assert check(text, model, domains={"people": entry}).details["cases"]["tested"] == 2
    other = {"level": ["high", "mid", "low"]}
    assert check(text, model, domains={"people": entry}, orders=other).counterexamples == ()


def test_a_whole_batch_function_of_an_entry_is_called_on_columns() -> None:
    def doubled(column: NDArray[Any]) -> NDArray[Any]:
        return column * 2

    text = "import people;\ninput x1;\nvar v := people.double(x1.priors);\noutput d1;\n{ d1 = predict(x1) }\n"
    text += "ensures v == x1.priors + x1.priors;\n"
    entry = {"inputs": ROWS, "functions": {"double": Function(doubled, 1, "number")}}
    assert check(text, domains={"people": entry}).answer == "holds"
    entry["functions"] = {"double": Function(lambda column: column[:2], 1, "number")}
    with raises(DataError, "double(...)", 6, 2):
        check(text, domains={"people": entry})


def test_objects_without_features_go_through_functions() -> None:
    text = "import words;\ninput x1;\nvar x2 := longer(x1);\nrequires size(x1) > 1;\noutput d1;\noutput d2;\n"
    text += "{ d1 = predict(x1); d2 = predict(x2) }\nensures d1 <= d2 && d1 == label(x1);\n"
    entry = {
        "inputs": [(1,), (1, 2), (3, 4, 5)],
        "labels": [1, 2, 3],
        "functions": {"longer": lambda item: (*item, 0), "size": len},
    }
    verdict = check(text, lambda items: [len(item) for item in items], domains={"words": entry})
    assert (verdict.answer, verdict.details["cases"]["tested"]) == ("holds", 2)
    worse = check(text, lambda items: [-len(item) for item in items], domains={"words": entry})
    assert worse.answer == "violated"
    assert worse.counterexamples[0]["differs"] == {"x2": {"input": ["(1, 2)", "(1, 2, 0)"]}}
    with raises(SpecError, "words", at="x1.a"):
        check(text.replace("size(x1)", "x1.a"), lambda items: [0 for _ in items], domains={"words": entry})


def test_objects_may_bring_their_own_getfeat() -> None:
    text = (
        "import words;\ninput x1;\nrequires getFeat(x1, 0) == 3;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 3;\n"
    )
    entry = {"inputs": [(1,), (1, 2), (3, 4, 5)], "functions": {"getFeat": lambda item, place: item[place]}}
    assert check(text, lambda items: [len(item) for item in items], domains={"words": entry}).answer == "holds"


def test_texts_become_texts_and_a_domain_stays_what_it_is() -> None:
    text = "import words;\ninput x1;\nvar x2 := upper(x1);\noutput d1;\noutput d2;\n"
    text += "{ d1 = predict(x1); d2 = predict(x2) }\nensures d1 == d2;\n"
    verdict = check(text, lambda texts: [len(item) for item in texts], domains={"words": ["one", "three"]})
    assert verdict.answer == "holds"
    pictures = Images(np.zeros((3, 4, 4), dtype=np.uint8))
    text = text.replace("upper", "blur")
    assert (
        check(text, lambda images: images.sum(axis=(1, 2)), domains={"words": {"domain": pictures}}).answer == "holds"
    )
    with raises(UsageError, "words", "ArrayDomain"):
        check(
            text, lambda images: images.sum(axis=(1, 2)), domains={"words": {"domain": pictures, "labels": [1, 2, 3]}}
        )


def test_a_domain_may_be_given_more_functions() -> None:
    text = "input x1;\nvar x2 := upside(x1);\noutput d1;\noutput d2;\n{ d1 = predict(x1); d2 = predict(blur(x2)) }\n"
    prop = iso.safety.property(text + "ensures d1 == d2;\n", functions={"upside": Function(lambda x: x, 1, "record")})
    pictures = Images(np.zeros((3, 4, 4), dtype=np.uint8))
    assert iso.check(prop, lambda images: images.sum(axis=(1, 2)), pictures, seed=1).answer == "holds"


def test_an_entry_for_something_that_is_not_imported_is_refused() -> None:
    with raises(UsageError, name="peple", meant="people"):
        iso.safety.property(SPEC, domains={"peple": ROWS})
    with raises(UsageError, "people", "input"):
        check(SPEC, domains={"people": {"inputs": ROWS, "input": 3}})


def test_a_name_is_an_entry_a_module_or_nothing_without_permission() -> None:
    module = ModuleType("people")
    module.inputs = ROWS  # type: ignore[attr-defined]
    module.half = lambda x: x / 2  # type: ignore[attr-defined]
    module._hidden = len  # type: ignore[attr-defined]
    offer = imported_domain(iso.safety.property(SPEC, domains={"people": module}), "people")
    assert offer is not None
    assert (offer.inputs, set(offer.functions)) == (ROWS, {"half"})
    assert imported_domain(iso.safety.property(SPEC), "people") is None

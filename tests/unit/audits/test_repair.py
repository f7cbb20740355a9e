"""Repair: what the loop does, whom the certificate speaks of, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import isonomia as iso
from isonomia.errors import ChangingModelError, DataError, IsonomiaError, ModelError, RecordError, UsageError
from isonomia.records import Verdict
from isonomia.records.display.view import view_of
from isonomia.records.evidence import evidence_of
from isonomia.records.store import Store
from raising import raises

MONOTONE = iso.safety.monotone("priors", up=(1, 5), at_most=19, eps=0.01, name="more priors")
QUICK: dict[str, Any] = {"label": "risk", "cases": 2000, "lost": 0.1, "seed": 1}


def people(n: int = 3000, seed: int = 1) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    priors, age = rng.integers(0, 20, n), rng.integers(18, 70, n)
    return {"priors": priors, "age": age, "risk": (priors + rng.normal(0, 6, n) > 9).astype(int)}


def new_tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=8, random_state=0)


ALWAYS = new_tree()


@pytest.fixture(scope="module")
def repaired() -> Any:
    return iso.repair.augment(new_tree, people(), MONOTONE, **QUICK)


def test_the_verdict_says_what_was_bought_for_what(repaired: Any) -> None:
    verdict = repaired.verdict
    share, lost = verdict.expressions
    before, after, accuracy_before, accuracy_after = verdict.leaves
    assert verdict.answer == "holds"
    assert (share.threshold, lost.threshold) == (0.01, 0.1)
    assert before.estimate > 0.01 > share.high >= after.high
    assert lost.estimate == pytest.approx(accuracy_before.estimate - accuracy_after.estimate)
    assert lost.low <= lost.estimate <= lost.high <= 0.1
    assert (verdict.looks, verdict.counted, verdict.risk) == ("once", "cases", 0.05)
    counts = verdict.details["accuracy"]
    assert counts["right_before"] - counts["right_after"] == counts["only_before"] - counts["only_after"]
    assert verdict.details["held_out"] == 1000 == len(repaired.held_out)
    assert (
        view_of(verdict).finding(verdict, False).startswith(f"{before.estimate:.2%} to {after.estimate:.2%} of cases")
    )


def test_the_verdict_is_that_of_the_held_out_rows_and_of_the_kept_model(repaired: Any) -> None:
    """Computed once more from the outside: accuracy from the rows, the share from an exact census of their cases."""
    table = people()
    held = {name: values[repaired.held_out] for name, values in table.items()}
    features = np.column_stack([held["priors"], held["age"]])
    right = repaired.model.predict(_frame(features)) == held["risk"]
    assert repaired.verdict.leaves[3].estimate == pytest.approx(right.mean())
    exact = iso.check(MONOTONE, repaired.model, iso.Census({k: held[k] for k in ("priors", "age")}))
    assert exact.leaves[0].estimate <= repaired.verdict.expressions[0].high


def _frame(features: NDArray[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(features, columns=["priors", "age"])


def test_the_same_seed_repairs_alike(repaired: Any) -> None:
    again = iso.repair.augment(new_tree, people(), MONOTONE, **QUICK)
    assert again.verdict.expressions == repaired.verdict.expressions
    assert again.rounds == repaired.rounds
    assert again.held_out.tolist() == repaired.held_out.tolist()


class Spy:
    """A tree that remembers whom it was trained on and asked about, by a column with a number for each row."""

    trained: ClassVar[set[float]] = set()
    asked: ClassVar[set[float]] = set()

    def __init__(self) -> None:
        self.tree = new_tree()

    def fit(self, rows: Any, labels: Any) -> Spy:
        values = np.asarray(rows)
        Spy.trained |= set(values[:, 0].tolist())
        self.tree.fit(values[:, 1:], labels)
        return self

    def predict(self, rows: Any) -> Any:
        values = np.asarray(rows)
        Spy.asked |= set(values[:, 0].tolist())
        return self.tree.predict(values[:, 1:])


def test_neither_training_nor_search_sees_a_held_out_row() -> None:
    Spy.trained, Spy.asked = set(), set()
    table = {"number": np.arange(3000.0), **people()}
    asked_in_search: set[float] = set()

    def tell(_: Any) -> None:
        asked_in_search.update(Spy.asked)

    found = iso.repair.augment(Spy, table, MONOTONE, tell=tell, rounds=4, **QUICK)
    held = set(found.held_out.tolist())
    assert found.kept > 0
    assert not held & Spy.trained
    assert not held & asked_in_search
    assert held <= Spy.asked  # the certificate did


def test_a_census_speaks_of_the_held_out_rows_alone_and_knows_their_accuracy(repaired: Any) -> None:
    found = iso.repair.augment(new_tree, iso.Census(people()), MONOTONE, **QUICK)
    share, lost = found.verdict.expressions
    assert found.held_out.tolist() == repaired.held_out.tolist()
    assert lost.low == lost.high == lost.estimate
    assert found.verdict.population["kind"] == "census"
    assert found.verdict.leaves[1].n > 1000  # cases of these rows are drawn with replacement, as many as are needed
    assert share.high <= 0.01


def test_people_that_can_be_drawn_without_end_are_certified_in_place_of_rows() -> None:
    ranges = iso.Generator(iso.Ranges({"priors": (0, 19), "age": (18, 69)}))
    strict = replace(MONOTONE, eps=0.001)
    found = iso.repair.augment(new_tree, people(), strict, fresh=ranges, delta=1e-3, rounds=5, **QUICK)
    assert found.verdict.leaves[1].n >= 4 * 7598
    assert not any("hold out more rows" in remark for remark in found.verdict.remarks)


def test_too_few_rows_are_undecided_and_say_how_many_it_takes() -> None:
    found = iso.repair.augment(new_tree, people(600), replace(MONOTONE, eps=0.001), delta=1e-3, **QUICK)
    assert found.verdict.answer == "undecided"
    assert any("7,598 cases without a violation" in remark for remark in found.verdict.remarks)


def test_a_rule_labels_the_changed_rows() -> None:
    seen = []

    def rule(related: Any, changed: Any, answers: NDArray[Any]) -> NDArray[Any]:
        seen.append((np.asarray(related["priors"]), np.asarray(changed["priors"])))
        return np.ones_like(answers)

    found = iso.repair.augment(new_tree, people(), MONOTONE, rule=rule, rounds=2, **QUICK)
    assert found.rounds[0].added > 0
    assert all((after > before).all() for before, after in seen)
    with raises(UsageError, "rule", 15, "(1,)"):
        iso.repair.augment(new_tree, people(), MONOTONE, rule=lambda *_: [1], rounds=2, **QUICK)


def test_several_properties_are_repaired_together_and_share_the_risk() -> None:
    down = iso.safety.monotone("priors", down=1, at_least=0, output="not higher", eps=0.02, name="fewer priors")
    found = iso.repair.augment(new_tree, people(), [MONOTONE, down], rounds=10, **QUICK)
    assert len(found.verdict.expressions) == 3
    n, bad = found.verdict.leaves[1].n, found.verdict.details["properties"][0]["after"]["violating"]
    from scipy.stats import beta

    expected = beta.isf(0.05 / 3, bad + 1, n - bad)
    assert found.verdict.expressions[0].high == pytest.approx(expected)


def test_a_family_with_monotone_constraints_is_told_so_first() -> None:
    def boosted(**options: Any) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(max_iter=5, random_state=0, **options)

    found = iso.repair.augment(boosted, people(600), MONOTONE, rounds=1, **QUICK)
    assert "monotonic_cst with 1 for priors" in found.verdict.remarks[0]
    falls = iso.safety.monotone("priors", down=1, at_least=0, output="not lower", eps=0.01)
    found = iso.repair.augment(boosted, people(600), falls, rounds=1, **QUICK)
    assert "monotonic_cst with -1 for priors" in found.verdict.remarks[0]
    constrained = iso.repair.augment(
        lambda: boosted(monotonic_cst={"priors": 1}), people(600), MONOTONE, rounds=1, **QUICK
    )
    assert not any("monotonic_cst" in remark for remark in constrained.verdict.remarks)
    assert constrained.rounds[0].violating == 0


def test_a_repair_is_kept_shown_and_not_exported(repaired: Any, tmp_path: Path) -> None:
    run = repaired.record(tmp_path)
    (check,) = Store(tmp_path).checks(run)
    assert check.verdict == Verdict.from_dict(repaired.verdict.to_dict()) == repaired.verdict
    text = str(check.verdict)
    assert "searches" in text
    assert "accuracy lost <= 0.1" in text
    assert "accuracy lost" in check.verdict._repr_html_()
    with pytest.raises(RecordError, match="is a repair"):
        evidence_of(Store(tmp_path), run)


def test_a_file_of_a_trained_model_is_trained_again(repaired: Any, tmp_path: Path) -> None:
    from isonomia.cli.repair import _trainable
    from isonomia.report.files import write_skops

    write_skops(repaired.model, tmp_path / "tree.skops")
    again = _trainable(str(tmp_path / "tree.skops"), False, ["sklearn.tree._tree.Tree"])
    assert again.get_params() == new_tree().get_params()
    (tmp_path / "rule.onnx").write_bytes(b"")
    with pytest.raises(IsonomiaError):
        _trainable(str(tmp_path / "rule.onnx"), False, None)


def test_principal_repair_is_found_beside_it() -> None:
    assert iso.repair.PrincipalRepair is iso.PrincipalRepair


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"label": "rsk"}, DataError, "no column 'rsk'. Did you mean 'risk'"),
        ({"features": ["priors", "risk"]}, UsageError, "without the label"),
        ({"held_out": 0.0}, DataError, "rows to hold out"),
        ({"rounds": 0}, UsageError, "rounds"),
        ({"lost": 1.5}, UsageError, "lost"),
        ({"delta": 0.0}, UsageError, "delta"),
        ({"property": "P[risk == 1] >= 0.5"}, UsageError, "k-safety"),
        ({"property": []}, UsageError, "got none"),
        ({"model_factory": "tree"}, UsageError, "fit and predict"),
        ({"model_factory": lambda: ALWAYS}, UsageError, "the same one twice"),
        ({"model_factory": lambda depth: depth}, UsageError, "fit and predict"),
        ({"data": people() | {"age": ["young", "old"] * 1500}}, ModelError, "columns priors, age: could not convert"),
        ({"data": iso.Generator(iso.Ranges({"priors": (0, 19)}))}, UsageError, "fresh="),
        ({"data": people() | {"risk": np.ones(3000)}}, DataError, "two classes"),
        ({"data": people() | {"risk": np.linspace(0, 1, 3000)}}, DataError, "classes in the column"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_was_expected(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    given = {"model_factory": new_tree, "data": people(), "property": MONOTONE, "rounds": 2, **QUICK, **change}
    with pytest.raises(error, match=words.replace("[", r"\[")):
        iso.repair.augment(**given)


class Guesses(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that changes one answer in five at random."""

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        answers = super().predict(X, check_input)
        return np.where(np.random.default_rng().random(len(answers)) < 0.2, 1 - answers, answers)


def test_a_classifier_that_answers_at_random_is_refused_without_naming_an_option_that_a_repair_lacks() -> None:
    with pytest.raises(ModelError) as error:
        iso.repair.augment(Guesses(max_depth=4, random_state=0), people(), MONOTONE, rounds=2, **QUICK)
    assert not isinstance(error.value, ChangingModelError)
    assert "random_model" not in str(error.value)

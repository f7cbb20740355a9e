"""The scikit-learn wrapper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.closed_form import closed_bounds
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks

import isonomia as iso
from isonomia.audits.principal.repair import PrincipalRepair
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.evidence.strata.bounds import FairWorld, fair_world
from isonomia.evidence.strata.repair import AdjustedTable, adjust_outcomes
from isonomia.evidence.strata.worlds import Observed, TableShape, assume, tally
from raising import raises


class Said:
    """A classifier that repeats a column, whatever it is fitted on."""

    def __init__(self, column: str = "said") -> None:
        self.column = column

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        return {"column": self.column}

    def set_params(self, **parameters: Any) -> Said:
        self.column = parameters.get("column", self.column)
        return self

    def fit(self, X: Any, y: Any) -> Said:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Any:
        return X[self.column].to_numpy()


def people(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Mostly good outcomes for all, while decisions follow the attribute, in town more than elsewhere."""
    rng = np.random.default_rng(seed)
    sex, town = rng.integers(0, 2, n), rng.integers(0, 2, n)
    outcome = (rng.random(n) < 0.92).astype(int)
    said = np.where(rng.random(n) < np.where(town == 1, 0.97, 0.75), sex, rng.integers(0, 2, n))
    frame = pd.DataFrame({"sex": np.where(sex == 1, "M", "F"), "town": town, "said": said, "points": rng.random(n)})
    return frame, outcome


def excess(frame: pd.DataFrame, decisions: np.ndarray, outcome: np.ndarray) -> float:
    counts = tally(TableShape(), (frame["sex"] == "M").astype(int), decisions, outcome)
    return float(closed_bounds(Observed.from_counts(counts).probabilities).excess)


def test_the_repair_learned_on_one_part_makes_another_part_fair() -> None:
    (seen, outcome), (new, later) = people(40_000, seed=1), people(40_000, seed=2)
    assert excess(new, new["said"].to_numpy(), later) > 0.1
    fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", random_state=3).fit(seen, outcome)
    # Each of the two shares in the excess is off by at most 0.5 / sqrt(20,000) = 0.0035 on either part.
    assert excess(new, fitted.predict(new), later) < 6 * 0.0035


def test_each_subgroup_has_a_repair_of_its_own() -> None:
    frame, outcome = people(20_000, seed=4)
    fitted = PrincipalRepair(Said(), attribute="sex", given=["town"], cv="prefit", random_state=0).fit(frame, outcome)
    assert list(fitted.repairs_) == [(0,), (1,)]
    assert fitted.repairs_[(0,)].total < fitted.repairs_[(1,)].total
    chances = fitted.decision_probabilities(frame)
    for town in (0, 1):
        rows = (frame["town"] == town).to_numpy()
        who = (rows & (frame["sex"] == "M") & (frame["said"] == 1)).to_numpy()
        assert np.array_equal(chances[who], np.broadcast_to(fitted.repairs_[(town,)].change[1, 1], (who.sum(), 2)))


def test_one_person_at_a_time_can_be_decided() -> None:
    frame, outcome = people(2000, seed=5)
    fitted = PrincipalRepair(Said(), attribute="sex", given=["town"], cv="prefit", random_state=0).fit(frame, outcome)
    assert fitted.predict(frame.iloc[:1]).shape == (1,)


def test_decisions_follow_their_probabilities() -> None:
    frame, outcome = people(20_000, seed=6)
    fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", random_state=7).fit(frame, outcome)
    expected = fitted.decision_probabilities(frame)
    assert expected.sum(1) == pytest.approx(np.ones(len(frame)))
    ones = fitted.predict(frame).sum()
    spread = np.sqrt((expected[:, 1] * expected[:, 0]).sum())
    assert abs(ones - expected[:, 1].sum()) < 5 * spread
    assert spread > 10


def test_a_seed_repeats_itself_and_none_does_not() -> None:
    frame, outcome = people(5000, seed=8)
    fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", random_state=1).fit(frame, outcome)
    assert np.array_equal(fitted.predict(frame), fitted.predict(frame))
    fitted.set_params(random_state=None)
    assert not np.array_equal(fitted.predict(frame), fitted.predict(frame))


def test_a_seeded_repair_decides_each_person_alike_in_any_company() -> None:
    frame, outcome = people(600, seed=8)
    fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", random_state=1).fit(frame, outcome)
    whole = fitted.predict(frame)
    assert np.array_equal(whole, np.concatenate([fitted.predict(frame.iloc[[k]]) for k in range(len(frame))]))
    assert np.array_equal(whole[::-1], fitted.predict(frame.iloc[::-1]))
    assert np.array_equal(whole, fitted.predict(frame.assign(more=3, town=frame["town"].astype(float))))
    open_to_chance = fitted.decision_probabilities(frame).max(axis=1) < 0.95
    changed = whole != frame["said"].to_numpy()
    assert 0 < changed[open_to_chance].mean() < 1, "neither all nor none"
    fitted.set_params(random_state=2)
    assert not np.array_equal(whole, fitted.predict(frame))


def test_a_seeded_repair_warns_where_people_cannot_be_told_apart() -> None:
    frame, outcome = people(600, seed=8)
    with pytest.warns(UserWarning, match="equal values"):
        PrincipalRepair(Said(), attribute="sex", cv="prefit", random_state=1).fit(frame[["sex", "said"]], outcome)


@pytest.mark.parametrize("given", [iso.Sample, iso.Census])
@pytest.mark.parametrize("seed", [1, None])
def test_a_repair_is_a_model_that_can_be_checked(given: Any, seed: int | None) -> None:
    frame, outcome = people(4_000, seed=8)
    fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", random_state=seed).fit(frame, outcome)
    audited = given({**{name: frame[name].to_numpy() for name in frame}, "outcome": outcome})
    claim = "P[prediction == 1 | sex == 'F'] >= 0.5 * P[prediction == 1 | sex == 'M']"
    verdict = iso.check(claim, fitted, audited, seed=1, random_model=seed is None)
    assert verdict.answer == "holds"


def test_a_fair_classifier_is_left_alone() -> None:
    frame, outcome = people(5000, seed=9)
    constant = DummyClassifier(strategy="constant", constant=1)
    fitted = PrincipalRepair(constant, attribute="sex", random_state=1).fit(frame, outcome)
    assert fitted.repairs_[()].total == 0.0
    assert fitted.predict(frame).tolist() == [1] * len(frame)


def test_never_lower_only_raises() -> None:
    frame, outcome = people(5000, seed=10)
    names = np.asarray(["refused", "granted"])
    frame["said"], outcome = names[frame["said"]], names[outcome]
    fitted = PrincipalRepair(
        Said(), attribute="sex", never_lower=True, order=["refused", "granted"], cv="prefit", random_state=1
    ).fit(frame, outcome)
    after = fitted.predict(frame)
    assert (after[frame["said"] == "granted"] == "granted").all()
    assert (after[frame["said"] == "refused"] == "granted").any()


def test_it_learns_from_people_that_the_classifier_was_not_fitted_on() -> None:
    # A tree that knows everyone by heart repeats the outcomes, and a repair learned from that would be one of nothing.
    rng = np.random.default_rng(11)
    n = 4000
    sex, outcome = rng.integers(0, 2, n), (rng.random(n) < 0.5).astype(int)
    X = np.column_stack([sex, rng.random(n)])
    by_heart = DecisionTreeClassifier(random_state=0).fit(X, outcome).predict(X)
    assert np.array_equal(by_heart, outcome)
    fitted = PrincipalRepair(DecisionTreeClassifier(random_state=0), attribute=0, cv=None).fit(X, outcome)
    inside = fitted.repairs_[()].repaired.probabilities
    across = PrincipalRepair(DecisionTreeClassifier(random_state=0), attribute=0, cv=3).fit(X, outcome)
    assert inside[:, 0, 1].sum() + inside[:, 1, 0].sum() == 0.0
    assert across.repairs_[()].repaired.probabilities[:, 0, 1].min() > 0.1


def test_scikit_learn_can_clone_search_and_score_it() -> None:
    frame, outcome = people(1500, seed=12)
    X = pd.DataFrame({"sex": (frame["sex"] == "M").astype(int), "town": frame["town"], "points": frame["points"]})
    wrapped = PrincipalRepair(LogisticRegression(), attribute="sex", cv=2, random_state=0)
    assert is_classifier(wrapped)
    assert clone(wrapped).get_params(deep=False).keys() == wrapped.get_params(deep=False).keys()
    assert (cross_val_score(wrapped, X, outcome, cv=2) > 0.5).all()
    search = GridSearchCV(wrapped, {"estimator__C": [0.1, 1.0], "definition": [1, 2]}, cv=2).fit(X, outcome)
    assert search.best_params_.keys() == {"estimator__C", "definition"}
    piped = make_pipeline(FunctionTransformer(), wrapped).fit(X, outcome)
    assert set(piped.predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    "check",
    [
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_no_attributes_set_in_init",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_scikit_learns_own_checks_of_the_conventions_pass(check: str) -> None:
    # Those about data need any numbers to do as attribute values, which would make worlds beyond counting.
    if not hasattr(estimator_checks, check):
        pytest.skip(f"this version of scikit-learn has no {check}")
    getattr(estimator_checks, check)("PrincipalRepair", PrincipalRepair(LogisticRegression(), attribute=0))


def test_an_unfitted_wrapper_says_so() -> None:
    frame, _ = people(10, seed=13)
    with raises(NotFittedError, "PrincipalRepair"):
        PrincipalRepair(Said(), attribute="sex").predict(frame)


def test_an_unknown_parameter_is_refused() -> None:
    with raises(ValueError, "atribute", meant="attribute"):
        PrincipalRepair(Said(), attribute="sex").set_params(atribute="town")


def wrapped(**options: Any) -> PrincipalRepair:
    return PrincipalRepair(Said(), **({"attribute": "sex", "cv": "prefit", "random_state": 0} | options))


def test_an_attribute_with_one_value_is_refused() -> None:
    frame, outcome = people(100, seed=14)
    with raises(DataError, 2, "sex", "['F']"):
        wrapped().fit(frame.assign(sex="F"), outcome)


def test_a_subgroup_without_one_of_the_attribute_values_is_refused() -> None:
    frame, outcome = people(100, seed=15)
    frame = frame.assign(sex=np.where(frame["town"] == 1, "M", frame["sex"]))
    with raises(DataError, "town=1", "F", "given"):
        wrapped(given=["town"]).fit(frame, outcome)


def test_a_missing_prediction_is_refused() -> None:
    frame, outcome = people(100, seed=16)
    with raises(DataError, 1, 100, 5):
        wrapped().fit(frame.assign(said=frame["said"].where(np.arange(100) != 5)), outcome.astype(float))


def test_what_was_not_there_in_fit_is_refused() -> None:
    frame, outcome = people(1000, seed=17)
    fitted = wrapped(given=["town"]).fit(frame, outcome)
    with raises(DataError, "F", "M", "X"):
        fitted.predict(frame.assign(sex="X"))
    with raises(DataError, ((0,), (1,)), "(7,)"):
        fitted.predict(frame.assign(town=7))


def test_other_calls_that_make_no_sense_are_refused() -> None:
    frame, outcome = people(100, seed=18)
    with raises(DataError, 99, 100):
        wrapped().fit(frame, outcome[:-1])
    with pytest.raises(UsageError, match="its number below 4, but got 4"):
        wrapped(attribute=4).fit(frame, outcome)
    with raises(UsageError, "fitted", name="cv"):
        wrapped(cv="fitted").fit(frame, outcome)


def under(frame: pd.DataFrame, decisions: np.ndarray, outcome: np.ndarray, words: str) -> bool:
    """Whether a fair world of which an assumption is true produces the table, outcomes moved until they agree."""
    rows = assume(TableShape(), words)
    counts = tally(TableShape(), (frame["sex"] == "M").astype(int), decisions, outcome)
    agreed = adjust_outcomes(Observed.from_counts(counts), rows)
    assert isinstance(agreed, AdjustedTable)
    return isinstance(fair_world(agreed.table, 2, assumptions=rows), FairWorld)


def test_a_repair_under_an_assumption_mends_what_an_audit_with_it_finds() -> None:
    frame, outcome = people(4000, seed=4)
    frame["said"] = np.where(frame["town"] == 1, frame["said"], 1)  # milder: some worlds without assumptions are fair
    words = "outcome never changes"
    assert not under(frame, frame["said"].to_numpy(), outcome, words)
    found = {}
    for assumptions in ((), (words,)):
        fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", assumptions=assumptions).fit(frame, outcome)
        (found[assumptions],) = fitted.repairs_.values()
        (moved,) = fitted.moved_outcomes_.values()
        assert (moved > 0) == bool(assumptions)
    assert found[(words,)].total > found[()].total + 0.01
    repaired = found[(words,)].repaired
    assert isinstance(fair_world(repaired, 2, assumptions=assume(TableShape(), words)), FairWorld)
    assert not isinstance(fair_world(found[()].repaired, 2, assumptions=assume(TableShape(), words)), FairWorld)


def test_assumptions_that_the_outcomes_refute_are_told_with_the_subgroup() -> None:
    frame, outcome = people(4000, seed=5)
    outcome = np.where((frame["sex"] == "M") & (frame["town"] == 1), 0, outcome)
    repair = PrincipalRepair(
        Said(), attribute="sex", given=["town"], cv="prefit", assumptions=["outcome never changes"]
    )
    with raises(DataError, "town=1", 1.83, 0.256, cause=DataError):
        repair.fit(frame, outcome)


def test_assumptions_speak_of_decisions_by_their_names() -> None:
    frame, outcome = people(500, seed=6)
    frame["said"], told = np.where(frame["said"] == 1, "yes", "no"), np.where(outcome == 1, "yes", "no")
    repair = PrincipalRepair(Said(), attribute="sex", cv="prefit", assumptions=["P[Y0 == 'yes'] >= 0.95"])
    assert repair.fit(frame, told).moved_outcomes_[()] > 0.0
    with raises(SpecError, "outcome", meant="outcome never falls"):
        clone(repair).set_params(assumptions=["outcome never fals"]).fit(frame, told)


def test_with_a_stated_risk_a_fair_world_explains_the_decisions_about_others() -> None:
    fresh = people(200_000, seed=90)
    gaps: dict[float | None, list[float]] = {None: [], 0.05: []}
    for seed in range(6):
        X, y = people(3000, seed=seed)
        for delta, left in gaps.items():
            fitted = PrincipalRepair(Said(), attribute="sex", cv="prefit", delta=delta).fit(X, y)
            left.append(fitted.remaining_unfairness(*fresh)[()])
        assert fitted.strengths_[()] is not None
        # The price is stated, and it is what people who were not seen lose.
        before = float((fresh[0]["said"] == fresh[1]).mean())
        assert before - fitted.score(*fresh) == pytest.approx(fitted.repairs_[()].lost_accuracy, abs=0.03)
    assert max(gaps[0.05]) == pytest.approx(0.0, abs=1e-6)
    assert sum(gap > 1e-3 for gap in gaps[None]) >= 2


def test_with_a_stated_risk_a_classifier_is_fitted_on_others_than_those_who_certify() -> None:
    frame, y = people(2000, seed=5)
    X = frame[["points", "said"]].assign(sex=(frame["sex"] == "M").astype(int))
    fitted = PrincipalRepair(LogisticRegression(), attribute="sex", delta=0.1, random_state=0).fit(X, y)
    assert fitted.strengths_[()] is not None
    assert fitted.repairs_[()].proof is None
    assert fitted.predict(X).shape == (2000,)
    with pytest.raises(UsageError):
        PrincipalRepair(LogisticRegression(), attribute="sex", delta=1.5).fit(X, y)
    with pytest.raises(UsageError):
        PrincipalRepair(LogisticRegression(), attribute="sex", margin=1.0).fit(X, y)


def test_effects_that_the_table_shows_cannot_be_made_exactly_zero_and_a_margin_helps() -> None:
    X, y = people(3000, seed=6)
    how: dict[str, Any] = {"attribute": "sex", "definition": 3, "cv": "prefit", "delta": 0.05}
    with pytest.warns(UserWarning, match="the same decision"):
        fitted = PrincipalRepair(Said(), **how).fit(X, y)
    assert fitted.strengths_ == {(): None}
    assert len(set(fitted.predict(X).tolist())) == 1
    fitted = PrincipalRepair(Said(), margin=0.3, **how).fit(X, y)
    assert fitted.strengths_[()] is not None


def test_assumptions_about_decisions_have_no_stated_risk() -> None:
    X, y = people(300, seed=7)
    with pytest.raises(UsageError):
        PrincipalRepair(Said(), attribute="sex", assumptions=["no one is harmed"], cv="prefit", delta=0.05).fit(X, y)


def test_a_repair_up_to_a_margin_leaves_alone_what_is_within_it() -> None:
    X, y = people(3000, seed=8)
    how: dict[str, Any] = {"attribute": "sex", "cv": "prefit"}
    fair = PrincipalRepair(Said(), **how, margin=0.99).fit(X, y)
    assert fair.repairs_[()].changed == 0.0

"""Several models on the same rows: named models, stored answers, and hostile attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.spec.property import parse

N = 800
RNG = np.random.default_rng(1)
LABEL = RNG.choice(["yes", "no"], N)
OTHERWISE = np.where(LABEL == "yes", "no", "yes")
NEW = np.where(RNG.random(N) < 0.9, LABEL, OTHERWISE)
OLD = np.where(RNG.random(N) < 0.8, LABEL, OTHERWISE)
TABLE = {
    "id": np.arange(N),
    "label": LABEL,
    "new_answer": NEW,
    "old_answer": OLD,
    "topic": RNG.choice(["law", "tax"], N),
    "visit": np.repeat(np.arange(N // 4), 4),
}
NOT_WORSE = "P[new.prediction == label] - P[old.prediction == label] >= -0.02"


def model_of(answers: np.ndarray, seen: list[list[str]] | None = None) -> Callable[[Any], np.ndarray]:
    def answer(rows: Any) -> np.ndarray:
        if seen is not None:
            seen.append(list(rows))
        return answers[np.asarray(rows["id"])]

    return answer


def rows(**changed: Any) -> iso.Sample:
    return iso.Sample({**TABLE, **changed})


@pytest.mark.parametrize("looks", ["once", "any"])
def test_live_and_stored_answers_give_the_same_verdict(looks: str) -> None:
    live, stored = {"new": model_of(NEW), "old": model_of(OLD)}, {"new": "new_answer", "old": "old_answer"}
    both = [live, stored, {"new": live["new"], "old": "old_answer"}, {"new": "new_answer", "old": live["old"]}]
    verdicts = [iso.check(NOT_WORSE, models, rows(), looks=looks, seed=3) for models in both]
    assert {verdict.answer for verdict in verdicts} == {"holds"}
    assert len({(verdict.samples, verdict.interval) for verdict in verdicts}) == 1


def test_each_row_is_one_bet_that_knows_which_answers_go_together() -> None:
    verdict = iso.check("P[new == 1] > P[old == 1]", population=_pairs(apart=False), seed=1)
    independent = iso.check("P[new == 1] > P[old == 1]", population=_pairs(apart=True), seed=1)
    # Rates are the same; where both models are right on the same rows, fewer rows tell them apart.
    assert verdict.answer == "holds"
    assert independent.answer == "undecided"


def _pairs(*, apart: bool) -> iso.Sample:
    rng = np.random.default_rng(4)
    hard = rng.random(600)
    old = hard < 0.6
    new = hard < 0.63
    return iso.Sample({"new": (rng.permutation(new) if apart else new).astype(int), "old": old.astype(int)})


def test_a_model_is_given_neither_the_outcome_nor_the_stored_answers_of_another() -> None:
    seen: list[list[str]] = []
    iso.check(iso.evals.not_worse("label"), {"new": model_of(NEW, seen), "old": "old_answer"}, rows(), seed=1)
    assert seen
    assert all("label" not in names and "old_answer" not in names and "id" in names for names in seen)


def test_the_budget_counts_every_question_to_every_model() -> None:
    models = {"new": model_of(NEW), "old": model_of(OLD)}
    for options in ({}, {"workers": 2, "executor": "threads"}):
        verdict = iso.check(NOT_WORSE, models, rows(), looks="once", seed=1, **options)
        assert verdict.queries == 2 * (N + verdict.repeated)
        small = iso.check(NOT_WORSE, models, rows(), seed=1, budget="100 queries", **options)
        assert small.queries <= 100
        assert small.samples <= 50


def test_a_model_that_changes_its_answers_is_noticed() -> None:
    rng = np.random.default_rng(0)
    models = {"new": lambda table: rng.integers(0, 2, len(table["id"])), "old": model_of(OLD)}
    with pytest.raises(iso.ChangingModelError):
        iso.check("P[new.prediction == 1] >= 0.5", models, rows(), seed=1)
    verdict = iso.check("P[new.prediction == 1] >= 0.2", models, rows(), seed=1, random_model=True)
    assert verdict.answer == "holds"


def test_scores_and_scores_of_classes_are_those_of_the_model_that_is_named() -> None:
    class Scoring:
        classes_ = np.asarray(["bad", "good"])

        def __init__(self, share: float) -> None:
            self.share = share

        def predict(self, table: Any) -> np.ndarray:
            return np.full(len(table), "good")

        def predict_proba(self, table: Any) -> np.ndarray:
            return np.tile([1 - self.share, self.share], (len(table), 1))

    models = {"new": Scoring(0.75), "old": Scoring(0.25)}
    census = iso.Census(TABLE)
    difference = iso.check("E[new.score] - E[old.score] >= 0.5", models, census)
    assert difference.expressions[0].estimate == pytest.approx(0.5)
    classes = iso.check("E[new.score['bad']] - E[old.score['good']] <= 0", models, census)
    assert classes.expressions[0].estimate == pytest.approx(0.0)
    with pytest.raises(SpecError):
        iso.check("P[new.prediction == 'goood'] >= 0.5", models, census)


def test_a_population_of_pairs_of_people_knows_the_answers_of_both() -> None:
    models = {"new": model_of(NEW), "old": "old_answer"}
    small = iso.Census({name: column[:40] for name, column in TABLE.items()})
    agree = iso.check("P[new.prediction == old.prediction | other.topic == 'law'] >= 0.5", models, small)
    assert agree.answer == "holds"


@pytest.mark.parametrize(
    ("models", "error"),
    [
        ({"new": "new_answer"}, SpecError),
        ({"new": "new_answer", "old": "new_answer"}, UsageError),
        ({"new": "new_anwser", "old": "old_answer"}, UsageError),
        ({"new x": "new_answer", "old": "old_answer"}, UsageError),
        ({"other": "new_answer", "old": "old_answer"}, UsageError),
        ({1: "new_answer", "old": "old_answer"}, UsageError),
        ({}, UsageError),
    ],
)
def test_models_that_a_property_cannot_mean_are_refused(models: dict[Any, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        iso.check(NOT_WORSE, models, rows())


@pytest.mark.parametrize(
    "text", ["P[prediction == label] >= 0.5", "P[score >= 1] >= 0.5", "P[third.prediction == 1] >= 0"]
)
def test_an_output_without_a_known_model_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        iso.check(text, {"new": "new_answer", "old": "old_answer"}, rows())
    if "third" in text:
        for one in (None, model_of(NEW)):
            with pytest.raises(SpecError):
                iso.check(text, one, rows())


def test_other_properties_take_one_model() -> None:
    with pytest.raises(UsageError):
        iso.check(iso.PrincipalFairness(attribute="topic", outcome="label"), {"new": "new_answer"}, rows())


@pytest.mark.parametrize("looks", ["once", "any"])
@pytest.mark.parametrize("missing", ["new_answer", "old_answer", "label"])
@pytest.mark.parametrize("by", [None, "topic"])
def test_missing_answers_and_outcomes_are_refused_and_not_counted_as_wrong(
    looks: str, missing: str, by: str | None
) -> None:
    column = TABLE[missing].astype(object)
    column[N - 5] = None
    claim, models = iso.evals.not_worse("label", by=by), {"new": "new_answer", "old": "old_answer"}
    with pytest.raises(DataError) as caught:
        iso.check(claim, models, rows(**{missing: column}), looks=looks, seed=1)
    assert missing in str(caught.value)
    asked = np.arange(N) != N - 5
    among = iso.evals.not_worse("label", by=by, given="asked")
    assert iso.check(among, models, rows(**{missing: column}, asked=asked), seed=1).answer != "violated"


def test_groups_are_answered_one_by_one() -> None:
    worse = np.where((TABLE["topic"] == "tax") & (RNG.random(N) < 0.5), OTHERWISE, NEW)
    models = {"new": "worse", "old": "old_answer"}
    for looks in ("once", "any"):
        verdict = iso.check(iso.evals.not_worse("label", by="topic"), models, rows(worse=worse), looks=looks, seed=1)
        assert verdict.answer == "violated"
        answers = {each.group: each.answer for each in verdict.groups}
        assert answers["topic == 'tax'"] == "violated"
        assert answers["topic == 'law'"] in ({"holds"} if looks == "once" else {"holds", "undecided"})


def test_named_properties_can_be_written_as_text() -> None:
    made = [
        iso.evals.not_worse("label", by="g"),
        iso.evals.better("label", by="a topic", given="topic == 'law' or topic == 'tax'"),
        iso.evals.better(score=(0, 1), margin=0.1, new="b", old="a"),
        iso.evals.not_worse(margin=0),
    ]
    assert all(parse(str(prop)) == prop for prop in made)
    assert all(prop.explain() for prop in made)


@pytest.mark.parametrize(
    "options", [{"margin": -0.1}, {"score": (1, 0)}, {"outcome": "label", "score": (0, 1)}, {"by": 3}, {"magrin": 0.1}]
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        iso.evals.not_worse(**options)

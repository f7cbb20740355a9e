"""A property as a test: it passes where it holds, fails with what is known, and tries known counterexamples first."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits import context
from isonomia.audits.assert_holds import PropertyFailure, assert_holds
from isonomia.audits.check import check
from isonomia.errors import UsageError
from isonomia.records.store import KnownCounterexamples, key_of
from isonomia.records.verdict import Verdict
from raising import raises

PEOPLE = {"hired": [1, 1, 1, 0] * 50, "sex": ["F", "M"] * 100}
SOME = "P[hired] >= 0.74"


@pytest.fixture(autouse=True)
def _nobody_around() -> Iterator[None]:
    """The plugin says something to these tests too, which are about assertions without it."""
    with context.test_context(context.TestContext()):
        yield


def table(n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {"age": rng.integers(18, 60, n), "priors": rng.integers(0, 6, n)}


class Model:
    """Says yes to people above 30, but for those with some number of priors; counts what it is asked."""

    def __init__(self, odd: int) -> None:
        self.odd, self.rows = odd, 0

    def __call__(self, people: Any) -> Any:
        age, priors = np.asarray(people["age"]), np.asarray(people["priors"])
        self.rows += len(age)
        return ((age > 30) & (priors != self.odd)).astype(int)


def never_helps(**given: Any) -> Any:
    return iso.safety.monotone("priors", up=(1, 2), at_most=5, output="not higher", **given)


def failure(*arguments: Any, **given: Any) -> PropertyFailure:
    with pytest.raises(PropertyFailure) as caught:
        assert_holds(*arguments, **given)
    return caught.value


def test_every_argument_of_check_is_taken_under_its_name() -> None:
    wanted, taken = inspect.signature(check).parameters, inspect.signature(assert_holds).parameters
    assert list(taken)[: len(wanted)] == list(wanted)
    assert {name: wanted[name].kind for name in wanted} == {name: taken[name].kind for name in wanted}
    defaults = {name for name in wanted if wanted[name].default != taken[name].default}
    assert defaults == {"delta", "looks"}  # which the test may say for all of its assertions


def test_a_property_that_holds_gives_its_verdict() -> None:
    verdict = assert_holds("P[hired] >= 0.7", population=iso.Census(PEOPLE))
    assert (verdict.answer, verdict.delta) == ("holds", 0.05)


def test_a_violated_property_fails_with_its_verdict_and_a_message() -> None:
    error = failure("P[hired] >= 0.9", population=iso.Census(PEOPLE), seed=5)
    assert isinstance(error, AssertionError)
    assert not isinstance(error, iso.IsonomiaError)
    plain = check("P[hired] >= 0.9", population=iso.Census(PEOPLE), seed=5)
    assert replace(error.verdict, seconds=0.0) == replace(plain, seconds=0.0)
    assert str(error).startswith("violated: P[hired] >= 0.9\n")
    assert "0.75 in [0.75, 0.75]; it must be >= 0.9" in str(error)
    assert "seed=5" in str(error)


def test_the_failure_goes_to_another_process_and_comes_back() -> None:
    error = PropertyFailure("told", check("P[hired] >= 0.9", population=iso.Census(PEOPLE)))
    assert PropertyFailure.__reduce__(error) == (PropertyFailure, ("told", error.verdict))


def test_an_undecided_property_fails_unless_that_is_to_pass() -> None:
    some = iso.Sample(PEOPLE)
    assert failure(SOME, population=some, seed=1, budget=50).verdict.answer == "undecided"
    assert assert_holds(SOME, population=some, seed=1, budget=50, undecided="pass").answer == "undecided"


def test_a_violated_property_does_not_pass_because_undecided_ones_do() -> None:
    assert failure("P[hired] >= 0.9", population=iso.Census(PEOPLE), undecided="pass").verdict.answer == "violated"


def test_skipping_needs_somebody_who_can() -> None:
    with raises(UsageError, "skip", name="undecided"), context.test_context(context.TestContext()):
        assert_holds(SOME, population=iso.Sample(PEOPLE), undecided="skip")


def test_an_undecided_property_is_skipped_with_a_reason() -> None:
    reasons = []

    class SkippedError(Exception):
        pass

    def skip(reason: str) -> NoReturn:
        reasons.append(reason)
        raise SkippedError

    with pytest.raises(SkippedError), context.test_context(context.TestContext(skip=skip)):
        assert_holds(SOME, population=iso.Sample(PEOPLE), seed=1, budget=50, undecided="skip")
    assert reasons == ["a property is undecided after 50 samples (the budget of samples is spent)"]


def test_an_unknown_way_with_undecided_ones_is_refused_before_anything_is_asked() -> None:
    model = Model(odd=3)
    with raises(UsageError, meant="pass"):
        assert_holds(never_helps(), model, iso.Sample(table()), undecided="passs")
    assert model.rows == 0


def test_an_observer_that_cannot_be_told_is_refused_before_anything_is_asked() -> None:
    model = Model(3)
    with raises(UsageError, name="observer"):
        assert_holds(never_helps(), model, iso.Census(table()), observer=print)  # type: ignore[arg-type]
    assert model.rows == 0


def test_what_the_test_says_counts_where_the_call_says_nothing() -> None:
    said = context.TestContext({"delta": 0.01, "budget": 40, "seed": 9, "undecided": "pass"})
    with context.test_context(said):
        quiet = assert_holds(SOME, population=iso.Sample(PEOPLE))
        own = assert_holds(SOME, population=iso.Sample(PEOPLE), delta=0.2, budget=20, seed=1)
        with pytest.raises(PropertyFailure):
            assert_holds(SOME, population=iso.Sample(PEOPLE), undecided="fail")
    assert (quiet.delta, quiet.samples, quiet.seed) == (0.01, 40, 9)
    assert (own.delta, own.samples, own.seed) == (0.2, 20, 1)


def test_settings_end_with_their_test() -> None:
    before = context.current_test()
    with context.test_context(context.TestContext({"seed": 1})), context.test_context(context.TestContext({"seed": 2})):
        assert context.current_test().settings == {"seed": 2}
    assert context.current_test() is before


def test_every_verdict_is_told_whatever_it_is() -> None:
    told: list[Verdict] = []
    with context.test_context(
        context.TestContext(tell=lambda verdict, _: told.append(verdict), repeat=lambda seed: f"again {seed}")
    ):
        assert_holds("P[hired] >= 0.7", population=iso.Census(PEOPLE))
        error = failure("P[hired] >= 0.9", population=iso.Census(PEOPLE), seed=3)
    assert [verdict.answer for verdict in told] == ["holds", "violated"]
    assert str(error).endswith("again 3")


def test_ctrl_c_ends_the_test_run_and_passes_for_no_answer() -> None:
    def interrupted(people: Any) -> Any:  # noqa: ARG001
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assert_holds("P[prediction == 1] >= 0.5", interrupted, iso.Sample(table()), undecided="pass")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".isonomia"


def known_of(folder: Path, prop: Any) -> tuple[Any, ...]:
    return KnownCounterexamples(folder).of(key_of("k-safety", str(prop)))


def asked(act: Callable[[], object], model: Model) -> int:
    before = model.rows
    act()
    return model.rows - before


def test_a_known_counterexample_is_tried_first_so_that_the_model_is_asked_far_less(folder: Path) -> None:
    model, people = Model(odd=3), iso.Census(table())
    first = asked(lambda: failure(never_helps(), model, people, records=folder), model)
    again = asked(lambda: failure(never_helps(), model, people, records=folder), model)
    assert len(known_of(folder, never_helps())) == 10
    assert again < first / 10
    error = failure(never_helps(), model, people, records=folder)
    assert error.verdict.risk == 0
    assert "still violate" in str(error)
    assert "x2 (changed)" in str(error)


def test_a_counterexample_of_one_model_is_tried_with_the_next_one(folder: Path) -> None:
    people = iso.Census(table())
    failure(never_helps(), Model(odd=3), people, records=folder)
    other = Model(odd=3)
    other.name = "retrained"
    assert asked(lambda: failure(never_helps(), other, people, records=folder), other) < 50


def test_a_mended_model_holds_and_what_it_mended_is_forgotten(folder: Path) -> None:
    people = iso.Census(table())
    failure(never_helps(), Model(odd=3), people, records=folder)
    verdict = assert_holds(never_helps(), Model(odd=5), people, records=folder)  # 5 is the most: nobody rises above
    assert known_of(folder, never_helps()) == ()
    plain = check(never_helps(), Model(odd=5), people, seed=verdict.seed)
    assert (plain.samples, plain.answer) == (verdict.samples, verdict.answer)


def test_a_known_counterexample_stays_while_nothing_is_decided(folder: Path) -> None:
    data = table()
    failure(never_helps(enumerate=False), Model(odd=3), iso.Sample(data), records=folder, seed=1)
    kept = known_of(folder, never_helps())
    assert kept
    some = assert_holds(
        never_helps(enumerate=False),
        Model(odd=5),
        iso.Sample(data),
        records=folder,
        seed=1,
        budget=20,
        undecided="pass",
    )
    assert some.answer == "undecided"
    assert known_of(folder, never_helps()) == kept


def test_counterexamples_that_the_property_brings_itself_are_tried_too(folder: Path) -> None:
    model, people = Model(odd=3), iso.Census(table())
    found = failure(never_helps(), model, people).verdict.counterexamples
    few = asked(lambda: failure(never_helps(known=found[:1]), model, people, records=folder), model)
    assert few < 20
    assert len(known_of(folder, never_helps())) == 1


def test_a_condition_that_must_only_be_true_at_some_rate_has_no_counterexample_to_try(folder: Path) -> None:
    prop = iso.safety.property(str(never_helps()).replace("ensures d2 <= d1;", "ensures d2 <= d1 in 0.999 of cases;"))
    assert prop.spec.ensures[0].rate == 0.999
    assert failure(prop, Model(odd=3), iso.Census(table()), records=folder).verdict.answer == "violated"
    assert not folder.exists()


def test_nothing_is_kept_unless_somebody_says_where(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with context.test_context(context.TestContext()):
        failure(never_helps(), Model(odd=3), iso.Census(table()))
    with context.test_context(context.TestContext(records=folder)):
        failure(never_helps(), Model(odd=3), iso.Census(table()), records=False)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_read_is_a_remark_and_the_check_is_done(folder: Path) -> None:
    folder.mkdir()
    (folder / "runs.sqlite").write_text("no records at all, but more than a hundred bytes of something else" * 3)
    error = failure(never_helps(), Model(odd=3), iso.Census(table()), records=folder)
    assert error.verdict.counterexamples
    assert any("known counterexamples were ignored" in remark for remark in error.verdict.remarks)
    verdict = assert_holds(never_helps(), Model(odd=5), iso.Census(table()), records=folder)
    assert any("known counterexamples were ignored" in remark for remark in verdict.remarks)


def test_the_failure_is_found_where_its_name_says() -> None:
    assert PropertyFailure.__module__ == "isonomia"
    assert iso.PropertyFailure is PropertyFailure
    error = PropertyFailure("told", check("P[hired] >= 0.9", population=iso.Census(PEOPLE)))
    assert pickle.loads(pickle.dumps(error)).verdict == error.verdict

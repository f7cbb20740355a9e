"""A check that resumes asks about rows it has asked about before, and refuses to go on with a model that changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.protocol import Check
from isonomia.engine.parameters import NullObserver
from isonomia.errors import ChangingModelError
from isonomia.interventions import Feature, Interventions
from isonomia.records.display.view import queries
from raising import raises

RNG = np.random.default_rng(0)
ROWS = 3_000
PEOPLE = {
    "points": np.arange(ROWS) % 100,
    "sex": RNG.choice(["F", "M"], ROWS),
    "passed": RNG.integers(0, 2, ROWS),
}
CHANGES = Interventions(
    (Feature("points", "integer", 0, 99), Feature("sex", "categorical", values=("F", "M"), actionable=False))
)


@dataclass(slots=True)
class Notebook:
    """A journal in memory; like a process that is killed, it stops after so many entries of a kind."""

    entries: dict[str, Any] = field(default_factory=dict)
    stop: Callable[[str], bool] = lambda _: False

    def recall(self, key: str) -> Any:
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Mapping[str, Any]]) -> None:
        if self.stop(key):
            raise Killed
        self.entries[key] = json.loads(json.dumps(make()))


class Killed(BaseException):
    """The process ends."""


@dataclass
class Weights:
    """A model whose weights are elsewhere: its fingerprint does not show that they changed."""

    cut: int = 50
    asked: int = 0

    def __call__(self, table: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        self.asked += len(table["points"])
        return (np.asarray(table["points"]) > self.cut).astype(int)


WEIGHTS = Weights()


def model(table: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    return WEIGHTS(table)


def policy(observed: NDArray[Any]) -> NDArray[Any]:
    """A model with two numbers for each row."""
    WEIGHTS.asked += len(observed)
    return np.stack([observed[:, 0] - WEIGHTS.cut, np.ones(len(observed))], axis=1)


def by_class(table: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """A model with a score for each of two classes."""
    score = 1 / (1 + np.exp(WEIGHTS.cut / 10 - np.asarray(table["points"]) / 10))
    return np.stack([1 - score, score], axis=1)


@dataclass(frozen=True)
class Walk:
    """A game of one step, whose action is two numbers."""

    steps: int = 1
    continuous: bool = True
    changes: Mapping[str, Any] = field(default_factory=dict)

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        return {"points": np.array(list(seeds)) % 100}

    def make(self) -> list[float]:
        return [0.0]

    def begin(self, environment: list[float], state: Mapping[str, Any], rng: np.random.Generator) -> NDArray[Any]:
        environment[0] = float(state["points"]) + 0.01 * rng.random()
        return np.array(environment)

    def step(self, environment: list[float], prediction: Any) -> tuple[NDArray[Any], float, bool, bool]:
        return np.array(environment), prediction[0], True, False

    def won(self, environment: list[float], ending: Any) -> bool:
        del environment
        return bool(ending.total > -1_000)


class Worker(Executor):
    """A worker that is elsewhere as far as anybody can see: everything is packed and unpacked."""

    _max_workers = 1

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def killed_at(key: str) -> Callable[[str], bool]:
    return lambda other: other == key


RISING = iso.safety.property(
    str(iso.safety.monotone("points", up=(1, 9))).replace("ensures d1 <= d2;", "ensures d1 <= d2 in 99% of cases;")
)

FEW = iso.Census({key: column[:40] for key, column in PEOPLE.items()})
RESPONSIVE = iso.Responsiveness(CHANGES, 1, at_least=0.45, most_listed=0)

WINS = iso.safety.property(
    "input s1; output o1; { o1 = play(s1, 11) } ensures o1 == 1 in 99% of cases;", enumerate=False
)
GAMES = iso.Games(Walk(), seeds=600)
PRINCIPAL = iso.PrincipalFairness(attribute="sex", outcome="passed", within=0.1)

CASES: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "rates": ("P[prediction == 1 | sex == 'F'] >= 0.48", iso.Sample(PEOPLE), {"delta": 1e-6}, "batch 60"),
    "large batches": ("P[prediction == 1] >= 0.489", iso.Sample(PEOPLE), {"growth": 4.0}, "batch 2"),
    "k-safety": (
        RISING,
        iso.Sample(PEOPLE),
        {"budget": 3_000},
        "batch 3",
    ),
    "k-safety, by workers": (RISING, iso.Sample(PEOPLE), {"budget": 3_000, "executor": Worker()}, "batch 3"),
    "two numbers per row": (WINS, GAMES, {"budget": 5_000}, "batch 2"),
    "two numbers per row, by workers": (WINS, GAMES, {"budget": 5_000, "executor": Worker()}, "batch 2"),
    "two classes": (
        "E[score] <= 0.52",
        iso.Sample(PEOPLE),
        {"ranges": {"score": (0, 1)}, "delta": 1e-4},
        "batch 30",
    ),
    "every row": ("P[prediction == 1] >= 0.1", "folder", {"executor": "threads:2"}, "answer of rows 1500 to 2000"),
    "every row, elsewhere": (
        "P[prediction == 1] >= 0.1",
        "folder",
        {"executor": Worker()},
        "answer of rows 500 to 1000",
    ),
    "principal, every row": (PRINCIPAL, "folder", {"executor": Worker()}, "answer of rows 1000 to 1500"),
    "principal": (
        PRINCIPAL,
        iso.Sample(PEOPLE),
        {"delta": 1e-4, "budget": 2_900},
        "batch 40",
    ),
    "responsiveness": (RESPONSIVE, FEW, {}, "round 2 part 0"),
}


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    where = tmp_path_factory.mktemp("people")
    parquet.write_table(pa.table(PEOPLE), where / "0.parquet", row_group_size=500)
    FOLDER[:] = [where]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.audits.pieces.LEAST", 400)


FOLDER: list[Path] = []


def new(name: str) -> Check[Any]:
    prop, people, options, _ = CASES[name]
    asked = policy if people is GAMES else by_class if name == "two classes" else model
    return new_check(prop, asked, iso.Census(FOLDER[0]) if people == "folder" else people, seed=1, **options)


def begin(name: str) -> dict[str, Any]:
    """The entries of a check that was killed half-way."""
    *_, last = CASES[name]
    WEIGHTS.cut = 50
    entries: dict[str, Any] = {}
    try:
        run_check(new(name).with_journal(Notebook(entries, killed_at(last))), NullObserver())
    except Killed:
        return entries
    raise AssertionError("it was not killed")


def resume(name: str, entries: dict[str, Any]) -> iso.Verdict:
    return run_check(new(name).with_journal(Notebook(dict(entries))), NullObserver())


@pytest.mark.parametrize("name", list(CASES))
def test_a_check_does_not_go_on_with_a_model_that_changed(name: str) -> None:
    entries = begin(name)
    assert any(key.startswith(("batch", "answer", "round")) for key in entries)
    WEIGHTS.cut = 90
    with raises(ChangingModelError):
        resume(name, entries)


@pytest.mark.parametrize("name", list(CASES))
def test_a_check_goes_on_with_the_same_model_and_asks_at_least_32_rows_again(name: str) -> None:
    entries = begin(name)
    whole = run_check(new(name), NullObserver())
    again = resume(name, entries)
    assert (again.answer, again.samples, again.expressions) == (whole.answer, whole.samples, whole.expressions)
    assert again.repeated is not None
    assert again.repeated >= 32


def test_at_least_32_rows_are_asked_about_again() -> None:
    entries = begin("rates")
    batches = [entry for key, entry in entries.items() if key.startswith("batch")]
    WEIGHTS.asked = 0
    prop, people, options, _ = CASES["rates"]
    check = new_check(prop, model, people, seed=1, budget=sum(batch["n"] for batch in batches) + 8, **options)
    run_check(check.with_journal(Notebook(dict(entries))), NullObserver())
    assert 32 + 8 <= WEIGHTS.asked < 32 + 8 + 64


def test_what_needs_no_new_answer_is_not_asked_again() -> None:
    prop, people, options, _ = CASES["rates"]
    entries: dict[str, Any] = {}
    WEIGHTS.cut = 50
    run_check(new_check(prop, model, people, seed=1, **options).with_journal(Notebook(entries)), NullObserver())
    WEIGHTS.asked, WEIGHTS.cut = 0, 90
    resume("rates", entries)
    assert WEIGHTS.asked == 0


def test_a_model_that_answers_at_random_goes_on_and_the_verdict_says_what_was_not_checked() -> None:
    prop, people, options, _ = CASES["rates"]
    entries = begin("rates")
    check = new_check(prop, model, people, seed=1, random_model=True, **options)
    verdict = run_check(check.with_journal(Notebook(dict(entries))), NullObserver())
    assert any("a change of the model during the check" in assumption for assumption in verdict.assumptions)


def test_a_verdict_states_how_many_rows_were_asked_about_a_second_time() -> None:
    WEIGHTS.cut = 50
    verdict = iso.check("P[prediction == 1] >= 0.4", model, iso.Sample(PEOPLE), seed=1)
    assert verdict.repeated is not None
    assert 8 <= verdict.repeated < (verdict.queries or 0)
    assert iso.Verdict.from_dict(verdict.to_dict()).repeated == verdict.repeated
    assert f"{verdict.repeated:,} a second time, no answer changed" in queries(verdict)
    assert iso.check("P[prediction == 1] >= 0.4", model, iso.Sample(PEOPLE), seed=1, random_model=True).repeated is None

"""Two worker processes with different models are found, whatever the workers do by themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import ChangingModelError
from isonomia.interventions import Feature, Interventions

ROWS = 3_000
RNG = np.random.default_rng(0)
PEOPLE = {
    "points": np.arange(ROWS) % 100,
    "sex": RNG.choice(["F", "M"], ROWS),
    "passed": RNG.integers(0, 2, ROWS),
}
FEW = {name: column[:40] for name, column in PEOPLE.items()}
CHANGES = Interventions(
    (Feature("points", "real", 0, 99), Feature("sex", "categorical", values=("F", "M"), actionable=False))
)
RISING = str(iso.safety.monotone("points", up=(1, 9)))


@dataclass(frozen=True)
class Version:
    """A model with two versions: the process that asks first has the one, every other process the other."""

    mark: Path
    width: int = 1

    def __call__(self, table: Any) -> Any:
        own = self.mark.with_name(str(os.getpid()))
        own.write_text(str(os.getpid()))
        with suppress(FileExistsError):
            os.link(own, self.mark)
        version = int(self.mark.read_text() != str(os.getpid()))
        rows = len(table["points"]) if isinstance(table, Mapping) else len(table)
        return np.full(rows, version) if self.width == 1 else np.full((rows, self.width), float(version))


@dataclass(frozen=True)
class Walk:
    """A game whose actions are several numbers."""

    steps: int = 5
    continuous: bool = True

    @property
    def changes(self) -> Mapping[str, Any]:
        return {}

    def states(self, seeds: Any) -> Mapping[str, Any]:
        return {"points": np.array([seed % 7 for seed in seeds])}

    def make(self) -> list[float]:
        return [0.0]

    def begin(self, environment: list[float], state: Mapping[str, Any], rng: np.random.Generator) -> Any:
        del rng
        environment[0] = float(state["points"])
        return np.array(environment)

    def step(self, environment: list[float], prediction: Any) -> tuple[Any, float, bool, bool]:
        environment[0] += sum(prediction)
        return np.array(environment), 0.0, True, False

    def won(self, environment: list[float], ending: Any) -> bool:
        del environment, ending
        return True


@pytest.fixture
def two_processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    where = tmp_path_factory.mktemp("people")
    parquet.write_table(pa.table(PEOPLE), where / "0.parquet", row_group_size=300)
    return where


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.audits.pieces.LEAST", 250)
    monkeypatch.setattr("isonomia.audits.responsiveness.sampling._CHUNK", 50)


PRINCIPAL = iso.PrincipalFairness(attribute="sex", outcome="passed", within=0.1)
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "rates": ("P[prediction == 1] >= 0.1", iso.Sample(PEOPLE), {}),
    "rates, every row": ("P[prediction == 1] >= 0.1", "folder", {}),
    "principal": (PRINCIPAL, iso.Sample(PEOPLE), {}),
    "principal, every row": (PRINCIPAL, "folder", {}),
    "k-safety": (iso.safety.property(RISING, enumerate=False), iso.Census(PEOPLE), {"budget": 500}),
    "k-safety, every case": (iso.safety.property(RISING), iso.Census(FEW), {}),
    "k-safety, a rate": (
        iso.safety.property(RISING.replace("d1 <= d2;", "d1 <= d2 in 60% of cases;")),
        iso.Sample(PEOPLE),
        {},
    ),
    "responsiveness": (
        iso.Responsiveness(CHANGES, "prediction >= 0", at_least=0.45, most_listed=0),
        iso.Census(FEW),
        {},
    ),
    "actions of two numbers": (
        iso.safety.property("input s1; output o1; { o1 = play(s1, 11) } ensures o1 == 1;"),
        iso.Games(Walk(), seeds=40),
        {},
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_two_workers_with_different_models_are_found(
    name: str, two_processes: Executor, folder: Path, tmp_path: Path
) -> None:
    prop, people, options = CASES[name]
    model = Version(tmp_path / "first", 2 if name.startswith("actions") else 1)
    whole = iso.Census(folder) if people == "folder" else people
    with pytest.raises(ChangingModelError):
        iso.check(prop, model, whole, seed=1, executor=two_processes, **options)


@pytest.mark.parametrize("name", list(CASES))
def test_a_verdict_counts_what_other_workers_were_asked_again(name: str, two_processes: Executor, folder: Path) -> None:
    prop, people, options = CASES[name]
    whole = iso.Census(folder) if people == "folder" else people
    model = still if name.startswith("actions") else passes
    there = iso.check(prop, model, whole, seed=1, executor=two_processes, **options)
    here = iso.check(prop, model, whole, seed=1, **options)
    assert (there.answer, there.samples, there.expressions) == (here.answer, here.samples, here.expressions)
    assert there.repeated is not None
    assert there.repeated >= 8


def passes(table: Any) -> Any:
    return (np.asarray(table["points"]) > 50).astype(int)


def still(observed: Any) -> Any:
    return np.zeros((len(observed), 2))

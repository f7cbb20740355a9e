"""Asking a model in threads: same answers, joined in order."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import ModelError, UsageError
from isonomia.executors import pool_for
from isonomia.models import adapt
from isonomia.models.session import ModelSession, open_session
from isonomia.populations.table import Table
from raising import raises

TABLE = Table.of({"x": np.arange(1000.0)})


def _session(model: Any, workers: int) -> ModelSession:
    return open_session(adapt(model), pool=pool_for(None, workers), watched=False)


def test_parts_of_a_batch_are_joined_in_order() -> None:
    answer = _session(lambda table: np.asarray(table["x"]) % 7, 3)(TABLE, False, True)
    assert answer.prediction is not None
    assert np.array_equal(answer.prediction, np.arange(1000.0) % 7)


def test_several_threads_ask_at_once() -> None:
    together, met = threading.Barrier(3, timeout=20), threading.local()

    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        if not hasattr(met, "before"):  # there are more parts than threads
            met.before = together.wait()
        return np.zeros(len(table["x"]))

    _session(model, 3)(TABLE, False, True)


def test_a_batch_of_one_person_needs_one_call() -> None:
    calls = []

    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        calls.append(len(table["x"]))
        return np.zeros(len(table["x"]))

    _session(model, 4)(TABLE.slice(0, 1), False, True)
    assert calls == [1]


def test_an_error_in_one_thread_is_the_models() -> None:
    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        if table["x"][0] > 500:
            raise ValueError("no idea")
        return np.zeros(len(table["x"]))

    with raises(ModelError, "x", cause=ValueError):
        _session(model, 4)(TABLE, False, True)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_number_of_workers_that_makes_no_sense_is_refused(workers: object) -> None:
    with pytest.raises(UsageError, match="workers="):
        iso.check("P[x] >= 0", population={"x": [1, 0]}, workers=workers)  # type: ignore[arg-type]

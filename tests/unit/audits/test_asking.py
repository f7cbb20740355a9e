"""Asking a model in threads: same answers, joined in order."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.answers import Asker
from isonomia.errors import ModelError, UsageError
from isonomia.models import adapt
from isonomia.populations.table import Table

TABLE = Table.of({"x": np.arange(1000.0)})


def test_parts_of_a_batch_are_joined_in_order() -> None:
    asker = Asker(adapt(lambda table: np.asarray(table["x"]) % 7), workers=3)
    try:
        answer = asker(TABLE, False, True)
    finally:
        asker.close()
    assert answer.prediction is not None
    assert np.array_equal(answer.prediction, np.arange(1000.0) % 7)


def test_several_threads_ask_at_once() -> None:
    together = threading.Barrier(3, timeout=20)

    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        together.wait()
        return np.zeros(len(table["x"]))

    asker = Asker(adapt(model), workers=3)
    try:
        asker(TABLE, False, True)
    finally:
        asker.close()


def test_a_batch_of_one_person_needs_one_call() -> None:
    calls = []

    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        calls.append(len(table["x"]))
        return np.zeros(len(table["x"]))

    Asker(adapt(model), workers=4)(TABLE.slice(0, 1), False, True)
    assert calls == [1]


def test_an_error_in_one_thread_is_the_models() -> None:
    def model(table: dict[str, np.ndarray]) -> np.ndarray:
        if table["x"][0] > 500:
            raise ValueError("no idea")
        return np.zeros(len(table["x"]))

    asker = Asker(adapt(model), workers=4)
    try:
        with pytest.raises(ModelError, match="no idea"):
            asker(TABLE, False, True)
    finally:
        asker.close()


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_number_of_workers_that_makes_no_sense_is_refused(workers: object) -> None:
    with pytest.raises(UsageError, match="workers="):
        iso.check("P[x] >= 0", population={"x": [1, 0]}, workers=workers)  # type: ignore[arg-type]

"""Many small batches do not wait for threads: OpenMP is limited to one for them, and left alone for large ones."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import sklearn.ensemble  # noqa: F401  (brings OpenMP)
from threadpoolctl import ThreadpoolController

from isonomia.errors import ModelError
from isonomia.models import adapt
from isonomia.models.checked import SMALL, ask
from isonomia.populations import Table
from raising import raises


def _people(rows: int) -> Table:
    return Table.of({"x": np.zeros(rows)})


def test_a_small_batch_is_asked_with_one_thread_and_a_large_one_with_all_of_them() -> None:
    seen: list[int] = []

    def model(batch: dict[str, np.ndarray]) -> np.ndarray:
        seen.append(_threads())
        return np.zeros(len(batch["x"]))

    with ThreadpoolController().limit(limits=4, user_api="openmp"):
        for rows in (1, SMALL, SMALL + 1):
            ask(adapt(model), _people(rows), want_score=False, want_prediction=True)
        assert seen == [1, 1, 4]
        assert _threads() == 4, "the limit ends with the question"


def _threads() -> int:
    (found, *_) = [each["num_threads"] for each in ThreadpoolController().info() if each["user_api"] == "openmp"]
    return int(found)


def test_a_model_that_raises_leaves_the_threads_as_they_were() -> None:
    def model(_batch: object) -> np.ndarray:
        raise RuntimeError("no")

    with ThreadpoolController().limit(limits=3, user_api="openmp"):
        with raises(ModelError, cause=RuntimeError):
            ask(adapt(model), _people(5), want_score=False, want_prediction=True)
        assert _threads() == 3


def test_nothing_is_imported_for_it() -> None:
    code = (
        "import sys, isonomia as iso; "
        "iso.check('P[prediction == 1] >= 0.1', lambda t: [1] * len(t['x']), iso.Census({'x': [1, 2]})); "
        "assert 'threadpoolctl' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

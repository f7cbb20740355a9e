"""The solvers that are not ours: what they say is checked, and where they cannot say, that is told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.spatial

from isonomia.errors import NumericalError
from isonomia.interventions import Feature, Interventions, Linear
from isonomia.interventions.blocks import cheapest
from isonomia.interventions.polytopes import LinearSystem, polytope_sampler
from raising import raises

ROWS = np.asarray([[1.0, 1.0]]), np.asarray([1.0]), np.asarray([1.0])
BOX = np.zeros(2), np.ones(2)
NONE = np.zeros((0, 2)), np.zeros(0)
SQUARE = np.vstack([np.eye(2), -np.eye(2)])


def answering(status: int, x: Any = None) -> Callable[..., SimpleNamespace]:
    return lambda *_, **__: SimpleNamespace(status=status, x=x, message="out of patience")


def test_the_cheapest_point_lies_on_the_rows() -> None:
    found = cheapest(np.asarray([1.0, 2.0]), np.asarray([False, False]), BOX, ROWS)
    assert found == pytest.approx([1, 0])
    assert cheapest(np.zeros(2), np.asarray([True, True]), BOX, (ROWS[0], ROWS[1] + 2, ROWS[2] + 2)) is None


def test_a_solver_that_cannot_say_is_not_taken_to_have_said_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy.optimize, "milp", answering(4))
    with pytest.raises(NumericalError, match="could not say whether linear rows can be satisfied: out of patience"):
        cheapest(np.zeros(2), np.asarray([False, False]), BOX, ROWS)


def test_a_point_that_breaks_its_rows_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy.optimize, "milp", answering(0, [1.0, 1.0]))
    with pytest.raises(NumericalError, match="a point that breaks the rows"):
        cheapest(np.zeros(2), np.asarray([False, False]), BOX, ROWS)


def test_constraints_contradict_each_other_only_where_that_was_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    features = (Feature("x", "real", 0, 1), Feature("y", "real", 0, 1))
    rules = Interventions(features, (Linear(("x", "y"), (1, 1), ">=", 3),))
    assert rules.contradiction() == rules.constraints
    monkeypatch.setattr(scipy.optimize, "milp", answering(4))
    assert rules.contradiction() == ()


def test_a_polytope_without_end_is_refused() -> None:
    strip = np.asarray([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(NumericalError, match="a linear program about a reachable set was not solved"):
        polytope_sampler(LinearSystem(strip, np.zeros(3), *NONE))


def test_simplices_that_do_not_fill_their_polytope_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    square = LinearSystem(SQUARE, np.asarray([1.0, 1.0, 0.0, 0.0]), *NONE)
    whole = polytope_sampler(square)
    assert whole is not None
    assert np.exp(whole.log_volume) == pytest.approx(1)
    monkeypatch.setattr(scipy.spatial, "ConvexHull", lambda _: SimpleNamespace(volume=1.1))
    with raises(NumericalError, 1, 1.1):
        polytope_sampler(square)


def test_a_polytope_too_thin_to_be_called_flat_or_full_is_refused() -> None:
    # Beyond ten dimensions a regular simplex is more than ten times as high as its inner radius, which is 0.9e-9 here.
    corners = np.eye(13) - 1 / 13
    normals = corners @ np.linalg.svd(corners)[2][:12].T
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    with pytest.raises(NumericalError, match="too thin to tell whether it is flat; widen its constraints"):
        polytope_sampler(LinearSystem(normals, np.full(13, 0.9e-9), np.zeros((0, 12)), np.zeros(0)))

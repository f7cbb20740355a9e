"""Worlds and what of them can be observed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.evidence.strata.worlds import MAX_WORLDS, TableShape, observation, worlds
from raising import raises

SHAPES = [TableShape(), TableShape(3, 2, 2), TableShape(2, 3, 2), TableShape(2, 2, 3), TableShape(3, 3, 2)]


def test_two_values_each_are_numbered_as_in_the_paper() -> None:
    every = worlds(TableShape())
    for number, (s0, s1, y0, y1) in enumerate(product((0, 1), repeat=4)):
        assert every[number].tolist() == [[s0, s1], [y0, y1]]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_world_is_listed_twice(shape: TableShape) -> None:
    assert len({tuple(world.ravel()) for world in worlds(shape)}) == shape.worlds


@pytest.mark.parametrize("shape", SHAPES)
def test_a_world_shows_the_values_under_the_persons_own_attribute(shape: TableShape) -> None:
    shown = observation(shape).reshape(shape.attributes, shape.predictions, shape.outcomes, shape.worlds)
    for number, (s, y) in enumerate(worlds(shape)):
        for a in range(shape.attributes):
            assert np.argwhere(shown[a, :, :, number]).tolist() == [[s[a], y[a]]]


def test_shared_arrays_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        observation(TableShape())[0, 0, 0] = 2.0


@pytest.mark.parametrize("field", ["attributes", "predictions", "outcomes"])
def test_one_value_is_refused(field: str) -> None:
    with raises(UsageError, field, 2, 1):
        TableShape(**{field: 1})


@pytest.mark.parametrize("count", [2.5, "3", True, None])
def test_a_number_of_values_that_is_none_is_refused(count: object) -> None:
    with pytest.raises(UsageError, match="at least 2 outcomes, but"):
        TableShape(outcomes=count)  # type: ignore[arg-type]


def test_everything_has_two_values_unless_said() -> None:
    assert (
        TableShape()
        == TableShape(attributes=2, predictions=2, outcomes=2)
        == TableShape(np.int64(2), np.int64(2), np.int64(2))
    )


def test_as_many_worlds_as_are_allowed_are_allowed() -> None:
    assert TableShape(5, 2, 5).worlds == TableShape(5, 5, 2).worlds == MAX_WORLDS == 100_000


def test_too_many_worlds_are_refused() -> None:
    with raises(UsageError, MAX_WORLDS, 9, 4**9):
        TableShape(9, 2, 2)
    with raises(UsageError, "4^300") as refused:
        TableShape(300, 2, 2)
    assert len(str(refused.value)) < 200

from math import inf

import numpy as np
import pytest

from isonomia.populations.worlds.run import EVERYTHING, DisjointIntervals

POINTS = np.arange(-6.0, 6.0, 0.25) + 0.1  # no end of an interval
SETS = [
    DisjointIntervals(()),
    EVERYTHING,
    DisjointIntervals(((-1.0, 2.0),)),
    DisjointIntervals(((-inf, 0.0),)),
    DisjointIntervals(((0.0, inf),)),
    DisjointIntervals(((-4.0, -2.0), (1.0, 3.0))),
    DisjointIntervals(((-inf, -3.0), (-1.0, 1.0), (4.0, inf))),
    DisjointIntervals(((0.0, 1.0), (1.0, 2.0))),
]


@pytest.mark.parametrize("a", SETS)
def test_a_complement_has_exactly_the_other_points(a):
    assert (a.complement().inside(POINTS) == ~a.inside(POINTS)).all()


@pytest.mark.parametrize("a", SETS)
@pytest.mark.parametrize("b", SETS)
def test_meets_and_joins_go_point_by_point(a, b):
    assert ((a & b).inside(POINTS) == (a.inside(POINTS) & b.inside(POINTS))).all()
    assert ((a | b).inside(POINTS) == (a.inside(POINTS) | b.inside(POINTS))).all()


@pytest.mark.parametrize("a", SETS)
@pytest.mark.parametrize("b", SETS)
def test_pieces_are_ascending_apart_and_of_positive_length(a, b):
    for made in (a & b, a | b, a.complement()):
        assert all(low < high for low, high in made.pieces)
        assert list(made.pieces) == sorted(made.pieces)


def test_ends_are_not_inside():
    assert DisjointIntervals(((0.0, 1.0),)).inside(np.asarray([0.0, 0.5, 1.0, np.nan])).tolist() == [
        False,
        True,
        False,
        False,
    ]

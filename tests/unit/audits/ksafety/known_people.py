"""A few people and models whose answers are known, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.models.adapt import adapt
from isonomia.models.session import ModelSession
from isonomia.models.steady import Steadiness

PEOPLE = {
    "age": np.array([20, 30, 40, 50, 60, 70]),
    "priors": np.array([0, 1, 2, 3, 4, 5]),
    "city": np.array(["A", "B", "A", "C", "B", "A"], dtype=object),
    "right": np.array([0, 0, 0, 1, 1, 1]),
}

RISING = """input x1;
var v1 := getFeat(x1, "priors");
var v2 := v1 + randInt(1, 4);
var x2 := setFeat(x1, "priors", v2);
requires v2 <= 7;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 <= d2;
"""


def not_repeated(model: Any) -> ModelSession:
    """The model, about which nothing is asked a second time, so that calls can be counted."""
    return ModelSession(adapt(model), steady=Steadiness(_due=2**62, _first=None))


def at_least_three(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """1 for three priors or more: it can only rise."""
    return (table["priors"] >= 3).astype(int)


def spared_at_six(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """As above, but 0 for exactly six priors: the planted violation."""
    return ((table["priors"] >= 3) & (table["priors"] != 6)).astype(int)

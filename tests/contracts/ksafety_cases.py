"""k-safety checks of every kind, for the contract of all audits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from figure_one import REVIEWS
from known_people import PEOPLE, RISING, at_least_three, spared_at_six
from numpy.typing import NDArray
from repeatable_checks import Repeatable

import isonomia as iso
from isonomia.populations.domains import Images, Texts
from isonomia.populations.ranges import Ranges

LOOP = "    answers = []\n    for x in (x1, x2):\n        answers.append(predict(x))\n    d1, d2 = answers"
CODED = RISING.replace("    d1 = predict(x1)\n    d2 = predict(x2)", LOOP)
DRAWING = RISING.replace("    d1 = predict(x1)\n    d2 = predict(x2)", LOOP + "\n    d2 = d2 + randInt(0, 0)")
BRIGHTER = """input x1;
var x2 := brightness(x1, randInt(0, 10));
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 == d2;
"""
WORSE = """import people;
input x1;
var x2 := worse(x1);
output d1;
output d2;
{ d1 = predict(x1); d2 = predict(x2) }
ensures d1 <= d2;
"""
MANY = {name: np.tile(values, 4) for name, values in PEOPLE.items()}


def rated(rate: str) -> str:
    return RISING.replace("ensures d1 <= d2;", f"ensures d1 <= d2 in {rate} of cases;\nensures d2 >= 0;")


def beyond(margin: str) -> str:
    return RISING.replace("ensures d1 <= d2;", f"ensures d1 <= d2 up to noise + {margin};")


def fails_at_two(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Raises for exactly two priors."""
    if (table["priors"] == 2).any():
        raise ValueError("two priors")
    return spared_at_six(table)


def drawn_people(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    return {"age": rng.integers(20, 70, n), "priors": rng.integers(0, 7, n)}


RANGES = iso.Generator(Ranges({"age": (20, 90), "priors": (0, 7), "weight": (0.0, 1.0)}))


def one_at_the_least(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """1 for nobody but the youngest and lightest without priors."""
    return ((table["age"] == 20) & (table["priors"] == 0) & (table["weight"] == 0)).astype(int)


def spared_or_least(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return np.maximum(spared_at_six(table), one_at_the_least(table))


def bright(images: NDArray[Any]) -> NDArray[Any]:
    return (images.mean(axis=(1, 2)) > 100).astype(int)


def grey(*levels: int) -> Images:
    return Images(np.stack([np.full((4, 4), level, dtype=np.uint8) for level in levels]))


def complains(texts: list[str]) -> NDArray[Any]:
    counts = [sum(text.count(word) for word in ("loud", "dirty")) for text in texts]
    return np.array([int(count == 2 or count > 3) for count in counts])


HOTELS = Texts(
    {"positive": [" quiet ", "No Positive", " clean "], "negative": ["No Negative", " loud ", " dirty, loud "]},
    missing=("No Positive", "No Negative"),
)


def check(
    text: Any, model: Any = spared_at_six, population: Any = None, options: dict[str, Any] | None = None, **more: Any
) -> Repeatable:
    people = iso.Census(PEOPLE) if population is None else population
    return Repeatable(iso.safety.property(text, **more), model, people, options or {})


CHECKS: dict[str, Callable[[], Repeatable]] = {
    "every case, holds": lambda: check(RISING, at_least_three),
    "every case, violated": lambda: check(RISING),
    "every case, some fail": lambda: check(RISING, fails_at_two),
    "every case, rated": lambda: check(rated("80%")),
    "drawn, holds": lambda: check(RISING, at_least_three, enumerate=False, eps=0.02),
    "drawn, violated": lambda: check(RISING, enumerate=False),
    "drawn, all counted": lambda: check(RISING, enumerate=False, stop_early=False, options={"budget": 300}),
    "drawn, some fail": lambda: check(RISING, fails_at_two, enumerate=False, stop_early=False, options={"budget": 100}),
    "drawn, rated, holds": lambda: check(rated("70%"), enumerate=False, eps=0.02),
    "drawn, rated, violated": lambda: check(rated("97%"), enumerate=False),
    "drawn, beyond noise, holds": lambda: check(beyond("20%")),
    "drawn, beyond noise, violated": lambda: check(beyond("2%")),
    "drawn, beyond noise, some fail": lambda: check(beyond("2%"), fails_at_two, options={"budget": 100}),
    "fresh, violated": lambda: check(RISING, population=iso.Generator(drawn_people)),
    "fresh, all counted": lambda: check(
        RISING, population=iso.Generator(drawn_people), stop_early=False, options={"budget": 200}
    ),
    "fresh, holds": lambda: check(RISING, at_least_three, population=iso.Generator(drawn_people), eps=0.02),
    "edge case, violated": lambda: check(RISING, one_at_the_least, population=RANGES),
    "edge case and draws, violated": lambda: check(RISING, spared_or_least, population=RANGES),
    "edge case in code, violated": lambda: check(CODED, one_at_the_least, population=RANGES, allow_code=True),
    "edge cases, some fail": lambda: check(RISING, fails_at_two, population=RANGES, eps=0.2),
    "no edge cases": lambda: check(RISING, at_least_three, population=RANGES, eps=0.02, edge_cases=False),
    "sample with violations": lambda: check(RISING, population=iso.Sample(MANY)),
    "sample without violations": lambda: check(RISING, at_least_three, population=iso.Sample(MANY)),
    "sample, rated": lambda: check(rated("50%"), population=iso.Sample(MANY)),
    "time is up while every case is tried": lambda: check(RISING, options={"budget": "0.000001s"}),
    "time is up while cases are drawn": lambda: check(rated("86%"), enumerate=False, options={"budget": "0.000001s"}),
    "time enough": lambda: check(RISING, options={"budget": "1000s"}),
    "images, every case": lambda: check(BRIGHTER, bright, grey(50, 95, 200)),
    "images, drawn": lambda: check(BRIGHTER, bright, grey(50, 95, 200), enumerate=False),
    "texts": lambda: check(REVIEWS, complains, HOTELS),
    "code": lambda: check(CODED, allow_code=True),
    "code that draws": lambda: check(DRAWING, allow_code=True),
    "a function of one's own": lambda: check(
        WORSE.removeprefix("import people;\n"), functions={"worse": lambda row: {**row, "priors": row["priors"] + 1}}
    ),
}

"""k-safety checks that are cut off, go on, and are repeated without data, model, modules and permissions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cut_journals import Repeatable, asks_nothing_at_the_end, resumes_everywhere
from figure_one import LANDER, REVIEWS
from known_people import PEOPLE, RISING, at_least_three, spared_at_six
from numpy.typing import NDArray
from walking import Walk

import isonomia as iso
from isonomia.audits.check import run_check
from isonomia.audits.ksafety import cases as cases_module
from isonomia.audits.replaying.recompute import refuse_impossible
from isonomia.engine.journal import NothingMoreError
from isonomia.engine.observer import Silent
from isonomia.errors import IsonomiaError
from isonomia.populations.domains import Games, Images, Texts
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
MODULE = """
inputs = {"age": [20, 30, 40, 50, 60, 70], "priors": [0, 1, 2, 3, 4, 5]}


def worse(row):
    return {**row, "priors": row["priors"] + 1}
"""
MANY = {name: np.tile(values, 4) for name, values in PEOPLE.items()}


def rated(rate: str) -> str:
    return RISING.replace("ensures d1 <= d2;", f"ensures d1 <= d2 in {rate} of cases;\nensures d2 >= 0;")


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


def shy(observations: NDArray[Any]) -> NDArray[Any]:
    """Loses courage where the goal is near."""
    return np.where(observations[:, 1] < 4, -1, 1)


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
    "fresh, violated": lambda: check(RISING, population=iso.Generator(drawn_people)),
    "fresh, all counted": lambda: check(
        RISING, population=iso.Generator(drawn_people), stop_early=False, options={"budget": 200}
    ),
    "fresh, holds": lambda: check(RISING, at_least_three, population=iso.Generator(drawn_people), eps=0.02),
    "corner, violated": lambda: check(RISING, one_at_the_least, population=RANGES),
    "corner and draws, violated": lambda: check(RISING, spared_or_least, population=RANGES),
    "corner in code, violated": lambda: check(CODED, one_at_the_least, population=RANGES, allow_code=True),
    "corners, some fail": lambda: check(RISING, fails_at_two, population=RANGES, eps=0.2),
    "no corners": lambda: check(RISING, at_least_three, population=RANGES, eps=0.02, corners=False),
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


@pytest.fixture(params=CHECKS)
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Repeatable:
    monkeypatch.setattr(cases_module, "CHUNK", 8)  # so that few cases come in several parts
    return CHECKS[request.param]()


def test_a_check_goes_on_from_any_entry_to_the_same_end(made: Repeatable) -> None:
    resumes_everywhere(made)


def test_a_check_whose_journal_is_complete_asks_nothing(made: Repeatable) -> None:
    asks_nothing_at_the_end(made)


def test_a_check_is_repeated_from_its_numbers_alone(made: Repeatable) -> None:
    verdict, entries = made.run()
    bare = replace(made.prop, allow_code=False, functions={}, domains={}, known=())
    assert made.replayed(entries, bare) == verdict


def test_a_check_with_a_journal_answers_as_one_without(made: Repeatable) -> None:
    verdict, _ = made.run()
    if "time" not in verdict.stopped:
        assert replace(run_check(made.check(), Silent()), seconds=0.0) == verdict


def test_a_module_is_imported_where_something_is_measured_and_not_where_it_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "people.py").write_text(MODULE)
    (tmp_path / "worse.nom").write_text(WORSE)
    made = Repeatable(iso.safety.property(tmp_path / "worse.nom", allow_code=True), spared_at_six, None, {})
    verdict, entries = made.run()
    assert verdict.answer == "violated"
    (tmp_path / "people.py").unlink()
    bare = replace(made.prop, allow_code=False, folder=None)
    assert made.replayed(entries, bare) == verdict


def test_games_are_not_played_again_where_they_are_repeated() -> None:
    prop = iso.safety.property(LANDER, allow_code=True)
    made = Repeatable(prop, shy, Games(Walk(), {"goal": [5, 6]}), {"budget": 60})
    verdict, entries = made.run()
    assert verdict.answer == "violated"
    assert made.replayed(entries, replace(prop, allow_code=False)) == verdict
    asks_nothing_at_the_end(made)


def known(model: Any = spared_at_six, **options: Any) -> Repeatable:
    found, _ = check(RISING).run()
    return check(RISING, model, known=found.counterexamples, **options)


@pytest.mark.parametrize(
    "made",
    [
        known(),
        known(at_least_three),
        known(enumerate=False, stop_early=False, options={"budget": 50}),
        known(population=iso.Census({name: values[:2] for name, values in PEOPLE.items()})),
    ],
)
def test_known_counterexamples_are_kept_with_what_became_of_them(made: Repeatable) -> None:
    verdict, entries = made.run()
    resumes_everywhere(made)
    asks_nothing_at_the_end(made)
    assert made.replayed(entries, replace(made.prop, known=())) == verdict


def test_a_check_that_goes_on_tries_the_counterexamples_that_it_began_with() -> None:
    fresh, late = check(RISING), known()
    verdict, entries = fresh.run()
    begun = {key: entries[key] for key in ("population", "model", "subject", "known")}
    late.prop = replace(late.prop, name=fresh.prop.name)
    assert late.run(begun)[0] == verdict
    assert late.run()[0] != verdict


NUMBERS = [
    "every case, violated",
    "drawn, some fail",
    "drawn, rated, holds",
    "sample with violations",
    "corner and draws, violated",
]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [leaf for key, item in items for leaf in leaves(item, (*path, key))]
    return found or ([path] if isinstance(value, int | float) and not isinstance(value, bool) else [])


# What says where a batch lies and how long it took is no statistic: nothing in the answer rests on it. Cases in which
# nothing was tested are told of all cases of a sample, and not of the random ones among them.
BESIDES = {"seconds", "start", "index", "draws"}


def is_statistic(path: tuple[Any, ...], name: str) -> bool:
    told = not path[0].startswith(("answer", "population", "model")) and not BESIDES & set(path)
    return told and not (name == "sample with violations" and path[0] == "batch 0" and path[-1] == "vacuous")


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_changed_changes_the_verdict_or_is_refused(name: str) -> None:
    made = CHECKS[name]()
    verdict, entries = made.run()
    paths = [path for path in leaves(entries) if is_statistic(path, name)]
    assert len(paths) > 20
    for path in paths:
        changed = copy.deepcopy(entries)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] += 1
        try:
            refuse_impossible(made.check(), changed)
            again = made.replayed(changed)
        except IsonomiaError:
            continue
        assert again != verdict, path


def test_a_journal_that_lacks_its_end_cannot_be_repeated() -> None:
    for name in ("every case, violated", "drawn, holds", "corner, violated"):
        made = CHECKS[name]()
        _, entries = made.run()
        for key in entries:
            if not key.startswith(("answer", "population", "model", "batch")):
                with pytest.raises(NothingMoreError):
                    made.replayed({other: entry for other, entry in entries.items() if other != key})


def test_the_end_of_an_interrupted_check_is_not_kept() -> None:
    made = check(RISING, enumerate=False, stop_early=False, options={"budget": 300})
    whole, complete = made.run()

    def pressed(_: Any) -> Any:
        made.model = spared_at_six
        raise KeyboardInterrupt

    batches = [key for key in complete if not key.startswith(("answer", "found"))]
    assert "found" in complete
    made.model = pressed
    begun = {key: complete[key] for key in ("population", "model", "subject", "known", "listed")}
    cut, entries = made.run(begun)
    assert cut.stopped == "interrupted"
    assert "found" not in entries
    assert [key for key in made.run(entries)[1] if not key.startswith(("answer", "found"))] == batches
    assert made.run(entries)[0] == whole

"""k-safety checks that are cut off, go on, and are repeated without data, model, modules and permissions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figure_one import LANDER
from known_people import PEOPLE, RISING, at_least_three, spared_at_six
from ksafety_cases import CHECKS, WORSE, check
from numpy.typing import NDArray
from repeatable_checks import Notebook, Repeatable, asks_nothing_at_the_end, resumes_everywhere
from walking import Walk

import isonomia as iso
from isonomia.audits.check import run_check
from isonomia.audits.ksafety import cases
from isonomia.engine.parameters import NullObserver, Progress
from isonomia.populations.domains import Games
from isonomia.records.journal import MissingEntryError

MODULE = """
inputs = {"age": [20, 30, 40, 50, 60, 70], "priors": [0, 1, 2, 3, 4, 5]}


def worse(row):
    return {**row, "priors": row["priors"] + 1}
"""


def shy(observations: NDArray[Any]) -> NDArray[Any]:
    """Loses courage where the goal is near."""
    return np.where(observations[:, 1] < 4, -1, 1)


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


def test_a_journal_that_lacks_its_end_cannot_be_repeated() -> None:
    for name in ("every case, violated", "drawn, holds", "edge case, violated"):
        made = CHECKS[name]()
        _, entries = made.run()
        for key in entries:
            if not key.startswith(("answer", "population", "model", "batch", "queries")):
                with pytest.raises(MissingEntryError):
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


def test_the_answers_about_the_end_of_an_interrupted_check_do_not_stand_for_others() -> None:
    class Pressed(NullObserver):
        def advance(self, progress: Progress) -> None:  # noqa: ARG002
            raise KeyboardInterrupt

    turned = {name: values[::-1] for name, values in PEOPLE.items()}  # those first of whom some violate it
    made, journal = check(RISING, population=iso.Census(turned)), Notebook()
    whole, _ = made.run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "CHUNK", 4)
        cut = run_check(made.check().with_journal(journal), Pressed())
        assert cut.stopped == "interrupted"
        assert cut.counterexamples
        assert made.run(journal.entries)[0] == whole

"""Checks side by side: the same verdicts, nobody asked by two at once, one Ctrl-C for all, one failure for none."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isonomia.audits.audit_file.planner import PlannedCheck, Wrapping, plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import (
    FailedCheck,
    Outcome,
    begin_run,
    cut_off,
    is_open,
    lanes,
    resumable,
    resume_run,
    run_checks,
)
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import NullObserver
from isonomia.errors import RecordError, SpecError
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict
from raising import raises

MODULE = """
import threading
import time
import numpy as np

state = {"inside": 0, "most": 0, "calls": 0, "broken": False}
lock = threading.Lock()
meeting = None  # a barrier, where models should be asked at once


def predicted(table):
    return (np.asarray(table["points"]) > 0.5).astype(int)


def model(table):
    with lock:
        state["inside"] += 1
        state["calls"] += 1
        state["most"] = max(state["most"], state["inside"])
    time.sleep(0.0005)
    with lock:
        state["inside"] -= 1
    return predicted(table)


def same_module(table):
    return model(table)


def broken(table):
    if state["broken"]:
        raise ValueError("no more today")
    return predicted(table)


def fickle(table):
    state["calls"] += 1
    return predicted(table) ^ int(state["calls"] > 12)


def meets(table):
    if meeting is not None:
        meeting.wait(timeout=30)
    return predicted(table)


def draw(n, rng):
    return {"sex": rng.choice(["F", "M"], n), "points": rng.random(n)}
"""
HEAD = """
seed = 7
{top}
[models.a]
load = "{one}:{model}"
{more}
[models.b]
load = "{two}:{model}"

[population]
sample = "people.csv"

[populations.drawn]
generator = "{one}:draw"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    names = [f"{letter}_{abs(hash(request.node.nodeid))}" for letter in ("one", "two")]
    for name in names:
        (tmp_path / f"{name}.py").write_text(MODULE)
    rng = np.random.default_rng(5)
    people = zip(rng.choice(["F", "M"], 4000), rng.random(4000), rng.integers(18, 80, 4000), strict=True)
    lines = [f"{sex},{points:.4f},{age}" for sex, points, age in people]
    (tmp_path / "people.csv").write_text("\n".join(["sex,points,age", *lines]) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in names:
        sys.modules.pop(name, None)


def _module(folder: Path, letter: str = "one") -> Any:
    (found,) = [sys.modules[path.stem] for path in folder.glob(f"{letter}_*.py")]
    return found


def _rate(model: str, least: float, population: str | None = None, kind: str = "check") -> str:
    where = f'population = "{population}"\n' if population else ""
    claim = {
        "check": f"check = \"P[prediction == 1 | sex == 'F'] >= {least}\"",
        "safety": 'safety = "monotone"\nwith = {feature = "age", up = [1, 2], at_most = 90, output = "not lower"}',
    }[kind]
    return f'\n[[property]]\nname = "{model} {least} {population} {kind}"\nmodel = "{model}"\n{where}{claim}\n'


def _planned(folder: Path, *properties: str, model: str = "model", top: str = "", more: str = "") -> list[PlannedCheck]:
    one, two = (path.stem for path in sorted(folder.glob("*_*.py")))
    head = HEAD.format(one=one, two=two, model=model, top=top, more=more)
    (folder / "audit.toml").write_text(head + "".join(properties))
    file = read_audit_file(folder / "audit.toml")
    return plan_audit(file, 7, Permissions(), Wrapping(file))


def _run(
    folder: Path, planned: list[PlannedCheck], jobs: int, records: str = "records", **more: Any
) -> list[Outcome | None]:
    store = Store(folder / records)
    started = begin_run(store, read_audit_file(folder / "audit.toml"), planned, 7)
    observe = more.pop("observe", lambda _: NullObserver())
    return run_checks(store, started, planned, observe, more.pop("tell", lambda *_: None), jobs, **more)


def _plain(outcomes: list[Outcome | None]) -> list[dict[str, object]]:
    assert all(isinstance(outcome, Verdict) for outcome in outcomes), outcomes
    return [
        {key: value for key, value in outcome.to_dict().items() if key not in {"seconds", "queries", "repeated"}}
        for outcome in outcomes
        if isinstance(outcome, Verdict)
    ]


MIXED = [
    _rate("a", 0.4),
    _rate("b", 0.45),
    _rate("a", 0.45),
    _rate("a", 0.4, "drawn"),
    _rate("a", 0, kind="safety"),
    _rate("b", 0.9),
    _rate("b", 0, kind="safety"),
]


def test_checks_that_share_a_pool_stay_in_one_lane_and_in_order(folder: Path) -> None:
    planned = _planned(folder, *MIXED)
    assert lanes(planned, range(7)) == [[0, 2], [1, 5], [3], [4], [6]]
    assert lanes(planned, [2, 3, 5]) == [[2], [3], [5]]


def test_a_model_that_answers_at_random_has_all_its_checks_in_one_lane(folder: Path) -> None:
    rates = [*MIXED[:4], *MIXED[5:]]  # "always" means nothing for such a model
    planned = _planned(folder, *rates, more="random = true")
    assert lanes(planned, range(6)) == [[0, 2, 3], [1, 4], [5]]


def test_one_generator_is_drawn_from_by_one_lane_only(folder: Path) -> None:
    planned = _planned(folder, _rate("a", 0.4, "drawn"), _rate("b", 0.4, "drawn"), _rate("b", 0.4))
    assert lanes(planned, range(3)) == [[0, 1], [2]]


def test_the_verdicts_do_not_depend_on_how_many_run_at_once(folder: Path) -> None:
    planned = _planned(folder, *MIXED)
    alone = _plain(_run(folder, planned, 1))
    assert _plain(_run(folder, _planned(folder, *MIXED), 5)) == alone
    assert _plain(_run(folder, _planned(folder, *MIXED), 2)) == alone


def test_one_model_is_asked_by_one_thread_at_a_time_unless_its_owner_says_otherwise(folder: Path) -> None:
    properties = [_rate("a", 0.49), _rate("a", 0.49, "drawn"), _rate("a", 0, kind="safety")]
    _run(folder, _planned(folder, *properties), 3)
    assert _module(folder).state["most"] == 1
    _run(folder, _planned(folder, *properties, top="workers = 4"), 3)
    assert _module(folder).state["most"] > 1


def test_models_of_one_module_are_not_asked_at_once(folder: Path) -> None:
    (one,) = folder.glob("one_*.py")
    extra = f'[models.c]\nload = "{one.stem}:same_module"\n'
    _run(folder, _planned(folder, _rate("a", 0.49), _rate("c", 0.49), more=extra), 2)
    assert _module(folder).state["most"] == 1


def test_models_that_have_nothing_in_common_are_asked_at_once(folder: Path) -> None:
    import threading

    planned = _planned(folder, _rate("a", 0.2), _rate("b", 0.2), model="meets")
    meeting = threading.Barrier(2)
    for letter in ("one", "two"):
        _module(folder, letter).meeting = meeting
    # Each model answers only when the other one is asked too; both have the same questions.
    answers = _run(folder, planned, 2)
    assert [getattr(answer, "answer", answer) for answer in answers] == ["holds", "holds"]


def test_what_comes_of_checks_is_told_in_the_thread_that_asked(folder: Path) -> None:
    import threading

    told: list[tuple[int, bool]] = []
    here = threading.current_thread()
    _run(
        folder,
        _planned(folder, *MIXED),
        4,
        tell=lambda number, _: told.append((number, threading.current_thread() is here)),
    )
    assert sorted(told) == [(number, True) for number in range(7)]


def test_ctrl_c_reaches_every_lane_and_the_run_goes_on_later(folder: Path) -> None:
    import _thread

    pressed: list[bool] = []
    stopped: list[bool] = []

    class Watching(NullObserver):
        def advance(self, progress: Any) -> None:
            if progress.samples > 60 and not pressed:
                pressed.append(True)
                _thread.interrupt_main()

    properties = [_rate("a", 0.49), _rate("b", 0.49), _rate("a", 0.45), _rate("b", 0.45)]
    planned = _planned(folder, *properties)
    first = _run(folder, planned, 2, observe=lambda _: Watching(), stopping=lambda: stopped.append(True))
    assert stopped
    assert cut_off(first)
    known = [outcome for outcome in first if isinstance(outcome, Verdict)]
    assert known
    assert {outcome.stopped for outcome in known} == {"interrupted"}
    store, file = Store(folder / "records"), read_audit_file(folder / "audit.toml")
    again = _planned(folder, *properties)
    started = resume_run(store, file, resumable(store, file), again)
    second = run_checks(store, started, again, lambda _: NullObserver(), lambda *_: None, 2)
    assert _plain(second) == _plain(_run(folder, _planned(folder, *properties), 1, "whole"))


FAILING = [_rate("a", 0.4), _rate("b", 0.2), _rate("b", 0.9)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_failing_check_does_not_sink_the_others_and_is_tried_anew(folder: Path, jobs: int) -> None:
    planned = _planned(folder, *FAILING, model="broken")
    _module(folder).state["broken"] = True
    outcomes = _run(folder, planned, jobs)
    assert isinstance(outcomes[0], FailedCheck)
    assert outcomes[0].kind == "ModelError"
    assert "no more today" in outcomes[0].message
    assert [getattr(outcome, "answer", None) for outcome in outcomes] == [None, "holds", "violated"]
    store, file = Store(folder / "records"), read_audit_file(folder / "audit.toml")
    failed = store.checks(store.run().id)[0]
    assert failed.verdict is None
    assert failed.error == {"kind": "ModelError", "message": outcomes[0].message}
    assert store.run().ended is not None
    _module(folder).state["broken"] = False
    again = _planned(folder, *FAILING, model="broken")
    started = resume_run(store, file, resumable(store, file), again)
    second = run_checks(store, started, again, lambda _: NullObserver(), lambda *_: None, jobs)
    assert _plain(second) == _plain(_run(folder, _planned(folder, *FAILING, model="broken"), 1, "whole"))
    assert store.checks(started.run)[0].error is None
    assert not is_open(store, resumable(store, file))


def test_answers_of_a_model_that_changes_them_are_neither_shared_nor_gone_on_from(folder: Path) -> None:
    properties = [_rate("a", 0.49), _rate("a", 0.48), _rate("b", 0.2)]
    outcomes = _run(folder, _planned(folder, *properties, model="fickle"), 1)
    assert [getattr(outcome, "kind", "") for outcome in outcomes[:2]] == ["ChangingModelError"] * 2
    assert isinstance(outcomes[1], FailedCheck)
    assert "while 'a 0.49 None check' was checked" in outcomes[1].message
    store = Store(folder / "records")
    for number in range(2):
        journal = store.journal(store.run().id, number)
        assert not journal.entries
        journal.close()


def test_a_store_that_cannot_be_written_ends_the_whole_run(folder: Path) -> None:
    planned = _planned(folder, *FAILING)
    store = Store(folder / "records")
    started = begin_run(store, read_audit_file(folder / "audit.toml"), planned, 7)
    other = store.journal(started.run, 0)
    other.keep("exact", dict)  # as if another process went on with the same run
    early = store.journal
    store.journal = lambda run, number: _Forgetful(early(run, number))  # type: ignore[method-assign, assignment, return-value]
    with raises(RecordError, "exact", cause=sqlite3.IntegrityError):
        run_checks(store, started, planned, lambda _: NullObserver(), lambda *_: None, 2)
    other.close()
    assert store.run().ended is None


class _Forgetful:
    """A journal that was opened before the other process wrote into it."""

    def __init__(self, journal: Any) -> None:
        journal._entries.clear()
        self.recall, self.keep, self.close = journal.recall, journal.keep, journal.close


def test_a_cache_keeps_answers_from_run_to_run_and_leaves_the_verdicts_alone(folder: Path) -> None:
    properties = [_rate("a", 0.45), _rate("a", 0.45, "drawn")]
    plain = _plain(_run(folder, _planned(folder, *properties), 1))
    cached = {"top": 'cache = "answers.sqlite"', "more": 'cache_key = "1"\n'}
    with raises(SpecError, "credit 2024-05", "cache_key", at="models.a"):
        _planned(folder, *properties, top=cached["top"])
    two = '[models.b]\ncache_key = "1"'
    whole = HEAD.replace("[models.b]", two)
    one, other = (path.stem for path in sorted(folder.glob("*_*.py")))
    text = whole.format(one=one, two=other, model="model", **cached) + "".join(properties)
    for round_ in range(2):
        (folder / "audit.toml").write_text(text)
        file = read_audit_file(folder / "audit.toml")
        wrapping = Wrapping(file)
        planned = plan_audit(file, 7, Permissions(), wrapping)
        _module(folder).state["calls"] = 0
        assert _plain(_run(folder, planned, 2)) == plain
        asked = _module(folder).state["calls"]
        assert asked > 10 if round_ == 0 else asked <= 16, "only the promise of the key is looked at again"
        assert len(wrapping.caches) == 2
    assert (folder / "answers.sqlite").exists()

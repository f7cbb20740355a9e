"""The same verdict, bit for bit, wherever a check runs and whatever becomes of its workers."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.executor_checks import (
    CHECKS,
    FEW,
    SMALL,
    Arguments,
    age,
    lends,
    plain,
    run,
    scores,
    spec,
)

import isonomia as iso
from isonomia.audits.audit_file.permissions import check_allowed
from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.check import new_check, run_check
from isonomia.audits.measure.one_pass import OnePass
from isonomia.audits.protocol import Permissions
from isonomia.audits.responsiveness import points as workers
from isonomia.engine.parameters import Progress
from isonomia.errors import ChangingModelError, LostWorkerError, ModelError, NotAllowedError, UsageError
from isonomia.executors import ExecutorKind, ExecutorWarning, Pool, TaskContext, close_pools, pool_for
from isonomia.interventions import Predicate
from isonomia.models.parallel import borders
from isonomia.models.protocol import Answer
from isonomia.populations.streaming import LongTable
from raising import raises

RATIO = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"


@pytest.fixture(scope="module", autouse=True)
def _no_workers_are_left() -> Any:
    yield
    close_pools()


@pytest.fixture(autouse=True)
def _nobody_waits_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor whose work is done in this process has no other worker, however long that is waited for."""
    monkeypatch.setattr("isonomia.models.parallel.PAUSE", 0.0)


@cache
def alone(name: str) -> dict[str, Any]:
    """What a check comes to without an executor."""
    return run(name, None)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_the_verdict_is_the_same_for_any_executor_and_number_of_workers(kind: str, workers: int) -> None:
    for name in FEW:
        assert run(name, f"{kind}:{workers}") == alone(name), name


def test_the_parts_of_a_batch_depend_on_its_rows_alone() -> None:
    for rows in (1, 3, 4, 16, 63, 64, 65, 1024, 1025, 5000, 2**18, 2**20):
        edges = borders(rows)
        sizes = np.diff(edges)
        assert (edges[0], edges[-1]) == (0, rows)
        assert sizes.min() >= 1
        assert sizes.max() <= 4096
    assert len(borders(2**18)) == 65


def test_any_executor_will_do_and_is_left_to_its_owner() -> None:
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(1) as processes:
        name = FEW[0]
        assert run(name, threads) == run(name, processes) == alone(name)
        assert threads.submit(int).result() == processes.submit(int).result() == 0


class _Straggler(Executor):
    """One worker, which sleeps before some of its work and does it out of order."""

    def __init__(self) -> None:
        self.threads, self.sent = ThreadPoolExecutor(4), 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.sent += 1
        wait = 0.05 if self.sent % 7 == 1 else 0.0

        def late() -> Any:
            time.sleep(wait)
            return fn(*args, **kwargs)

        return self.threads.submit(late)


def test_a_straggler_changes_nothing() -> None:
    for name in (FEW[0], FEW[3]):
        assert run(name, _Straggler()) == alone(name)


# ------------------------------------------------------------------------------------------------------- lost workers


class _Deadly:
    """A model that ends its process, unless that is the one that asks: once, or whenever it is asked."""

    name, score_range, classes = "deadly", None, ()

    def __init__(self, mark: Path | None) -> None:
        self.mark, self.main = mark, os.getpid()

    def answer(self, table: Any, *, want_score: bool, want_prediction: bool) -> Answer:
        del want_score, want_prediction
        if os.getpid() != self.main and (self.mark is None or not self.mark.exists()):
            if self.mark is not None:
                self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Answer(lends(table.native))

    def fingerprint(self) -> str:
        return "0" * 64


def test_what_a_lost_worker_had_is_done_again(tmp_path: Path) -> None:
    deadly, people = _Deadly(tmp_path / "mark"), iso.Sample(_people())
    found = iso.check(RATIO, deadly, people, seed=2, executor="processes:2")
    assert (tmp_path / "mark").exists()
    assert plain(found) == plain(iso.check(RATIO, deadly, people, seed=2))


def test_a_model_that_ends_every_process_is_an_error_and_not_tried_here() -> None:
    with raises(LostWorkerError):
        iso.check(RATIO, _Deadly(None), iso.Sample(_people()), seed=2, executor="processes:2")


def test_what_the_executor_of_an_owner_lost_is_done_here() -> None:
    class Broken(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            del fn, args, kwargs
            raise RuntimeError("cannot schedule new futures after shutdown")

    assert run(FEW[0], Broken()) == alone(FEW[0])


def _people() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {"sex": rng.choice(["F", "M"], 2000), "income": rng.normal(size=2000), "age": rng.integers(18, 80, 2000)}


def test_work_that_an_engine_forgot_is_given_to_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.executors.pool.LATE", 0.2)
    monkeypatch.setattr("isonomia.executors.pool.POLL", 0.1)

    class Forgetful(Executor):
        sent = 0

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.sent += 1
            future: Future[Any] = Future()
            if self.sent % 20:
                future.set_result(fn(*args, **kwargs))
            return future

    assert run(FEW[0], Forgetful()) == alone(FEW[0])


def test_an_executor_that_has_no_worker_left_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.executors.pool.DESERTED", 0.2)
    monkeypatch.setattr("isonomia.executors.pool.POLL", 0.1)
    opened: list[Executor] = []

    class Deserted(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            del fn, args, kwargs
            return Future()

    def begun() -> Executor:
        opened.append(_Inline() if opened else Deserted())
        return opened[-1]

    pool = Pool(ExecutorKind(begun, 1, deserted=lambda executor: isinstance(executor, Deserted)))
    tasks = pool.begin(_times, TaskContext({"factor": 3}, "a factor"), [1, 2], [1, 1])
    assert list(tasks.results()) == [3, 6]
    assert len(opened) == 2


# ------------------------------------------------------------------------------------------------------- what is sent


def test_a_model_that_cannot_be_sent_is_refused_with_what_to_do() -> None:
    lock = threading.Lock()

    def locked(table: Any) -> Any:
        with lock:
            return lends(table)

    with raises(UsageError, "executor='threads'", cause=TypeError):
        iso.check(RATIO, locked, iso.Sample(_people()), seed=2, executor="processes:1")
    assert iso.check(RATIO, locked, iso.Sample(_people()), seed=2, executor="threads:2").answer == "holds"


def test_what_is_shared_is_sent_to_each_worker_once() -> None:
    class Noting(Executor):
        def __init__(self) -> None:
            self.sent: list[bool] = []

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.sent.append(args[2] is not None)
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    executor = Noting()
    pool = pool_for(executor)
    assert pool is not None
    shared = TaskContext({"factor": 3, "token": os.urandom(8)}, "a factor")
    for _ in range(4):
        tasks = pool.begin(_times, shared, [1, 2, 3], [1, 1, 1])
        assert list(tasks.results()) == [3, 6, 9]
    assert executor.sent[:3] == [True] * 3
    assert not any(executor.sent[3:])
    large = TaskContext({"factor": 2, "token": os.urandom(2**19)}, "a large factor")
    executor.sent.clear()
    for _ in range(3):
        assert list(pool.begin(_times, large, [1, 2, 3], [1, 1, 1]).results()) == [2, 4, 6]
    # The first worker says that it knows nothing, and so do those who were asked meanwhile.
    assert executor.sent[:6] == [False] * 3 + [True] * 3
    assert not any(executor.sent[6:])


def _times(shared: dict[str, Any], item: int) -> int:
    return int(shared["factor"] * item)


def test_workers_that_have_begun_find_modules_that_came_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert iso.check(RATIO, lends, iso.Sample(_people()), seed=2, executor="processes:1").answer == "holds"
    (tmp_path / "came_later.py").write_text("def model(table):\n    return (table['income'] > -1).astype(int)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert iso.check(RATIO, "came_later:model", iso.Sample(_people()), seed=2, executor="processes:1").answer == "holds"


def test_an_error_of_the_model_in_a_worker_is_the_models() -> None:
    with raises(ModelError, "_raises", "ValueError", 4, ("sex", "income", "age")):
        iso.check(RATIO, _raises, iso.Sample(_people()), seed=2, executor="processes:2")


def _raises(table: Any) -> Any:
    raise ValueError(f"no idea of {len(table)} columns")


@pytest.mark.parametrize("word", ["thread", "processes:0", "processes:x", "dask:", "ray:/x", "", 3])
def test_an_executor_that_is_none_is_refused(word: Any) -> None:
    if word == "dask:":
        word = "dask:here"
    with raises(UsageError, ("threads", "processes", "loky", "dask")):
        iso.check(RATIO, lends, iso.Sample(_people()), executor=word)


# -------------------------------------------------------------------------------------------------------- slow models


def test_a_slow_model_is_asked_ahead_and_what_is_not_used_is_counted() -> None:
    """With one person a batch, eight workers used to wait for each other: 19 people in 20 calls one after the other."""
    lock, calls, most, together = threading.Lock(), [0], [0], [0]

    def slow(table: Any) -> Any:
        with lock:
            together[0] += 1
            calls[0] += 1
            most[0] = max(most[0], together[0])
        time.sleep(0.02)
        with lock:
            together[0] -= 1
        return (np.asarray(table["income"]) > 0).astype(int)

    seen: list[Progress] = []

    class Noting:
        def begin(self, text: str) -> None: ...

        def advance(self, progress: Progress) -> None:
            seen.append(progress)

        def end(self) -> None: ...

    claim, people = "P[prediction == 1] >= 0.42", iso.Sample(_people())
    before = iso.check(claim, slow, people, seed=1, budget=200)
    calls_before = calls[0]
    calls[0] = 0
    ahead = iso.check(claim, slow, people, seed=1, budget=200, executor="threads:8", observer=Noting())
    assert plain(before) == plain(ahead)
    assert most[0] >= 3  # on a busy machine, hardly ever all eight
    assert calls[0] < calls_before
    assert [progress.samples for progress in seen][-1] == ahead.samples
    assert 0 < max(progress.unused for progress in seen) <= 32
    assert seen[-1].unused <= 8  # when the decision is near, hardly anybody is asked about in vain


def test_an_error_about_people_who_were_asked_ahead_in_vain_does_not_count() -> None:
    people = {"income": np.concatenate([np.ones(60), np.full(1940, -5.0)])}

    def fails_later(table: Any) -> Any:
        if (np.asarray(table["income"]) < 0).any():
            raise ValueError("not these")
        return np.ones(len(table["income"]), dtype=int)

    sample, claim = iso.Sample(people, order="file"), "P[prediction == 1] >= 0.9"
    quiet = iso.check(claim, fails_later, sample, seed=1, random_model=True)
    assert quiet.samples <= 60
    assert plain(iso.check(claim, fails_later, sample, seed=1, random_model=True, workers=4)) == plain(quiet)


# ------------------------------------------------------------------------------------------- cases and their functions


class _Inline(Executor):
    """A worker that is elsewhere as far as anybody can see: everything is packed and unpacked."""

    _max_workers = 1

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize("name", [name for name in CHECKS if name.startswith("k-safety")])
def test_cases_that_workers_judge_give_the_verdict_of_one_process(name: str) -> None:
    assert run(name, _Inline()) == alone(name)


@dataclass(frozen=True)
class _Elsewhere:
    """Whether this is another process than the one that asks."""

    main: int = field(default_factory=os.getpid)

    def __call__(self, row: Any) -> bool:
        return bool(row["age"]) and os.getpid() != self.main


def _with(function: Any, ensures: str = "d1 <= d2", **options: Any) -> Any:
    before, more = "var extra := own(x1);", f" && {ensures}"
    return spec(before, more, asks=False, functions={"own": function, "decade": age}, **options)


@pytest.mark.parametrize("listed", [True, False])
def test_functions_of_a_specification_are_computed_by_workers(listed: bool) -> None:
    prop = _with(_Elsewhere(), "extra == true", enumerate=listed)
    there = iso.check(prop, None, iso.Census(SMALL), seed=1, executor="processes:2")
    assert there.answer == "holds"
    assert iso.check(prop, None, iso.Census(SMALL), seed=1).answer == "violated"


@dataclass(frozen=True)
class _DeadlyFunction:
    """A function that ends its process, unless that is the one that asks: once, or whenever it is called."""

    mark: Path | None
    main: int = field(default_factory=os.getpid)

    def __call__(self, row: Any) -> int:
        if os.getpid() != self.main and row["age"] > 60 and (self.mark is None or not self.mark.exists()):
            if self.mark is not None:
                self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return int(row["age"] > 50)


def test_cases_that_a_lost_worker_had_are_judged_again(tmp_path: Path) -> None:
    prop = _with(_DeadlyFunction(tmp_path / "mark"), "extra <= 1", enumerate=False)
    found = iso.check(prop, None, iso.Census(SMALL), seed=1, budget=400, executor="processes:2")
    assert (tmp_path / "mark").exists()
    assert plain(found) == plain(iso.check(prop, None, iso.Census(SMALL), seed=1, budget=400))


def test_a_function_that_ends_every_process_is_an_error_and_not_tried_here() -> None:
    with raises(LostWorkerError):
        iso.check(_with(_DeadlyFunction(None)), None, iso.Census(SMALL), seed=1, executor="processes:2")


def test_a_function_that_cannot_be_sent_is_computed_here_and_that_is_said() -> None:
    lock = threading.Lock()

    def locked(row: Any) -> int:
        with lock:
            return int(row["age"])

    prop = _with(locked, "extra >= 18")
    with pytest.warns(ExecutorWarning, match=r"cases are computed by this process.*cannot be sent"):
        there = iso.check(prop, None, iso.Census(SMALL), seed=1, executor="processes:1")
    assert plain(there) == plain(iso.check(prop, None, iso.Census(SMALL), seed=1))


def _sometimes(row: Any) -> Any:
    return None if row["age"] % 7 == 0 else int(row["age"]) if row["age"] % 2 else float(row["age"]) / 2


def _fails_at_times(row: Any) -> float:
    return 1.0 / (int(row["age"]) % 5)


def _large(row: Any) -> int:
    return 2**61 if row["age"] < 70 else 2**62


@pytest.mark.parametrize("function", [_sometimes, _fails_at_times, _large])
@pytest.mark.parametrize("listed", [True, False])
def test_what_depends_on_a_whole_batch_is_as_in_one_process(function: Any, listed: bool) -> None:
    prop = _with(function, "extra + 1 != 2305843009213693953 ", enumerate=listed)
    arguments: Any = (prop, None, iso.Census(SMALL))
    assert plain(iso.check(*arguments, seed=1, budget=900, executor=_Inline())) == plain(
        iso.check(*arguments, seed=1, budget=900)
    )


def test_a_model_that_changes_its_answers_is_found_by_workers() -> None:
    with raises(ChangingModelError, "_guesses"):
        iso.check(spec(), _guesses, iso.Census(SMALL), seed=1, executor="processes:2")


def _guesses(table: Any) -> Any:
    return np.random.default_rng().integers(0, 2, len(table["age"]))


# --------------------------------------------------------------------------------------------- people and their points


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.audits.responsiveness.sampling._CHUNK", 50)
    monkeypatch.setattr("isonomia.audits.responsiveness.points.FEW_MOVES", 1.0)


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("name", [name for name in CHECKS if name.startswith("responsiveness")])
def test_points_that_workers_look_at_give_the_verdict_of_one_process(name: str) -> None:
    assert run(name, _Inline()) == run(name, None)


@dataclass(frozen=True)
class _Allowed:
    """Allows every change in other processes than the one that asks, or everywhere, but ends one of them first."""

    mark: Path | None = None
    main: int = field(default_factory=os.getpid)

    def __call__(self, before: Any, after: Any) -> Any:
        elsewhere = os.getpid() != self.main
        if elsewhere and self.mark is not None and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return (before["step0"] == after["step0"]) | elsewhere | (self.mark is not None)


def _coupled(allowed: _Allowed) -> Arguments:
    prop, model, population, options = CHECKS["responsiveness: coupled, listed"]()
    actions = prop.actions.constrain(Predicate(test=allowed, names=("step0", "step1")))
    return replace(prop, interventions=actions), model, population, {"seed": 11, **options}


def test_workers_list_what_people_can_reach() -> None:
    prop, model, people, options = _coupled(_Allowed())
    there = iso.check(prop, model, people, executor="processes:2", **options)
    assert there.samples == alone("responsiveness: coupled, listed")["samples"]
    assert iso.check(prop, model, people, **options).samples < there.samples


def test_people_whom_a_lost_worker_had_are_looked_at_again(tmp_path: Path) -> None:
    prop, model, people, options = _coupled(_Allowed(tmp_path / "mark"))
    found = iso.check(prop, model, people, executor="processes:2", **options)
    assert (tmp_path / "mark").exists()
    assert plain(found) == plain(iso.check(prop, model, people, **options))


@pytest.mark.usefixtures("small_portions")
def test_workers_draw_the_portions_of_a_round() -> None:
    drawn = []

    def noted(told: Any, item: Any) -> Any:
        drawn.append(item[1:4])
        return whole(told, item)

    with pytest.MonkeyPatch.context() as patch:
        whole = workers._draw_portion
        patch.setattr(workers, "_draw_portion", noted)
        name = "responsiveness: coupled, drawn"
        assert run(name, _Local()) == run(name, None)
    assert {part for _, _, part in drawn} >= {0, 1, 2, 3}


class _Local(_Inline):
    """The same with nothing packed."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise RuntimeError(f"{fn} of {len(args)} and {len(kwargs)} is lost at once, so that it is done here")


# ------------------------------------------------------------------------------------------- journals and audit files


class _Kept:
    """A journal in memory."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}

    def recall(self, key: str) -> Any:
        return self.entries.get(key)

    def keep(self, key: str, make: Any) -> None:
        self.entries[key] = json.loads(json.dumps(make()))


class _Stopping:
    """An observer who presses Ctrl-C after some batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def begin(self, text: str) -> None: ...

    def advance(self, progress: Progress) -> None:
        del progress
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt

    def end(self) -> None: ...


@pytest.mark.parametrize(
    "name",
    [
        "rates: ratio 0.8 of a generator",
        "principal: definition 1, drawn",
        "k-safety: functions, a rate",
        "k-safety: functions, listed",
    ],
)
def test_a_check_that_was_interrupted_goes_on_on_another_executor(name: str) -> None:
    journal = _Kept()
    for batches, executor in ((3, "threads:3"), (7, "processes:2"), (10**6, None)):
        prop, model, population, own = CHECKS[name]()
        check = new_check(prop, model, population, seed=11, executor=executor, **own).with_journal(journal)
        verdict = run_check(check, _Stopping(batches))
        assert (verdict.stopped == "interrupted") == (batches < 10**6) or "listed" in name
    assert plain(verdict) == alone(name)


def test_a_census_that_was_interrupted_goes_on_with_the_pieces_that_are_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isonomia.audits.pieces.LEAST", 250)
    journal, asked = _Kept(), [0]

    def counted(table: Any) -> Any:
        asked[0] += len(table)
        return lends(table)

    def run_until(pieces: int) -> Any:
        asked[0] = 0
        check = new_check(RATIO, counted, iso.Census(folder), seed=1, executor="threads:1", random_model=True)
        return run_check(check.with_journal(journal), _Stopping(pieces))

    assert run_until(3).stopped == "interrupted"
    assert [key for key in journal.entries if key.startswith("answer ")]
    verdict = run_until(10**6)
    assert asked[0] < 2001
    assert verdict.leaves == iso.check(RATIO, lends, iso.Census(folder)).leaves


AUDIT = """
executor = "{executor}"
seed = 3
[model]
load = "lending:model"
[population]
sample = "people.csv"
[[property]]
check = "P[prediction == 1 | sex == 'F'] >= 0.3"
"""


def test_an_audit_file_says_where_it_runs_and_asks_before_it_leaves_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("lending.py").write_text("def model(table):\n    return (table['income'] > 0).astype(int)\n")
    people = _people()
    rows = [f"{sex},{income:.3f}" for sex, income in zip(people["sex"], people["income"], strict=True)]
    Path("people.csv").write_text("\n".join(["sex,income", *rows]) + "\n")
    Path("audit.toml").write_text(AUDIT.format(executor="threads:2"))
    (planned,) = plan_audit(read_audit_file("audit.toml"), 3, Permissions(allow_code=True))
    assert planned.check.pool is pool_for("threads:2")
    (other,) = plan_audit(read_audit_file("audit.toml"), 3, Permissions(allow_code=True), executor="threads:5")
    assert other.check.pool is pool_for("threads:5")
    Path("audit.toml").write_text(AUDIT.format(executor="dask:tcp://elsewhere:8786").replace("lending:model", "m.onnx"))
    file = read_audit_file("audit.toml")
    with raises(NotAllowedError, "audit.toml", 2, "dask:tcp://elsewhere:8786", 8786) as refused:
        check_allowed(file, Permissions(), "say {flags}")
    assert refused.value.permissions == ("allow_code",)
    check_allowed(file, Permissions(), "say {flags}", elsewhere=True)


# ---------------------------------------------------------------------------------------------- a folder of long files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    where, rng = tmp_path_factory.mktemp("people"), np.random.default_rng(3)
    for number, rows in enumerate((700, 1, 1300)):
        columns = {"sex": rng.choice(["F", "M"], rows), "income": rng.normal(size=rows)}
        columns |= {"age": rng.integers(18, 80, rows), "repaid": rng.integers(0, 2, rows)}
        parquet.write_table(pa.table(columns), where / f"{number}.parquet", row_group_size=300)
    return where


CLAIMS = (
    RATIO,
    "E[income | sex == 'F'] <= 0.5",
    iso.PrincipalFairness(attribute="sex", outcome="repaid", prediction="prediction"),
)


def test_workers_count_a_folder_of_files_and_send_no_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.audits.pieces.LEAST", 250)
    for claim in CLAIMS:
        first, *others = (
            plain(iso.check(claim, lends, iso.Census(folder), seed=1, executor=executor))
            for executor in (None, "threads:1", "threads:3", "processes:2")
        )
        assert all(other == first for other in others)


@pytest.mark.parametrize("executor", ["threads:2", "processes:2", _Inline()])
@pytest.mark.parametrize("options", [{}, {"score": "score"}])
def test_workers_read_a_folder_that_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, executor: Any, options: dict[str, Any]
) -> None:
    # Seven batches in two pieces, here; in other processes batches are large.
    size = 2**16 if executor == "processes:2" else 300
    monkeypatch.setattr("isonomia.audits.measure.one_pass.AT_ONCE", size)
    monkeypatch.setattr(LongTable.batches, "__defaults__", (None, size, 0))
    arguments: Any = {"by": ["sex", "age", ("sex", "repaid")], "outcome": "repaid", **options}
    model = scores if options else lends
    expected = iso.measure(folder, model=model, **arguments).to_dict()

    def refused(_: Any) -> Any:
        raise AssertionError("rows are read here")

    monkeypatch.setattr(OnePass, "_batches", refused)
    found = iso.measure(folder, model=model, executor=executor, **arguments).to_dict()
    assert {**found, "seconds": 0.0} == {**expected, "seconds": 0.0}
    assert found["size"] == 2001


def test_pieces_begin_where_row_groups_do(folder: Path) -> None:
    table = iso.Census(folder).rows
    starts = [0, 300, 600, 700, 701, 1001, 1301, 1601, 1901, 2001]
    assert table.pieces(1) == list(pairwise(starts))
    assert table.pieces(400) == [(0, 600), (600, 1001), (1001, 1601), (1601, 2001)]
    whole = np.concatenate([part.column("income") for part in table.batches(["income"])])
    for start in (0, 299, 300, 650, 700, 701, 1500, 2000):
        rest = np.concatenate([part.column("income") for part in table.batches(["income"], start=start)])
        assert np.array_equal(rest, whole[start:])


# ------------------------------------------------------------------------------------------------------ other machines


@pytest.mark.parametrize(("word", "package"), [("loky:2", "loky"), ("dask:2", "distributed"), ("ray:2", "ray")])
@pytest.mark.filterwarnings("ignore")
def test_engines_of_others_give_the_same_verdict(word: str, package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'isonomia[{word.partition(':')[0]}]'")
    for name in FEW:
        assert run(name, word) == alone(name), name
    close_pools()


ASKING = """
from benchmarks.executor_checks import run
from isonomia.executors import close_pools

names = ("rates: ratio 0.8 of a generator", "k-safety: functions, drawn", "responsiveness: coupled, listed")
for name in names:
    print(run(name, {address!r}) == run(name, None))
close_pools()
"""


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def test_a_ray_cluster_at_an_address_gives_the_same_verdict(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'isonomia[ray]'")
    pytest.importorskip("grpc", reason="ray's client is not installed: pip install 'ray[client]'")
    script = tmp_path / "asking.py"
    ports, token = (_free_port(), _free_port()), secrets.token_hex(32)
    script.write_text(ASKING.format(address=f"ray://127.0.0.1:{ports[1]}"))
    paths = os.pathsep.join(path for path in (*sys.path, os.getcwd()) if path)
    # A token of its own: without one, Ray takes whichever it finds on the machine.
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as short:  # paths of sockets are short
        options = [f"--port={ports[0]}", f"--ray-client-server-port={ports[1]}", "--num-cpus=2", f"--temp-dir={short}"]
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", *options]
        with open(tmp_path / "head", "wb") as said:
            head = subprocess.Popen(
                [*command, "--include-dashboard=false"], env=os.environ | own, stdout=said, stderr=said
            )
        try:
            asked = subprocess.run(
                [sys.executable, script], env=os.environ | own, capture_output=True, text=True, timeout=240, check=False
            )
        finally:
            head.terminate()  # which ends what it has begun
            head.wait(30)
    assert asked.stdout.split() == ["True"] * 3, (tmp_path / "head").read_text() + asked.stderr


def by_process(table: dict[str, Any]) -> Any:
    """A model that is another one in every process, as one with an unset seed is."""
    return np.full(len(table["age"]), os.getpid())


def test_worker_processes_with_different_models_are_found() -> None:
    people = iso.Sample({"age": np.arange(400)})
    with ProcessPoolExecutor(2) as executor, pytest.raises(ChangingModelError, match="two workers"):
        iso.check("P[prediction >= 0] >= 0.9", by_process, people, seed=1, executor=executor)
    with ProcessPoolExecutor(1) as executor:  # one worker cannot disagree with another
        assert iso.check("P[prediction >= 0] >= 0.9", by_process, people, seed=1, executor=executor).holds


class _Interrupting(_Deadly):
    """A model that raises what Ctrl-C raises, in a worker."""

    def answer(self, table: Any, *, want_score: bool, want_prediction: bool) -> Answer:
        del table, want_score, want_prediction
        raise KeyboardInterrupt


def test_an_interruption_that_the_model_raises_in_a_worker_is_its_error() -> None:
    with pytest.raises(ModelError):
        iso.check(RATIO, _Interrupting(None), iso.Sample(_people()), seed=2, executor="processes:2")

"""Workers that never answer: the time limit and Ctrl-C end them, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import isonomia as iso
from isonomia.engine.parameters import Budget
from isonomia.errors import LostWorkerError
from isonomia.executors import close_pools
from isonomia.models.meter import QueryMeter
from raising import raises

HOUR = 3600.0

HANGING = """
import os, pathlib, time

def note():
    pathlib.Path({folder!r}, str(os.getpid())).touch()

def hangs(table):
    note()
    time.sleep(3600)

def hangs_later(table):
    if len(table["x"]) > 40:
        hangs(table)
    return table["x"] > 0

def forks_and_hangs(table):
    note()
    if os.fork() == 0:
        note()
        pathlib.Path({folder!r}).with_name("forked").touch()
    time.sleep(3600)

def ends(table):
    note()
    os._exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pids").mkdir()
    (tmp_path / "hanging.py").write_text(HANGING.format(folder=str(tmp_path / "pids")), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hanging", raising=False)
    return tmp_path


@pytest.fixture
def jumping_clock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time be long up as soon as a worker hangs, however fast this machine is."""
    refuse = QueryMeter.refuse_overdue

    def jump(meter: QueryMeter) -> None:
        if any((folder / "pids").iterdir()):
            meter._began -= 2 * HOUR
        refuse(meter)

    monkeypatch.setattr(QueryMeter, "refuse_overdue", jump)


def people() -> iso.Sample:
    rng = np.random.default_rng(0)
    return iso.Sample({"x": rng.normal(size=20_000), "group": rng.choice(["a", "b"], 20_000)})


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; the limit only keeps a failing test from waiting forever."""
    last = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.05)


def assert_all_gone(folder: Path) -> None:
    pids = [int(path.name) for path in (folder / "pids").iterdir()]
    assert pids
    wait_until(lambda: not any(map(is_running, pids)))


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
@pytest.mark.usefixtures("jumping_clock")
@pytest.mark.parametrize("executor", ["processes:2", "loky:2", "dask:2"])
@pytest.mark.parametrize(
    "prop",
    [
        "P[prediction | group == 'a'] >= 0.8 * P[prediction | group == 'b']",
        iso.safety.invariant_to("group"),
    ],
    ids=["rates", "k-safety"],
)
def test_workers_that_hang_are_ended_after_the_time(folder: Path, executor: str, prop: object) -> None:
    if executor.startswith("dask"):
        pytest.importorskip("distributed")
    if executor.startswith("loky") and find_spec("loky") is None and find_spec("joblib") is None:
        pytest.skip("loky is not installed")
    from hanging import hangs  # type: ignore[import-not-found]

    verdict = iso.check(prop, hangs, people(), executor=executor, budget=Budget(seconds=HOUR), seed=1)
    assert (verdict.answer, verdict.stopped) == ("undecided", "the budget of time is spent")
    assert verdict.samples == 0
    assert_all_gone(folder)
    close_pools()


@pytest.mark.usefixtures("jumping_clock")
def test_what_was_measured_before_workers_hang_counts(folder: Path) -> None:
    from hanging import hangs_later

    verdict = iso.check(
        "P[prediction] >= 0.49", hangs_later, people(), executor="processes:2", budget=Budget(seconds=HOUR), seed=1
    )
    assert (verdict.answer, verdict.stopped) == ("undecided", "the budget of time is spent")
    assert verdict.samples > 0
    assert_all_gone(folder)


@pytest.mark.skipif(os.name == "nt", reason="forks")
@pytest.mark.parametrize("executor", ["processes:2", "loky:2"])
def test_a_fork_of_a_worker_does_not_keep_the_program_from_ending(folder: Path, executor: str) -> None:
    if executor.startswith("loky") and find_spec("loky") is None and find_spec("joblib") is None:
        pytest.skip("loky is not installed")
    script = folder / "script.py"
    script.write_text(
        f"""
import pathlib
import numpy as np
import isonomia as iso
from hanging import forks_and_hangs
from isonomia.models.meter import QueryMeter

refuse = QueryMeter.refuse_overdue

def jump(meter):  # the time is long up as soon as a worker has forked, however fast this machine is
    if pathlib.Path("forked").exists():
        meter._began -= {2 * HOUR}
    refuse(meter)

if __name__ == "__main__":
    QueryMeter.refuse_overdue = jump
    people = iso.Sample({{"x": np.arange(1000.0)}})
    verdict = iso.check("P[prediction] >= 0.5", forks_and_hangs, people, executor={executor!r}, budget="1h", seed=1)
    print(verdict.answer)
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], cwd=folder, stdout=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0
    assert_all_gone(folder)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_workers_that_hang(folder: Path) -> None:
    script = folder / "script.py"
    script.write_text(
        """
import numpy as np
import isonomia as iso
from hanging import hangs

if __name__ == "__main__":
    people = iso.Sample({"x": np.arange(1000.0)})
    verdict = iso.check("P[prediction] >= 0.5", hangs, people, executor="processes:2", seed=1)
    print(verdict.answer, verdict.stopped)
""",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_until(lambda: any((folder / "pids").iterdir()))
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert printed.split() == ["undecided", "interrupted"]
    assert process.returncode == 0
    assert_all_gone(folder)


def test_a_model_that_ends_its_process_is_named(folder: Path) -> None:
    from hanging import ends

    with raises(LostWorkerError, "processes:2"):
        iso.check("P[prediction] >= 0.5", ends, people(), executor="processes:2", seed=1)
    assert_all_gone(folder)


class Starting(ThreadPoolExecutor):
    """A pool of processes, as far as a signal tells, in which Ctrl-C comes while it starts one."""

    _processes: ClassVar[dict[int, object]] = {}
    started = 0

    def submit(self, *call: Any, **named: Any) -> Future[Any]:
        os.kill(os.getpid(), signal.SIGINT)
        future = super().submit(*call, **named)
        self.started += 1
        return future


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_waits_until_a_process_is_started() -> None:
    with Starting(1) as executor:
        verdict = iso.check("P[prediction] >= 0.5", lambda table: table["x"] > 0, people(), executor=executor, seed=1)
        assert executor.started == 1
    assert (verdict.answer, verdict.stopped) == ("undecided", "interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

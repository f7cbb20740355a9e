"""From a word to a pool: ``threads``, ``processes:4``, ``dask:tcp://host:8786``, ``ray``, ...

A pool named by a word is kept until the program ends: the next check finds its workers warm, with the model already
open. An executor that the caller passes is used as it is, and never shut down. Dask and Ray get the interface of an
executor here.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.executors.pool import ExecutorKind, Pool, begin_process

WORDS = ("threads", "processes", "loky", "dask", "ray", "mpi")

_EXPECTED = (
    "expected executor as threads, processes, loky, dask, ray or mpi, with a number of workers (processes:4) or an "
    "address (dask:tcp://host:8786, ray://host:10001), or as an object with submit, such as a ProcessPoolExecutor"
)

_pools: dict[tuple[str, int], Pool] = {}
_lock = threading.Lock()


def pool_for(executor: Executor | str | Pool | None, workers: int = 1) -> Pool | None:
    """The pool for the argument ``executor``; ``None`` if this process does everything.

    Parameters
    ----------
    executor
        A word, an executor, or a pool. Without one, several ``workers`` are threads.
    workers
        How many workers, if a word does not say.

    Raises
    ------
    UsageError
        If it is none of these.
    """
    if executor is None:
        return None if workers == 1 else pool_for("threads", workers)
    if isinstance(executor, Pool):
        return executor
    if isinstance(executor, str):
        return _named(executor, workers)
    if not callable(getattr(executor, "submit", None)):
        raise UsageError(f"{_EXPECTED}, but got executor={executor!r}")
    given: Any = executor
    name = type(given).__name__
    return Pool(ExecutorKind(lambda: given, here=isinstance(given, ThreadPoolExecutor), lasting=True, name=name))


def is_remote(word: str) -> bool:
    """Whether a word names workers at an address, which are not ours."""
    return "://" in word


def _named(text: str, workers: int) -> Pool:
    word, address, number = _parsed(text)
    count = number or (workers if workers > 1 else _processors())
    key = (address or word, 0 if address else count)
    with _lock:
        if key not in _pools:
            if not _pools:
                atexit.register(close_pools)
            _pools[key] = Pool(_executing(text, word, address, count))
        return _pools[key]


def _parsed(text: str) -> tuple[str, str, int]:
    """The word, the address and the number of workers in a text."""
    word, _, rest = text.strip().partition(":")
    if word not in WORDS:
        raise UsageError(f"{_EXPECTED}, but got executor={text!r}.{nearest(word, WORDS)}")
    if not rest:
        return word, "", 0
    if rest.isdecimal() and int(rest) >= 1:
        return word, "", int(rest)
    if word == "ray" and rest.startswith("//") and len(rest) > 2:
        return word, f"ray:{rest}", 0
    if word == "dask" and "://" in rest:
        return word, rest, 0
    raise UsageError(f"{_EXPECTED}, but got executor={text!r}")


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _executing(text: str, word: str, address: str, count: int) -> ExecutorKind:
    """How to get the executor of a word. Packages are imported now, so that a missing one is reported at once."""
    match word:
        case "threads":
            return ExecutorKind(lambda: ThreadPoolExecutor(count, "isonomia"), count, here=True, name=text)
        case "processes":
            return ExecutorKind(lambda: _processes(count), count, name=text)
        case "loky":
            loky = _needed("loky", "pip install loky", "joblib.externals.loky")
            return ExecutorKind(lambda: loky.ProcessPoolExecutor(count, initializer=begin_process), count, name=text)
        case "mpi":
            futures = _needed("mpi4py.futures", "pip install mpi4py, then: mpiexec -n 8 python -m mpi4py.futures ...")
            return ExecutorKind(futures.MPIPoolExecutor, None, name=text)
        case "dask":
            distributed = _needed("distributed", "pip install 'isonomia[dask]'")
            number = None if address else count
            return ExecutorKind(
                lambda: _dask(distributed, address, count), number, name=text, deserted=DaskExecutor.deserted
            )
        case _:
            ray = _needed("ray", "pip install 'isonomia[ray]'")
            return ExecutorKind(lambda: _ray(ray, address, count), None if address else count, name=text)


def _needed(module: str, install: str, otherwise: str | None = None) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        if otherwise is not None:
            return _needed(otherwise, install)
        raise UsageError(f"this executor needs {module}, which is not installed ({error}): {install}") from error


def _processes(count: int) -> ProcessPoolExecutor:
    """Processes that are not forked from this one: a fork of a program with threads may inherit a lock and deadlock."""
    import multiprocessing

    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        # Workers will mostly need what this process has imported: import it once for all of them.
        ours = sorted(name for name in sys.modules if name.partition(".")[0] == "isonomia")
        context.set_forkserver_preload(["isonomia.executors.pool", "isonomia.models.session", *ours])
        return ProcessPoolExecutor(count, context, begin_process)
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), begin_process)


def close_pools() -> None:
    """Close every pool named by a word; the next check opens new ones."""
    with _lock:
        pools = list(_pools.values())
        _pools.clear()
    for pool in pools:
        pool.end()


class DaskExecutor(Executor):
    """A client's executor; its shutdown also ends the cluster, if that was started for it."""

    def __init__(self, client: Any, cluster: Any) -> None:
        self.client, self.cluster = client, cluster
        # The same call may be submitted twice on purpose.
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to some worker."""
        future: Future[Any] = self._executor.submit(fn, *args, **kwargs)
        return future

    def deserted(self) -> bool:
        """Whether our own cluster has no worker left.

        Dask's nannies restart a worker that died, but not one that dies while its nanny is still starting it, as when
        its first task kills it. Work would then wait for a worker that never comes.
        """
        return self.cluster is not None and not self.client.scheduler_info()["workers"]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, and end it if it is our own."""
        del wait, cancel_futures
        self.client.close(timeout=5)
        if self.cluster is not None:
            self.cluster.close(timeout=5)


def _dask(distributed: Any, address: str, workers: int) -> Executor:
    """Connect to a scheduler, or start ``workers`` processes with one thread each on this machine."""
    if address:
        return DaskExecutor(distributed.Client(address, set_as_default=False), None)
    cluster = distributed.LocalCluster(workers, threads_per_worker=1, processes=True, dashboard_address=None)
    return DaskExecutor(distributed.Client(cluster, set_as_default=False), cluster)


class RayExecutor(Executor):
    """Each call is a task on one CPU."""

    def __init__(self, ray: Any, begun: bool) -> None:
        self._ray, self._begun = ray, begun
        self._remote = ray.remote(_call)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to some worker."""
        future: Future[Any] = self._remote.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave Ray if it was initialized here."""
        del wait, cancel_futures
        if self._begun:
            self._ray.shutdown()


def _call(function: Any, arguments: Any, keywords: Any) -> Any:
    return function(*arguments, **keywords)


def _ray(ray: Any, address: str, workers: int) -> Executor:
    """Use the cluster Ray is connected to, one at an address, or one on this machine; else start ``workers`` CPUs."""
    begun = not ray.is_initialized()
    quiet = {"log_to_driver": False, "configure_logging": False}
    if begun:
        try:
            ray.init(address or "auto", **quiet)
        except ConnectionError:
            if address:
                raise
            ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
    return RayExecutor(ray, begun)

"""Ray: its tasks behind the ``submit`` method of an executor."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any


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


def opened(address: str, workers: int) -> Executor:
    """Use the cluster Ray is connected to, one at an address, or one on this machine; else start ``workers`` CPUs."""
    ray = import_module("ray")
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

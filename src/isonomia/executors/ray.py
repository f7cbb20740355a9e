"""Ray: its tasks behind the one method that an executor has."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any

__all__ = ["RayExecutor", "opened"]


class RayExecutor(Executor):
    """Each call is a task of one processor."""

    def __init__(self, ray: Any, begun: bool) -> None:
        self._ray, self._begun = ray, begun
        self._remote = ray.remote(_call)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to some worker."""
        future: Future[Any] = self._remote.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave Ray where it was begun for this."""
        del wait, cancel_futures
        if self._begun:
            self._ray.shutdown()


def _call(function: Any, arguments: Any, keywords: Any) -> Any:
    return function(*arguments, **keywords)


def opened(address: str, workers: int) -> Executor:
    """Connect to a cluster, at an address or begun on this machine; without one, start ``workers`` processes here."""
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

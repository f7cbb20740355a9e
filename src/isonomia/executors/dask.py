"""Dask: the executor of a client that connects to a scheduler, or starts workers on this machine."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any


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


def opened(address: str, workers: int) -> Executor:
    """Connect to a scheduler, or start ``workers`` processes with one thread each on this machine."""
    distributed = import_module("distributed")
    if address:
        return DaskExecutor(distributed.Client(address, set_as_default=False), None)
    cluster = distributed.LocalCluster(workers, threads_per_worker=1, processes=True, dashboard_address=None)
    return DaskExecutor(distributed.Client(cluster, set_as_default=False), cluster)

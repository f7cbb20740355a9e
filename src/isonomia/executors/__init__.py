"""Where work is done: in threads, in processes, or on other machines, by any ``concurrent.futures.Executor``.

A piece of work is a pure function of its input. So it does not matter where it is done, by how many workers, or how
often: the work of a lost worker is done again, and results are joined in the order in which they were requested.
"""

from __future__ import annotations

from isonomia.executors.pool import ExecutorKind, ExecutorWarning, Pool, StartedTasks, TaskContext, pickler
from isonomia.executors.words import close_pools, pool_for

__all__ = [
    "ExecutorKind",
    "ExecutorWarning",
    "Pool",
    "StartedTasks",
    "TaskContext",
    "close_pools",
    "pickler",
    "pool_for",
]

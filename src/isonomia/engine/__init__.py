"""How an audit runs: numbered batches, seeds, budgets, the order of decisions, and progress.

Batch ``i`` always has the ``i``-th child of the seed, and decisions are taken in batch order, so the same seed gives
the same verdict in whatever order the batches are executed.
"""

from isonomia.engine.budget import Budget
from isonomia.engine.loop import Outcome, Plan, Schedule, run
from isonomia.engine.observer import Observer, Progress, Silent

__all__ = ["Budget", "Observer", "Outcome", "Plan", "Progress", "Schedule", "Silent", "run"]

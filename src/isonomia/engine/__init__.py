"""How an audit runs: numbered batches, seeds, budgets, the order of decisions, and progress.

Batch ``i`` always has the ``i``-th child of the seed, and decisions are taken in batch order, so the same seed gives
the same verdict in whatever order the batches are executed.
"""

from isonomia.engine.loop import Outcome, Plan, Schedule, run
from isonomia.engine.parameters import Budget, Observer, Progress, Silent

__all__ = ["Budget", "Observer", "Outcome", "Plan", "Progress", "Schedule", "Silent", "run"]

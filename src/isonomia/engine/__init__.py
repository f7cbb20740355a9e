"""How an audit runs: numbered batches, seeds, budgets, the order of decisions, and progress.

Batch ``i`` always has the ``i``-th child of the seed, and decisions are taken in batch order, so the same seed gives
the same verdict in whatever order the batches are executed.
"""

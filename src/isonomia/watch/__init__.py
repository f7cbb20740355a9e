"""Watch: a model in production, judged as people arrive.

Reading order: :mod:`~isonomia.watch.stream`, what is watched, and what is stored of a stream;
:mod:`~isonomia.watch.watch`, how it is judged; :mod:`~isonomia.watch.answers`, the results;
:mod:`~isonomia.watch.evidence`, the sealed evidence.
"""

from isonomia.watch.answers import Alert, WatchStatus
from isonomia.watch.watch import Watch

__all__ = ["Alert", "Watch", "WatchStatus"]

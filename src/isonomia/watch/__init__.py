"""Watch: a model in production, judged as people arrive.

Reading order: :mod:`~isonomia.watch.claims`, what is watched; :mod:`~isonomia.watch.stream`, what a
stream leaves behind; :mod:`~isonomia.watch.watch`, how it is judged; :mod:`~isonomia.watch.answers`, what comes of it;
:mod:`~isonomia.watch.evidence`, what is sealed of it.
"""

from isonomia.watch.answers import Alarm, WatchStatus
from isonomia.watch.watch import Watch

__all__ = ["Alarm", "Watch", "WatchStatus"]

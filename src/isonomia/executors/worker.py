"""What happens in a worker: the shared value is unpickled once and kept, then the items are worked on one by one.

Nothing raises here: an error of the work is part of the reply. So whatever an executor raises is its own failure, such
as a lost worker, and the work can be done again.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.errors import IsonomiaError, ModelError
from isonomia.wording import words_of

KEPT = 8
"""How many shared values a worker keeps; it drops the least recently used one, which is sent again when needed."""

_kept: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's reply.

    Attributes
    ----------
    known
        Whether it has the shared value; if not, nothing was done, and the value has to be sent.
    values
        The result of each item.
    error
        What ended the work, if anything did.
    seconds
        The time that the work took.
    """

    known: bool = True
    values: tuple[Any, ...] = ()
    error: Exception | None = None
    seconds: float = 0.0


def work(function: Callable[[Any, Any], Any], token: str, packed: bytes | None, items: Sequence[Any]) -> Reply:
    """Work on items with the shared value of this token; ``packed`` is that value, pickled, if it was sent along."""
    try:
        found, shared = _shared(token, packed)
    except _raised_by_work(True) as error:  # whatever a class does when it is unpickled
        return Reply(error=_portable(error, "it could not be opened in a worker"))
    return done(function, shared, items, portable=True) if found else Reply(known=False)


def done(function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], *, portable: bool = False) -> Reply:
    """Work on items, one after the other, until one fails."""
    began, values = time.perf_counter(), []
    try:
        values = [function(shared, item) for item in items]
    except _raised_by_work(portable) as error:
        kept = error if isinstance(error, Exception) and not portable else _portable(error, "")
        return Reply(error=kept, seconds=time.perf_counter() - began)
    return Reply(values=tuple(values), seconds=time.perf_counter() - began)


def _raised_by_work(elsewhere: bool) -> tuple[type[BaseException], ...]:
    """What is an error of the work: also a ``KeyboardInterrupt``, in a process that leaves Ctrl-C to its caller."""
    alone = elsewhere and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return (Exception, SystemExit, GeneratorExit, *((KeyboardInterrupt,) if alone else ()))


def _shared(token: str, packed: bytes | None) -> tuple[bool, Any]:
    with _lock:
        if token not in _kept:
            if packed is None:
                return False, None
            paths, whole = pickle.loads(packed)
            sys.path += [path for path in paths if path not in sys.path and os.path.exists(path)]
            _kept[token] = pickle.loads(whole)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(token)
        return True, _kept[token]


def _portable(error: BaseException, what: str) -> Exception:
    """An error that can be pickled: the error itself if possible, else a ``ModelError`` with its message."""
    if isinstance(error, IsonomiaError):
        try:
            pickle.loads(pickle.dumps(error))
            return error
        except Exception:
            return ModelError(str(error))
    said = f"{type(error).__name__}: {words_of(error)}"
    return ModelError(f"{what}: {said}" if what else said)


def begin_process() -> None:
    """Prepare a process of our own: leave Ctrl-C to the calling program, and exit when that program ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    sentinel = None if parent is None else parent.sentinel
    if sentinel is not None:

        def leave() -> None:
            wait([sentinel])
            os._exit(1)

        threading.Thread(target=leave, daemon=True).start()

"""Points in time written as text."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["moment"]

_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?)?)?", re.ASCII)


def moment(text: str) -> np.datetime64 | None:
    """The point in time that a text means, or ``None`` where it is no ISO 8601 date or time.

    A year or a month alone means its first instant. Time zones are not understood: the columns have none.
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        return np.datetime64(text)
    except ValueError:
        return None

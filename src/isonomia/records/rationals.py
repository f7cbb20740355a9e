"""Exact fractions in a record, as text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from isonomia.errors import DataError

__all__ = ["rational"]

_WRITTEN = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
"""As Python writes a fraction. It would read others too, such as 1e999999999, and compute all of its digits."""


def rational(text: Any) -> Fraction:
    """The fraction that was written into a record.

    Raises
    ------
    DataError
        Where it is none, as in a record that was changed.
    """
    try:
        if isinstance(text, str) and _WRITTEN.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass
    raise DataError(f"expected a fraction like 3/4 in the record, but {text!r:.40} came")

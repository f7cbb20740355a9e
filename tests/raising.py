"""Errors by what they are about: their type, their fields and the values that they show, not their sentences."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_QUOTES = "'\"`"

Shown = str | float | tuple[str | float, ...]


@contextmanager
def raises(kind: type[Exception], *shown: Shown, **fields: Any) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error of exactly one type.

    Parameters
    ----------
    kind
        Its type; a subclass will not do.
    shown
        Values that its message shows: names, numbers and texts that the caller gave or that would be right instead. A
        text with a blank in it has to be quoted there, so that no part of a sentence passes for a value. A tuple is a
        list of values, shown in this order with commas between them.
    fields
        What its fields are, such as ``name``. ``at`` is the stretch of the property's text that it points at,
        ``cause`` the type of the error behind it, and ``meant`` the name that it proposes instead of a wrong one.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error: Any = caught.value
    assert type(error) is kind
    for field, expected in fields.items():
        assert _field(error, field) == expected, f"{field} of {error!r}"
    message = _message(error)
    for value in shown:
        assert _shows(message, value), f"expected {value!r} in {error!r}"


def _field(error: Any, field: str) -> Any:
    match field:
        case "at":
            return error.place.text[error.place.start : error.place.end]
        case "cause":
            return type(error.__cause__)
        case "meant":
            proposed = re.search(r"Did you mean (?:'([^']*)'|\"([^\"]*)\"|([^\s?,;]+))", str(error))
            return proposed and next(filter(None, proposed.groups()))
        case _:
            return getattr(error, field)


def _message(error: Exception) -> str:
    """What an error says itself, without the position and the line of the property's text that it quotes."""
    place = getattr(error, "place", None)
    if place is None:
        return str(error)
    return str(error).removesuffix(place.caret()).removeprefix(f"line {place.line}, column {place.column}: ")


def _shows(message: str, value: Shown) -> bool:
    """Whether a message has a value in it as a whole, not as a part of a longer word or number.

    One letter has to be quoted, since "a" is a word of most sentences.
    """
    if isinstance(value, tuple):
        lists = (", ".join(map(form, value)) for form in (str, repr))
        return any(re.search(rf"(?<![\w'\"]){re.escape(each)}(?![\w'\"])", message) for each in lists)
    if not isinstance(value, str):
        forms = {str(value), f"{value:,}", f"{value:g}"}
        return any(re.search(rf"(?<![\w.,]){re.escape(form)}(?!\w|[.,]\d)", message) for form in forms)
    if any(f"{quote}{value}{quote}" in message for quote in _QUOTES) or repr(value) in message:
        return True
    if len(value) == 1 or " " in value:
        return False
    return re.search(rf"(?<![\w.-]){re.escape(value)}(?!\w)", message) is not None

"""Every error that Isonomia raises on purpose.

One root, :class:`IsonomiaError`, and one branch for each place where the cause lies: the property's text, the
model, the data, the numbers, or the call itself. A message says what was expected, what was given, where, and what to
do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from isonomia.wording import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_Options = ParamSpec("_Options")
_Made = TypeVar("_Made")


_LONGEST_ROW = 240
"""How many characters of a line an error shows."""

_BEFORE = 80
"""How many of these come before the place that it points at, where the line is longer."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a property's text that an error can point at.

    Attributes
    ----------
    text
        The whole text in which the stretch lies.
    start, end
        Its first character and the one after its last, counted from 0.
    """

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line on which the stretch begins, counted from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column on which the stretch begins, counted from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def caret(self) -> str:
        """Show the line with carets under the stretch."""
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        row = self.text[begin : stop if stop >= 0 else len(self.text)]
        start, end = self.start - begin, max(self.start + 1, min(self.end, begin + len(row))) - begin
        # A line too long for a terminal is cut to the part around the stretch; dots stand for the rest.
        first = max(0, start - _BEFORE) if len(row) > _LONGEST_ROW else 0
        last = min(len(row), first + _LONGEST_ROW)
        head, tail = "... " if first else "", " ..." if last < len(row) else ""
        carets = "^" * (max(start + 1, min(end, last)) - start)
        return f"  {head}{row[first:last]}{tail}\n  {' ' * (len(head) + start - first)}{carets}"


class IsonomiaError(Exception):
    """The root of every error that Isonomia raises on purpose.

    Attributes
    ----------
    name
        The one name that is wrong, of a column, an option, a variable, a class or a file; ``None`` where the error is
        not about one name.
    """

    def __init__(self, message: str, *, name: str | None = None) -> None:
        self.name = name
        super().__init__(visible(message))  # it may quote untrusted names, with terminal control codes


class SpecError(IsonomiaError):
    """A property cannot be read, or does not make sense for the data at hand.

    Attributes
    ----------
    place
        Where in the text the problem lies; ``None`` for a property made with Python operators.
    name
        The one name that is wrong, of a column or a variable, say; ``None`` where the error is not about one name.
    """

    def __init__(self, message: str, place: Place | None = None, *, name: str | None = None) -> None:
        self.place = place
        where = f"line {place.line}, column {place.column}: {message}\n{place.caret()}" if place else message
        super().__init__(where, name=name)


class ModelError(IsonomiaError):
    """The model raised, or answered with something that is not a prediction."""


class UnreliableModelError(ModelError):
    """The model fails for every row: it cannot be reached, or it changes its answers.

    Asking about fewer or other people would not help, so no audit searches for the people who caused it.
    """


class ChangingModelError(UnreliableModelError):
    """The model answered the same question differently, so its earlier answers cannot be relied on either."""


class LostWorkerError(UnreliableModelError):
    """An executor keeps losing the workers that take on a piece of work, so it is not tried again."""


class RecordError(IsonomiaError):
    """The record of a run cannot be written, read or trusted."""


class DataError(IsonomiaError):
    """A table or a draw from a population is not what the property needs.

    Attributes
    ----------
    row
        The first row of a table that is wrong, counted from 0; ``None`` where the error is not about one row.
    line
        The line of a text file that is wrong, counted from 1; ``None`` where the error is not about one line.
    """

    def __init__(
        self, message: str, *, name: str | None = None, row: int | None = None, line: int | None = None
    ) -> None:
        self.row, self.line = row, line
        super().__init__(message, name=name)


class NumericalError(IsonomiaError):
    """A computation did not reach the accuracy that its guarantee needs."""


class UsageError(IsonomiaError):
    """A function or a command was called with an argument it cannot take."""


class BudgetTooSmallError(UsageError):
    """Something that is worth nothing unless it is complete costs more than its budget.

    Where the cost is known, it is refused before the first row is sent.

    Attributes
    ----------
    needed, allowed
        How many rows it needs at least, and how many the budget allows.
    """

    def __init__(self, message: str, needed: float, allowed: float) -> None:
        self.needed, self.allowed = needed, allowed
        super().__init__(message, name="budget")


class UntrustedTypesError(UsageError):
    """A model file names types that have not been declared trusted.

    Attributes
    ----------
    types
        The types.
    """

    def __init__(self, message: str, types: tuple[str, ...]) -> None:
        self.types = types
        super().__init__(message)


class NotAllowedError(UsageError):
    """A file asks for something that the person who opens it has not allowed.

    Attributes
    ----------
    wants
        What it asks for, one line each.
    permissions
        The names of the permissions that would allow all of it.
    """

    def __init__(self, message: str, wants: tuple[str, ...] = (), permissions: tuple[str, ...] = ()) -> None:
        self.wants, self.permissions = wants, permissions
        super().__init__(message)


_ELSEWHERE = {
    "privileged": "majority",
    "unprivileged": "minority",
    "privileged_groups": "majority",
    "unprivileged_groups": "minority",
    "sensitive_features": "attribute",
    "protected": "attribute",
    "y_true": "outcome",
    "y_pred": "decision",
    "threshold": "ratio",
    "epsilon": "difference",
}
"""What other libraries call an option, and its name here."""


def with_known_options(make: Callable[_Options, _Made]) -> Callable[_Options, _Made]:
    """Make a function name the options that it takes, and the one perhaps meant, when it gets an unknown one."""

    @wraps(make)
    def checked(*arguments: _Options.args, **options: _Options.kwargs) -> _Made:
        try:
            signature(make).bind(*arguments, **options)
        except TypeError as error:
            raise _not_taken(make.__name__, list(signature(make).parameters), options, error) from None
        return make(*arguments, **options)

    return checked


def _not_taken(name: str, names: list[str], options: Mapping[str, object], error: TypeError) -> UsageError:
    takes = ", ".join(each for each in names if each != "options")
    unknown = [option for option in options if option not in names]
    if not unknown:
        return UsageError(f"{name}: {error}; it takes {takes}")
    meant = _ELSEWHERE.get(unknown[0])
    hint = nearest(unknown[0], names)
    if meant is not None:
        hint = f" Here it is called {meant!r}." if meant in names else f" Others call it {meant!r}; this one has none."
    return UsageError(f"{name} takes no option {unknown[0]!r}.{hint} It takes {takes}", name=unknown[0])


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name is nearest to an unknown one, as the end of an error message.

    Blanks around a name are hard to see, so they are pointed out. Returns an empty string where nothing is near.
    """
    names = list(known)
    for each in names:
        if each.strip() == name.strip() and each != each.strip():
            return f" Did you mean {each!r}, with the blanks around it?"
    matches = get_close_matches(name, names, n=1, cutoff=0.6)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def no_names(columns: Sequence[str]) -> str:
    """Say that a file seems to lack its header line, as the end of an error message; empty if it seems to have one.

    A name such as 39 or 0.5 is most likely data. It may also be a year, so this is only a hint.
    """
    numbers = [name for name in columns if _is_number(name)]
    if not numbers:
        return ""
    shown = f"names {numbers[0]!r} and {numbers[1]!r} look" if len(numbers) > 1 else f"name {numbers[0]!r} looks"
    return f" The {shown} like data: if the file has no first line with the names of its columns, add it"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def refuse_no_path(path: str) -> None:
    """Refuse a text that no system accepts as the path of a file, with one message instead of each system's own."""
    try:
        parts = [len(part) for part in os.fsencode(path).split(b"/")]
    except UnicodeEncodeError:
        parts = []
    if not parts or "\0" in path:
        raise DataError(f"expected the path of a file, but {path!r:.80} has characters that no name of a file has")
    if max(parts) > 255 or sum(parts) + len(parts) > 4096:
        raise DataError(f"expected the path of a file, but {path[:60]!r}... is too long to be one")

"""What is sent to a service or a program, and what comes back.

The rows of a table are sent as values that JSON and CSV can hold (:class:`PlainRows`), put into a request where its
:class:`RequestTemplate` has a mark for them. Predictions and scores come back as plain values (:class:`PlainAnswer`),
found by an :class:`AnswerPath` such as ``predictions[*].label``; :func:`answer_of` makes arrays of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.checked import option_error, score_from
from isonomia.models.protocol import Answer
from isonomia.populations.prompts import TextTemplate
from isonomia.populations.table import Table, column_from, plain_value
from isonomia.spec.tree import Value
from isonomia.wording import shortened


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Columns of text, numbers, truth values and ``None``, and how many rows they have; dates are ISO text."""

    names: tuple[str, ...]
    columns: tuple[list[Any], ...]
    rows: int

    def slice(self, start: int, stop: int) -> PlainRows:
        """The rows from ``start`` up to ``stop``."""
        stop = min(stop, self.rows)
        return PlainRows(self.names, tuple(column[start:stop] for column in self.columns), stop - start)

    def matrix(self) -> list[list[Any]]:
        """Each row as a list."""
        return [list(row) for row in zip(*self.columns, strict=True)]

    def objects(self) -> list[dict[str, Any]]:
        """Each row as a mapping from column to value."""
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.columns, strict=True)]

    def by_column(self) -> dict[str, list[Any]]:
        """Each column as a list."""
        return dict(zip(self.names, self.columns, strict=True))


def plain_rows(table: Table, features: Sequence[str] | None, who: str) -> PlainRows:
    """Choose columns, and convert their values to plain ones."""
    names = tuple(features) if features is not None else table.names
    for name in names:
        if name not in table.names:
            present = ", ".join(map(repr, table.names[:12]))
            raise ModelError(
                f"{who} needs the column {name!r}, which the table does not have: it has {present}."
                f"{nearest(name, table.names)}"
            )
    return PlainRows(names, tuple(_plain(table.column(name), name, who) for name in names), table.rows)


def _plain(column: NDArray[Any], name: str, who: str) -> list[Any]:
    if column.dtype.kind in "biu":
        return column.tolist()  # type: ignore[no-any-return]
    if column.dtype.kind == "f":
        endless = np.isinf(column)
        if endless.any():
            raise _unsendable(column[int(np.argmax(endless))].item(), int(np.argmax(endless)), name, who)
        values: list[Any] = column.astype(np.float64).tolist()
        return [None if value != value else value for value in values] if np.isnan(column).any() else values
    plain = [value if type(value) is str else plain_value(value) for value in column]
    for row, value in enumerate(plain):
        if value is not None and not isinstance(value, str | bool | int | float):
            raise _unsendable(value, row, name, who)
    return plain


def _unsendable(value: object, row: int, name: str, who: str) -> ModelError:
    return ModelError(
        f"{who} can be sent text, finite numbers, truth values and dates, but column {name!r} has {value!r} "
        f"({type(value).__name__}) in row {row} of the batch."
    )


_MANY = ("$rows", "$matrix", "$columns")
_ONE = ("$row", "$vector")
_NAKED = re.compile(r'(?<!["\w$])\$\w+(?!")')
_MARK = re.compile(r"\$\w+")
_MEANING = (
    "$rows (a list of objects), $matrix (a list of lists), $columns (an object of lists), or, for one row a request, "
    "$row (an object) or $vector (a list)"
)


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """A request: a JSON value in which a string that is a mark stands for the rows, or for a single row.

    Without a mark, its texts are templates for a single row, in which ``{column}`` stands for a value.
    """

    tree: Any
    single: bool
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: str | Mapping[str, Any]) -> RequestTemplate:
        """Read a template: JSON text in which a mark may stand without quotes, or the value itself."""
        tree = _parsed(request) if isinstance(request, str) else request
        marks = _marks(tree)
        for mark in marks:
            if mark not in _MANY + _ONE:
                raise _request_error(f"has the mark {mark}, but the marks are {_MEANING}.{nearest(mark, _MANY + _ONE)}")
        if not marks:
            tree, columns = _with_templates(tree)
            if not columns:
                raise _request_error(
                    f"should have a mark where the rows belong, but {request!r} has none: {_MEANING}; or texts with "
                    "the names of columns in braces, 'Is {name} suited?'."
                )
            return cls(tree, True, tuple(dict.fromkeys(columns)))
        if len({mark in _ONE for mark in marks}) > 1:
            raise _request_error(f"should be about one row or about many, but it has {' and '.join(marks)}.")
        return cls(tree, marks[0] in _ONE)

    def body(self, rows: PlainRows) -> bytes:
        """The request about some rows; a template for a single row takes the first."""
        return json.dumps(_filled(self.tree, rows), allow_nan=False).encode()


def _parsed(text: str) -> Any:
    try:
        return json.loads(_NAKED.sub(lambda mark: f'"{mark[0]}"', text))
    except json.JSONDecodeError as error:
        raise _request_error(f"should be JSON with a mark for the rows, but {text!r} is not: {error}.") from error


def _request_error(complaint: str) -> UsageError:
    return UsageError(f"request {complaint}", name="request")


def _marks(tree: Any) -> list[str]:
    match tree:
        case str() if _MARK.fullmatch(tree):
            return [tree]
        case dict():
            return [mark for part in tree.values() for mark in _marks(part)]
        case list():
            return [mark for part in tree for mark in _marks(part)]
        case _:
            return []


def _with_templates(tree: Any) -> tuple[Any, list[str]]:
    """The tree with its texts read as templates, and the columns that these name."""
    match tree:
        case str():
            template = TextTemplate.of(tree, "request")
            return template, list(template.columns)
        case dict():
            parts = {key: _with_templates(part) for key, part in tree.items()}
            columns = [name for _, names in parts.values() for name in names]
            return {key: part for key, (part, _) in parts.items()}, columns
        case list():
            items = [_with_templates(part) for part in tree]
            return [part for part, _ in items], [name for _, names in items for name in names]
        case _:
            return tree, []


def _filled(tree: Any, rows: PlainRows) -> Any:
    match tree:
        case TextTemplate():
            return tree.fill(rows.objects()[0])
        case "$rows":
            return rows.objects()
        case "$matrix":
            return rows.matrix()
        case "$columns":
            return rows.by_column()
        case "$row":
            return rows.objects()[0]
        case "$vector":
            return rows.matrix()[0]
        case dict():
            return {key: _filled(part, rows) for key, part in tree.items()}
        case list():
            return [_filled(part, rows) for part in tree]
        case _:
            return tree


_STEP = re.compile(
    r"""
    \.? (?P<name> [A-Za-z_][\w-]* )
    | \[ (?P<every> \* ) \]
    | \[ (?P<index> -?\d+ ) \]
    | \[ (?P<quote> ['"] ) (?P<key> .*? ) (?P=quote) \]
    """,
    re.VERBOSE,
)

PathStep: TypeAlias = str | int | None
"""A key of an object, an index of a list, or ``None`` for every item of a list."""


@dataclass(frozen=True, slots=True)
class AnswerPath:
    """A path into a JSON value.

    ``.name`` and ``['any name']`` go to a key of an object, ``[0]`` to an item of a list, and ``[*]`` to every item;
    ``$`` alone, or nothing, is the answer itself.
    """

    text: str
    steps: tuple[PathStep, ...]

    @classmethod
    def of(cls, text: str) -> AnswerPath:
        """Read a path."""
        if not isinstance(text, str):
            raise UsageError(f"a path into the answer should be text, such as 'predictions[*].label', but is {text!r}.")
        rest, steps = text.strip().removeprefix("$"), []
        while rest:
            match = _STEP.match(rest)
            if match is None:
                raise UsageError(
                    f"{text!r} is not a path into an answer: at {rest!r} there should be .name, ['any name'], [0] or "
                    "[*], as in predictions[*].label."
                )
            steps.append(_step(match))
            rest = rest[match.end() :]
        return cls(text, tuple(steps))

    def find(self, answer: Any) -> Any:
        """The value at the path; a list with an entry for each item where the path has ``[*]``."""
        return self._from(answer, 0, "the answer")

    def _from(self, value: Any, number: int, where: str) -> Any:
        if number == len(self.steps):
            return value
        step = self.steps[number]
        if step is None and isinstance(value, list):
            return [self._from(item, number + 1, f"{where}[{index}]") for index, item in enumerate(value)]
        if isinstance(step, str) and isinstance(value, dict) and step in value:
            return self._from(value[step], number + 1, f"{where}.{step}")
        if isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            return self._from(value[step], number + 1, f"{where}[{step}]")
        raise ModelError(f"expected {self.text!r} in the answer, but {where} {_lacks(step, value)}")


_TELLING = ("label", "prediction", "predicted", "class", "decision", "result", "value", "score")
"""Keys under which predictions usually are, the likeliest first."""


def likely_path(answer: Any, rows: int, start: str = "") -> str | None:
    """Where in an answer there is one plain value for each row, or a single one if ``rows`` is 0; else ``None``."""
    if rows and isinstance(answer, list) and len(answer) == rows:
        if all(map(_is_plain, answer)):
            return start or "$"
        if all(isinstance(item, dict) for item in answer):
            keys = [key for key in answer[0] if all(_is_plain(item.get(key)) for item in answer)]
            chosen = _likeliest(keys)
            return None if chosen is None else f"{start}[*]{_key(chosen, '.')}"
    if not isinstance(answer, dict):
        return None
    if not rows and (chosen := _likeliest([key for key in answer if _is_plain(answer[key])])) is not None:
        return f"{start}{_key(chosen, '.' if start else '')}"
    paths = (likely_path(part, rows, f"{start}{_key(key, '.' if start else '')}") for key, part in answer.items())
    return next((path for path in paths if path is not None), None)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bool | int | float)


def _key(name: str, dot: str) -> str:
    """A step to a key, in brackets if its name needs them."""
    return f"{dot}{name}" if re.fullmatch(r"[A-Za-z_][\w-]*", name) else f"[{name!r}]"


def _likeliest(keys: Sequence[str]) -> str | None:
    known = [key for word in _TELLING for key in keys if key.lower() == word]
    return next(iter(known or keys), None)


def _step(match: re.Match[str]) -> PathStep:
    if match["every"]:
        return None
    if match["index"]:
        return int(match["index"])
    return match["name"] if match["name"] is not None else match["key"]


def _lacks(step: PathStep, value: Any) -> str:
    if isinstance(step, str) and isinstance(value, dict):
        return f"has no {step!r} among {', '.join(map(repr, list(value)[:12])) or 'no keys'}.{nearest(step, value)}"
    if isinstance(step, int) and isinstance(value, list):
        return f"has {len(value)} items, and so none at [{step}]."
    wanted = "an object" if isinstance(step, str) else "a list"
    return f"is not {wanted}: {brief(value)}"


def brief(value: Any, max_length: int = 120) -> str:
    """The beginning of a value, as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    text = " ".join(text.split())
    return shortened(text, max_length)


def json_value(text: str) -> Any:
    """Read JSON from outside.

    Two equal keys in an object are an error, since readers differ in which one they take; and so is half a surrogate
    pair, which no text in UTF-8 can hold.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct_keys)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"expected text, but {error.object[error.start]!a} is half a character.") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"expected JSON, but {error}.") from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in content if keys.count(key) > 1)
        raise ValueError(f"the key {shortened(twice, 80)!r} occurs twice in an object")
    return content


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """An answer about some rows as plain values; ``None`` for what was not requested."""

    predictions: list[Any] | None = None
    scores: list[Any] | None = None


def check_classes(classes: Sequence[Value]) -> tuple[Value, ...]:
    """Make sure that classes are a list of distinct labels."""
    plain = isinstance(classes, list | tuple) and all(isinstance(label, str | bool | int | float) for label in classes)
    if not plain or len(set(classes)) != len(classes):
        raise option_error("classes", "a list of distinct labels, such as ['no', 'yes']", classes)
    return tuple(classes)


def labels(raw: Any, rows: int, classes: Sequence[Value], where: str) -> list[Any]:
    """One prediction per row, each of them one of the classes if these are declared."""
    values = _one_a_row(raw, rows, "predictions", where)
    declared = {label: label for label in classes}
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str | bool | int | float):
            raise ModelError(f"expected a label or a number at {where}, but row {row} got {brief(value)}")
        if declared and value is not None and value not in declared:
            raise ModelError(f"expected one of the classes {list(classes)!r} at {where}, but row {row} got {value!r}.")
    return [declared.get(value, value) for value in values] if declared else values


def scores(raw: Any, rows: int, classes: Sequence[Value], where: str) -> list[Any]:
    """One score per row, or one per row and class, in the order of the classes."""
    values = _one_a_row(raw, rows, "scores", where)
    read = [_score(value, row, classes, where) for row, value in enumerate(values)]
    widths = {len(value) if isinstance(value, list) else 0 for value in read}
    if len(widths) > 1:
        raise ModelError(f"expected as many scores for every row at {where}, but there are {sorted(widths)} of them")
    return read


def answer_of(plain: PlainAnswer, classes: tuple[Value, ...], *, want_score: bool, want_prediction: bool) -> Answer:
    """Make arrays from plain values; predictions that are floating-point numbers are also scores."""
    prediction = None if plain.predictions is None else column_from(plain.predictions, "prediction")
    score: NDArray[np.float64] | None = None
    if want_score and plain.scores is not None:
        score = np.array(plain.scores, dtype=np.float64)
    elif want_score and prediction is not None:
        score = score_from(prediction)
    by_class = score is not None and score.ndim == 2
    return Answer(prediction if want_prediction else None, score, classes if by_class else ())


def _one_a_row(raw: Any, rows: int, what: str, where: str) -> list[Any]:
    if not isinstance(raw, list):
        raise ModelError(f"expected a list of {rows:,} {what} at {where}, but got {brief(raw)}")
    if len(raw) != rows:
        raise ModelError(f"expected {rows:,} {what} at {where}, one for each row, but got {len(raw):,}")
    return raw


def _score(value: Any, row: int, classes: Sequence[Value], where: str) -> Any:
    if isinstance(value, dict):
        by_name = {str(key): number for key, number in value.items()}
        if not classes or set(by_name) != {str(label) for label in classes}:
            raise ModelError(
                f"expected a score for each of the classes {list(classes)!r} at {where}, but row {row} got "
                f"{brief(value)}. Declare all classes: classes=[...]."
            )
        value = [by_name[str(label)] for label in classes]
    if isinstance(value, list):
        if classes and len(value) != len(classes):
            raise ModelError(
                f"expected {len(classes)} scores per row at {where}, for the classes {list(classes)!r}, but row {row} "
                f"got {brief(value)}"
            )
        return [_number(item, row, where) for item in value]
    return _number(value, row, where)


def _number(value: Any, row: int, where: str) -> float:
    if value is None:
        return float("nan")  # refused when the answer is checked, with the row
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelError(f"expected a number at {where}, but row {row} got {brief(value)}")
    return float(value)

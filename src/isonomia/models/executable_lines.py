"""Rows as lines for a program, and its lines as answers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from io import StringIO
from typing import Any

from isonomia.errors import ModelError
from isonomia.models.services_reading import Said, labels, scores
from isonomia.models.services_rows import PlainRows
from isonomia.spec.tree import Value

__all__ = ["ANSWERS", "FORMATS", "header_of", "lines_of", "said_by"]

FORMATS = ("csv", "jsonl")
ANSWERS = ("lines", "csv", "jsonl")

# As JSON writes numbers: what begins with zeros, such as 007, is a code and no number.
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?")
_SCORE = re.compile(r"score\[(?P<label>.+)\]")


def header_of(rows: PlainRows, form: str) -> bytes:
    """The line that names the columns; JSON lines need none."""
    return _csv([rows.names]) if form == "csv" else b""


def lines_of(rows: PlainRows, form: str) -> bytes:
    """A line for each row: CSV, in which what is missing is empty, or JSON objects."""
    if form == "csv":
        return _csv(zip(*map(_cells, rows.columns), strict=True))
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows.objects()).encode()


def said_by(lines: Sequence[str], form: str, rows: int, classes: tuple[Value, ...]) -> tuple[Said, tuple[Value, ...]]:
    """What a program's lines say, and the classes that its scores belong to.

    Parameters
    ----------
    lines
        The lines; for CSV the first one names the columns ``prediction``, ``score``, or ``score[LABEL]`` for each
        class.
    form
        ``"lines"`` for a prediction on each, ``"csv"``, or ``"jsonl"`` for objects with ``prediction`` and ``score``.
    rows
        How many rows were asked about.
    classes
        The classes, where they are declared.

    Raises
    ------
    ModelError
        When the lines say something else, or not about every row.
    """
    match form:
        case "lines":
            return Said(labels([_value(line, classes) for line in lines], rows, classes, "standard output")), classes
        case "csv":
            return _from_csv(lines, rows, classes)
        case _:
            return _from_json(lines, rows, classes), classes


def _csv(rows: Any) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _cells(column: list[Any]) -> list[Any]:
    """Truth values as other languages write them; the rest is CSV's own affair, which leaves ``None`` empty."""
    if bool not in set(map(type, column)):
        return column
    return [str(value).lower() if isinstance(value, bool) else value for value in column]


def _from_csv(lines: Sequence[str], rows: int, classes: tuple[Value, ...]) -> tuple[Said, tuple[Value, ...]]:
    header, *records = list(csv.reader(lines)) or [[]]
    where = f"the columns {', '.join(header)} of standard output"
    by_class = [place for place, name in enumerate(header) if _SCORE.fullmatch(name)]
    if not by_class and not {"prediction", "score"} & set(header):
        raise ModelError(
            f"expected columns prediction, score or score[LABEL] in the first line, but it is {','.join(header)[:99]!r}"
        )
    short = next((number for number, record in enumerate(records) if len(record) != len(header)), None)
    if short is not None:
        raise ModelError(f"expected {len(header)} values on every line, but row {short} got {records[short]!r:.120}")
    predictions = found = None
    if "prediction" in header:
        at = header.index("prediction")
        predictions = labels([_value(record[at], classes) for record in records], rows, classes, where)
    if by_class:
        named = tuple(_value(str(_SCORE.sub(r"\g<label>", header[place])), classes) for place in by_class)
        each = [
            {str(label): _number(record[at]) for label, at in zip(named, by_class, strict=True)} for record in records
        ]
        classes = classes or named
        found = scores(each, rows, classes, where)
    elif "score" in header:
        at = header.index("score")
        found = scores([_number(record[at]) for record in records], rows, (), where)
    return Said(predictions, found), classes


def _from_json(lines: Sequence[str], rows: int, classes: tuple[Value, ...]) -> Said:
    found = []
    for number, line in enumerate(lines):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ModelError(f"expected JSON on every line, but line {number} is {line[:80]!r}: {error}") from None
    objects = [item if isinstance(item, dict) else {"prediction": item} for item in found]
    named = {name for item in objects for name in item} & {"prediction", "score"}
    if objects and not named:
        raise ModelError(f"expected objects with prediction or score, but the first line is {lines[0][:80]!r}")
    where = "standard output"
    return Said(
        labels([item.get("prediction") for item in objects], rows, classes, where) if "prediction" in named else None,
        scores([item.get("score") for item in objects], rows, classes, where) if "score" in named else None,
    )


def _value(text: str, classes: Sequence[Value]) -> Any:
    """One value by itself, so that it does not depend on the others: a declared class, a number, or text."""
    text = text.strip()
    for label in classes:
        if text == str(label):
            return label
    if not text or text.lower() == "nan":
        return None  # refused where the answer is checked, with the row
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) or text.lower().lstrip("+-") in {"inf", "infinity"}:
        return float(text)  # an endless one is refused where the answer is checked
    return {"true": True, "false": False}.get(text.lower(), text)


def _number(text: str) -> Any:
    """A number, ``None`` for none; anything else stays text, and is refused as a score."""
    try:
        number = float(text)
    except ValueError:
        return text or None
    return None if number != number else number

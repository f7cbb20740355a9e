"""A program as a model: it reads rows as lines, and writes an answer for each."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import check_choice, check_number, checked_features, checked_score_range, option_error
from isonomia.models.files import digest_of
from isonomia.models.payloads import (
    PlainAnswer,
    PlainRows,
    answer_of,
    check_classes,
    json_value,
    labels,
    plain_rows,
    scores,
)
from isonomia.models.process import Command, Conversation, ended_with, resolved, tail
from isonomia.models.protocol import Answer
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

_FORMATS = ("csv", "jsonl")
_ANSWERS = ("lines", "csv", "jsonl")

# Numbers as JSON writes them: with leading zeros, such as 007, it is a code and not a number.
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?")
_SCORE = re.compile(r"score\[(?P<label>.+)\]")


@dataclass(frozen=True, slots=True, eq=False)
class ExecutableModel:
    """A program that reads rows from standard input, and writes an answer for each, in order, to standard output.

    It is started directly, never through a shell. It runs once per batch, or, with ``keep_alive``, is kept running and
    given one line at a time; then it must answer each line at once.

    Attributes
    ----------
    command
        The program and its arguments, as a list.
    format
        How rows are written: ``"csv"`` with a header line, or ``"jsonl"``, one object per line.
    answers
        How it answers: ``"lines"``, a prediction on each; ``"csv"`` with a header of ``prediction``, ``score`` or
        ``score[LABEL]``; ``"jsonl"``, objects with ``prediction`` and ``score``.
    timeout
        Seconds for one batch; after that, the program and everything that it started are killed.
    keep_alive
        Whether it is kept running.
    folder
        The folder it runs in.
    classes, score_range, features
        The labels; the least and the greatest score; the columns to write, ``None`` for all.
    version
        Which model it runs, in your words; part of the fingerprint.
    """

    command: Sequence[str]
    format: str = "csv"
    answers: str = "lines"
    timeout: float = 60.0
    keep_alive: bool = False
    folder: str | PathLike[str] | None = None
    classes: tuple[Value, ...] = ()
    score_range: tuple[float, float] | None = None
    features: Sequence[str] | None = None
    version: str = ""
    _command: Command = field(init=False, repr=False)
    _conversation: Conversation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_options(self)
        folder = None if self.folder is None else Path(fspath(self.folder))
        command = Command(tuple(self.command), folder, float(self.timeout))
        derived: dict[str, Any] = {
            "command": tuple(self.command),
            "classes": check_classes(self.classes),
            "features": checked_features(self.features),
            "score_range": checked_score_range(self.score_range),
            "_command": command,
            "_conversation": Conversation(command, answers_greeting=self.answers == "csv"),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """The program, and the first file among its arguments, which is what an interpreter runs."""
        names = [Path(self.command[0]).name, *(path.name for path in self._files()[1:2])]
        return " ".join(names)

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it is given; ``None`` for all."""
        return None if self.features is None else tuple(self.features)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Give the program a batch, and read its answers.

        Raises
        ------
        ModelError
            When the program fails, with its exit code and the end of what it wrote to standard error.
        """
        rows = plain_rows(table, self.features, self.name)
        lines = self._exchange(rows) if self.keep_alive else self._run(rows)
        try:
            plain, classes = _plain_answer(lines, self.answers, rows.rows, self.classes)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from None
        return answer_of(plain, classes, want_score=want_score, want_prediction=want_prediction)

    def fingerprint(self) -> str:
        """Tell this program from others by its command, and by the files that the command names.

        Other files that it reads do not count: change ``version`` when they change.
        """
        contents = [_digest(path) for path in self._files()]
        texts = (self.format, self.answers, repr(self.classes), repr(self.features), self.version)
        return fingerprint_of("executable", *self.command, *texts, *contents)

    def describe(self) -> str:
        """Say in one line what it is."""
        about = f", version {self.version}" if self.version else ""
        how = "kept running" if self.keep_alive else "run once a batch"
        return f"the program {self.name}{about}, {how}: reads {self.format}, answers {self.answers}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def close(self) -> None:
        """End the program if it is kept running; it is started again when needed."""
        self._conversation.close()

    def _run(self, rows: PlainRows) -> list[str]:
        done = self._command.run(_header(rows, self.format) + _lines(rows, self.format))
        text = self._decoded(done.out).removesuffix("\n")
        lines = [line.removesuffix("\r") for line in text.split("\n")] if text else []
        if done.code is None:
            raise ModelError(
                f"{self.name} did not finish {rows.rows:,} rows within {self.timeout:g} s (timeout=...), and was ended "
                f"with everything that it started. {tail(done.errors)}"
            )
        if done.code != 0:
            answers = max(0, len(lines) - (self.answers == "csv"))
            raise ModelError(
                f"{self.name} {ended_with(done.code)} after {answers:,} of {rows.rows:,} answers. {tail(done.errors)}"
            )
        return lines

    def _exchange(self, rows: PlainRows) -> list[str]:
        given, greeting = _lines(rows, self.format), _header(rows, self.format)
        answers = self._conversation.exchange(given, greeting, rows.rows, self.name)
        head = [self._conversation.header] if self.answers == "csv" else []
        return [self._decoded(line).rstrip("\r\n") for line in [*head, *answers]]

    def _decoded(self, content: bytes) -> str:
        """What it wrote. Invalid bytes are not replaced: two different labels could become equal."""
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            around = content[max(0, error.start - 10) : error.end + 10]
            raise ModelError(
                f"{self.name} should write UTF-8, but byte {error.start + 1:,} of an answer is invalid: {around!r}"
            ) from error

    def _files(self) -> list[Path]:
        """The files that the command names: the program, and arguments that are files."""
        folder = Path.cwd() if self.folder is None else Path(fspath(self.folder))
        first = resolved(self.command, folder)[0]
        paths = [Path(shutil.which(first) or first), *(folder / part for part in self.command[1:])]
        return [path for path in paths if path.is_file()]


def _check_options(model: ExecutableModel) -> None:
    command = model.command
    if isinstance(command, str):
        raise UsageError(
            f"command should be a list, since it never goes through a shell, but is the text {command!r}. "
            f"Write {_split(command)!r}.",
            name="command",
        )
    if not isinstance(command, list | tuple) or not command or not all(isinstance(part, str) for part in command):
        raise option_error("command", "a list of texts, such as ['./score', '--fast']", command)
    check_choice("format", model.format, _FORMATS)
    check_choice("answers", model.answers, _ANSWERS)
    check_number("timeout", model.timeout, 0, above=True)
    if not isinstance(model.keep_alive, bool):
        raise option_error("keep_alive", "True or False", model.keep_alive)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _digest(path: Path) -> str:
    try:
        return digest_of(path)
    except OSError:  # a program may be run without being readable
        return "unreadable"


def _header(rows: PlainRows, form: str) -> bytes:
    """The line that names the columns; JSON lines need none."""
    return _csv([rows.names]) if form == "csv" else b""


def _lines(rows: PlainRows, form: str) -> bytes:
    """A line for each row: CSV, in which a missing value is empty, or JSON objects."""
    if form == "csv":
        return _csv(zip(*map(_cells, rows.columns), strict=True))
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows.objects()).encode()


def _plain_answer(
    lines: Sequence[str], form: str, rows: int, classes: tuple[Value, ...]
) -> tuple[PlainAnswer, tuple[Value, ...]]:
    """The answer in a program's lines, and the classes that its scores belong to.

    ``form`` is as ``answers`` of :class:`ExecutableModel`.
    """
    match form:
        case "lines":
            values = [_value(line, classes) for line in lines]
            return PlainAnswer(labels(values, rows, classes, "standard output")), classes
        case "csv":
            return _from_csv(lines, rows, classes)
        case _:
            return _from_json(lines, rows, classes), classes


def _csv(rows: Any) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _cells(column: list[Any]) -> list[Any]:
    """Truth values as other languages write them; the CSV writer handles the rest, and leaves ``None`` empty."""
    if bool not in set(map(type, column)):
        return column
    return [str(value).lower() if isinstance(value, bool) else value for value in column]


def _from_csv(lines: Sequence[str], rows: int, classes: tuple[Value, ...]) -> tuple[PlainAnswer, tuple[Value, ...]]:
    header, *records = list(csv.reader(lines)) or [[]]
    where = f"the columns {', '.join(header)} of standard output"
    by_class = [index for index, name in enumerate(header) if _SCORE.fullmatch(name)]
    if not by_class and not {"prediction", "score"} & set(header):
        raise ModelError(
            f"expected columns prediction, score or score[LABEL] in the first line, but it is {','.join(header)[:99]!r}"
        )
    short = next((number for number, record in enumerate(records) if len(record) != len(header)), None)
    if short is not None:
        raise ModelError(f"expected {len(header)} values on every line, but row {short} got {records[short]!r:.120}")
    predictions = scored = None
    if "prediction" in header:
        at = header.index("prediction")
        predictions = labels([_value(record[at], classes) for record in records], rows, classes, where)
    if by_class:
        named = tuple(_value(str(_SCORE.sub(r"\g<label>", header[index])), classes) for index in by_class)
        each = [
            {str(label): _number(record[at]) for label, at in zip(named, by_class, strict=True)} for record in records
        ]
        classes = classes or named
        scored = scores(each, rows, classes, where)
    elif "score" in header:
        at = header.index("score")
        scored = scores([_number(record[at]) for record in records], rows, (), where)
    return PlainAnswer(predictions, scored), classes


def _from_json(lines: Sequence[str], rows: int, classes: tuple[Value, ...]) -> PlainAnswer:
    values = []
    for number, line in enumerate(lines):
        try:
            values.append(json_value(line))
        except ModelError as error:
            raise ModelError(f"expected JSON on every line, but line {number} is {line[:80]!r}: {error}") from None
    objects = [item if isinstance(item, dict) else {"prediction": item} for item in values]
    named = {name for item in objects for name in item} & {"prediction", "score"}
    if objects and not named:
        raise ModelError(f"expected objects with prediction or score, but the first line is {lines[0][:80]!r}")
    where = "standard output"
    return PlainAnswer(
        labels([item.get("prediction") for item in objects], rows, classes, where) if "prediction" in named else None,
        scores([item.get("score") for item in objects], rows, classes, where) if "score" in named else None,
    )


def _value(text: str, classes: Sequence[Value]) -> Any:
    """One value, read independently of the others: a declared class, a number, a truth value, or text."""
    text = text.strip()
    for label in classes:
        if text == str(label):
            return label
    if not text or text.lower() == "nan":
        return None  # refused when the answer is checked, with the row
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) or text.lower().lstrip("+-") in {"inf", "infinity"}:
        return float(text)  # an infinite one is refused when the answer is checked
    return {"true": True, "false": False}.get(text.lower(), text)


def _number(text: str) -> Any:
    """A number; ``None`` for an empty text or NaN; anything else stays text, and is refused as a score."""
    try:
        number = float(text)
    except ValueError:
        return text or None
    return None if number != number else number

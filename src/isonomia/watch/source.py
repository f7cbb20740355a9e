"""Where decisions come from: a folder to which files are added, or lines of standard input.

A source gives what has come since a position, in parts, each with the position after it. The position is stored in the
same transaction as the results of the part, so every row counts once, whenever the process is killed.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedReader, FileIO
from itertools import accumulate
from math import nan
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import IO, Any, Protocol

from isonomia.errors import DataError, ModelError, UsageError
from isonomia.models.payloads import json_value
from isonomia.populations.files import cells_of, files_in, read_rows, table_of
from isonomia.populations.table import Table
from isonomia.watch.stream import DECISIONS, OUTCOMES, ids_of
from isonomia.wording import shortened

Position = Mapping[str, Any]
"""How far a source was read, as values that JSON can hold."""

AT_ONCE = 10_000
"""The maximum number of rows of a table, or lines, that are fetched at once."""

TOGETHER = 1_000
"""The most of them that are counted together. Less gives a finer history of a backlog, and costs more transactions."""


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Rows that are counted together, or not at all.

    Attributes
    ----------
    table
        The rows; ``None`` without rows, as in a file with only a header.
    position
        The position of the source after them.
    label
        Where they come from, for people: the name of a file.
    brings
        Samples, or outcomes.
    alone
        Whether it has a log entry of its own, as a file does. Rows of a table are merged with the part before.
    digest
        The SHA-256 of a file.
    ids
        The ids of its rows, from their texts where it has texts, so that no type can change them.
    names
        What to call each row: its key, or the number of its line, and its day. Empty for a file.
    """

    table: Table | None
    position: Position | None
    label: str
    brings: str = DECISIONS
    alone: bool = False
    digest: str | None = None
    ids: tuple[str, ...] | None = None
    names: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return 0 if self.table is None else self.table.rows


class StreamSource(Protocol):
    """Gives rows in an order that stays the same."""

    @property
    def brings(self) -> str | None:
        """Samples, or outcomes of earlier ones; ``None`` for both."""
        ...

    def resume(self, positions: Sequence[Position]) -> None:
        """Continue after these positions, which were stored in this order."""

    def new(self, stop: Event) -> Iterator[SourcePart]:
        """What has come since; it ends when there is nothing more for now."""
        ...

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[SourcePart]:
        """Read again what was read between two positions."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        ...

    def describe(self) -> str:
        """What it is, in words that stay the same as long as positions in it mean the same."""
        ...


# ----------------------------------------------------------------------------------------------------------- a folder


@dataclass(slots=True)
class FolderSource:
    """Files that are added to a folder, each a part, in the order of their names.

    A file is read once, as a whole. One that is still empty, or changes while it is read, is left for later. Writers
    should move files there when they are complete, or give them a name that begins with a dot until then. A file with
    another content than when it was read is an error: where size, times or inode differ, its SHA-256 is compared.
    """

    path: Path
    name: str
    brings: str = DECISIONS
    inside: Path | None = None  # links must not lead out of it
    id: str | None = None  # the column that identifies samples
    _read: dict[str, tuple[list[int] | None, str | None]] = field(default_factory=dict)  # stamp and digest

    ended = False

    def resume(self, positions: Sequence[Position]) -> None:
        """Skip files that were read."""
        self._read = {str(each["file"]): (each.get("stamp"), each.get("digest")) for each in positions}

    def new(self, stop: Event) -> Iterator[SourcePart]:
        """The files that have not been read yet."""
        if not self.path.is_dir():
            raise DataError(f"expected a folder to which files are added, but {self.path} is not a folder")
        for file in files_in(self.path):
            if stop.is_set():
                return
            name = file.relative_to(self.path).as_posix()
            try:
                status = file.stat()
            except FileNotFoundError:  # moved away since it was listed
                continue
            if name in self._read:
                self._check_unchanged(file, name, _stamp(status))
            elif status.st_size and (part := self._part(file, name)) is not None:
                yield part
                self._read[name] = (part.position or {}).get("stamp"), part.digest

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[SourcePart]:
        """Read a file again."""
        del before, rows
        name = Path(str(entry["file"]))
        if name.is_absolute() or ".." in name.parts:  # possible in a record from a stranger
            raise DataError(f"expected the name of a file in {self.path}, but got {str(name)!r}")
        file = self.path / name
        if not file.is_file():
            raise DataError(f"expected {file}, which was read before, but it is missing", name=file.name)
        part = self._part(file, str(entry["file"]))
        if part is not None:
            yield part

    def describe(self) -> str:
        """The folder as the watch file names it: a copy of it elsewhere counts as the same."""
        return f"folder {self.name}"

    def _check_unchanged(self, file: Path, name: str, stamp: list[int]) -> None:
        before, digest = self._read[name]
        if stamp == before:
            return
        if digest is None or _digest(file) != digest:
            raise DataError(
                f"{file} has changed since it was read. A file is read once, as a whole: put new rows into a new file, "
                "and restore this one",
                name=name,
            )
        self._read[name] = stamp, digest  # touched, copied or renamed, with the same content

    def _part(self, file: Path, name: str) -> SourcePart | None:
        if self.inside is not None and not file.resolve().is_relative_to(self.inside):
            raise DataError(f"{file} leaves the folder of the watch file, for {file.resolve()}: --allow-outside")
        try:
            before = _stamp(file.stat())
            digest, table = _digest(file), read_rows(file)
            cells = None if self.id is None or table is None else cells_of(file, self.id)
        except (FileNotFoundError, DataError):
            if not file.exists() or _stamp(file.stat()) != before:
                return None  # moved away, or half of a file that is still being written
            raise
        if not file.exists() or _stamp(file.stat()) != before:
            return None
        ids = None if cells is None else ids_of(cells, self.id, name)
        position = {"file": name, "bytes": before[0], "stamp": before}
        return SourcePart(table, position, name, self.brings, alone=True, digest=digest, ids=ids)


def _digest(file: Path) -> str:
    digest = sha256()
    try:
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                digest.update(block)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(f"expected a file that can be read, but {file}: {error.strerror}") from error
    return digest.hexdigest()


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


# ------------------------------------------------------------------------------------------------- types of rows, days


_MISSING = frozenset({"NA", "N/A", "NaN", "nan", "NULL", "null"})
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*|(?=\.[0-9]))(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@dataclass(slots=True)
class ColumnKinds:
    """Whether each column has numbers, truth values or text: decided by its first value, for the whole stream.

    So it does not depend on how rows are cut into parts, or on when they arrive. A later value of another kind is an
    error. In CSV, a cell is a number, ``true`` or ``false``, or text; empty cells are missing, and so are words such as
    ``NA`` outside of columns of text.
    """

    known: dict[str, str] = field(default_factory=dict)

    def column(self, name: str, values: Sequence[Any], where: Sequence[str]) -> list[Any]:
        """The values of a column that is not CSV; all of the same kind, or missing."""
        for value, row in zip(values, where, strict=True):
            kind = _kind(value)
            if kind is not None and self.known.setdefault(name, kind) != kind:
                raise self._other(name, value, row)
        return self._without_gaps(name, values)

    def cells(self, name: str, cells: Sequence[Any], where: Sequence[str]) -> list[Any]:
        """The values of cells of CSV."""
        return self._without_gaps(name, [self._cell(name, cell, row) for cell, row in zip(cells, where, strict=True)])

    def _without_gaps(self, name: str, values: Sequence[Any]) -> list[Any]:
        """A column of numbers has numbers also in a part where all of them are missing."""
        absent = self.known.get(name) == "number" and all(value is None for value in values)
        whole = any(type(value) is int for value in values)
        if whole and any(type(value) is float for value in values):
            return [float(value) if type(value) is int else value for value in values]
        return [nan] * len(values) if absent else list(values)

    def _cell(self, name: str, cell: str, row: str) -> Any:
        text, known = cell.strip(), self.known.get(name)
        if not cell or (known != "text" and (text in _MISSING or not text)):
            return None
        is_truth = text.lower() in {"true", "false"} and text in {text.lower(), text.upper(), text.capitalize()}
        kind = "number" if _NUMBER.fullmatch(text) else "truth value" if is_truth else "text"
        match self.known.setdefault(name, kind):
            case "text":
                return cell
            case known if known != kind:
                raise self._other(name, cell, row)
            case "number":
                return float(text)
            case _:
                return text.lower() == "true"

    def _other(self, name: str, value: Any, row: str) -> DataError:
        return DataError(
            f"{row}: expected a {self.known[name]} in the column {name!r}, as in the first row that has a value there, "
            f"but got {shortened(str(value), 80)!r}. Write all of them as numbers, or all as text; a code that begins "
            "with zeros is text, which only JSON lines can show in the first row"
        )


def _kind(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "truth value"
        case int() | float():
            return "number"
        case str():
            return "text"
        case _:
            return type(value).__name__


def day_of(value: Any, name: str) -> str:
    """The day of a time, such as 2026-05-01 of 2026-05-01T10:00."""
    text = str(value).strip()
    if not _DAY.match(text):
        raise DataError(f"expected times such as 2026-05-01T10:00 in the column {name!r}, but got {text[:40]!r}")
    return text[:10]


def pieces(days: Sequence[str] | None, rows: int) -> Iterator[tuple[int, int]]:
    """Where to cut rows into parts: at each later day, and at a certain size."""
    start, latest = 0, "" if not days else days[0]
    for end in range(1, rows + 1):
        if end == rows or end - start == TOGETHER or (days is not None and days[end] > latest):
            yield start, end
            start = end
        if days is not None and end < rows:
            latest = max(latest, days[end])


def days_of(values: Sequence[Any] | None, name: str | None) -> list[str] | None:
    """The days of times; ``None`` without times."""
    return None if values is None or name is None else [day_of(value, name) for value in values]


# ------------------------------------------------------------------------------------------------------ standard input


@dataclass(slots=True)
class StandardInput:
    """Lines of standard input: JSON, one object per line, or CSV with a header.

    All input is new: lines that the process had read but not counted when it was killed are lost. If the sender
    ``repeats`` everything from the first line at every start, lines that were counted are skipped; a chain of digests
    shows whether they are the same. A JSON object that has only the id and the outcome brings the outcome of an earlier
    sample. Numbers are floating-point numbers.
    """

    format: str
    repeats: bool = False
    late: tuple[str, str] | None = None  # the id and the outcome
    stream: IO[bytes] | None = None
    time: str | None = None
    _line: int = 0
    _passed: int = 0
    _chain: str = ""  # of the header and the lines so far, if they are repeated
    _counted: str | None = None  # of those that were counted
    _header: list[str] | None = None
    _queue: Queue[bytes | None] | None = None
    _kinds: ColumnKinds = field(default_factory=ColumnKinds)
    _ended: bool = False

    brings = None

    def resume(self, positions: Sequence[Position]) -> None:
        """Continue counting lines."""
        self._line = int(positions[-1]["line"]) if positions else 0
        self._kinds = ColumnKinds(dict(positions[-1].get("kinds", {})) if positions else {})
        self._passed = self._line if self.repeats else 0
        self._counted = positions[-1].get("chain") if positions else None

    @property
    def ended(self) -> bool:
        """Whether the sender has closed it."""
        return self._ended

    def new(self, stop: Event) -> Iterator[SourcePart]:
        """The lines that have arrived; waits for the first of them."""
        lines = self._taken(stop, AT_ONCE)
        if self._ended and self._passed:
            raise DataError(
                f"expected {self._line:,} lines or more, as many as were counted, but standard input ended "
                f"{self._passed:,} earlier: with again = true the sender begins with the same first line every time"
            )
        if lines:
            yield from self._parts(lines)

    def again(self, before: Position | None, entry: Position, rows: int) -> Iterator[SourcePart]:
        """Read the lines between two positions again."""
        del rows
        if not self.repeats:
            raise UsageError(
                "lines of standard input cannot be read again: with again = true, below [source], the sender begins "
                "with the first line each time"
            )
        wanted = int(entry["line"]) - (0 if before is None else int(before["line"]))
        while wanted > 0:
            lines = self._taken(Event(), min(wanted, AT_ONCE))
            if not lines:
                raise DataError(f"expected {wanted:,} more lines, as many as were counted, but standard input ended")
            wanted -= len(lines)
            yield from self._parts(lines)

    def describe(self) -> str:
        """Standard input, and how it is read."""
        return f"lines of {self.format}"

    def _taken(self, stop: Event, limit: int) -> list[bytes]:
        """Wait for a line, and take all that have arrived with it, up to a limit."""
        if self._queue is None:
            self._queue = Queue(2 * AT_ONCE)
            # Not sys.stdin: at exit, Python locks it, and aborts if a thread is still reading.
            stream = self.stream or BufferedReader(FileIO(_open_input()))
            Thread(target=_read_all, args=(stream, self._queue), daemon=True).start()
        lines: list[bytes] = []
        while not self._ended and len(lines) < limit and not (stop.is_set() and not lines):
            try:
                line = self._queue.get(timeout=0.2) if not lines else self._queue.get_nowait()
            except Empty:
                if lines:
                    break
                continue
            if line is None:
                self._ended = True
            elif self.format == "csv" and self._header is None:
                self._header = _header(_text(line, 1))
                if lost := [name for name in self._kinds.known if name not in self._header]:
                    raise DataError(f"line 1: expected the column {lost[0]!r} in the header, as it was there before")
                self._chain = self._linked(line, self._chain)
            elif self._passed:
                self._passed -= 1
                self._chain = self._linked(line, self._chain)
                if not self._passed and self._counted not in (None, self._chain):
                    raise DataError(
                        f"expected the same first {self._line:,} lines of standard input that were counted, but they "
                        "have changed: with again = true the sender begins with the same lines every time"
                    )
            else:
                lines.append(line)
        return lines

    def _linked(self, line: bytes, chain: str) -> str:
        return sha256(chain.encode() + line.rstrip(b"\r\n")).hexdigest() if self.repeats else ""

    def _parts(self, lines: Sequence[bytes]) -> Iterator[SourcePart]:
        """Lines as parts, each of which brings only samples or only outcomes."""
        rows = [(self._line + k, self._row(line, self._line + k)) for k, line in enumerate(lines, start=1)]
        chains = list(accumulate(lines, lambda chain, line: self._linked(line, chain), initial=self._chain))
        base, start = self._line, 0
        while start < len(rows):
            brings, end = self._brings(rows[start][1]), start + 1
            while end < len(rows) and self._brings(rows[end][1]) == brings:
                end += 1
            chosen = [(number, row) for number, row in rows[start:end] if row]
            timed = brings == DECISIONS and all(self.time in row for _, row in chosen)
            days = days_of([row[str(self.time)] for _, row in chosen], self.time) if timed else None
            for first, last in pieces(days, len(chosen)):
                self._line = rows[end - 1][0] if last == len(chosen) else chosen[last - 1][0]
                self._chain = chains[self._line - base]
                yield self._part(chosen[first:last], None if days is None else days[first:last], brings)
            if not chosen:
                self._line, self._chain = rows[end - 1][0], chains[end]
                yield self._part([], None, brings)
            start = end

    def _part(self, rows: Sequence[tuple[int, dict[str, Any]]], days: Sequence[str] | None, brings: str) -> SourcePart:
        table, ids, where = None, None, [f"line {number:,}" for number, _ in rows]
        if rows:
            # An object without a key has a missing value there, also if it comes alone.
            known = self._kinds.known if brings == DECISIONS else ()
            names = dict.fromkeys([*known, *(name for _, row in rows for name in row)])
            columns = {name: [row.get(name) for _, row in rows] for name in names}
            if self.late is not None and self.late[0] in columns:
                ids = ids_of(columns.pop(self.late[0]), self.late[0], where[-1])
            typed = self._kinds.cells if self.format == "csv" else self._kinds.column
            content = {name: typed(name, values, where) for name, values in columns.items()}
            floats = {name: _as_floats(values, name, where) for name, values in content.items()}
            own = (
                {} if ids is None or self.late is None else {self.late[0]: list(ids)}
            )  # 7 and "7" may be in one stream
            table = table_of({**own, **floats}, where[-1])
        position: dict[str, Any] = {"line": self._line, "kinds": dict(self._kinds.known)}
        if self.repeats:
            position["chain"] = self._chain
        labels = tuple(where if days is None else [f"{day}, {line}" for day, line in zip(days, where, strict=True)])
        return SourcePart(
            table, position, labels[-1] if labels else f"line {self._line:,}", brings, ids=ids, names=labels
        )

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        text = _text(line, number)
        if not text.strip():
            return {}
        if self.format == "csv":
            cells = _cells(text, number)
            if text.count('"') % 2 or len(cells) != len(self._header or ()):
                raise DataError(
                    f"line {number:,} of standard input: expected {len(self._header or ())} cells, as the header has, "
                    f"but got {shortened(text, 120)!r}. A row must be one line"
                )
            return dict(zip(self._header or (), cells, strict=True))
        try:
            row = json_value(text)
        except ModelError as error:
            raise DataError(
                f"line {number:,} of standard input: expected a JSON object, but got {shortened(text, 120)!r}: {error}"
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"line {number:,} of standard input: expected a JSON object, but got {row!r}")
        return row

    def _brings(self, row: Mapping[str, Any]) -> str:
        return OUTCOMES if self.late is not None and set(row) == set(self.late) else DECISIONS


def _open_input() -> int:
    try:
        return os.dup(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        raise UsageError("expected lines on standard input, but it is closed") from None


def _cells(text: str, number: int) -> list[str]:
    try:
        return next(csv.reader([text]), [])
    except csv.Error as error:
        raise DataError(f"line {number:,} of standard input: expected cells of CSV, but {error}") from error


def _header(text: str) -> list[str]:
    names = _cells(text, 1)
    twice = next((name for name in names if not name.strip() or names.count(name) > 1), None)
    if not names or twice is not None:
        raise DataError(
            f"expected different names of columns in the first line of standard input, but got {text[:200]!r}"
        )
    return names


def _as_floats(values: Sequence[Any], name: str, where: Sequence[str]) -> list[Any]:
    """Whole numbers as floating-point numbers: a column has one type in all parts."""
    try:
        return [float(each) if type(each) is int else each for each in values]
    except OverflowError:
        raise DataError(f"{where[-1]}: expected numbers in the column {name!r}, but one is too large") from None


def _read_all(stream: IO[bytes], lines: Queue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _text(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"line {number:,} of standard input is not UTF-8: {error.reason}") from error

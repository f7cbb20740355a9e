"""Separated values, such as CSV: text without declared types, read by pyarrow in blocks of whole rows.

A column's type is the first that all its cells fit: whole number, number, truth value (``true`` or ``false`` in lower
case, upper case, or capitalized), text. An empty cell is missing. In a column whose other cells are all numbers,
``NA``, ``N/A``, ``NaN``, ``nan``, ``NULL`` and ``null`` are missing too; in a column of text they are text. A column
with a cell such as ``00123`` is text: it is a code, such as a postal code, which would lose its zeros.

So all cells are read as text first, and the type is chosen when all of them have been seen.

Nothing is guessed from some of the rows, except which sign separates the cells: the one that the file's name says, or
its first line (``sep=;``, for Excel), unless the first rows fit another one better. The verdict then says which.

A file is refused where readers disagree on its rows, or a row would be lost: a quotation mark that is never closed or
that is followed by text, an empty line in the only column, a first line of numbers. Every row is accounted for: the
lines of a block are its rows, its empty lines, and the line breaks inside its cells. A line break inside a cell is
legal, and often a quotation mark too many; the verdict mentions it.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from pyarrow import types

from isonomia.errors import DataError
from isonomia.populations import lines
from isonomia.populations.lines import explained, line_ends, line_error, open_bytes
from isonomia.spec.columns import EXACT
from isonomia.wording import plural

_NUMBER_MISSING = ("NA", "N/A", "NaN", "nan", "NULL", "null")
_TRUTH = ("true", "True", "TRUE", "false", "False", "FALSE")
_CODE = "^-?0[0-9xX]"  # the beginning of a cell that is not a number, although pyarrow would read it as one
_UNUSUAL = rf"{_CODE}|^[+\s]|\s$"  # such a cell, or one that must be trimmed
_NUMBER = re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")
_DECIMAL_COMMA = r"^\s*[+-]?(\d*,(\d{1,2}|\d{4,})|\d{4,},\d+)\s*$"  # but not 1,000, which may be a thousand


# ---------------------------------------------------------------------------- how a file is laid out


_MAX_COLUMNS = 20_000
"""The most columns of a text file. Each takes about a millisecond; a line of only commas would take forever."""

_SAMPLE, _FIRST = 2**22, 100
"""The bytes, and the rows below the names, by which the sign that separates cells is chosen."""

_MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

_STATED = re.compile(rb'"?sep=([^\r\n"])"?(?:\r\n?|\n)', re.IGNORECASE)
"""The line that names the separator for Excel."""

SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a file is laid out: its first row names the columns."""

    file: Path
    separator: str
    names: tuple[str, ...]
    begin: int  # bytes before the first row to read
    lines: int  # lines before it
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Rows whose quotation marks are as RFC 4180 says, so that all readers find the same cells in them."""

    rows: re.Pattern[bytes]  # up to 256 of them; more at once would take memory
    row: re.Pattern[bytes]
    cell: re.Pattern[bytes]  # with the separator after it
    followed: re.Pattern[bytes]  # a quoted cell with text behind it
    empty: re.Pattern[bytes]  # some rows that are not empty, and then the empty ones behind them

    def width(self, row: bytes) -> int:
        """How many cells a row has; none if it is empty."""
        return sum(1 for _ in self.cells(row)) if row.strip(b"\r\n") else 0

    def cells(self, block: bytes, start: int = 0) -> Iterator[int]:
        """Where each cell of a row begins."""
        yield start
        while cell := self.cell.match(block, start):
            start = cell.end()
            yield start


@cache
def _patterns(separator: str) -> _Patterns:
    sign, quoted = re.escape(separator.encode()), rb'"[^"]*+(?:""[^"]*+)*+"'
    cell = rb'(?:%s|[^"%s\r\n][^%s\r\n]*+|)' % (quoted, sign, sign)
    row = rb"(?:%s%s)*+%s(?:\r\n?|\n)" % (cell, sign, cell)
    followed = rb"%s[^%s\r\n]" % (quoted, sign)
    empty = rb"((?:(?![\r\n])%s){0,256})((?:\r\n?|\n)*+)" % row
    return _Patterns(*map(re.compile, (b"(?:%s){1,256}" % row, row, cell + sign, followed, empty)))


def layout_of(file: Path, separator: str) -> FileLayout:
    """Find out how a file is laid out; ``separator`` is the sign that its ending says.

    Another one is taken if with it alone there are several names, and as many cells in each of the first rows, or if
    the first line says so, as for Excel: ``sep=;``.
    """
    with explained(file), open_bytes(file) as stream:
        sample = stream.read(_SAMPLE)
    mark = len(_MARK) * sample.startswith(_MARK)
    text = sample[mark:] + b"\n" * (len(sample) < _SAMPLE)

    stated = _STATED.match(text)
    if stated is not None:
        sign, first = stated[1].decode("utf-8", "replace"), 2
        if sign not in SIGNS:
            problem = f"says that {sign!r} separates the cells, but {', '.join(SIGNS.values())} may"
            raise line_error(file, 1, f"{problem}. Save the file with one of these.")
        mark, text = mark + stated.end(), text[stated.end() :]
    else:
        sign, first = _sign_of(file, text, separator), 1
    header = _patterns(sign).row.match(text)
    if header is None:
        problem = "should name the columns, but does not end. Write a line for each row."
        raise _wrong_quote(file, sign, text, first, ended=True) or line_error(file, first, problem)
    _refuse_zero(file, header[0], first)
    with explained(file):
        names = next(csv.reader(io.StringIO(header[0].decode(), newline=""), delimiter=sign, strict=True))
    _refuse_names(file, names, first)
    said = ", as its first line says" if stated is not None else ""
    remarks = () if sign == separator else (f"{file.name} has {SIGNS[sign]} between its cells{said}",)
    return FileLayout(file, sign, tuple(names), mark + header.end(), first - 1 + line_ends(header[0]), remarks)


def _sign_of(file: Path, text: bytes, separator: str) -> str:
    """The sign that separates the cells of the first rows."""
    widths = {sign: _widths(text, sign) for sign in SIGNS}
    several = [sign for sign in SIGNS if widths[sign][0] > 1]
    agreed = [sign for sign in several if len(set(widths[sign])) == 1]
    below = [sign for sign in SIGNS if not several and len(set(widths[sign][1:])) == 1 and widths[sign][1] > 1]
    if len(agreed) > 1:
        problem = f"may be separated by {SIGNS[agreed[0]]} or by {SIGNS[agreed[1]]}, and so may the rows below it"
        raise line_error(file, 1, f"{problem}. Put names and cells with one of them into quotation marks.")
    if below:
        problem = f"names one column, but {SIGNS[below[0]]} seem to separate more cells in the rows below"
        raise line_error(file, 1, f"{problem}. Remove a title above the names, or put cells into quotation marks.")
    return next(iter(agreed or [separator] * (separator in several) or several), separator)


def _widths(text: bytes, separator: str) -> list[int]:
    """How many cells the first rows have, without empty ones; 0 for names that cannot be read with this separator."""
    patterns, start = _patterns(separator), 0
    positions = list[int]()
    while len(positions) <= _FIRST and (row := patterns.row.match(text, start)):
        positions.append(patterns.width(row[0]))
        start = row.end()
    return [*(positions or [0])[:1], *filter(None, positions[1:])]


def _refuse_names(file: Path, names: Sequence[str], line: int) -> None:
    """Refuse a first row that names no columns, such as one of numbers, which would be lost.

    The numbers 0, 1, 2, ... are names that pandas gives.
    """
    if not names:
        raise DataError(f"{file}: the first line is empty. It should name the columns.", name=file.name)
    if len(names) > _MAX_COLUMNS:
        raise DataError(
            f"{file}: expected at most {_MAX_COLUMNS:,} columns in a text, whose types are detected one "
            f"by one, but there are {len(names):,}. Leave some out, or read it with another library and pass the table."
        )
    if all(_NUMBER.fullmatch(name) for name in names) and list(names) != [str(index) for index in range(len(names))]:
        problem = f"should name the columns, but all its cells are numbers: {', '.join(names[:5])}"
        raise line_error(file, line, f"{problem}. Put a line with the names above it.")
    for index, name in enumerate(names):
        if not name.strip():
            raise line_error(file, line, f"has no name for column {index + 1}. Give each column a name.")
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise line_error(file, line, f"names the column {repeated!r} more than once. Rename or drop the others.")


# ---------------------------------------------------------------------------- rows of separated values


def cells_of_file(
    layout: FileLayout, columns: Sequence[str] | None = None, account: LineAccount | None = None
) -> Iterator[pa.Table]:
    """The rows of one file, all cells as text; an empty one is missing."""
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(layout.names, pa.string()),
        include_columns=columns or layout.names,
        null_values=[""],
        strings_can_be_null=True,
    )
    parse = arrow_csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True)
    with explained(layout.file):
        for line, block in _blocks(layout):
            part = None
            if block.strip(b"\r\n"):
                mark = _MARK if block.startswith(_MARK) else b""  # pyarrow drops the first
                read = arrow_csv.ReadOptions(column_names=layout.names, block_size=len(block) + 4)
                try:
                    part = arrow_csv.read_csv(pa.BufferReader(mark + block), read, parse, convert)
                except pa.ArrowInvalid as error:
                    raise _wrong_width(layout, block, line) or error from error
            if account is not None:
                account.settle(part, block, line)
            if part is not None:
                yield part


def _blocks(layout: FileLayout) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole rows whose quotation marks are right, each with the number of its first line."""
    line, rest, ended = layout.lines + 1, b"", False
    with open_bytes(layout.file) as stream:
        if stream.seekable():
            stream.seek(layout.begin)
        else:
            for start in range(0, layout.begin, lines.BLOCK):
                stream.read(min(lines.BLOCK, layout.begin - start))
        while not ended:
            read = stream.read(lines.BLOCK)
            ended, block = not read, rest + read
            if ended and block and not block.endswith((b"\n", b"\r")):
                block += b"\n"
            _refuse_zero(layout.file, block, line)
            end = _end_of_rows(block, layout.separator, ended=ended)
            yield line, block[:end]
            line, rest = line + line_ends(block[:end]), block[end:]
            over = ended or len(rest) > lines.LONGEST
            if rest and (wrong := _wrong_quote(layout.file, layout.separator, rest, line, ended=over)) is not None:
                raise wrong
            if over and rest:
                raise line_error(layout.file, line, f"is longer than {lines.LONGEST:,} bytes. Is it text?")


def _refuse_zero(file: Path, block: bytes, line: int) -> None:
    if b"\0" in block:
        where = line + line_ends(block[: block.index(b"\0")])
        raise line_error(file, where, "has a zero byte, which no text has. Save the file as UTF-8.")


def _end_of_rows(block: bytes, separator: str, *, ended: bool) -> int:
    """Where the last whole row of a block ends. A carriage return at its end may be half of a line end.

    Where every other quotation mark begins a cell and the one after it ends one, or they are doubled, all are right.
    """
    upto = len(block) - (not ended and block.endswith(b"\r"))
    signs = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    marks = np.flatnonzero(signs == ord('"'))
    border = np.zeros(256, dtype=bool)
    border[list(b'\r\n"' + separator.encode())] = True
    if border[signs[marks[::2] - 1]].all() and border[signs[marks[1::2] + 1]].all():
        while end := max(block.rfind(b"\n", 0, upto), block.rfind(b"\r", 0, upto)) + 1:
            before = int(np.searchsorted(marks, end, side="right"))
            if before % 2 == 0:
                return end
            upto = int(marks[before - 1]) - 1
        return 0
    end = 0
    while rows := _patterns(separator).rows.match(block, end, upto):
        end = rows.end()
    return end


def _wrong_quote(file: Path, separator: str, row: bytes, line: int, *, ended: bool) -> DataError | None:
    """What is wrong with a row that is not whole; ``None`` if it may continue in what has not been read yet."""
    patterns = _patterns(separator)
    *_, cell = patterns.cells(row)
    followed = patterns.followed.match(row, cell)
    if row[cell : cell + 1] != b'"' or not (followed or ended):
        return None
    what = "followed by text" if followed else "never closed, so all the rest would be one cell"
    shown = row[cell : cell + 40].splitlines()[0].decode("utf-8", "replace")
    problem = f"has a cell that begins with a quotation mark which is {what}: {shown}"
    advice = "Close it where the cell ends, and double quotation marks inside the cell."
    return line_error(file, line + line_ends(row[:cell]), f"{problem}. {advice}")


def _wrong_width(layout: FileLayout, block: bytes, line: int) -> DataError | None:
    """The first row with too many or too few cells."""
    patterns, expected, empty = _patterns(layout.separator), len(layout.names), 0
    for row in patterns.row.finditer(block):
        width = patterns.width(row[0])
        if width not in {0, expected}:
            if expected == 1 and empty:
                return _empty_line(layout, empty)
            advice = (
                "Put a cell that contains the separator into quotation marks."
                if width > expected
                else "Fill it up: nothing between two separators is a missing value."
            )
            cells, columns = plural(width, "cell"), plural(expected, "column")
            return line_error(layout.file, line, f"has {cells}, but the first line names {columns}. {advice}")
        empty = empty or line * (width == 0)
        line += line_ends(row[0])
    return None


def _empty_line(layout: FileLayout, line: int) -> DataError:
    problem = "is empty. In a file with one column that may be a missing value"
    advice = 'write "" for one, or remove the line, and any title above the names of the columns'
    return line_error(layout.file, line, f"{problem}: {advice}.")


@dataclass(slots=True)
class LineAccount:
    """Accounts for every line of a file: it is a row, empty, or ends inside a cell. So no row is lost."""

    layout: FileLayout
    broken: int = 0  # cells with a line break
    first: int = 0  # the first line with one
    empty: int = 0  # the first empty line
    rows: int = 0  # so far
    size: int = 0  # bytes so far
    places: list[tuple[int, FileLayout]] = field(default_factory=list)  # rows at which reading can start

    def settle(self, part: pa.Table | None, block: bytes, line: int) -> None:
        """Account for the lines of a block, of which the first has the number ``line``."""
        rows = 0 if part is None else part.num_rows
        ended, inside = line_ends(block), self._inside(part, block, line) if b'"' in block else 0
        empty = list(self._empty(block, line)) if ended > rows else []
        count = sum(many for _, many in empty)
        if ended != rows + inside + count:
            raise DataError(
                f"{self.layout.file}: expected {ended - inside - count:,} rows in lines {line:,} to "
                f"{line + ended - 1:,}, but got {rows:,}. Readers of this file disagree: save it with "
                "quotation marks around every cell.",
                name=self.layout.file.name,
                line=line,
            )
        first = empty[0][0] if empty else 0
        if len(self.layout.names) == 1 and rows and (self.empty or (first and first + count < line + ended)):
            raise _empty_line(self.layout, self.empty or first)
        self.empty = self.empty or first
        if rows:
            self.places.append((self.rows, replace(self.layout, begin=self.layout.begin + self.size, lines=line - 1)))
        self.rows, self.size = self.rows + rows, self.size + len(block)

    def remarks(self) -> tuple[str, ...]:
        """What the verdict says about the file."""
        if not self.broken:
            return self.layout.remarks
        return (
            *self.layout.remarks,
            f"{plural(self.broken, 'cell')} of {self.layout.file.name} with a line break in quotation marks, the first "
            f"in line {self.first:,}: if rows are missing, one of its quotation marks is wrong",
        )

    def _empty(self, block: bytes, line: int) -> Iterator[tuple[int, int]]:
        """The numbers of empty lines: the first of some that follow each other, and how many they are."""
        for rows in _patterns(self.layout.separator).empty.finditer(block):
            line += line_ends(rows[1])
            if rows[2]:
                yield line, line_ends(rows[2])
            line += line_ends(rows[2])

    def _inside(self, part: pa.Table | None, block: bytes, line: int) -> int:
        """How many lines end inside cells."""
        inside = 0
        for chunk in (chunk for column in ([] if part is None else part.columns) for chunk in column.chunks):
            text = chunk.buffers()[2]
            if text is None or not line_ends(text.to_pybytes()):
                continue
            broken = chunk.filter(pc.match_substring_regex(chunk, "[\r\n]")).to_pylist()
            inside += sum(line_ends(cell.encode()) for cell in broken)
            self.broken += len(broken)
        if inside and not self.first:
            rows = _patterns(self.layout.separator).row.finditer(block)
            before = takewhile(lambda row: line_ends(row[0]) == 1, rows)
            self.first = line + sum(1 for _ in before)
        return inside


# ---------------------------------------------------------------------------- types of cells


@dataclass(slots=True)
class _TypeSearch:
    """Which types fit the cells of a column seen so far."""

    is_number: bool = True
    is_whole: bool = True
    is_truth: bool = True
    cells: int = 0  # cells that are not empty
    values: int = 0  # cells that are neither empty nor a word for a missing number
    low: int = 0  # the least whole number, or 0, and below the greatest, or 0
    high: int = 0

    def add(self, cells: Any) -> None:
        """Add more cells."""
        present = cells.drop_null() if cells.null_count else cells
        self._narrow(present[:1000])  # most text columns are recognized at once
        numbers = self._narrow(present)
        self.cells += len(present)
        self.values += len(numbers)

    def _narrow(self, present: Any) -> Any:
        """Rule out types that some cell does not fit; returns the cells without words for missing numbers."""
        numbers = present
        if self.is_number:
            missing = _is_one_of(present, _NUMBER_MISSING)
            if pc.any(missing).as_py():
                numbers = present.filter(pc.invert(missing))
            self._narrow_numbers(numbers)
        if self.is_truth:
            self.is_truth = bool(pc.all(_is_one_of(present, _TRUTH), min_count=0).as_py())
        return numbers

    def _narrow_numbers(self, numbers: Any) -> None:
        if pc.any(pc.match_substring_regex(numbers, _UNUSUAL)).as_py():
            numbers = _trimmed(numbers)
            if pc.any(pc.match_substring_regex(numbers, _CODE)).as_py():
                self.is_number = False
                return
        kinds = (pa.int64(), pa.uint64()) if self.is_whole else ()
        whole = next((column for kind in kinds if (column := _cast(numbers, kind)) is not None), None)
        if whole is None:
            self.is_whole = False
            self.is_number = _cast(numbers, pa.float64()) is not None
        else:
            ends = pc.min_max(whole).as_py()
            self.low, self.high = min(self.low, ends["min"] or 0), max(self.high, ends["max"] or 0)

    @property
    def is_large(self) -> bool:
        """Whether a float would round one of the whole numbers."""
        return max(-self.low, self.high) > EXACT

    @property
    def type(self) -> Any:
        """The first type that all cells fit; a column without a cell has numbers, all missing."""
        if not self.cells:
            return pa.float64()
        if not self.is_number or not self.values:
            return pa.bool_() if self.is_truth else pa.string()
        if not self.is_whole or (self.low < 0 and self.high >= 2**63):
            return pa.float64()
        return pa.int64() if self.high < 2**63 else pa.uint64()


@dataclass(frozen=True, slots=True)
class CellType:
    """What the cells of a column are read as: a type of Arrow, and whether numbers have decimal commas."""

    arrow: Any
    comma: bool = False


@dataclass(slots=True)
class TextColumn:
    """Which types fit a column, with decimal commas too where commas do not separate cells."""

    separator: str
    points: _TypeSearch = field(default_factory=_TypeSearch)
    commas: _TypeSearch = field(default_factory=_TypeSearch)
    clear: bool = False  # a comma was seen that cannot stand between thousands

    def add(self, cells: Any) -> None:
        """Add more cells."""
        self.points.add(cells)
        if self.separator == "," or not self.commas.is_number:
            return
        self.commas.add(_with_points(cells))
        if pc.any(pc.match_substring(cells, ".")).as_py():
            self.commas.is_number = False
        self.clear = self.clear or bool(pc.any(pc.match_substring_regex(cells, _DECIMAL_COMMA)).as_py())

    @property
    def type(self) -> CellType:
        """The first type that all cells fit."""
        comma = types.is_string(self.points.type) and types.is_floating(self.commas.type) and self.clear
        return CellType(self.commas.type if comma else self.points.type, comma)

    @property
    def chosen(self) -> _TypeSearch:
        """The search that reads the cells as this type."""
        return self.commas if self.type.comma else self.points


def _with_points(cells: Any) -> Any:
    return pc.replace_substring_regex(cells, r"^(\s*[+-]?\d*),(\d+\s*)$", r"\1.\2")


def inferred(cells: Any) -> Any:
    """All cells of a column as the first type that they fit."""
    profile = _TypeSearch()
    profile.add(cells)
    return typed_cells(cells, CellType(profile.type))


def _cast(cells: Any, kind: Any) -> Any | None:
    """Text as numbers of a type; ``None`` if it does not fit."""
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:
        return None


def typed_cells(cells: Any, kind: CellType) -> Any:
    """Text as the chosen type."""
    if types.is_string(kind.arrow):
        return cells
    if types.is_boolean(kind.arrow):
        return pc.equal(pc.utf8_lower(cells), "true")
    missing = _is_one_of(cells, _NUMBER_MISSING)
    numbers = pc.if_else(missing, None, cells) if pc.any(missing).as_py() else cells
    numbers = _with_points(numbers) if kind.comma else numbers
    typed = _cast(numbers, kind.arrow)
    return _trimmed(numbers).cast(kind.arrow) if typed is None else typed


def _is_one_of(cells: Any, words: Sequence[str]) -> Any:
    return pc.is_in(cells, value_set=pa.array(words))


def _trimmed(numbers: Any) -> Any:
    """Numbers without surrounding spaces and without a plus sign, which pyarrow does not accept in whole numbers."""
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(numbers), r"^\+([0-9.])", r"\1")

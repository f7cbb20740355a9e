"""Comma- and tab-separated files, JSON lines and JSON documents: text without declared types, read by pyarrow.

A column's type is the first that all its cells fit: whole number, number, truth value (``true`` or ``false`` in lower
case, upper case, or capitalized), text. An empty cell is missing. In a column whose other cells are all numbers,
``NA``, ``N/A``, ``NaN``, ``nan``, ``NULL`` and ``null`` are missing too; in a column of text they are text. A column
with a cell such as ``00123`` is text: it is a code, such as a postal code, which would lose its zeros.

So all cells are read as text first, and the type is chosen when all of them have been seen. A file that is read batch
by batch is read once for that, and then again each time its rows are needed.

A file is refused where readers disagree on its rows, or a row would be lost: a quotation mark that is never closed or
that is followed by text, an empty line in the only column, a first line of numbers or of another separator. A line
break inside a cell is legal, and often a quotation mark too many; the verdict mentions it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.json as arrow_json
from pyarrow import types

from isonomia.errors import DataError
from isonomia.populations.datasets import refuse_other_columns, stamp_of, unreadable
from isonomia.populations.frames import PandasForm, as_kind, is_large
from isonomia.populations.streaming import LongTable, database, lazy_frame, of_size
from isonomia.populations.table import Table
from isonomia.spec.columns import EXACT
from isonomia.wording import plural

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_BLOCK = 2**23  # bytes that are parsed at once; no line may be longer
_NUMBER_MISSING = ("NA", "N/A", "NaN", "nan", "NULL", "null")
_TRUTH = ("true", "True", "TRUE", "false", "False", "FALSE")
_CODE = "^-?0[0-9xX]"  # the beginning of a cell that is not a number, although pyarrow would read it as one
_UNUSUAL = rf"{_CODE}|^[+\s]|\s$"  # such a cell, or one that must be trimmed
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"


def read_separated(file: Path, separator: str) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a whole comma- or tab-separated file; also returns remarks about it."""
    names, _ = _header(file, separator)
    remarks = _checked_quotes(file, separator, len(names))
    cells = pa.Table.from_batches(_cells(file, separator), pa.schema([(name, pa.string()) for name in names]))
    return pa.table({name: _inferred(cells[name]) for name in cells.column_names}), remarks


def cells_of(file: Path, separator: str, column: str) -> list[str | None] | None:
    """The cells of a column as they are written; ``None`` without such a column."""
    if column not in _header(file, separator)[0]:
        return None
    return [cell for part in _cells(file, separator, [column]) for cell in part.column(column).to_pylist()]


def read_json_lines(file: Path) -> pa.Table:
    """Read a whole file of JSON lines."""
    parts = list(_objects(file))
    with _explained(file):
        return pa.concat_tables(parts, promote_options="permissive")


def read_json(file: Path) -> pa.Table:
    """Read a JSON document: a list of rows, or a mapping from column name to values."""
    try:
        with _open_text(file) as text:
            content = json.load(text)
    except UnicodeDecodeError as error:
        raise _encoding_error(file) from error
    if content == []:
        raise DataError(f"{file}: the file has no rows. Give at least one.", name=file.name)
    if isinstance(content, Mapping):
        content = {name: list(v.values()) if isinstance(v, Mapping) else v for name, v in content.items()}
    elif not isinstance(content, list) or not all(isinstance(row, Mapping) for row in content):
        message = f"{file}: every row should be an object from column name to value, such as {{'age': 31}}."
        raise DataError(message, name=file.name)
    try:
        table = Table.of(content)
    except DataError as error:
        raise DataError(f"{file}: {error}", name=file.name) from error
    return pa.table({name: pa.array(table.column(name), from_pandas=True) for name in table.names})


# ---------------------------------------------------------------------------- files that are read batch by batch


@dataclass(frozen=True, slots=True, eq=False)
class _TextReader:
    """Text files of one format, as a :class:`TableReader`."""

    files: tuple[Path, ...]
    separator: str | None  # None for JSON lines
    schema: Any  # of the files' contents
    folders: Any  # the columns from the names of folders, a row for each file
    rows: int
    kind: str
    form: PandasForm
    starts: None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the files, then those of the folders."""
        return (*self.schema.names, *self.folders.column_names)

    @property
    def stamp(self) -> object | None:
        return stamp_of(self.files)

    def order(self, name: str) -> tuple[str, ...]:  # noqa: ARG002
        """Empty: text declares no order."""
        return ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        for table in of_size(self._parts(columns), size, start):
            yield table if plain else as_kind(table, self.kind, self.form)

    def frame(self) -> Any:
        return lazy_frame(database().from_arrow(pa.Table.from_batches(self._parts(self.names))))

    def _parts(self, columns: Sequence[str]) -> Iterator[Any]:
        inside = [name for name in self.schema.names if name in columns] or self.schema.names[:1]
        schema = pa.schema([self.schema.field(name) for name in inside])
        for number, file in enumerate(self.files):
            for table in self._typed_parts(file, schema):
                for name in self.folders.column_names:
                    table = table.append_column(name, pa.repeat(self.folders[name][number], table.num_rows))
                yield from table.select(list(columns)).to_batches()

    def _typed_parts(self, file: Path, schema: Any) -> Iterator[pa.Table]:
        if self.separator is None:
            yield from _objects(file, schema)
            return
        for part in _cells(file, self.separator, schema.names):
            arrays = [_typed(part.column(column.name), column.type) for column in schema]
            yield pa.Table.from_arrays(arrays, schema=schema)


def text_files(files: Sequence[Path], base: Path, separator: str | None, kind: str) -> LongTable:
    """Make one table of text files; below the folder ``base``, folders ``key=value`` give a column.

    The model is given tables of the library ``kind``. Without a separator they are JSON lines.
    """
    survey = _all_objects(files) if separator is None else _all_cells(files, separator)
    whole = {column.name for column in survey.schema if types.is_integer(column.type)}
    gaps = frozenset(name for name in survey.schema.names if survey.present[name] < survey.rows)
    form = PandasForm(gaps, frozenset(survey.large & gaps & whole))
    folders = _folder_columns(files, base)
    reader = _TextReader(tuple(files), separator, survey.schema, folders, survey.rows, kind, form)
    return LongTable(reader, remarks=tuple(survey.remarks))


@dataclass(slots=True)
class _Survey:
    """The result of a first pass over all rows."""

    schema: Any
    rows: int = 0
    present: Counter[str] = field(default_factory=Counter)  # values that are not missing
    large: set[str] = field(default_factory=set)  # columns with whole numbers that a float would round
    remarks: list[str] = field(default_factory=list)


def _all_cells(files: Sequence[Path], separator: str) -> _Survey:
    names, _ = _header(files[0], separator)
    columns = {name: _CellProfile() for name in names}
    rows, remarks = 0, list[str]()
    for file in files:
        refuse_other_columns(_header(file, separator)[0], file, set(names), files[0])
        remarks.extend(_checked_quotes(file, separator, len(names)))
        for part in _cells(file, separator, names):
            rows += part.num_rows
            for name, column in columns.items():
                column.add(part.column(name))
    schema = pa.schema([(name, column.type) for name, column in columns.items()])
    present = Counter({name: column.values for name, column in columns.items()})
    return _Survey(schema, rows, present, {name for name, column in columns.items() if column.is_large}, remarks)


def _all_objects(files: Sequence[Path]) -> _Survey:
    survey = _Survey(pa.schema([]))
    for file in files:
        for part in _objects(file):
            with _explained(file):
                survey.schema = pa.unify_schemas([survey.schema, part.schema], promote_options="permissive")
            survey.rows += part.num_rows
            for name in part.column_names:
                survey.present[name] += part.num_rows - part[name].null_count
                if is_large(part[name]):
                    survey.large.add(name)
    return survey


def _folder_columns(files: Sequence[Path], base: Path) -> pa.Table:
    """The columns from folders named ``key=value``, a row for each file."""
    keys = [dict(part.split("=", 1) for part in file.relative_to(base).parts[:-1] if "=" in part) for file in files]
    columns = {}
    for name in dict.fromkeys(name for each in keys for name in each):
        cells = pa.chunked_array([[_folder_value(each.get(name)) for each in keys]], pa.string())
        columns[name] = _inferred(cells)
    return pa.table(columns)


def _folder_value(text: str | None) -> str | None:
    return None if text in {None, "", _HIVE_MISSING} else unquote(str(text))


# ---------------------------------------------------------------------------- separated values


_MAX_COLUMNS = 20_000
"""The most columns of a text file. Each takes about a millisecond; a line of only commas would take forever."""


def _header(file: Path, separator: str) -> tuple[list[str], bool]:
    """The names of the columns, from the first line, and whether any row follows."""
    with _explained(file, separator), _open_text(file) as lines:
        names = next(csv.reader(lines, delimiter=separator), [])
        has_rows = any(line.strip() for line in lines)
    if not names:
        raise DataError(f"{file}: the file is empty. Its first line should name the columns.", name=file.name)
    if len(names) > _MAX_COLUMNS:
        raise DataError(
            f"{file}: expected at most {_MAX_COLUMNS:,} columns in a text, whose types are found out one by one, "
            f"but there are {len(names):,}. Leave some out, or read it with your own library and hand over the table."
        )
    _refuse_other_header(file, names, separator)
    known: set[str] = set()
    for index, name in enumerate(names):
        if not name.strip():
            raise _line_error(file, 1, f"has no name for column {index + 1}. Give each column a name.")
        if name in known:
            raise _line_error(file, 1, f"names the column {name!r} more than once. Rename or drop the others.")
        known.add(name)
    return names, has_rows


def _refuse_other_header(file: Path, names: list[str], separator: str) -> None:
    """Refuse a first line that names no columns: one with other separators, or a row of numbers, which would be lost.

    The numbers 0, 1, 2, ... are names that pandas gives.
    """
    other = next((sign for sign in ";\t|," if sign != separator and sign in names[0]), None)
    if len(names) == 1 and other is not None:
        raise _line_error(
            file,
            1,
            f"has no {separator!r} but has {other!r}, which seems to separate its cells. Save the file with commas "
            "(.csv) or tabs (.tsv), or read it with your own library and hand over the table.",
        )
    if all(_NUMBER.fullmatch(name) for name in names) and names != [str(index) for index in range(len(names))]:
        problem = f"should name the columns, but all its cells are numbers: {', '.join(names[:5])}"
        raise _line_error(file, 1, f"{problem}. Put a line with the names above it.")


_QUOTED = rb'"[^"]*+(?:""[^"]*+)*+"'
_CELL = rb'(?:"[^"\r\n]*+(?:""[^"\r\n]*+)*+"|(%s)|[^"%s\r\n][^%s\r\n]*)?(?:%s|\r?\n|\r|\Z)'


def _checked_quotes(file: Path, separator: str, width: int) -> tuple[str, ...]:
    """Refuse text that readers understand differently; returns a remark if cells have line breaks.

    In every file that passes, a cell that begins with a quotation mark ends with one, before a separator, a line end
    or the end of the file, and inside it they are doubled. So pyarrow, Python and any reader of RFC 4180 find the same
    rows in it.
    """
    sign = separator.encode()
    pattern = _CELL % (_QUOTED, sign, sign, sign)
    one, many = re.compile(pattern), re.compile(b"(?:%s){1,256}" % pattern)  # more at once would take memory
    line, broken, first, blank, rest, ended = 1, 0, 0, 0, b"", False  # line: of the beginning of the block
    with _explained(file, separator), open_bytes(file) as stream:
        while not ended:
            read = stream.read(_BLOCK)
            ended, block = not read, (rest + read).removeprefix(b"\xef\xbb\xbf" if line == 1 else b"")
            whole = len(block) if ended else (block.rfind(b"\n") + 1 or block.rfind(b"\r") + 1)
            if b"\0" in block:
                where = line + _line_ends(block[: block.index(b"\0")])
                raise _line_error(file, where, "has a zero byte, which no text has. Save the file as UTF-8.")
            one_by_one = width == 1 and (blank or re.search(rb"\n\r?\n|\r\r", block))
            end = 0 if b'"' in block or one_by_one else whole
            for part in (one if one_by_one else many).finditer(block, end, whole) if end < whole else ():
                if part.start() != end:
                    break
                if part[1] is not None:
                    cells = [cell.start() for cell in one.finditer(block, end, part.end()) if cell[1] is not None]
                    broken, first = broken + len(cells), first or line + _line_ends(block[: cells[0]])
                if one_by_one and part[0] in {b"\n", b"\r", b"\r\n"}:
                    blank = blank or line + _line_ends(block[:end])
                elif one_by_one and part[0] and blank:
                    raise _line_error(
                        file,
                        blank,
                        'is empty. In a file with one column that may be a missing value: write "" for one, or remove '
                        "the line, and any title above the names of the columns.",
                    )
                end = part.end()
            line, rest = line + _line_ends(block[:end]), block[end:]
            followed = re.match(_QUOTED + rb"[^%s\r\n]" % sign, rest)
            if end < whole and (ended or followed or len(rest) > 2 * _BLOCK):
                what = "followed by text" if followed else "never closed, so all the rest would be one cell"
                cell = rest[:40].splitlines()[0].decode("utf-8", "replace")
                raise _line_error(
                    file,
                    line,
                    f"has a cell that begins with a quotation mark which is {what}: {cell}. Close it where the cell "
                    "ends, and double quotation marks inside the cell.",
                )
    if not broken:
        return ()
    return (
        f"{plural(broken, 'cell')} of {file.name} with a line break in quotation marks, the first in line {first:,}: "
        "if rows are missing, one of its quotation marks is wrong",
    )


def _line_ends(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _cells(file: Path, separator: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of one file, all cells as text, as record batches; an empty cell is missing."""
    names, has_rows = _header(file, separator)
    if not has_rows:
        return
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=list(columns or names),
        null_values=[""],
        strings_can_be_null=True,
    )
    parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    read = arrow_csv.ReadOptions(block_size=_BLOCK)
    with _explained(file, separator), open_bytes(file) as stream:
        yield from arrow_csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)


def _check_rows(file: Path, lines: Iterable[str], separator: str) -> None:
    rows = csv.reader(lines, delimiter=separator)
    width = len(next(rows))
    for row in rows:
        if row and len(row) != width:
            advice = (
                "Put a cell that contains the separator into quotation marks."
                if len(row) > width
                else "Fill it up: nothing between two separators is a missing value."
            )
            cells, columns = plural(len(row), "cell"), plural(width, "column")
            raise _line_error(file, rows.line_num, f"has {cells}, but the first line names {columns}. {advice}")


@dataclass(slots=True)
class _CellProfile:
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


def _inferred(cells: Any) -> Any:
    """All cells of a column as the first type that they fit."""
    profile = _CellProfile()
    profile.add(cells)
    return _typed(cells, profile.type)


def _cast(cells: Any, kind: Any) -> Any | None:
    """Text as numbers of a type; ``None`` if it does not fit."""
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:
        return None


def _typed(cells: Any, kind: Any) -> Any:
    """Text as the chosen type."""
    if types.is_string(kind):
        return cells
    if types.is_boolean(kind):
        return pc.equal(pc.utf8_lower(cells), "true")
    missing = _is_one_of(cells, _NUMBER_MISSING)
    numbers = pc.if_else(missing, None, cells) if pc.any(missing).as_py() else cells
    typed = _cast(numbers, kind)
    return _trimmed(numbers).cast(kind) if typed is None else typed


def _is_one_of(cells: Any, words: Sequence[str]) -> Any:
    return pc.is_in(cells, value_set=pa.array(words))


def _trimmed(numbers: Any) -> Any:
    """Numbers without surrounding spaces and without a plus sign, which pyarrow does not accept in whole numbers."""
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(numbers), r"^\+([0-9.])", r"\1")


# ---------------------------------------------------------------------------- JSON lines


def _objects(file: Path, schema: Any = None) -> Iterator[pa.Table]:
    """The rows of one file of JSON lines in blocks, of this schema if given; else each block has its own types."""
    times: set[str] = set()  # columns of text that pyarrow would read as times
    with _explained(file), io.BufferedReader(open_bytes(file)) as stream:
        while block := stream.read(_BLOCK):
            block += stream.readline()
            if block.strip():
                _refuse_deep(file, block)
                yield _parsed(block, schema, times)


_DEEPEST = 500
"""The deepest nesting of brackets in a line of JSON. pyarrow recurses until the stack overflows and Python dies."""


def _refuse_deep(file: Path, block: bytes) -> None:
    signs = np.frombuffer(block, dtype=np.uint8)
    opened, closed = ((signs == first) | (signs == second) for first, second in (b"[{", b"]}"))
    depth = np.cumsum(opened.astype(np.int32) - closed)
    if depth.max() - min(depth.min(), 0) <= _DEEPEST:
        return
    for line in block.splitlines():
        if line.count(b"[") + line.count(b"{") > _DEEPEST:
            try:
                json.loads(line)  # they may be side by side, or inside a string
            except RecursionError:
                message = f"expected at most {_DEEPEST} brackets within each other in a line, but there are more"
                raise DataError(f"{file}: {message}: {line[:40].decode('utf-8', 'replace')} ...") from None
            except ValueError:
                continue  # reported when the line is parsed


def _parsed(block: bytes, schema: Any, times: set[str]) -> pa.Table:
    explicit = schema if schema is not None else pa.schema([(name, pa.string()) for name in sorted(times)])
    others = "infer" if schema is None else "ignore"
    table = arrow_json.read_json(
        pa.BufferReader(block),
        read_options=arrow_json.ReadOptions(block_size=len(block)),
        parse_options=arrow_json.ParseOptions(explicit_schema=explicit, unexpected_field_behavior=others),
    )
    if schema is not None:
        return table
    taken = {column.name for column in table.schema if types.is_timestamp(column.type)}
    if taken:
        times.update(taken)
        return _parsed(block, schema, times).select(table.column_names)
    table.validate(full=True)  # finds bytes that are not UTF-8
    return table


def _check_lines(file: Path, lines: Iterable[str]) -> None:
    first: dict[str, tuple[int, Any]] = {}  # for each column, the line of its first value, and that value
    for number, line in enumerate(lines, start=1):
        if line.strip():
            _check_line(file, number, line, first)


def _check_line(file: Path, number: int, line: str, first: dict[str, tuple[int, Any]]) -> None:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at character {error.pos + 1}. Each line should be one object."
        raise _line_error(file, number, problem) from error
    if not isinstance(row, Mapping):
        raise _line_error(file, number, "should be an object from column name to value, such as {'age': 31}.")
    for name, value in row.items():
        if value is None:
            continue
        line_before, before = first.setdefault(name, (number, value))
        if _json_kind(value) != _json_kind(before):
            raise DataError(
                f"{file}: expected one kind of values in column {name!r}, but there is {before!r:.60} in line "
                f"{line_before} and {value!r:.60} in line {number}. Write all of them as text, or all as numbers."
            )


def _json_kind(value: object) -> type:
    return float if type(value) is int else type(value)


# ---------------------------------------------------------------------------- bytes and text


@contextmanager
def _explained(file: Path, separator: str | None = None) -> Iterator[None]:
    """Say which line cannot be read if reading a file fails; pyarrow counts rows, which may have several lines."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # pyarrow raises several kinds of error for a bad file
        # If Python cannot read it either, for example because a cell is too long, pyarrow's message is used.
        with suppress(OSError, csv.Error):
            _find_fault(file, separator)
        raise unreadable(file, error) from error


def _find_fault(file: Path, separator: str | None) -> None:
    try:
        with _open_text(file) as lines:
            if separator is None:
                _check_lines(file, lines)
            else:
                _check_rows(file, lines, separator)
    except UnicodeDecodeError as error:
        raise _encoding_error(file) from error


def open_bytes(file: Path) -> Any:
    """Open the decompressed content of a file."""
    return pa.input_stream(str(file), compression=_COMPRESSIONS.get(file.suffix.lower()))


def _open_text(file: Path) -> IO[str]:
    """Open a file as UTF-8. A byte order mark, which some spreadsheets write, is dropped."""
    return io.TextIOWrapper(io.BufferedReader(open_bytes(file)), encoding="utf-8-sig", newline="")


def _line_error(file: Path, line: int, problem: str) -> DataError:
    """Say what is wrong with a line of a file."""
    return DataError(f"{file}: line {line:,} {problem}", name=file.name, line=line)


def _encoding_error(file: Path) -> DataError:
    """Say which byte of a file is not UTF-8."""
    with io.BufferedReader(open_bytes(file)) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                problem = f"has invalid UTF-8 at byte {error.start + 1}, 0x{line[error.start]:02x}"
                advice = "Save the file as UTF-8, or open it in pandas with encoding='latin-1' and pass the table."
                return _line_error(file, number, f"{problem}. {advice}")
    return DataError(f"{file} should be text in UTF-8, and is not. Save it as UTF-8.", name=file.name)

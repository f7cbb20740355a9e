"""Text files as tables: separated values and JSON lines, held or read batch by batch.

Text has no declared types: a column's type depends on all of its cells. So a file that is read batch by batch is read
once to find the types, and then again each time its rows are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import types

from isonomia.errors import DataError
from isonomia.populations.datasets import refuse_other_columns, stamp_of
from isonomia.populations.frames import PandasForm, as_kind, is_large
from isonomia.populations.json_lines import explained_lines, objects
from isonomia.populations.separated import (
    SIGNS,
    CellType,
    FileLayout,
    LineAccount,
    TextColumn,
    cells_of_file,
    inferred,
    layout_of,
    typed_cells,
)
from isonomia.populations.streaming import ArrowStream, LongTable, database, lazy_frame, of_size
from isonomia.wording import first_few

_HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"


def read_separated(file: Path, separator: str) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a whole comma- or tab-separated file; also returns remarks about it."""
    parts = list[Any]()
    survey = _all_cells([file], separator, parts)
    if not parts:
        return survey.schema.empty_table(), survey.remarks
    cells = pa.concat_tables(parts)
    del parts
    columns = [typed_cells(cells[name], survey.types[name]) for name in cells.column_names]
    return pa.table(columns, survey.schema), survey.remarks


def cells_of(file: Path, separator: str, column: str) -> list[str | None] | None:
    """The cells of a column as they are written; ``None`` without such a column."""
    layout = layout_of(file, separator)
    if column not in layout.names:
        return None
    return [cell for part in cells_of_file(layout, [column]) for cell in part[column].to_pylist()]


@dataclass(frozen=True, slots=True, eq=False)
class _TextReader:
    """Text files of one format, as a :class:`TableReader`."""

    files: tuple[Path, ...]
    survey: _Survey
    folders: Any  # the columns from the names of folders, a row for each file
    kind: str
    form: PandasForm

    @property
    def starts(self) -> Callable[[], Iterator[int]] | None:
        """The first rows of blocks; JSON lines are always read from the start."""
        places = self.survey.places
        return (lambda: (place.row for place in places)) if places else None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the files, then those of the folders."""
        return (*self.survey.schema.names, *self.folders.column_names)

    @property
    def rows(self) -> int:
        return self.survey.rows

    @property
    def stamp(self) -> object | None:
        return stamp_of(self.files)

    def order(self, name: str) -> tuple[str, ...]:  # noqa: ARG002
        """Empty: text declares no order."""
        return ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        start_place = max(
            (each for each in self.survey.places if each.row <= start), key=lambda each: each.row, default=None
        )
        skip = start if start_place is None else start - start_place.row
        for table in of_size(self._parts(columns, start_place), size, skip):
            yield table if plain else as_kind(table, self.kind, self.form)

    def frame(self, columns: Sequence[str]) -> Any:
        fields = {column.name: column for each in (self.survey.schema, self.folders.schema) for column in each}
        schema = pa.schema([fields[name] for name in columns])
        return lazy_frame(database().from_arrow(ArrowStream(schema, partial(self._parts, columns))))

    def _parts(self, columns: Sequence[str], place: _Place | None = None) -> Iterator[Any]:
        inside = [name for name in self.survey.schema.names if name in columns] or self.survey.schema.names[:1]
        schema = pa.schema([self.survey.schema.field(name) for name in inside])
        first = 0 if place is None else place.file
        for number, file in enumerate(self.files[first:], start=first):
            layout = place.layout if place is not None and number == first else self.survey.layouts.get(file)
            for table in self._typed_parts(file, layout, schema):
                for name in self.folders.column_names:
                    table = table.append_column(name, pa.repeat(self.folders[name][number], table.num_rows))
                yield from table.select(list(columns)).to_batches()

    def _typed_parts(self, file: Path, layout: FileLayout | None, schema: Any) -> Iterator[pa.Table]:
        if layout is None:
            yield from objects(file, schema)
            return
        for part in cells_of_file(layout, schema.names):
            yield pa.table([typed_cells(part[name], self.survey.types[name]) for name in schema.names], schema)


def text_files(files: Sequence[Path], base: Path, separator: str | None, kind: str) -> LongTable:
    """Make one table of text files; below the folder ``base``, folders ``key=value`` give a column.

    The model is given tables of the library ``kind``. Without a separator they are JSON lines.
    """
    survey = _all_objects(files) if separator is None else _all_cells(files, separator)
    whole = {column.name for column in survey.schema if types.is_integer(column.type)}
    gaps = frozenset(name for name in survey.schema.names if survey.present[name] < survey.rows)
    form = PandasForm(gaps, frozenset(survey.large & gaps & whole))
    reader = _TextReader(tuple(files), survey, _folder_columns(files, base), kind, form)
    return LongTable(reader, remarks=survey.remarks)


@dataclass(frozen=True, slots=True)
class _Place:
    """A row at which reading can start: the first of a block, with the number of its file, and the rest of that."""

    row: int
    file: int
    layout: FileLayout


@dataclass(slots=True)
class _Survey:
    """The result of a first pass over all rows."""

    schema: Any
    rows: int = 0
    present: Counter[str] = field(default_factory=Counter)  # values that are not missing
    large: set[str] = field(default_factory=set)  # columns with whole numbers that a float would round
    remarks: tuple[str, ...] = ()
    layouts: Mapping[Path, FileLayout] = field(default_factory=dict)  # none for JSON lines
    places: tuple[_Place, ...] = ()
    types: Mapping[str, CellType] = field(default_factory=dict)


def _all_cells(files: Sequence[Path], separator: str, kept: list[Any] | None = None) -> _Survey:
    """Read every cell of separated files, and keep them as text if there is a list for them."""
    layouts = tuple(layout_of(file, separator) for file in files)
    first = layouts[0]
    columns = {name: TextColumn(first.separator) for name in first.names}
    remarks, places = list[str](), list[_Place]()
    rows = 0
    for number, layout in enumerate(layouts):
        refuse_other_columns(layout.names, layout.file, set(first.names), first.file)
        if layout.separator != first.separator:
            signs = SIGNS[first.separator], SIGNS[layout.separator]
            raise DataError(
                f"expected one separator in all files, but {first.file} has {signs[0]} and {layout.file} "
                f"has {signs[1]}. Save them alike.",
                name=layout.file.name,
            )
        account = LineAccount(layout)
        for part in cells_of_file(layout, account=account):
            for name, column in columns.items():
                column.add(part[name])
            if kept is not None:
                kept.append(part)
        remarks += account.remarks()
        places += [_Place(rows + row, number, there) for row, there in account.places]
        rows += account.rows
    chosen = {name: column.type for name, column in columns.items()}
    points = [repr(name) for name, kind in chosen.items() if kind.comma]
    if points:
        remarks.append(f"read as numbers with decimal commas: {first_few(points, 8)}")
    return _Survey(
        pa.schema([(name, kind.arrow) for name, kind in chosen.items()]),
        rows,
        Counter({name: column.chosen.values for name, column in columns.items()}),
        {name for name, column in columns.items() if column.chosen.is_large},
        tuple(remarks),
        dict(zip(files, layouts, strict=True)),
        tuple(places),
        chosen,
    )


def _all_objects(files: Sequence[Path]) -> _Survey:
    survey = _Survey(pa.schema([]))
    for file in files:
        for part in objects(file):
            with explained_lines(file):
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
        columns[name] = inferred(cells)
    return pa.table(columns)


def _folder_value(text: str | None) -> str | None:
    return None if text in {None, "", _HIVE_MISSING} else unquote(str(text))

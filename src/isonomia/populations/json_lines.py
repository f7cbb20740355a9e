"""JSON lines and JSON documents, read by pyarrow in blocks of whole lines.

A column's type is that of all its values: each block is read with the types that it has, and then all of them again
with those that have room for every value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json
from pyarrow import types

from isonomia.errors import DataError
from isonomia.populations import lines
from isonomia.populations.lines import encoding_error, explained, line_error, open_bytes, open_text
from isonomia.populations.table import Table


def read_json_lines(file: Path) -> pa.Table:
    """Read a whole file of JSON lines."""
    parts = list(objects(file))
    with explained_lines(file):
        return pa.concat_tables(parts, promote_options="permissive")


def read_json(file: Path) -> pa.Table:
    """Read a JSON document: a list of rows, or a mapping from column name to values."""
    try:
        with open_text(file) as text:
            content = json.load(text)
    except UnicodeDecodeError as error:
        raise encoding_error(file) from error
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


def objects(file: Path, schema: Any = None) -> Iterator[pa.Table]:
    """The rows of one file of JSON lines in blocks, of this schema if given; else each block has its own types."""
    times: set[str] = set()  # columns of text that pyarrow would read as times
    with explained_lines(file), io.BufferedReader(open_bytes(file)) as stream:
        while block := stream.read(lines.BLOCK):
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


def explained_lines(file: Path) -> AbstractContextManager[None]:
    """Say which line cannot be read if reading a file fails."""
    return explained(file, partial(_check_lines, file))


def _check_lines(file: Path, text: Iterable[str]) -> None:
    first: dict[str, tuple[int, Any]] = {}  # for each column, the line of its first value, and that value
    for number, line in enumerate(text, start=1):
        if line.strip():
            _check_line(file, number, line, first)


def _check_line(file: Path, number: int, line: str, first: dict[str, tuple[int, Any]]) -> None:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at character {error.pos + 1}. Each line should be one object."
        raise line_error(file, number, problem) from error
    if not isinstance(row, Mapping):
        raise line_error(file, number, "should be an object from column name to value, such as {'age': 31}.")
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

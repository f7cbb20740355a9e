"""Writing files: whole or not at all; a path that cannot be written is detected before the work begins.

Every file that Isonomia writes, except SQLite's, goes through :func:`replacing`; a test checks this.

An audit as JSON, for other programs; ``verdicts.schema.json`` next to this file is its schema.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.errors import UsageError
from isonomia.records.frame import one_type
from isonomia.report.entries import AuditReport

if TYPE_CHECKING:
    from isonomia.records.violations import ViolationSet


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a new file next to the path to write to; it replaces the path once it is complete and on the disk.

    Whatever goes wrong before that, such as a full disk or a power failure, the old file is still there, whole. What is
    not a regular file, such as ``/dev/stdout`` or a pipe, is written to directly. A symbolic link stays, and the file
    that it points to is replaced; the new file keeps the permissions.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    # A short name: one built from the target's name could be too long.
    part = target.with_name(f".isonomia-{secrets.token_hex(4)}.part")
    try:
        part.touch(exist_ok=False)
        if target.exists():
            part.chmod(target.stat().st_mode & 0o777)
        yield part
        _sync(part)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows does not let a folder be opened
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def need_writable(path: Path, what: str) -> None:
    """Make sure, before hours of work, that a file can be written; an existing file stays as it is.

    ``what`` says what it is for, such as ``--json``, in the message.
    """
    with writing(path, what), suppress(_OnlyAskedError), replacing(path) as part:
        part.open("ab").close()
        raise _OnlyAskedError


class _OnlyAskedError(Exception):
    """Leaves :func:`replacing` without writing anything."""


def write_file(text: str, path: Path, what: str) -> None:
    """Write a text as UTF-8, the same on every system; a lone surrogate becomes a question mark."""
    with writing(path, what), replacing(path) as part:
        part.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def write_skops(model: Any, path: Path) -> None:
    """Write a scikit-learn model as a skops file, which runs no code when it is opened."""
    from isonomia.models.files import needed

    io = needed("skops.io", "skops", "a skops file")
    with writing(path, "the model"), replacing(path) as part:
        io.dump(model, part)


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Turn an error of the system while writing a file into one that says which file and for what."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"expected a file that can be written for {what}, but {path}: {reason}") from error


ENDINGS = (".csv", ".parquet")


def need_table(path: Path, what: str) -> None:
    """Make sure, before any work is done, that a table can be written to a file."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"expected a file that ends in {' or '.join(ENDINGS)} for {what}, but got {path}")
    need_writable(path, what)


_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$"


def is_raw(path: Path) -> bool:
    """Whether texts go into a CSV file as they are: where its name ends in ``.raw.csv``.

    In others a text that a spreadsheet would compute, such as ``=1+1``, gets an apostrophe in front.
    """
    return path.name.lower().endswith(".raw.csv")


def write_table(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write columns of equal length; a missing value is an empty cell. Texts in a CSV file: see :func:`is_raw`."""
    with writing(path, "the table"), replacing(path) as part:
        if path.suffix.lower() == ".parquet":
            _write_parquet(columns, part)
        else:
            _write_csv(columns, part, raw=is_raw(path))


def _write_csv(columns: Mapping[str, Sequence[Any]], path: Path, *, raw: bool) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for row in (columns, *zip(*columns.values(), strict=True)):
            writer.writerow(row if raw else [_defused(value) for value in row])


def _defused(value: Any) -> Any:
    if isinstance(value, str) and re.match(_FORMULA, value) and not re.match(_NUMBER, value):
        return f"'{value}"
    return value


def _write_parquet(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: one_type(values) for name, values in columns.items()}), path)


VIOLATION_ENDINGS = (".csv", ".parquet", ".jsonl")


def need_violations(path: Path, what: str) -> None:
    """Make sure, before any work is done, that violations can be written to a file."""
    if path.suffix.lower() not in VIOLATION_ENDINGS:
        raise UsageError(f"expected a file that ends in .csv, .parquet or .jsonl for {what}, but got {path}")
    need_writable(path, what)


def write_violations(violations: ViolationSet, path: str | Path) -> None:
    """Write all violations as a flat table: CSV, Parquet or JSON lines, by the ending of the path.

    They are written chunk by chunk, so that any number of them needs the memory of a few thousand.
    """
    path = Path(path)
    need_violations(path, "the violations")
    with writing(path, "the violations"), replacing(path) as part:
        match path.suffix.lower():
            case ".jsonl":
                with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                    file.writelines(violations.json_lines())
            case ".csv":
                _violations_csv(violations, part, raw=is_raw(path))
            case _:
                _violations_parquet(violations, part)


def _violations_csv(violations: ViolationSet, path: Path, *, raw: bool) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    def defused(column: Any) -> Any:
        if raw or not pa.types.is_string(column.type):
            return column
        number = pc.match_substring_regex(column, _NUMBER)
        formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), number)
        return pc.if_else(formula, pc.binary_join_element_wise("'", column, ""), column)

    schema = violations.schema()
    if not schema.names:  # no violations, so there are no columns either
        path.open("wb").close()
        return
    if not raw:
        schema = pa.schema([field.with_name(_defused(field.name)) for field in schema])
    options = arrow_csv.WriteOptions(quoting_style="needed")
    with path.open("wb") as file, arrow_csv.CSVWriter(file, schema, write_options=options) as writer:
        for batch in violations.batches():
            writer.write(pa.record_batch([defused(column) for column in batch.columns], schema=schema))


def _violations_parquet(violations: ViolationSet, path: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, violations.schema()) as writer:
        for batch in violations.batches():
            writer.write_batch(batch)


def as_json(audit: AuditReport) -> str:
    """Every verdict in full, and every property that could not be checked."""
    content = {
        "title": audit.title,
        "run": audit.run,
        "when": audit.when,
        "file": audit.file,
        "verdicts": [{**entry.verdict.to_dict(), "name": entry.name} for entry in audit.entries],
        "failures": [
            {"name": failure.name, "kind": failure.kind, "message": failure.message, "line": failure.line}
            for failure in audit.failures
        ],
    }
    return dumped(content)


def schema() -> dict[str, Any]:
    """The JSON Schema of what :func:`as_json` writes."""
    content: dict[str, Any] = json.loads(files("isonomia.report").joinpath("verdicts.schema.json").read_text("utf-8"))
    return content


def dumped(content: Mapping[str, Any]) -> str:
    """JSON that can be written as UTF-8; a lone surrogate, as in a path that is not UTF-8, must be escaped for that."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(content, indent=1, allow_nan=False) + "\n"
    return text

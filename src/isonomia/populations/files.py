"""Tables from files, with whichever reader is installed.

pandas is preferred, since most models are fitted on its frames; then polars, then pyarrow. Comma-separated
and JSON files need none of them: without pandas and polars they become a mapping from column name to NumPy
array. To choose for yourself, read the file with your own library and hand over the table.
"""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import IO, Any

from isonomia.errors import DataError, nearest
from isonomia.populations.plain_csv import NUMBER_MISSING, read_header, read_plain
from isonomia.populations.table import Table

__all__ = ["read_table", "table_from"]


def table_from(data: object) -> Table:
    """Hold a table, or read it from the file that a path names."""
    return read_table(data) if isinstance(data, str | PathLike) else Table.of(data)


def read_table(path: str | PathLike[str]) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    path
        A file that ends in ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson`` or ``.json``, each of them perhaps
        followed by ``.gz``, or in ``.parquet``, ``.arrow`` or ``.feather``.

    Raises
    ------
    DataError
        When the file does not exist, has another ending, is empty or cannot be read, or when no reader for it
        is installed.
    """
    file = Path(path)
    read = _reader(file)
    _check_exists(file)
    try:
        return Table.of(read(file))
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    except Exception as error:  # each library has its own kinds of error for a bad file
        raise DataError(
            f"{file} cannot be read as {_ending(file)}: {type(error).__name__}: {error}. "
            "Check that its content matches its ending."
        ) from error


def _ending(file: Path) -> str:
    name = file.name.lower()
    return Path(name.removesuffix(".gz")).suffix + (".gz" if name.endswith(".gz") else "")


def _reader(file: Path) -> Callable[[Path], Any]:
    ending = _ending(file)
    read = _READERS.get(ending) or _READERS.get(ending.removesuffix(".gz"))
    if read is None or (ending.endswith(".gz") and read in (_read_parquet, _read_feather)):
        raise DataError(
            f"a table's file should end in one of {', '.join(_READERS)}, but this is {file.name!r}. "
            "Rename it, or read it with your own library and hand over the table."
        )
    return read


def _check_exists(file: Path) -> None:
    if file.is_file():
        if file.stat().st_size == 0:
            raise DataError(f"{file} is empty: it has no bytes. It should hold a table.")
        return
    if file.is_dir():
        raise DataError(f"{file} is a folder; a file with a table was expected.")
    if not file.parent.is_dir():
        raise DataError(f"{file} does not exist, nor does the folder {file.parent}.")
    beside = [other.name for other in file.parent.iterdir() if other.is_file()]
    raise DataError(f"{file} does not exist.{nearest(file.name, beside)}")


def _text(file: Path) -> IO[str]:
    # utf-8-sig also drops the mark that some spreadsheets put at the front.
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    return opened(file, "rt", encoding="utf-8-sig", newline="")


def _installed(*packages: str) -> bool:
    return all(find_spec(package) is not None for package in packages)


# ---------------------------------------------------------------------------- comma-separated


def _read_csv(file: Path) -> Any:
    return _read_separated(file, ",")


def _read_tsv(file: Path) -> Any:
    return _read_separated(file, "\t")


def _read_separated(file: Path, separator: str) -> Any:
    with _text(file) as lines:
        if not _installed("pandas"):
            return _framed(read_plain(lines, separator))
        read_header(lines, separator)
    return _pandas_csv(file, separator)


def _pandas_csv(file: Path, separator: str) -> Any:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row with too many cells
        frame = pd.read_csv(
            file,
            sep=separator,
            keep_default_na=False,
            na_values=[""],
            index_col=False,
            low_memory=False,
            encoding="utf-8-sig",
        )
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name].dtype):
            frame[name] = _numbers_if_all_are(frame[name])
    return frame


def _numbers_if_all_are(series: Any) -> Any:
    import pandas as pd

    stands_for_missing = series.isin(NUMBER_MISSING)
    if not stands_for_missing.any() or (series.isna() | stands_for_missing).all():
        return series
    try:
        return pd.to_numeric(series.where(~stands_for_missing))
    except (ValueError, TypeError):
        return series


# ---------------------------------------------------------------------------- JSON


def _read_json_lines(file: Path) -> Any:
    with _text(file) as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return _framed(_columns_of(rows))


def _read_json(file: Path) -> Any:
    with _text(file) as text:
        content = json.load(text)
    if isinstance(content, Mapping):
        listed = {n: list(v.values()) if isinstance(v, Mapping) else v for n, v in content.items()}
        return _framed(_columns_of_table(Table.of(listed)))
    return _framed(_columns_of(content))


def _columns_of(rows: object) -> dict[str, Any]:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise DataError("every row should be an object from column name to value, such as {'age': 31}.")
    if not rows:
        raise DataError("the file has no rows. Give at least one.")
    return _columns_of_table(Table.of(rows))


def _columns_of_table(table: Table) -> dict[str, Any]:
    return {name: table.column(name).copy() for name in table.names}


def _framed(columns: dict[str, Any]) -> Any:
    if _installed("pandas"):
        import pandas as pd

        return pd.DataFrame(columns)
    if _installed("polars"):
        import polars as pl

        return pl.DataFrame({n: v.tolist() if v.dtype == object else v for n, v in columns.items()})
    return columns


# ---------------------------------------------------------------------------- columnar


def _read_parquet(file: Path) -> Any:
    if _installed("pandas", "pyarrow"):
        import pandas as pd

        return pd.read_parquet(file)
    if _installed("polars"):
        import polars as pl

        return pl.read_parquet(file)
    if _installed("pyarrow"):
        import pyarrow.parquet as pq

        return pq.read_table(file)
    raise _no_reader("parquet")


def _read_feather(file: Path) -> Any:
    if _installed("pandas", "pyarrow"):
        import pandas as pd

        return pd.read_feather(file)
    if _installed("polars"):
        import polars as pl

        return pl.read_ipc(file)
    if _installed("pyarrow"):
        import pyarrow.feather as feather

        return feather.read_table(file)
    raise _no_reader("arrow")


def _no_reader(format_name: str) -> DataError:
    return DataError(
        f"reading {format_name} files needs pyarrow or polars, and neither is installed. "
        "Install one: pip install 'isonomia[arrow]' or pip install 'isonomia[polars]'."
    )


_READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json,
    ".parquet": _read_parquet,
    ".arrow": _read_feather,
    ".feather": _read_feather,
}

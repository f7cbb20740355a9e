"""Datasets of pyarrow, Parquet files above all, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.arrow_frames import PandasForm, is_large, ordinary_names
from isonomia.populations.arrow_parts import is_plain, parts_of
from isonomia.populations.footers import Footers, read_footers
from isonomia.populations.long_table import LongTable

__all__ = ["DatasetReader", "long_dataset", "of_size", "preferred_kind"]


@dataclass(frozen=True, slots=True, eq=False)
class DatasetReader:
    """A dataset of pyarrow.

    Attributes
    ----------
    dataset
        The dataset, its columns of one type each.
    names, rows, kind
        See :class:`TableReader`.
    form
        How batches become frames of pandas.
    files
        The files that it is made of; none where it is not made of local files.
    """

    dataset: Any
    names: tuple[str, ...]
    rows: int
    kind: str
    form: PandasForm
    files: tuple[Path, ...] = ()

    @property
    def stamp(self) -> object | None:
        """The sizes of the files and when they were written; ``None`` without files."""
        try:
            found = [file.stat() for file in self.files]
        except OSError as error:
            raise DataError(f"a file of the table is gone since it was opened: {error}. Open it anew.") from error
        return tuple((each.st_size, each.st_mtime_ns) for each in found) or None

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""
        kind = self.dataset.schema.field(name).type
        return tuple(self.form.categories.get(name, ())) if getattr(kind, "ordered", False) else ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:
        """Give these columns from row ``start`` on."""
        for table in of_size(parts_of(self.dataset, columns, start), size):
            yield table if plain or self.kind == "pyarrow" else self._as_kind(table)

    def _as_kind(self, table: Any) -> Any:
        if self.kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return self.form.frame(table)


def long_dataset(dataset: Any, kind: str, files: Sequence[Path] = ()) -> LongTable:
    """Make a table of a dataset, which is then read as it goes.

    Parameters
    ----------
    dataset
        A dataset of pyarrow.
    kind
        Which library's tables the model is given: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
    files
        The local files that it is made of.

    Raises
    ------
    DataError
        When a file is damaged, or when there are no rows.
    """
    names = ordinary_names(dataset.schema)
    footers = read_footers(dataset) if is_plain(dataset) else None
    rows = footers.rows if footers is not None else dataset.count_rows()
    form = _form(dataset, footers, names) if kind == "pandas" else PandasForm()
    return LongTable(DatasetReader(dataset, names, rows, kind, form, tuple(files)))


def preferred_kind() -> str:
    """The library whose tables a file is handed to the model as: pandas where it is installed, then polars."""
    return next((kind for kind in ("pandas", "polars") if find_spec(kind) is not None), "pyarrow")


def of_size(batches: Iterable[Any], size: int, skip: int = 0) -> Iterator[Any]:
    """Join and cut record batches so that each table but the last has ``size`` rows; the first rows may be skipped."""
    import pyarrow as pa

    held: list[Any] = []
    have = 0
    for batch in batches:
        passed = min(skip, batch.num_rows)
        skip -= passed
        rest = batch.slice(passed)
        while have + rest.num_rows >= size:
            held.append(rest.slice(0, size - have))
            rest = rest.slice(size - have)
            yield pa.Table.from_batches(held)
            held, have = [], 0
        if rest.num_rows:
            held.append(rest)
            have += rest.num_rows
    if held:
        yield pa.Table.from_batches(held)


def _form(dataset: Any, footers: Footers | None, names: Sequence[str]) -> PandasForm:
    """Learn what pandas must know beforehand: from the files' footers, and by a pass over what they leave in doubt."""
    import pyarrow.types as types

    kinds = {name: dataset.schema.field(name).type for name in names}
    told = {} if footers is None else footers.gaps
    doubtful = [name for name, kind in kinds.items() if types.is_integer(kind) or types.is_boolean(kind)]
    open_to_doubt = [name for name in doubtful if name not in told or told[name] is not False]
    gaps, large = _gaps(dataset, open_to_doubt)
    coded = [name for name, kind in kinds.items() if types.is_dictionary(kind)]
    return PandasForm(gaps, large & gaps, {name: _categories(dataset, name) for name in coded})


def _gaps(dataset: Any, names: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The columns with a missing value somewhere, and those with large whole numbers."""
    gaps: set[str] = set()
    large: set[str] = set()
    for part in parts_of(dataset, names) if names else ():
        gaps.update(name for name in names if part.column(name).null_count)
        large.update(name for name in names if is_large(part.column(name)))
    return frozenset(gaps), frozenset(large)


def _categories(dataset: Any, name: str) -> tuple[Any, ...]:
    """All categories of a column, in the order in which they turn up, as when all batches are joined."""
    found: dict[Any, None] = {}
    for batch in parts_of(dataset, [name]):
        found.update(dict.fromkeys(batch.column(name).dictionary.to_pylist()))
    return tuple(found)

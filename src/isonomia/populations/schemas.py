"""The columns that all files of a folder have, and where one of them differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isonomia.errors import DataError, nearest

__all__ = ["common_schema"]


def common_schema(dataset: Any) -> Any:
    """The columns of a dataset, each with a type that has room for its type in every file.

    Whole numbers may differ in width, floats in width, text in how it is stored, and a column that is missing
    throughout a file has no type there. Anything else that differs is refused.

    Raises
    ------
    DataError
        With the file and the column, when a file lacks a column, has one more, or has one of another type.
    """
    import pyarrow as pa

    merged = {field.name: field for field in dataset.schema}
    inside: set[str] | None = None
    first = ""
    for fragment in dataset.get_fragments():
        schema, path = _schema(fragment), getattr(fragment, "path", "a part of the dataset")
        if inside is None:
            inside, first = set(schema.names), path
        _refuse_other_names(schema, inside, path, first)
        for field in schema:
            joined = _joined(merged[field.name].type, field.type)
            if joined is None:
                raise DataError(
                    f"expected one type for column {field.name!r}, but it is {merged[field.name].type} in {first} and "
                    f"{field.type} in {path}. Write the files with the same types."
                )
            merged[field.name] = merged[field.name].with_type(joined).with_nullable(True)
    return pa.schema([merged[field.name] for field in dataset.schema], metadata=dataset.schema.metadata)


def _schema(fragment: Any) -> Any:
    try:
        return fragment.physical_schema
    except Exception as error:  # pyarrow has several kinds of error for a damaged file
        raise DataError(
            f"{fragment.path} cannot be read: {type(error).__name__}: {str(error).strip()}. It may be cut short, or be "
            "of another format: write it anew, or take it out of the folder."
        ) from error


def _refuse_other_names(schema: Any, known: set[str], path: str, first: str) -> None:
    for name in sorted(known - set(schema.names)):
        hint = nearest(name, set(schema.names) - known)
        raise DataError(f"expected the same columns in every file, but {path} lacks {name!r}, which {first} has.{hint}")
    for name in sorted(set(schema.names) - known):
        hint = nearest(name, known - set(schema.names))
        raise DataError(f"expected the same columns in every file, but {path} has {name!r}, which {first} lacks.{hint}")


def _joined(one: Any, other: Any) -> Any | None:
    """A type with room for two; ``None`` where they are of different kinds."""
    import pyarrow as pa
    import pyarrow.types as types

    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_dictionary(one) and types.is_dictionary(other):
        values = _joined(one.value_type, other.value_type)
        return None if values is None else pa.dictionary(pa.int32(), values, one.ordered and other.ordered)
    alike: tuple[tuple[Callable[[Any], bool], Any], ...] = (
        (types.is_signed_integer, pa.int64()),
        (types.is_unsigned_integer, pa.uint64()),
        (types.is_integer, pa.int64()),
        (types.is_floating, pa.float64()),
        (_is_text, pa.large_string()),
    )
    return next((wide for test, wide in alike if test(one) and test(other)), None)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

"""The skeleton of an ONNX file, read without a library for it.

Just enough of the wire format of protocol buffers to tell an ONNX model from other files, and to find the names of
the classes, which the runtime does not give away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from mmap import mmap
from typing import Any, TypeAlias

import numpy as np

from isonomia.spec.tree import Value

__all__ = ["class_lists", "external_files", "fields", "is_onnx"]

Buffer: TypeAlias = memoryview

_MODEL_FIELDS = {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26}  # of ModelProto in onnx.proto
_GRAPH, _NODE, _INITIALIZER, _ATTRIBUTE = 7, 1, 5, 5
_CLASS_ATTRIBUTES = {b"classlabels_strings", b"classlabels_int64s", b"classlabels_ints"}
_INT32, _INT64, _STRING = 6, 7, 8  # of TensorProto.DataType


def fields(view: Buffer) -> Iterator[tuple[int, int | Buffer]]:
    """Go through the fields of a message: each number with its value, bytes where it has a length.

    Raises
    ------
    ValueError
        When the bytes are no message.
    """
    position = 0
    while position < len(view):
        tag, position = _varint(view, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(view, position)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(wire, -1)
        if wire == 2:
            length, position = _varint(view, position)
        if number == 0 or length < 0 or position + length > len(view):
            raise ValueError("no message of protocol buffers")
        yield number, view[position : position + length]
        position += length


def _varint(view: Buffer, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(view):
            break
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("no message of protocol buffers")


def is_onnx(view: Buffer) -> bool:
    """Whether bytes are an ONNX model: the fields that such a model has, among them a graph, and no others."""
    try:
        found = {number for number, _ in fields(view)}
    except ValueError:
        return False
    return {1, _GRAPH} <= found <= _MODEL_FIELDS


def external_files(mapped: mmap) -> list[str]:
    """The files that tensors of an ONNX model are kept in, relative to its folder, each once and in order.

    A tensor names its file in an entry with the key ``location``, wherever in the graph it stands, so that its bytes
    are looked for instead of all the places where a tensor may be.
    """
    mark = b"\x0a\x08location\x12"  # field 1, 8 bytes; field 2
    found: set[str] = set()
    position = mapped.find(mark)
    while position >= 0:
        with contextlib.suppress(ValueError), memoryview(mapped) as view:
            length, start = _varint(view, position + len(mark))
            found.add(bytes(view[start : start + length]).decode())
        position = mapped.find(mark, position + 1)
    return sorted(found)


def class_lists(view: Buffer) -> list[tuple[Value, ...]]:
    """The lists of class labels in an ONNX model, each once.

    They stand in the attributes of classifiers, or in a constant whose name begins with ``classes``.
    """
    found: list[tuple[Value, ...]] = []
    for graph in _within(view, _GRAPH):
        for node in _within(graph, _NODE):
            found += [_attribute(attribute) for attribute in _within(node, _ATTRIBUTE)]
        found += [_constant(tensor) for tensor in _within(graph, _INITIALIZER)]
    return [labels for labels in dict.fromkeys(found) if labels]


def _within(view: Buffer, wanted: int) -> Iterator[Buffer]:
    return (value for number, value in fields(view) if number == wanted and not isinstance(value, int))


def _attribute(view: Buffer) -> tuple[Value, ...]:
    parts = list(fields(view))
    if not any(number == 1 and _bytes(value) in _CLASS_ATTRIBUTES for number, value in parts):
        return ()
    labels: list[Value] = []
    for number, value in parts:
        if number == 8:
            labels += _whole(value)
        elif number == 9:
            labels.append(_bytes(value).decode())
    return tuple(labels)


def _constant(view: Buffer) -> tuple[Value, ...]:
    parts: dict[int, list[Any]] = {}
    for number, value in fields(view):
        parts.setdefault(number, []).append(value)
    name = _bytes(parts.get(8, [b""])[0])
    if not name.startswith(b"classes"):
        return ()
    if parts.get(2) == [_STRING]:
        return tuple(_bytes(value).decode() for value in parts.get(6, []))
    if parts.get(2) not in ([_INT32], [_INT64]):
        return ()
    raw = b"".join(_bytes(value) for value in parts.get(9, []))
    found = np.frombuffer(raw, "<i8" if parts[2] == [_INT64] else "<i4").tolist()
    return tuple(found) or tuple(n for place in (5, 7) for value in parts.get(place, []) for n in _whole(value))


def _whole(value: int | Buffer) -> list[int]:
    """One number, or several packed into a run of bytes."""
    if isinstance(value, int):
        return [_signed(value)]
    numbers, position = [], 0
    while position < len(value):
        number, position = _varint(value, position)
        numbers.append(_signed(number))
    return numbers


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _bytes(value: Any) -> bytes:
    return b"" if isinstance(value, int) else bytes(value)

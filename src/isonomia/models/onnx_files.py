"""What is read of an ONNX file: a session of the runtime, the names of the classes, and weights kept beside it."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

from isonomia.errors import ModelError, UsageError
from isonomia.models.extras import needed
from isonomia.models.protobuf import class_lists, external_files
from isonomia.models.reopened import digest_of
from isonomia.spec.tree import Value

__all__ = ["class_lists_in", "session_of", "weights_beside"]

_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def session_of(origin: Path | bytes, device: str, threads: int) -> Any:
    """Open a session of the runtime.

    Raises
    ------
    UsageError
        When onnxruntime is not installed, or has nothing for the device.
    ModelError
        When it cannot run the file.
    """
    runtime = needed("onnxruntime", "onnx", "an ONNX model")
    provider = _PROVIDERS.get(device)
    if provider is None or provider not in runtime.get_available_providers():
        offered = [short for short, long in _PROVIDERS.items() if long in runtime.get_available_providers()]
        raise UsageError(
            f"device should be one of {', '.join(offered)}, as onnxruntime is installed, but is {device!r}."
        )
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only: its advice is for those who made the file
    source = str(origin) if isinstance(origin, Path) else origin
    try:
        # Without a fallback, which would try the same once more and print about it.
        return runtime.InferenceSession(source, options, providers=[provider], enable_fallback=0)
    except Exception as error:  # the runtime's errors have no common class of their own
        where = origin if isinstance(origin, Path) else "the bytes"
        raise ModelError(f"{where} is no ONNX model that onnxruntime {runtime.__version__} can run: {error}") from error


def class_lists_in(origin: Path | bytes) -> list[tuple[Value, ...]]:
    """The lists of class labels in a file or in its bytes."""
    if isinstance(origin, bytes):
        return class_lists(memoryview(origin))
    with (
        origin.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        return class_lists(view)


def weights_beside(origin: Path | bytes) -> tuple[str, ...]:
    """Digests of the files that a file names, which is where large models keep their weights.

    Raises
    ------
    ModelError
        When one of them lies outside the folder of the file: a stranger's file could name any.
    """
    if isinstance(origin, bytes):
        return ()
    with origin.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        names = external_files(mapped)
    folder = origin.resolve().parent
    for name in names:
        if not (folder / name).resolve().is_relative_to(folder):
            raise ModelError(f"{origin} keeps weights in {name!r}, outside its folder, so it was not opened.")
    return tuple(digest_of(folder / name) for name in names if (folder / name).is_file())

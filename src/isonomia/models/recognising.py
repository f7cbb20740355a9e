"""What a file is, by its content and its ending. Nothing is opened with code of its own: no pickle is read."""

from __future__ import annotations

import mmap
import os
import zipfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from isonomia.models.protobuf import is_onnx

__all__ = ["Kind", "kind_of"]

_HEAD = 4096
_PICKLE_ENDINGS = {".pkl", ".pickle", ".joblib", ".sav"}
# Whoever opens a file of this name expects data. A program behind it is not run, however executable it is.
_DATA_ENDINGS = {".onnx", ".skops", ".json", ".ubj", ".txt", ".pt", ".pt2", ".pth", *_PICKLE_ENDINGS}
_COMPRESSED = (b"\x1f\x8b", b"x\x9c", b"x\x01", b"x\xda", b"BZh", b"\xfd7zXZ", b"\x04\x22\x4d\x18")
# What torch.save wrote before it wrote archives: a pickle that holds nothing but this number, and then others.
_OLD_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_PROGRAMS = (b"\x7fELF", b"#!", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class Kind(Enum):
    """The kinds of files and folders that hold a model, each with its name in words."""

    ONNX = "an ONNX file"
    SKOPS = "a skops file"
    PICKLE = "a pickle or joblib file"
    TORCHSCRIPT = "a TorchScript file"
    EXPORTED = "an exported PyTorch program (.pt2)"
    TORCH_PICKLE = "a PyTorch module or its weights, written by torch.save"
    XGBOOST = "an XGBoost file (.json, .ubj)"
    LIGHTGBM = "a LightGBM file (.txt)"
    MLFLOW = "an MLflow model folder"
    SERVICE = "a description of a service or program (.toml)"
    PROGRAM = "a program that reads rows and writes predictions"


def kind_of(path: Path) -> Kind | None:
    """Find out what kind of model is at a path; ``None`` where it is none that is understood.

    The content decides. The ending counts only where content says too little: for compressed pickles and those of the
    oldest protocols, and for descriptions in TOML.
    """
    if path.is_dir():
        return Kind.MLFLOW if (path / "MLmodel").is_file() else None
    if path.suffix == ".toml":
        return Kind.SERVICE
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for kind, holds in _TESTS:
        if holds(path, head):
            return kind
    return None


def _is_pickle(path: Path, head: bytes) -> bool:
    # A program of the protocols 2 to 5 begins with its number. Older ones begin with anything at all.
    if head[:1] == b"\x80" and head[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}:
        return not head.startswith(_OLD_TORCH)
    named = any(suffix in _PICKLE_ENDINGS for suffix in path.suffixes)
    return named and (head.startswith(_COMPRESSED) or not head.startswith(b"PK"))


def _is_xgboost(_: Path, head: bytes) -> bool:
    begin = b"".join(head[:64].split())
    # JSON, and its binary form; the version comes first in files of some releases.
    starts = (b'{"learner"', b'{"version"', b"{L" + bytes(7) + b"\x07learner", b"{L" + bytes(7) + b"\x07version")
    return begin.startswith(starts)


def _is_lightgbm(_: Path, head: bytes) -> bool:
    return head.replace(b"\r\n", b"\n").startswith(b"tree\nversion=")


def _is_skops(path: Path, head: bytes) -> bool:
    return "schema.json" in _members(path, head)


def _is_torchscript(path: Path, head: bytes) -> bool:
    members = _members(path, head)
    return any(name.endswith("/constants.pkl") for name in members) and any("/code/" in name for name in members)


def _is_exported(path: Path, head: bytes) -> bool:
    members = _members(path, head)
    ends = ("/archive_format", "serialized_exported_program.json")
    return any(name.endswith(ends) or name == "archive_format" for name in members)


def _is_torch_pickle(path: Path, head: bytes) -> bool:
    archived = any(name == "data.pkl" or name.endswith("/data.pkl") for name in _members(path, head))
    return archived or head.startswith(_OLD_TORCH)


def _is_onnx_file(path: Path, head: bytes) -> bool:
    if not head:
        return False
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        return is_onnx(view)


def _is_program(path: Path, head: bytes) -> bool:
    return os.access(path, os.X_OK) and head.startswith(_PROGRAMS) and path.suffix.lower() not in _DATA_ENDINGS


def _members(path: Path, head: bytes) -> list[str]:
    if not head.startswith(b"PK"):
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except zipfile.BadZipFile:
        return []


# Whatever could run code comes before what could not, so that no disguise makes a pickle look like something else.
_TESTS: tuple[tuple[Kind, Callable[[Path, bytes], bool]], ...] = (
    (Kind.PICKLE, _is_pickle),
    (Kind.SKOPS, _is_skops),
    (Kind.EXPORTED, _is_exported),
    (Kind.TORCHSCRIPT, _is_torchscript),
    (Kind.TORCH_PICKLE, _is_torch_pickle),
    (Kind.XGBOOST, _is_xgboost),
    (Kind.LIGHTGBM, _is_lightgbm),
    (Kind.ONNX, _is_onnx_file),
    (Kind.PROGRAM, _is_program),
)

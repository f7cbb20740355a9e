"""Files that models are opened from: what is in them, whether they are trusted, and the package that opens them.

What a runtime makes of a file often cannot be pickled. :class:`ReopenableResource` holds it together with where it came
from. Its pickle holds only the latter; unpickling opens the file again, which must not have changed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from isonomia.errors import ModelError, UsageError

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class ReopenableResource:
    """Something opened from a file, a folder or bytes, such as a session of a runtime. Made by :func:`open_from`."""

    content: Any  # what the opener made of it
    opener: Callable[..., Any]  # A function of a module, so that a pickle can name it
    origin: Path | bytes  # the path, or the bytes themselves
    digest: str  # the SHA-256 of its content when it was opened, as 64 hexadecimal digits
    arguments: tuple[Any, ...] = ()  # what else the opener was given
    companions: tuple[tuple[Path, str], ...] = ()  # files that belong to it, such as weights, each with its digest

    @property
    def name(self) -> str:
        """The file's name; empty for bytes."""
        return self.origin.name if isinstance(self.origin, Path) else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where it came from and its digest, so that it can be opened again."""
        return _open_again, (self.opener, self.origin, self.digest, self.arguments, self.companions)


def open_from(
    opener: Callable[..., Any], origin: Path | bytes, *arguments: Any, companions: tuple[Path, ...] = ()
) -> ReopenableResource:
    """Open a file, a folder or bytes, and remember how; the opener and its arguments must be picklable."""
    source = origin.absolute() if isinstance(origin, Path) else origin
    digest = digest_of(source)
    digests = tuple((file, digest_of(file)) for file in companions if file.is_file())  # the opener reports missing ones
    return ReopenableResource(opener(source, *arguments), opener, source, digest, arguments, digests)


def _open_again(
    opener: Callable[..., Any],
    origin: Path | bytes,
    digest: str,
    arguments: tuple[Any, ...],
    companions: tuple[tuple[Path, str], ...],
) -> ReopenableResource:
    # Checked before anything is opened: what has changed is no longer what the user trusted.
    changed = digest_of(origin) != digest or any(
        not file.is_file() or digest_of(file) != known for file, known in companions
    )
    if changed:
        raise ModelError(f"the model at {origin!s} is not the one that was opened before: its content has changed.")
    return ReopenableResource(opener(origin, *arguments), opener, origin, digest, arguments, companions)


def digest_of(origin: Path | bytes) -> str:
    """The SHA-256 of bytes, of a file's content, or of the names and contents of all files in a folder."""
    if isinstance(origin, bytes):
        return sha256(origin).hexdigest()
    digest = sha256()
    inside = sorted(file for file in origin.rglob("*") if file.is_file()) if origin.is_dir() else [origin]
    for file in inside:
        if origin.is_dir():
            digest.update(f"\0{file.relative_to(origin).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


_HARMLESS = 1 << 26
"""Bytes that any archive may unpack to, whatever its size, and the largest ``schema.json`` it may have."""

_RATIO = 100
"""How many times its own size a larger archive may unpack to. Weights compress little, zeros a thousandfold."""


_MEMBERS = 10_000
"""How many members an archive may have. Listing very many takes long, and some readers take longer for each."""

_DIRECTORY = 1 << 22
"""Bytes that the list of an archive's members may have: names of 400 characters for all of them."""


@dataclass(frozen=True, slots=True)
class _ShortDirectory:
    """An archive of which no part larger than a directory is read: a longer list of members is refused unread."""

    file: IO[bytes]
    path: Path

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def read(self, size: int = -1) -> bytes:
        if size > _DIRECTORY:
            raise ModelError(
                f"{self.path} is an archive with a list of members of {size:,} bytes, but at most {_DIRECTORY:,} are "
                "read: it was not opened."
            )
        return self.file.read(size)


def members_of(path: Path) -> list[zipfile.ZipInfo]:
    """The members of a ZIP archive, none of them read.

    Raises
    ------
    ModelError
        When there are too many.
    zipfile.BadZipFile
        When it is no archive.
    """
    with path.open("rb") as file:
        return _members(file, path)


def _members(file: IO[bytes], path: Path) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(cast(IO[bytes], _ShortDirectory(file, path))) as archive:
        members = archive.infolist()
    if len(members) > _MEMBERS:
        raise ModelError(
            f"{path} is an archive of {len(members):,} members, but at most {_MEMBERS:,} are read: it was not opened."
        )
    return members


def check_archive(path: Path) -> None:
    """Refuse a ZIP archive of too many members, or that would unpack to far more than its size; others pass."""
    if not zipfile.is_zipfile(path):
        return
    members = members_of(path)
    size, unpacked = path.stat().st_size, sum(member.file_size for member in members)
    if unpacked <= max(_HARMLESS, _RATIO * size):
        with zipfile.ZipFile(path) as archive:
            unpacked += sum(_unpacked_inside(archive, member, path) for member in members)
    if unpacked > max(_HARMLESS, _RATIO * size):
        raise ModelError(
            f"{path} has {size:,} bytes and would unpack to {unpacked:,}, more than {_RATIO} times as many: it was not "
            "opened. If it is a model, save it again without compression."
        )
    for member in members:
        if member.filename.endswith("schema.json") and member.file_size > _HARMLESS:
            raise ModelError(
                f"{path} has a list of its contents, {member.filename}, of {member.file_size:,} bytes, but at most "
                f"{_HARMLESS:,} are read: it was not opened."
            )


def _unpacked_inside(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> int:
    """Bytes that a member which is an archive itself, such as a sparse matrix in a skops file, would unpack to."""
    with archive.open(member) as file:
        if file.read(4) != b"PK\3\4":
            return 0
        file.seek(0)
        return sum(each.file_size for each in _members(file, path))


def check_trusted(path: Path, trust_pickle: bool, what: str) -> None:
    """Refuse a file with pickles in it, described as ``what``, unless the user said that it is trusted."""
    if trust_pickle is not True:
        raise UsageError(
            f"{path} is {what}. Opening a pickle runs whatever code its writer put into it, with your rights, so it "
            "was not opened. If you trust who wrote it: trust_pickle=True, or --trust-pickle on the command line. "
            "Formats that need no trust: skops for scikit-learn, ONNX, and the own files of XGBoost and LightGBM.",
            name="trust_pickle",
        )


def needed(module: str, extra: str, what: str) -> Any:
    """Import a package that is not always installed.

    Parameters
    ----------
    module
        The module to import, such as ``"onnxruntime"``.
    extra
        The extra of Isonomia that installs it.
    what
        What needs it, for the message: ``"an ONNX file"``.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is installed, but one of its own dependencies is not
        raise UsageError(
            f"{what} needs the package {package}, which is not installed. Install it: pip install 'isonomia[{extra}]'."
        ) from error

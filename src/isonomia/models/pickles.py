"""Files that need trust: pickle, joblib, skops.

Pickle and joblib files, which run code and so are opened only when told to.

scikit-learn models stored with skops, which holds data and names of types instead of code.

What was opened from a file and cannot be pickled: the pickle holds where it came from, and it is opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from isonomia.errors import ModelError, UsageError
from isonomia.models.adapt import adapt
from isonomia.models.estimators import EstimatorModel
from isonomia.models.inputs import needed
from isonomia.models.lightgbm import LightGBMModel
from isonomia.models.protocol import Model
from isonomia.models.xgboost import XGBoostModel

__all__ = ["Opened", "check_trusted", "digest_of", "open_from", "open_pickle", "open_skops", "sourced"]


def open_pickle(path: Path, *, trust_pickle: bool = False, features: Sequence[str] | None = None) -> Model:
    """Open a pickle or joblib file, compressed or not.

    Parameters
    ----------
    path
        The file.
    trust_pickle
        Whether whoever wrote it may run code here. Nothing of the file is unpickled otherwise.
    features
        The columns to hand to the model, as for :func:`isonomia.models.adapt`.

    Raises
    ------
    UsageError
        Without ``trust_pickle``, or when the file holds no model.
    ModelError
        When it cannot be unpickled.
    """
    check_trusted(path, trust_pickle, "a pickle")
    import joblib  # type: ignore[import-untyped]

    try:
        found = joblib.load(path)
    except Exception as error:
        raise ModelError(f"{path} could not be unpickled: {type(error).__name__}: {error}") from error
    try:
        return sourced(adapt(found, features), path, "pickle")
    except UsageError as error:
        raise UsageError(f"{path} was unpickled, but holds no model: {error}") from error


def check_trusted(path: Path, trust_pickle: bool, what: str) -> None:
    """Refuse a file with pickles in it, unless the user said that it is trusted.

    Parameters
    ----------
    path
        The file.
    trust_pickle
        What the user said.
    what
        What the file is, for the message.

    Raises
    ------
    UsageError
        When it is not trusted.
    """
    if trust_pickle is not True:
        raise UsageError(
            f"{path} is {what}. Opening a pickle runs whatever code its writer put into it, with your rights, so it "
            "was not opened. If you trust who wrote it: trust_pickle=True, or --trust-pickle on the command line. "
            "Formats that need no trust: skops for scikit-learn, ONNX, and the own files of XGBoost and LightGBM."
        )


def sourced(model: Model, path: Path, kind: str) -> Model:
    """Let a model remember which file it came from, where it has a place for that."""
    match model:
        case EstimatorModel():
            return replace(model, source=f"{kind} {path.name}")
        case XGBoostModel() | LightGBMModel():
            return replace(model, source=path.name)
        case _:
            return model


def open_skops(path: Path, *, trusted: Sequence[str] = (), features: Sequence[str] | None = None) -> Model:
    """Open a skops file, unless it names types that are neither known to be harmless nor named as trusted.

    Parameters
    ----------
    path
        The file.
    trusted
        Types that skops does not know, and that may be made all the same: ``["credit.encoders.Binner"]``.
    features
        The columns to hand to the model, as for :func:`isonomia.models.adapt`.

    Raises
    ------
    UsageError
        When skops is not installed, or the file names other types; they are listed. Nothing was made of them.
    ModelError
        When the file is damaged.
    """
    names = _checked(trusted)
    io = needed("skops.io", "skops", "a skops file")
    try:
        unknown = sorted(set(io.get_untrusted_types(file=path)) - set(names))
        if not unknown:
            return sourced(adapt(io.load(path, trusted=list(names)), features), path, "skops file")
    except UsageError as error:
        raise UsageError(f"{path} holds no model: {error}") from error
    except Exception as error:
        raise ModelError(f"{path} could not be read as a skops file: {type(error).__name__}: {error}") from error
    raise UsageError(
        f"{path} names types that skops does not know to be harmless, so it was not opened: {', '.join(unknown)}. "
        f"If you know them and trust who wrote the file: trusted={unknown!r}, or --trust TYPE for each on the command "
        "line."
    )


def _checked(trusted: Sequence[str]) -> tuple[str, ...]:
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        raise UsageError(f"trusted should be a list of names of types, but is {trusted!r}.")
    return tuple(trusted)


_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Something opened from a file, a folder or bytes, such as a session of a runtime.

    Make one with :func:`open_from`.

    Attributes
    ----------
    content
        What the opener made of it.
    opener
        A function of a module, so that a pickle can name it.
    origin
        The path, or the bytes themselves.
    digest
        The SHA-256 of what is there, when it was opened, as 64 hexadecimal digits.
    arguments
        What else the opener was given.
    """

    content: Any
    opener: Callable[..., Any]
    origin: Path | bytes
    digest: str
    arguments: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """The file's name; empty for bytes."""
        return self.origin.name if isinstance(self.origin, Path) else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep where it came from, and that it must be the same."""
        return _again, (self.opener, self.origin, self.digest, self.arguments)


def open_from(opener: Callable[..., Any], origin: Path | bytes, *arguments: Any) -> Opened:
    """Open a file, a folder or bytes, and remember how.

    Parameters
    ----------
    opener
        Called with the origin and the arguments.
    origin
        The path, or the bytes.
    arguments
        What else the opener is given; it must be possible to pickle it.
    """
    place = origin.absolute() if isinstance(origin, Path) else origin
    digest = digest_of(place)
    return Opened(opener(place, *arguments), opener, place, digest, arguments)


def digest_of(origin: Path | bytes) -> str:
    """Give the SHA-256 of bytes, of a file's content, or of the names and contents of all files in a folder."""
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


def _again(opener: Callable[..., Any], origin: Path | bytes, digest: str, arguments: tuple[Any, ...]) -> Opened:
    if digest_of(origin) != digest:
        raise ModelError(f"the model at {origin!s} is not the one that was opened before: its content has changed.")
    return open_from(opener, origin, *arguments)

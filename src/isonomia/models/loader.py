"""Models from wherever they are: a file, a folder, an address, or ``module:object``.

A file's content decides what kind it is, and none of its code is run to find out. Each kind has its own module, which
is imported when the first such file is opened. A file in TOML describes a model outside of this process.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from time import time
from types import ModuleType
from typing import Any, cast

from isonomia.errors import IsonomiaError, ModelError, UsageError, nearest
from isonomia.models.adapt import adapt_object, function_of
from isonomia.models.checked import checked_features
from isonomia.models.files import check_archive, members_of
from isonomia.models.protocol import Model
from isonomia.toml import TomlText


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


# Where each kind is opened: imported on first use, since some of it is heavy.
_OPENERS = {
    Kind.ONNX: ("onnx", "open_onnx"),
    Kind.SKOPS: ("pickles", "open_skops"),
    Kind.PICKLE: ("pickles", "open_pickle"),
    Kind.TORCHSCRIPT: ("torch", "open_torch"),
    Kind.EXPORTED: ("torch", "open_torch"),
    Kind.TORCH_PICKLE: ("torch", "open_torch"),
    Kind.XGBOOST: ("xgboost", "open_xgboost"),
    Kind.LIGHTGBM: ("lightgbm", "open_lightgbm"),
    Kind.MLFLOW: ("mlflow", "open_mlflow"),
    Kind.SERVICE: ("loader", "read_service"),
    Kind.PROGRAM: ("executable", "ExecutableModel"),
}
_HTTP, _CHAT = ("http", "HttpModel"), ("chat", "ChatModel")
_CHAT_OPTIONS = frozenset({"model", "prompt", "answers"})
"""Options that a language model behind a chat API has and other services do not."""

# Not module:object, whose object has no slash in front.
_REMOTE = re.compile(r"[A-Za-z][\w+.-]*:/")
_ADVICE = {
    ".keras": "a Keras model: export it to ONNX, with model.export('model.onnx', format='onnx')",
    ".h5": "a Keras model: export it to ONNX",
    ".pb": "a TensorFlow model: convert it to ONNX, with tf2onnx",
    ".safetensors": "weights without a model: load them into the module, and pass that",
    ".cbm": "a CatBoost model: load it and pass it, or save it with format='onnx'",
    ".pmml": "a PMML file: wrap what runs it in a function",
    ".py": "Python source: name the object in it, as module:object",
}


def load_model(source: str | PathLike[str], *, features: Sequence[str] | None = None, **options: Any) -> Model:
    """Open a model by what it is, and say what was found: ``print(describe(model))``, or its ``repr``.

    Parameters
    ----------
    source
        A path: an ONNX file, a skops, pickle or joblib file, a TorchScript file or an exported PyTorch program, a file
        of XGBoost or LightGBM, an MLflow folder, the description of a service in TOML, a program. Or an address,
        ``"http://..."``; or an importable object, ``"module:object"``. A file's content decides what it is.
    features
        The columns that the model is given, in its order, if it does not know them itself.
    options
        Further options of that kind of model: ``trust_pickle=True`` for pickles, ``trusted=[...]`` for skops,
        ``output=``, ``classes=``, ``device=`` and ``batch_size=`` for networks. An unknown option is refused; the
        message lists the known ones.

    Raises
    ------
    UsageError
        When there is nothing at the path, when what is there is not understood or not trusted, when an option does not
        fit, or when a package is missing; the message has the command that installs it.
    ModelError
        When it is damaged.
    """
    text = str(source)
    if features is not None:
        options["features"] = checked_features(features)
    if text.lower().startswith(("http://", "https://")):
        if not _CHAT_OPTIONS & options.keys():
            return pass_options(function_of(*_HTTP), "an HTTP endpoint", text, options)
        return pass_options(function_of(*_CHAT), "a language model", text, _with_model(options))
    path = Path(source)
    if _exists(path):
        return open_path(path, options)
    if _REMOTE.match(text):
        raise UsageError(
            f"{text} is elsewhere, and only http:// and https:// addresses can be asked. Download it, for example with "
            "mlflow.artifacts.download_artifacts for models:/ and runs:/, and give the path of the download.",
            name=text,
        )
    module, colon, _ = text.partition(":")
    if colon and all(part.isidentifier() for part in module.split(".")):
        return pass_options(load, "a model named module:object", text, options)
    raise _not_found(path)


def _with_model(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a language model, which must have those without a default."""
    for name in ("model", "answers"):
        if name not in options:
            raise UsageError(f"a language model behind a chat API needs {name}: {name}=...", name=name)
    return options


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for a file
        return False


def open_path(path: Path, options: dict[str, Any]) -> Model:
    """Open the model in a file or folder, which must exist, with options as for :func:`load_model`."""
    try:
        kind = kind_of(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if kind is None:
        raise _not_understood(path)
    source = [str(path.absolute())] if kind is Kind.PROGRAM else path
    try:
        if path.is_file():
            check_archive(path)
        return pass_options(function_of(*_OPENERS[kind]), kind.value, source, options)
    except IsonomiaError:
        raise
    except Exception as error:  # each library raises its own errors for a damaged file
        raise ModelError(
            f"{path} looks like {kind.value}, but could not be opened: {type(error).__name__}: {error}"
        ) from error


def pass_options(opener: Callable[..., Any], what: str, source: Any, options: dict[str, Any]) -> Model:
    """Call an opener with the options that it takes; ``trust_pickle`` is ignored where there is no pickle."""
    parameters = list(inspect.signature(opener).parameters.values())[1:]
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    taken = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    given = {name: value for name, value in options.items() if name in taken or name != "trust_pickle"}
    for name in given:
        if name not in taken and not anything:
            raise UsageError(
                f"{what} takes no option {name!r}; it takes {', '.join(taken) or 'none'}.{nearest(name, taken)}",
                name=name,
            )
    return cast(Model, opener(source, **given))


def _not_understood(path: Path) -> UsageError:
    advice = _ADVICE.get(path.suffix)
    message = f"{path} is {advice}." if advice else f"{path} is not a supported model."
    if path.is_dir():
        message = f"{path} is a folder without a file MLmodel."
    return UsageError(f"{message} Understood are: {'; '.join(kind.value for kind in Kind)}.")


def _not_found(path: Path) -> UsageError:
    present = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    return UsageError(
        f"there is no model at {str(path)!r}.{nearest(path.name, present)} Give the path of a file or folder, an "
        "address that begins with http:// or https://, or an importable object as module:object."
    )


_HEAD = 4096
_PICKLE_ENDINGS = {".pkl", ".pickle", ".joblib", ".sav"}
# A file with such a name is expected to hold data: it is not run, even if it is an executable program.
_DATA_ENDINGS = {".onnx", ".skops", ".json", ".ubj", ".txt", ".pt", ".pt2", ".pth", *_PICKLE_ENDINGS}
_COMPRESSED = (b"\x1f\x8b", b"x\x9c", b"x\x01", b"x\xda", b"BZh", b"\xfd7zXZ", b"\x04\x22\x4d\x18")
# What torch.save wrote before it wrote archives: a pickle of nothing but this number, followed by other pickles.
_OLD_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
# The first byte of a field of ModelProto (onnx.proto): its number and the type of what follows.
_ONNX_FIELDS = (b"\x08", b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42", b"\x72")
_PROGRAMS = (b"\x7fELF", b"#!", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def kind_of(path: Path) -> Kind | None:
    """Find out what kind of model is at a path; ``None`` if it is none of the known kinds.

    The content decides. The file extension counts only where the content says too little: for compressed pickles and
    those of the oldest protocols, for ONNX, for programs, and for descriptions in TOML.
    """
    if path.is_dir():
        return Kind.MLFLOW if (path / "MLmodel").is_file() else None
    if not path.is_file():
        return None  # for example a pipe, on which opening would block
    if path.suffix == ".toml":
        return Kind.SERVICE
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for kind, holds in _TESTS:
        if holds(path, head):
            return kind
    return None


def _is_pickle(path: Path, head: bytes) -> bool:
    # A pickle of the protocols 2 to 5 begins with the protocol's number. Older ones may begin with any byte.
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


def _is_onnx(path: Path, head: bytes) -> bool:
    # ONNX has no magic number. Its files begin with the version, then another field; other orders are allowed, but
    # hardly ever written. ONNX 1.0 had version 3 (onnx.proto). TensorFlow's saved models, which begin the same way,
    # have version 1 (its cc/saved_model/constants.h).
    begins_alike = len(head) > 2 and head[0] == 0x08 and 3 <= head[1] < 0x80 and head[2:3] in _ONNX_FIELDS
    return begins_alike or (path.suffix == ".onnx" and head[:1] in _ONNX_FIELDS)


def _is_program(path: Path, head: bytes) -> bool:
    return os.access(path, os.X_OK) and head.startswith(_PROGRAMS) and path.suffix.lower() not in _DATA_ENDINGS


def _members(path: Path, head: bytes) -> list[str]:
    if not head.startswith(b"PK"):
        return []
    try:
        return [member.filename for member in members_of(path)]
    except zipfile.BadZipFile:
        return []


# Pickles, which can run code, come first, so that no disguise makes one look like something else.
_TESTS: tuple[tuple[Kind, Callable[[Path, bytes], bool]], ...] = (
    (Kind.PICKLE, _is_pickle),
    (Kind.SKOPS, _is_skops),
    (Kind.EXPORTED, _is_exported),
    (Kind.TORCHSCRIPT, _is_torchscript),
    (Kind.TORCH_PICKLE, _is_torch_pickle),
    (Kind.XGBOOST, _is_xgboost),
    (Kind.LIGHTGBM, _is_lightgbm),
    (Kind.ONNX, _is_onnx),
    (Kind.PROGRAM, _is_program),
)


_SECONDS_APART = 2.0
"""Texts that changed so recently may change again within the second that Python compares."""


def load(spec: str, features: Sequence[str] | None = None) -> Model:
    """Import a model. The current folder is searched first.

    Parameters
    ----------
    spec
        The module and the object in it, ``"credit.scoring:model"``; the object may be an attribute of another,
        ``"credit:scorer.predict"``.
    features
        The columns to give it, as for :func:`adapt`.

    Raises
    ------
    UsageError
        When the text has another form, or names a module or an object that does not exist or is not a model.
    ModelError
        When the module raises while it is imported.
    """
    try:
        return adapt_object(load_object(spec), features)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from error


def load_object(spec: str) -> Any:
    """Import any object by ``module:object``. The current folder is searched first."""
    module_name, colon, path = spec.partition(":")
    if not colon or not module_name or not path:
        raise UsageError(f"expected module:object, such as 'credit:model', but this is {spec!r}.")
    return _attribute(_imported(module_name), path)


def names_object(text: str) -> bool:
    """Whether a text is ``module:object`` and cannot be the path of a file that has an ending."""
    module, colon, name = text.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _drop_fresh_bytecode() -> None:
    """Remove the compiled form of modules in the current folder whose text has just changed.

    Python takes a compiled module for current where the second and the size of the text are the same: a model edited
    again within that second would answer as before, although its record says that it has changed.
    """
    here = Path.cwd()
    for module in list(sys.modules.values()):
        file, compiled = getattr(module, "__file__", None), getattr(module, "__cached__", None)
        if file and compiled and Path(file).is_relative_to(here):
            with suppress(OSError):
                if time() - Path(file).stat().st_mtime < _SECONDS_APART:
                    Path(compiled).unlink()


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(name)
        _drop_fresh_bytecode()
        return module
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            local = [file.stem for file in Path.cwd().glob("*.py")]
            raise UsageError(
                f"there is no module {error.name!r} in {here} or among the installed packages."
                f"{nearest(error.name, local)}"
            ) from error
        raise _raised(name, error) from error
    except (Exception, SystemExit) as error:
        raise _raised(name, error) from error


def _raised(name: str, error: BaseException) -> ModelError:
    return ModelError(f"the module {name!r} raised {type(error).__name__} while it was imported: {error}")


def _attribute(module: ModuleType, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            owner = getattr(value, "__name__", type(value).__name__)
            public = [name for name in dir(value) if not name.startswith("_")]
            raise UsageError(f"{owner!r} has no {part!r}.{nearest(part, public)}", name=part) from None
    return value


def read_service(path: str | PathLike[str]) -> Model:
    """Read the description of a service or a program.

    The file has one table, ``[model]``, with ``url`` and the options of :class:`~isonomia.models.http.HttpModel`, or
    with ``model`` besides and those of :class:`~isonomia.models.chat.ChatModel`, or with ``command`` and those of
    :class:`~isonomia.models.executable.ExecutableModel`. A program runs in the folder of the file; ``folder`` changes
    that.

    Parameters
    ----------
    path
        The file, in TOML.

    Raises
    ------
    UsageError
        When there is no such file.
    SpecError
        When it is not valid TOML, or does not describe a model; with the line.
    """
    file = Path(fspath(path))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected the description of a model in {file}, but it cannot be read: {error}") from error
    toml = TomlText.parse(text, str(file))
    others = [name for name in toml.content if name != "model"]
    if others or not isinstance(toml.content.get("model"), Mapping):
        hint = nearest(others[0], ["model"]) if others else ""
        if "property" in others:
            hint = f" It looks like an audit file: isonomia run {file}"
        raise toml.error(f"expected one table, [model], but there is {', '.join(others) or 'none'}.{hint}")
    return _service(toml, file.parent)


def _service(toml: TomlText, folder: Path) -> Model:
    """The model that the options describe; a relative ``folder`` among them is relative to the file's."""
    options = dict(toml.content["model"])
    if ("url" in options) == ("command" in options):
        message = "expected url, for a service, or command, for a program, and not both"
        raise toml.error(message, "model", "url")
    is_program = "command" in options
    is_chat = not is_program and bool(_CHAT_OPTIONS & options.keys())
    kind = function_of(*(_OPENERS[Kind.PROGRAM] if is_program else _CHAT if is_chat else _HTTP))
    toml.check_table(options, list(inspect.signature(kind).parameters), "[model]", "model")
    if is_program:
        within = options.get("folder", "")
        if not isinstance(within, str):
            raise toml.error(f"folder should be the path of a folder, but is {within!r}", "model", "folder")
        options["folder"] = folder / within
    try:
        return cast(Model, kind(**(_with_model(options) if is_chat else options)))
    except UsageError as error:
        raise toml.error(str(error), "model", *([error.name] if error.name else [])) from None

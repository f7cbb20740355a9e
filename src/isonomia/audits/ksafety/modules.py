"""Finding and running the module that a specification imports. Running one needs permission; ask for it first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module, invalidate_caches
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from isonomia.errors import Place, SpecError, nearest

__all__ = ["MissingError", "module_named"]


class MissingError(SpecError):
    """There is no such module."""


def module_named(name: str, folder: str | None, place: Place | None) -> ModuleType:
    """Import a module: one beside the specification first, then one in the current folder, then an installed one.

    Two specifications in different folders may each have a module of the same name beside them; each gets its own.

    Parameters
    ----------
    name
        What ``import`` names.
    folder
        The folder of the specification, where it was read from a file.
    place
        Where the import stands, for messages.

    Raises
    ------
    MissingError
        Where there is no such module.
    SpecError
        Where it raises.
    """
    folders = list(dict.fromkeys(([] if folder is None else [Path(folder).resolve()]) + [Path.cwd()]))
    file = next((found for here in folders for found in _files(here, name) if found.is_file()), None)
    with _searched(folders):
        try:
            if file is not None:
                return _run(name, file)
            if find_spec(name) is None:
                raise _missing(name, folders, place)
            return import_module(name)
        except SpecError:
            raise
        except (Exception, SystemExit) as error:
            raise _raised(name, file, error, place) from error


def _files(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}.py"
    yield folder / name / "__init__.py"


@contextmanager
def _searched(folders: Sequence[Path]) -> Iterator[None]:
    """What the module imports in turn is looked for in these folders too, but not afterwards."""
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in folders]
    invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before


def _run(name: str, file: Path) -> ModuleType:
    alias = f"{name}_{sha256(str(file).encode()).hexdigest()[:12]}"
    for known in (name, alias):
        module = sys.modules.get(known)
        if module is not None and getattr(module, "__file__", None) == str(file):
            return module
    spec = spec_from_file_location(name if name not in sys.modules else alias, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _missing(name: str, folders: Sequence[Path], place: Place | None) -> MissingError:
    beside = [file.stem for folder in folders for file in folder.glob("*.py")]
    where = " or ".join(map(str, folders))
    return MissingError(
        f"there is no module {name!r} in {where}, nor among the installed packages.{nearest(name, beside)}", place
    )


def _raised(name: str, file: Path | None, error: BaseException, place: Place | None) -> SpecError:
    lines = [frame for frame in extract_tb(error.__traceback__) if file is not None and frame.filename == str(file)]
    if isinstance(error, SyntaxError) and file is not None and error.filename == str(file):
        where = f" ({file}, line {error.lineno})"
    else:
        where = f" ({file}, line {lines[-1].lineno})" if lines else ""
    told = error.msg if isinstance(error, SyntaxError) else error
    return SpecError(
        f"the module {name!r}{where} raised an error while it was imported: {type(error).__name__}: {told}", place
    )

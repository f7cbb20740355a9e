"""Texts that a command reads and writes: interventions, and whatever else a person edits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isonomia.errors import UsageError, nearest

if TYPE_CHECKING:
    from isonomia.interventions import Interventions

__all__ = ["read_interventions", "refuse_to_overwrite", "write_text"]


def read_interventions(path: Path) -> Interventions:
    """The interventions of a TOML file.

    Raises
    ------
    UsageError
        Where the file cannot be read.
    SpecError
        Where it does not say what people can change; the error names the file, the line and the key.
    """
    from isonomia.interventions import Interventions

    return Interventions.from_toml(
        _text(path, "isonomia init people.csv --interventions writes a first draft"), str(path)
    )


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Leave a file alone that is there, unless told otherwise: somebody may have edited it.

    Raises
    ------
    UsageError
        Where it is there.
    """
    if path.exists() and not force:
        raise UsageError(
            f"expected a new file, but {path} is there already, and somebody may have edited it: give another name "
            "with -o, or --force to write over it"
        )


def write_text(text: str, path: Path, *, force: bool) -> None:
    """Write a file that a person will edit, and so never over one that is there, unless told to.

    Raises
    ------
    UsageError
        Where the file is there, or cannot be written.
    """
    from isonomia.report.files import write_file

    refuse_to_overwrite(path, force=force)
    write_file(text, path, "the draft")


def _text(path: Path, advice: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        beside = [file.name for file in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise UsageError(f"{path} does not exist.{nearest(path.name, beside)} ({advice}.)") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"expected {path} as a text in UTF-8, but byte {error.start} is none: save it again") from None
    except OSError as error:
        raise UsageError(f"expected a file that can be read, but {path}: {error.strerror}") from error

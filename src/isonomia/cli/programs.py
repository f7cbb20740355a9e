"""Programs on the command line: which argument is one, and the property that it is checked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.populations.program import Program
    from isonomia.spec import Property

__all__ = ["ratio_property", "split_arguments"]


def split_arguments(arguments: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The program among the arguments, if there is one, and the properties.

    Raises
    ------
    UsageError
        Where there are two programs.
    """
    programs = [Path(argument) for argument in arguments if _is_program(argument)]
    if len(programs) > 1:
        raise UsageError(f"expected one program, but {', '.join(map(str, programs))} came: check them one by one")
    return (programs[0] if programs else None), [argument for argument in arguments if not _is_program(argument)]


def _is_program(argument: str) -> bool:
    return argument.lower().endswith(".fr")


def ratio_property(program: Program, ratio: float) -> Property:
    """The property of the FairSquare benchmark: the minority's rate over the majority's, among the qualified.

    Raises
    ------
    UsageError
        Where the program does not say who the minority is, or what is favourable.
    """
    from isonomia.spec import P, col

    for column, mark in (("minority", "sensitiveAttribute"), ("target", "fairnessTarget")):
        if column not in program.names:
            raise UsageError(
                f"expected {program.name} to have a line {mark}(...), which --ratio needs, but it has none"
            )
    minority, target = col("minority"), col("target")
    if "qualified" not in program.names:
        return P(target, given=minority) / P(target, given=~minority) >= ratio
    qualified = col("qualified")
    return P(target, given=minority & qualified) / P(target, given=~minority & qualified) >= ratio

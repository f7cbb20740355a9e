"""Whether an intervention means something in a world."""

from __future__ import annotations

from typing import Any

from isonomia.errors import SpecError, nearest
from isonomia.populations.programs.assigning import most_assignments
from isonomia.populations.programs.world import World
from isonomia.spec.tree import AsIf, Do, Literal, Setting

__all__ = ["check_version", "why_not_set"]


def check_version(world: World, version: Do) -> None:
    """Make sure that an intervention means something here.

    Raises
    ------
    SpecError
        Where it sets what is no variable, or a category to what is none of its values; or where a mediator reads a
        variable that is set twice or that some people do not have.
    """
    for item in version.items:
        _need(world, item)
        for setting in item.settings if isinstance(item, AsIf) else (item,):
            _need(world, setting)
            _need_category(world, setting)
        if isinstance(item, AsIf):
            _check_mediator(world, item)


def why_not_set(world: World, name: str, value: Any) -> str | None:
    """Why a variable cannot be set to a value, or ``None`` where it can.

    Equations that read a category compare it with its values. Any other value would take the last way through
    each of them, silently: a misspelt one must not pass for a group.
    """
    found = world.categories(name)
    if found is None or value in found.shares:
        return None
    listed = ", ".join(map(repr, found.shares))
    hint = nearest(str(value), map(str, found.shares))
    return f"expected {name!r} to be set to one of its categories, {listed}, but {value!r} came.{hint}"


def _need_category(world: World, item: Setting) -> None:
    if isinstance(item.value, Literal):
        why = why_not_set(world, item.name, item.value.value)
        if why is not None:
            raise SpecError(why, item.place)


def _need(world: World, item: Setting | AsIf) -> None:
    if item.name not in world.names:
        raise SpecError(
            f"there is no equation of {item.name!r}, so what would have been had it been otherwise is not known."
            f"{nearest(item.name, world.names)}",
            item.place,
        )


def _check_mediator(world: World, item: AsIf) -> None:
    for parent in sorted(world.read_by_mediator(item)):
        if parent not in world.names:
            raise SpecError(
                f"{item.name!r} reads {parent!r}, which some people do not have, so it cannot stay as it is: set "
                "it on every way",
                item.place,
            )
        if most_assignments(world.statements, parent) > 1:
            raise SpecError(
                f"{item.name!r} reads {parent!r}, which is set more than once on the way, so it is not clear "
                "which of its values stays as it is: give the later value another name",
                item.place,
            )

"""The table of options, the commands and the API name the same things and have the same defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import pytest

from isonomia.audits.check import check as check_property
from isonomia.audits.check import plan as plan_property
from isonomia.audits.measure.measure import measure as measure_table
from isonomia.audits.repair import augment
from isonomia.cli.app import COMMANDS, command_of
from isonomia.cli.options import OPTIONS
from isonomia.populations import Sample
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import property as safety_property

API: dict[str, tuple[Callable[..., Any], ...]] = {
    "check": (check_property, Sample, safety_property),
    "measure": (measure_table, Sample),
    "principal": (check_property, PrincipalFairness),
    "responsiveness": (check_property, Responsiveness),
    "plan": (plan_property,),
    "repair": (augment, safety_property),
}
"""The functions that a command calls with its options."""


def _parameters(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    own = inspect.signature(command, eval_str=True).parameters.values()
    groups = [
        inspect.signature(each.annotation).parameters.values() if is_dataclass(each.annotation) else [each]
        for each in own
    ]
    return {each.name: each for group in groups for each in group}


CALLED = [command_of(place) for commands in COMMANDS.values() for place in commands]
PARAMETERS = {command.__name__: _parameters(command) for command in CALLED}


def _keys() -> list[tuple[str, str]]:
    """Command and name of each option in the table; no command for an option of all."""
    split = [key.rpartition(": ")[::2] for options in OPTIONS.values() for key in options]
    return [(command, name) for commands, name in split for command in commands.split(", ")]


def test_an_option_is_in_the_table_once() -> None:
    assert len(_keys()) == len(set(_keys()))


def test_every_line_of_the_table_is_an_option_of_a_command() -> None:
    keys = set(_keys())
    used = {
        ("" if (command, name) not in keys else command, name) for command in PARAMETERS for name in PARAMETERS[command]
    }
    assert used == keys


@pytest.mark.parametrize("command", API)
def test_a_command_has_the_defaults_of_the_api(command: str) -> None:
    shared = 0
    for function in API[command]:
        parameters = inspect.signature(function).parameters
        for name, own in PARAMETERS[command].items():
            other = parameters.get(name)
            if other is None or own.default in (None, own.empty):
                continue  # not given, and so left to the API
            shared += 1
            assert own.default == other.default, f"--{name} of {command}, and {function.__name__}"
    assert shared

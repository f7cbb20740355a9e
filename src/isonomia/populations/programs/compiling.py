"""From a program to functions on whole columns.

Compiling goes backwards, from what is wanted: a statement that sets nothing wanted is left out. Each branch of an
``if`` runs for the people who take it, and for nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from isonomia.populations.programs.evaluating import Evaluate, compile_condition, compile_expression, in_two_ways
from isonomia.populations.programs.mechanisms import Mechanism
from isonomia.populations.programs.running import Frame
from isonomia.spec.programs.tree import Assign, If, Statement, reads_of

__all__ = ["Block", "compile_block"]

Execute: TypeAlias = Callable[[Frame], None]


@dataclass(frozen=True, slots=True)
class Block:
    """Compiled statements.

    Attributes
    ----------
    needs
        The variables that must be set before.
    sets
        Every variable that may be set, those included that nobody wants.
    actions
        What is left of the statements, in order.
    """

    needs: frozenset[str]
    sets: frozenset[str]
    actions: tuple[Execute, ...]

    def run(self, frame: Frame) -> None:
        """Run the statements for the people of a frame."""
        for action in self.actions:
            action(frame)


def compile_block(
    statements: Sequence[Statement | Mechanism], wanted: frozenset[str], given: frozenset[str] = frozenset()
) -> Block:
    """Compile the statements that matter for some variables.

    Parameters
    ----------
    statements
        What runs, in order.
    wanted
        The variables that somebody will read afterwards.
    given
        Variables whose values are set from outside: nothing in the block sets them.
    """
    live, sets = wanted, frozenset[str]()
    actions: list[Execute] = []
    for statement in reversed(statements):
        match statement:
            case Assign(target, value):
                sets |= {target}
                if target in live and target not in given:
                    live = (live - {target}) | reads_of(value)
                    actions.append(_assign(target, compile_expression(value)))
            case Mechanism(target=target):
                sets |= {target}
                if target in live and target not in given:
                    live = (live - {target}) | frozenset(statement.parents)
                    actions.append(_assign(target, statement.run))
            case If(condition, then, otherwise):
                branches = compile_block(then, live, given), compile_block(otherwise, live, given)
                both = branches[0].sets | branches[1].sets
                sets |= both
                merged = (both & live) - given
                if merged:
                    actions.append(_branch(compile_condition(condition), *branches, tuple(sorted(merged))))
                    live = branches[0].needs | branches[1].needs | reads_of(condition)
    return Block(live, sets, tuple(reversed(actions)))


def _assign(target: str, evaluate: Evaluate) -> Execute:
    def assign(frame: Frame) -> None:
        kept, value = frame.run.kept, evaluate(frame)
        frame.values[target] = value if kept is None else kept.settled(target, value)

    return assign


def _branch(condition: Evaluate, then: Block, otherwise: Block, merged: tuple[str, ...]) -> Execute:
    def branch(frame: Frame) -> None:
        ways = in_two_ways(frame, condition)
        if isinstance(ways, bool):
            (then if ways else otherwise).run(frame)
            return
        then.run(ways.then)
        otherwise.run(ways.otherwise)
        for name in merged:
            frame.values[name] = ways.joined(ways.then.read(name), ways.otherwise.read(name))

    return branch

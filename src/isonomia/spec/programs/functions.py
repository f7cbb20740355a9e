"""The two functions of a program, ``popModel`` and ``F``, found in Python's syntax tree."""

from __future__ import annotations

import ast

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.programs.constructs import no_statement
from isonomia.spec.programs.source import Source

__all__ = ["functions_of"]

_NAMES = ("popModel", "F")


def functions_of(tree: ast.Module, source: Source) -> tuple[ast.FunctionDef, ast.FunctionDef]:
    """``popModel`` and ``F``, whichever comes first in the text."""
    found: dict[str, ast.FunctionDef] = {}
    for index, node in enumerate(tree.body):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if index == 0:
                continue
            case ast.FunctionDef():
                _check_function(node, found, source)
                found[node.name] = node
            case _:
                raise _not_at_the_top(node, source)
    return _function("popModel", found, source), _function("F", found, source)


def _function(name: str, found: dict[str, ast.FunctionDef], source: Source) -> ast.FunctionDef:
    if name in found:
        return found[name]
    if not found:
        message = "the program is empty: write `def popModel():`, which draws a person, and `def F():`, which decides"
        raise SpecError(message, Place(source.text, 0, 0))
    if name == "F":
        message = (
            "the function `F` is missing: it decides about a person; `def F(): pass` is enough where a model is given"
        )
    else:
        message = "the function `popModel` is missing: it draws a person"
    (other,) = found.values()
    raise SpecError(f"{message}. There is only `{other.name}`", _header(other, source))


def _header(node: ast.FunctionDef, source: Source) -> Place:
    start = source.place(node).start
    return Place(source.text, start, start + len(f"def {node.name}"))


def _check_function(node: ast.FunctionDef, found: dict[str, ast.FunctionDef], source: Source) -> None:
    place = _header(node, source)
    if node.name not in _NAMES:
        message = f"there is a function `{node.name}`, but a program has only `popModel` and `F`"
        raise SpecError(f"{message}.{nearest(node.name, _NAMES)}", place)
    if node.name in found:
        first = source.place(found[node.name]).line
        raise SpecError(f"`{node.name}` is defined twice (first on line {first}): keep one of them", place)
    if node.decorator_list:
        raise SpecError("a decorator cannot stand in a program: leave it out", source.place(node.decorator_list[0]))
    if any(_parameters(node.args)):
        message = f"`{node.name}` takes no parameters: F sees the variables of popModel, so write `def {node.name}():`"
        raise SpecError(message, place)
    if node.returns is not None or getattr(node, "type_params", None):
        raise SpecError(f"an annotation cannot stand in a program: write `def {node.name}():`", place)


def _parameters(arguments: ast.arguments) -> list[ast.arg | None]:
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*plain, arguments.vararg, arguments.kwarg]


def _not_at_the_top(node: ast.stmt, source: Source) -> SpecError:
    if isinstance(node, ast.Assign | ast.If | ast.Expr | ast.Return | ast.Pass):
        message = "this stands outside a function: move it into `popModel` or `F`"
        return SpecError(message, source.place(node))
    return no_statement(node, source)

"""Reading programs and equations: text in, a checked tree out, or a SpecError that points at the problem.

A program is two functions, ``popModel`` and ``F``, whose bodies set variables, branch, and mark conditions: the calls
that say who is in the minority, who is qualified and who reaches the target. An equation is one expression.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.fairsquare import tree
from isonomia.spec.fairsquare.expressions import (
    DRAWS,
    IF,
    DrawSites,
    ExpressionContext,
    SourceText,
    check_plain_arguments,
    equation_source,
    no_expression,
    no_statement,
    parse_expression,
    parse_module,
    program_source,
    read_value,
)
from isonomia.spec.syntax_errors import TOO_DEEP
from isonomia.spec.text import plain_text

_NAMES = ("popModel", "F")

_LEVELS = 100
"""How deeply an ``if`` may be nested; each ``elif`` counts."""

_TAKEN = frozenset((*DRAWS, *tree.MARKS, "popModel", "F")) - frozenset(tree.MARKS.values())


def read_program(text: str, name: str | None = None) -> tree.FairSquareProgram:
    """Read a program in the language of FairSquare.

    The text is parsed, never run. The language is that of Albarghouthi, D'Antoni, Drews and Nori, *FairSquare:
    Probabilistic Verification of Program Fairness* (OOPSLA 2017): ``popModel`` draws a person, ``F`` decides.

    Parameters
    ----------
    text
        The program. A byte-order mark and any kind of line end are accepted; ``FairSquareProgram.text`` has neither.
    name
        The name of its file, for messages.

    Returns
    -------
    FairSquareProgram
        Every name in it is set before it is read, whichever branches a run takes, and every kind fits. What depends on
        drawn values is not examined: a divisor or a variance can still turn out to be 0 or negative in a run.

    Raises
    ------
    SpecError
        For everything else, with the place of the problem.
    """
    try:
        return _program(program_source(plain_text(text)))
    except SpecError as error:
        raise _named(error, name) from None
    except RecursionError:
        raise _named(SpecError(TOO_DEEP, Place(plain_text(text), 0, 0)), name) from None


def read_equation(text: str, variable: str, known: Mapping[str, tree.Kind | None]) -> tuple[tree.Expression, tree.Kind]:
    """Read the equation of one variable of a causal model: an expression, which may run over several lines.

    In addition to what programs may have, an equation may choose (``a if c else b``), and may have texts: compared by
    ``==`` and ``!=``, or as the branches of a choice. The two branches of a choice share the sites of their draws.

    Parameters
    ----------
    text
        The expression.
    variable
        What it sets; its draws are numbered for this name.
    known
        The variables that it may read. Where the kind of one is ``None``, nothing is checked about it.

    Returns
    -------
    tuple
        The expression, and its kind. Where the kind depends only on variables of unknown kind, it is ``"number"``.
    """
    try:
        return _equation(plain_text(text), variable, known)
    except SpecError as error:
        raise _named(error, f"equation of `{variable}`") from None
    except RecursionError:
        raise _named(SpecError(TOO_DEEP, Place(plain_text(text), 0, 0)), f"equation of `{variable}`") from None


def _named(error: SpecError, name: str | None) -> SpecError:
    if name is not None:
        error.args = (f"{name}, {error}",)
    return error


def _equation(text: str, variable: str, known: Mapping[str, tree.Kind | None]) -> tuple[tree.Expression, tree.Kind]:
    source = equation_source(text)
    if not source.parsed:
        raise SpecError("the equation is empty: write an expression such as `gaussian(0, 1)`", Place(text, 0, 0))
    node = parse_expression(source)
    expression = read_value(node, ExpressionContext(source, DrawSites(), variable, equation=True))
    if isinstance(expression, tree.Text):
        message = "an equation cannot be a text: write a choice, as in `'a' if x > 0 else 'b'`"
        raise SpecError(message, expression.place)
    return expression, tree.kind_of(expression, lambda name: _known_kind(name, known)) or "number"


def _known_kind(name: tree.Reference, known: Mapping[str, tree.Kind | None]) -> tree.Kind | None:
    if name.name in known:
        return known[name.name]
    may = ", ".join(known) or "no variable at all"
    message = f"`{name.name}` cannot be read here: this equation may read {may}."
    raise SpecError(message + nearest(name.name, [*known, "True", "False"]), name.place, name=name.name)


# ---------------------------------------------------------------------------- programs


def _program(source: SourceText) -> tree.FairSquareProgram:
    pop_model, decide = _functions(parse_module(source), source)
    sites = DrawSites()
    # A person is drawn before anything is decided, even where F comes first in the text.
    population = _body(pop_model, source, sites)
    decision = _body(decide, source, sites)
    return tree.FairSquareProgram(
        source.text, population.statements, decision.statements, _kinds((population, decision))
    )


def _kinds(bodies: Sequence[_Body]) -> dict[str, tree.Kind]:
    statements = [statement for body in bodies for statement in body.statements]
    marks = [mark for body in bodies for mark in body.marks]
    _check_marked_once(marks)
    _check_mark_columns(statements, marks)
    outline = tree.outline_of(statements, marks)
    variables = tree.Variables(outline)
    for body in bodies:
        variables = tree.variables_after(body.statements, variables)
        for result in body.results:
            tree.kind_of(result, variables.kind)
    return _columns(variables, marks)


def _columns(variables: tree.Variables, marks: Sequence[tree.Assign]) -> dict[str, tree.Kind]:
    sure = {name: state.kind for name, state in variables.states().items() if state.sure}
    columns = {mark.target: sure[mark.target] for mark in marks}
    others = [name for name in variables.outline.first_set if name in sure and name not in columns]
    return {name: sure[name] for name in others} | columns


# ---------------------------------------------------------------------------- the two functions


def _functions(module: ast.Module, source: SourceText) -> tuple[ast.FunctionDef, ast.FunctionDef]:
    """``popModel`` and ``F``, whichever comes first in the text."""
    functions: dict[str, ast.FunctionDef] = {}
    for index, node in enumerate(module.body):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if index == 0:
                continue
            case ast.FunctionDef():
                _check_function(node, functions, source)
                functions[node.name] = node
            case _:
                raise _not_at_the_top(node, source)
    return _function("popModel", functions, source), _function("F", functions, source)


def _function(name: str, functions: dict[str, ast.FunctionDef], source: SourceText) -> ast.FunctionDef:
    if name in functions:
        return functions[name]
    if not functions:
        message = "the program is empty: write `def popModel():`, which draws a person, and `def F():`, which decides"
        raise SpecError(message, Place(source.text, 0, 0))
    if name == "F":
        message = "the function `F` is missing, which decides: `def F(): pass` is enough where a model is given"
    else:
        message = "the function `popModel` is missing: it draws a person"
    (other,) = functions.values()
    raise SpecError(f"{message}. There is only `{other.name}`", _header(other, source))


def _header(node: ast.FunctionDef, source: SourceText) -> Place:
    start = source.place(node).start
    return Place(source.text, start, start + len(f"def {node.name}"))


def _check_function(node: ast.FunctionDef, functions: dict[str, ast.FunctionDef], source: SourceText) -> None:
    place = _header(node, source)
    if node.name not in _NAMES:
        message = f"there is a function `{node.name}`, but a program has only `popModel` and `F`"
        raise SpecError(f"{message}.{nearest(node.name, _NAMES)}", place, name=node.name)
    if node.name in functions:
        first = source.place(functions[node.name]).line
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


def _not_at_the_top(node: ast.stmt, source: SourceText) -> SpecError:
    if isinstance(node, ast.Assign | ast.If | ast.Expr | ast.Return | ast.Pass):
        message = "this stands outside a function: move it into `popModel` or `F`"
        return SpecError(message, source.place(node))
    return no_statement(node, source)


# ---------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class _Body:
    """What a function does: its statements in the order of the text, those of them that are marks, and its results.

    What it returns has no effect, but must be valid.
    """

    statements: tuple[tree.Statement, ...]
    marks: tuple[tree.Assign, ...]
    results: tuple[tree.Expression, ...]


def _body(function: ast.FunctionDef, source: SourceText, sites: DrawSites) -> _Body:
    """The body of a function.

    A ``return`` is ignored. Nothing but marks may follow it, because a mark holds wherever it stands, while any other
    statement would never run.
    """
    statements: list[tree.Statement] = []
    marks: list[tree.Assign] = []
    results: list[tree.Expression] = []
    returned: ast.Return | None = None
    for node in _without_docstring(function.body):
        mark = _mark_name(node)
        if mark is not None:
            marks.append(_mark(node, mark, source, sites))
            statements.append(marks[-1])
        elif isinstance(node, ast.Return):
            returned = returned or node
            results += _result(node, source, sites)
        elif returned is not None and not isinstance(node, ast.Pass):
            message = "what follows this `return` would never run: put it last, before marks only"
            raise SpecError(message, source.place(returned))
        else:
            statements += _statements(node, source, sites, _LEVELS)
    return _Body(tuple(statements), tuple(marks), tuple(results))


def _without_docstring(nodes: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match nodes:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return nodes


def _result(node: ast.Return, source: SourceText, sites: DrawSites) -> list[tree.Expression]:
    if node.value is None:
        return []
    # A draw in a result is never made, so it must not be counted among those that are.
    return [read_value(node.value, ExpressionContext(source, sites.fork(), "return"))]


def _statements(node: ast.stmt, source: SourceText, sites: DrawSites, levels: int) -> tuple[tree.Statement, ...]:
    match node:
        case ast.Assign():
            return (_assign(node, source, sites),)
        case ast.If():
            return (_if(node, source, sites, levels - 1),)
        case ast.Pass():
            return ()
        case ast.Return():
            message = "a `return` within an `if` would skip what follows: set a variable in each branch instead"
            raise SpecError(message, source.place(node))
        case ast.Expr():
            raise _useless(node, source)
        case _:
            raise no_statement(node, source)


def _assign(node: ast.Assign, source: SourceText, sites: DrawSites) -> tree.Assign:
    if len(node.targets) > 1:
        message = "`a = b = ...` sets two variables at once: set each on its own line"
        raise SpecError(message, source.place(node))
    target = node.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        message = "`a, b = ...` sets several variables at once: set each on its own line"
        raise SpecError(message, source.place(target))
    if not isinstance(target, ast.Name):
        raise SpecError("only a plain variable can be set, as in `x = 1`", source.place(target))
    if target.id in _TAKEN:
        raise SpecError(f"`{target.id}` is the name of a function: give the variable another", source.place(target))
    value = read_value(node.value, ExpressionContext(source, sites, target.id))
    return tree.Assign(target.id, value, place=source.place(node))


def _if(node: ast.If, source: SourceText, sites: DrawSites, levels: int) -> tree.If:
    if levels < 0:
        raise SpecError(TOO_DEEP, source.between(node, node.test))
    condition = read_value(node.test, ExpressionContext(source, sites, IF))
    forks = sites.fork(), sites.fork()
    then = _branch(node.body, source, forks[0], levels)
    otherwise = _branch(node.orelse, source, forks[1], levels)
    sites.join(forks)
    return tree.If(condition, then, otherwise, place=source.between(node, node.test))


def _branch(nodes: Sequence[ast.stmt], source: SourceText, sites: DrawSites, levels: int) -> tuple[tree.Statement, ...]:
    statements: list[tree.Statement] = []
    for node in nodes:
        statements += _statements(node, source, sites, levels)
    return tuple(statements)


def _useless(node: ast.Expr, source: SourceText) -> SpecError:
    name = _mark_name(node)
    if name is not None:
        message = f"the mark `{name}` cannot stand within an `if`: set a variable in each branch, then mark it"
        return SpecError(message, source.place(node))
    match node.value:
        case ast.Constant(value=str()):
            message = "a text can stand only at the beginning of a function: write a comment with `#`"
        case ast.Call(func=ast.Name(id=called)) if called not in DRAWS:
            known = ", ".join(f"`{name}`" for name in tree.MARKS)
            message = f"there is no mark `{called}`, only {known}.{nearest(called, tree.MARKS)}"
        case ast.Call():
            message = "nothing becomes of this draw: write `x = ...`"
        case ast.Constant() | ast.Name() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp():
            message = "this value is not used: write `x = ...` to set a variable"
        case _:
            return no_expression(node.value, source)
    return SpecError(message, source.place(node))


# ---------------------------------------------------------------------------- marks


def _mark_name(node: ast.stmt) -> str | None:
    """The name of the mark that a statement makes; ``None`` where it makes none."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in tree.MARKS:
            return name
        case _:
            return None


def _mark(node: ast.stmt, name: str, source: SourceText, sites: DrawSites) -> tree.Assign:
    """A mark as the assignment of its column; its argument's kind is checked later, with all others."""
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    call, column = node.value, tree.MARKS[name]
    check_plain_arguments(call, source)
    if len(call.args) != 1:
        message = f"`{name}(...)` takes one condition, but got {len(call.args)}"
        raise SpecError(f"{message}: join conditions by `and`", source.place(call))
    value = read_value(call.args[0], ExpressionContext(source, sites, column))
    return tree.Assign(column, value, place=source.place(call))


def _check_marked_once(marks: Sequence[tree.Assign]) -> None:
    """Refuse a mark that is made twice."""
    first: dict[str, tree.Assign] = {}
    for mark in marks:
        earlier = first.setdefault(mark.target, mark)
        if earlier is not mark:
            where = f" (first on line {earlier.place.line})" if earlier.place else ""
            message = f"`{_name_of(mark)}` is marked twice{where}: join the conditions by `and` or `or`"
            raise SpecError(message, mark.place)


def _check_mark_columns(statements: Sequence[tree.Statement], marks: Sequence[tree.Assign]) -> None:
    """Refuse a variable that would be mistaken for the column of a mark.

    Guarantees that the last value of a mark's column is the value of the mark. A variable may share its name with the
    column only where it is what the mark marks, and is not set afterwards.
    """
    by_column = {mark.target: mark for mark in marks}
    passed: set[str] = set()
    for assignment in tree.assignments_of(statements):
        mark = by_column.get(assignment.target)
        if mark is assignment:
            passed.add(mark.target)
        elif mark is not None and (mark.value != tree.Reference(mark.target) or mark.target in passed):
            message = f"`{_name_of(mark)}` sets the column `{mark.target}`, so this variable would be mistaken for it"
            raise SpecError(f"{message}: rename the variable", assignment.place)


def _name_of(mark: tree.Assign) -> str:
    return next(name for name, column in tree.MARKS.items() if column == mark.target)

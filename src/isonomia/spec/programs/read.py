"""Reading programs and equations: text in, a checked tree out, or a SpecError that points at the trouble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.programs.expressions import Reading, read_value
from isonomia.spec.programs.functions import functions_of
from isonomia.spec.programs.kinds import kind_of
from isonomia.spec.programs.marks import check_columns, check_once
from isonomia.spec.programs.parsing import TOO_DEEP, parse_expression, parse_module
from isonomia.spec.programs.scope import Scope, outline_of, scope_after
from isonomia.spec.programs.sites import Sites
from isonomia.spec.programs.source import Source, equation_source, plain_text, program_source
from isonomia.spec.programs.statements import Body, read_body
from isonomia.spec.programs.tree import Assign, Expression, Kind, Name, Program, Text

__all__ = ["read_equation", "read_program"]


def read_program(text: str, name: str | None = None) -> Program:
    """Read a program in the language of FairSquare.

    The text is parsed, never run. The language is that of Albarghouthi, D'Antoni, Drews and Nori, *FairSquare:
    Probabilistic Verification of Program Fairness* (OOPSLA 2017): ``popModel`` draws a person, ``F`` decides.

    Parameters
    ----------
    text
        The program. A byte-order mark and any kind of line end are accepted; ``Program.text`` has neither.
    name
        The name of its file, for messages.

    Returns
    -------
    Program
        Every name in it is set before it is read, whichever branches a run takes, and every kind fits. What hangs
        on drawn values is not examined: a divisor or a variance can still turn out to be 0 or negative in a run.

    Raises
    ------
    SpecError
        For everything else, with the place of the trouble.
    """
    try:
        return _program(program_source(plain_text(text)))
    except SpecError as error:
        raise _named(error, name) from None
    except RecursionError:
        raise _named(SpecError(TOO_DEEP, Place(plain_text(text), 0, 0)), name) from None


def read_equation(text: str, variable: str, known: Mapping[str, Kind | None]) -> tuple[Expression, Kind]:
    """Read the equation of one variable of a causal model: an expression, which may run over several lines.

    In addition to what stands in programs, an equation may choose (``a if c else b``), and may have texts: compared
    by ``==`` and ``!=``, or as the branches of a choice. The two branches of a choice share the sites of their draws.

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
        The expression, and its kind. Where the kind hangs on variables of unknown kind only, it is given as a number.
    """
    try:
        return _equation(plain_text(text), variable, known)
    except SpecError as error:
        raise _named(error, f"equation of `{variable}`") from None
    except RecursionError:
        raise _named(SpecError(TOO_DEEP, Place(plain_text(text), 0, 0)), f"equation of `{variable}`") from None


def _program(source: Source) -> Program:
    pop_model, decide = functions_of(parse_module(source), source)
    sites = Sites()
    # A person is drawn before anything is decided, also where F comes first in the text.
    population = read_body(pop_model, source, sites)
    decision = read_body(decide, source, sites)
    return Program(source.text, population.statements, decision.statements, _kinds((population, decision)))


def _kinds(bodies: Sequence[Body]) -> dict[str, Kind]:
    statements = [statement for body in bodies for statement in body.statements]
    marks = [mark for body in bodies for mark in body.marks]
    check_once(marks)
    check_columns(statements, marks)
    outline = outline_of(statements, marks)
    scope = Scope(outline)
    for body in bodies:
        scope = scope_after(body.statements, scope)
        for result in body.results:
            kind_of(result, scope.kind)
    return _columns(scope, marks)


def _columns(scope: Scope, marks: Sequence[Assign]) -> dict[str, Kind]:
    sure = {name: state.kind for name, state in scope.states().items() if state.sure}
    columns = {mark.target: sure[mark.target] for mark in marks}
    variables = [name for name in scope.outline.first_set if name in sure and name not in columns]
    return {name: sure[name] for name in variables} | columns


def _equation(text: str, variable: str, known: Mapping[str, Kind | None]) -> tuple[Expression, Kind]:
    source = equation_source(text)
    if not source.seen:
        raise SpecError("the equation is empty: write an expression such as `gaussian(0, 1)`", Place(text, 0, 0))
    node = parse_expression(source)
    expression = read_value(node, Reading(source, Sites(), variable, equation=True))
    if isinstance(expression, Text):
        message = "an equation cannot be a text: write a choice, as in `'a' if x > 0 else 'b'`"
        raise SpecError(message, expression.place)
    return expression, kind_of(expression, lambda name: _known_kind(name, known)) or "number"


def _known_kind(name: Name, known: Mapping[str, Kind | None]) -> Kind | None:
    if name.name in known:
        return known[name.name]
    may = ", ".join(known) or "no variable at all"
    message = f"`{name.name}` cannot be read here: this equation may read {may}."
    raise SpecError(message + nearest(name.name, [*known, "True", "False"]), name.place)


def _named(error: SpecError, name: str | None) -> SpecError:
    if name is not None:
        error.args = (f"{name}, {error}",)
    return error

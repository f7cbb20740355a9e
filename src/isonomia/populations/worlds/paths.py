"""Every path through a program, exactly: which draws take it, and the values of the variables on it.

A program of draws and piecewise linear assignments is run on linear forms of its draws instead of on people. If a
comparison depends on draws, both sides are followed, each in its own cell of draws. Numbers are taken as the decimals
that were written, and arithmetic is in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import isqrt
from typing import Any, TypeAlias

from isonomia.evidence.cells import DrawCell, LinearForm, StepDraw
from isonomia.evidence.polytopes import NormalDraw
from isonomia.populations.worlds.compile import needed_statements
from isonomia.populations.worlds.mechanisms import Categories, WorldEquation
from isonomia.populations.worlds.world import World
from isonomia.spec import tree as spec
from isonomia.spec.columns import python_value
from isonomia.spec.fairsquare import tree as program
from isonomia.spec.fairsquare.tree import Expression, Site, Statement
from isonomia.spec.tree import Do, Row, Version

Value: TypeAlias = LinearForm | bool | str
Variables: TypeAlias = Mapping[str, Value]
Way: TypeAlias = tuple[Value, DrawCell]
Answer: TypeAlias = Callable[[Variables, DrawCell], Iterator[Way]]
"""A model's answer for a person with these variables, on each path through the model."""


class NotExactError(ArithmeticError):
    """A program that is not all draws, linear arithmetic and comparisons, or has too many paths; it says which."""


@dataclass(frozen=True, slots=True)
class ProgramPath:
    """One path through a program: the draws that take it, and the variables as they are and in each other version."""

    cell: DrawCell
    versions: Mapping[Version | None, Variables]


@dataclass(frozen=True, slots=True)
class PathFinder:
    """Finds the paths through a world, at most ``most`` at a time, until it is ``late``.

    Every method raises :class:`NotExactError` if there are more, the time is up, or the program is of another kind.
    """

    world: World
    most: int
    late: Callable[[], bool] = lambda: False

    def paths(self, wanted: Sequence[str], versions: Sequence[Do]) -> list[ProgramPath]:
        """Every path, as far as it matters for the wanted variables and those that interventions read."""
        needed = frozenset(wanted).union(*(self.world.read_beforehand(version) for version in versions))
        return [
            ProgramPath(cell, {None: variables}) for variables, cell in self.run({}, DrawCell(), needed, frozenset())
        ]

    def under(self, path: ProgramPath, version: Do, wanted: Sequence[str]) -> Iterator[ProgramPath]:
        """The same draws under an intervention, on each path that they then take."""
        for variables, cell in self.version(path, version, frozenset(wanted)):
            yield ProgramPath(cell, {**path.versions, version: variables})

    def check(self, count: int) -> None:
        """Refuse too many paths, and stop when the time is up."""
        if count > self.most:
            raise NotExactError(f"there are more than {self.most:,} paths through the program")
        if not count % 256 and self.late():
            raise NotExactError("time limit reached")

    def limited(self, ways: Iterable[Any]) -> list[Any]:
        """A list that must not grow too long."""
        listed = []
        for way in ways:
            listed.append(way)
            self.check(len(listed))
        return listed

    def run(
        self, variables: Variables, cell: DrawCell, wanted: frozenset[str], given: frozenset[str]
    ) -> list[tuple[Variables, DrawCell]]:
        """Run the statements that matter for some variables; those in ``given`` are set from outside."""
        statements, _ = needed_statements(self.world.statements, wanted, given)
        return self._block(statements, variables, cell, given)

    def version(self, way: ProgramPath, version: Do, wanted: frozenset[str]) -> Iterator[tuple[Variables, DrawCell]]:
        """Run the same draws under an intervention."""
        fixed = {item.name: _setting(item) for item in version.items if isinstance(item, spec.Setting)}
        mediators = self.world.mediators_in_order(version)
        befores = [(way.versions[None], way.cell)]
        if fixed and mediators:
            befores = self.run(fixed, way.cell, self.world.read_beforehand(version), frozenset(fixed))
        for before, start in befores:
            ways: list[tuple[Variables, DrawCell]] = [({}, start)]
            for item in mediators:
                ways = self.limited(
                    ({**values, item.name: value}, after)
                    for values, cell in ways
                    for value, after in self._mediator(before, values, item, cell)
                )
            for values, cell in ways:
                set_to = {**fixed, **values}
                yield from self.run(set_to, cell, wanted, frozenset(set_to))

    def _mediator(self, before: Variables, earlier: Variables, item: spec.AsIf, cell: DrawCell) -> Iterator[Way]:
        reads, kept = self.world.read_by(item), self.world.kept_for(item)
        changed = {setting.name: _setting(setting) for setting in item.settings}
        values = {name: earlier.get(name, before[name]) for name in reads if name not in changed}
        for variables, after in self.run({**values, **changed}, cell, frozenset({item.name}), kept):
            yield variables[item.name], after

    def _block(
        self,
        statements: Sequence[Statement | WorldEquation],
        variables: Variables,
        cell: DrawCell,
        given: frozenset[str],
    ) -> list[tuple[Variables, DrawCell]]:
        ways: list[tuple[Variables, DrawCell]] = [(variables, cell)]
        for statement in statements:
            ways = self.limited(after for way in ways for after in self._statement(statement, *way, given))
        return ways

    def _statement(
        self, statement: Statement | WorldEquation, variables: Variables, cell: DrawCell, given: frozenset[str]
    ) -> Iterator[tuple[Variables, DrawCell]]:
        match statement:
            case program.Assign(target, value):
                for result, after in evaluate(value, variables, cell):
                    yield {**variables, target: result}, after
            case program.If(condition, then, otherwise):
                for met, after in evaluate(condition, variables, cell):
                    yield from self._block(then if _true(met) else otherwise, variables, after, given)
            case WorldEquation(target=target, equation=Categories() as categories):
                for result, after in _category(categories, (target, 0), cell):
                    yield {**variables, target: result}, after
            case WorldEquation(target=target):
                raise NotExactError(f"the equation of {target!r} is a Python function, which cannot be read")


def _setting(setting: spec.Setting) -> Value:
    if not isinstance(setting.value, spec.Literal):
        raise NotExactError(f"{setting.name!r} is set to a variable that stands for no value yet")
    return _plain(setting.value.value)


def _plain(value: str | bool | int | float) -> Value:
    return value if isinstance(value, bool | str) else LinearForm(_decimal(value))


# ---------------------------------------------------------------------------- expressions of programs


def evaluate(expression: Expression, variables: Variables, cell: DrawCell) -> Iterator[Way]:
    """The value of an expression, on each path through it."""
    match expression:
        case program.Reference(name):
            yield variables[name], cell
        case program.Number(written) | program.Boolean(written) | program.Text(written):
            yield _plain(written), cell
        case program.Chain(first, rest):
            for value, after in evaluate(first, variables, cell):
                yield from _chain(value, rest, variables, after)
        case program.UnaryMinus(operand):
            for value, after in evaluate(operand, variables, cell):
                yield _number(value).times(Fraction(-1)), after
        case program.BinaryOperation(sign, left, right):
            for a, between in evaluate(left, variables, cell):
                for b, after in evaluate(right, variables, between):
                    yield _arithmetic(sign, _number(a), _number(b)), after
        case program.BooleanOperation(connective, operands):
            yield from _junction(connective, [_condition(each, variables) for each in operands], cell)
        case program.LogicalNot(operand):
            for value, after in evaluate(operand, variables, cell):
                yield not _true(value), after
        case program.Choice(condition, then, otherwise):
            for met, after in evaluate(condition, variables, cell):
                yield from evaluate(then if _true(met) else otherwise, variables, after)
        case program.Gaussian():
            yield from _gaussian(expression, variables, cell)
        case program.StepDensity(cells, site):
            yield from _step(_step_draw(cells), site, cell)


@cache
def _decimal(number: float) -> Fraction:
    return Fraction(repr(number))


@cache
def _step_draw(cells: tuple[tuple[float, float, float], ...]) -> StepDraw:
    return StepDraw.of((_decimal(low), _decimal(high), _decimal(p)) for low, high, p in cells)


@cache
def _normal_draw(variance: Fraction) -> NormalDraw:
    return NormalDraw(variance)


def _condition(expression: Expression, variables: Variables) -> Callable[[DrawCell], Iterator[Way]]:
    return lambda cell: evaluate(expression, variables, cell)


def _junction(connective: str, parts: Sequence[Callable[[DrawCell], Iterator[Way]]], cell: DrawCell) -> Iterator[Way]:
    """Conditions from left to right, until one of them decides the result."""
    for value, after in parts[0](cell):
        met = _true(value)
        if len(parts) == 1 or met == (connective == "or"):
            yield met, after
        else:
            yield from _junction(connective, parts[1:], after)


def _chain(left: Value, rest: Sequence[tuple[str, Expression]], variables: Variables, cell: DrawCell) -> Iterator[Way]:
    (relation, expression), *more = rest
    for right, between in evaluate(expression, variables, cell):
        for met, after in compare(relation, left, right, between):
            if met and more:
                yield from _chain(right, more, variables, after)
            else:
                yield met, after


def compare(relation: str, left: Value, right: Value, cell: DrawCell) -> Iterator[tuple[bool, DrawCell]]:
    """Whether a comparison holds, on each side of it."""
    if isinstance(left, str) or isinstance(right, str):
        if relation not in {"==", "!="} or not (isinstance(left, str) and isinstance(right, str)):
            raise NotExactError("a text is compared with a number, or by its order")
        yield (left == right) == (relation == "=="), cell
        return
    difference = _minus(_number(left), _number(right))
    if difference.slopes:
        if relation in {"==", "!="}:  # a continuous difference is 0 with probability 0
            yield relation == "!=", cell
            return
        below, above = cell.split(difference)
        if below is not None:
            yield relation in {"<", "<="}, below
        if above is not None:
            yield relation in {">", ">="}, above
        return
    c = difference.constant
    yield {"<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0, "==": c == 0, "!=": c != 0}[relation], cell


def _number(value: Value) -> LinearForm:
    if isinstance(value, str):
        raise NotExactError("text where a number is needed")
    return LinearForm(Fraction(int(value))) if isinstance(value, bool) else value


def _true(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) or value.slopes or value.constant not in {0, 1}:
        raise NotExactError("a number other than 0 and 1 where true or false is needed")
    return value.constant == 1


def _minus(left: LinearForm, right: LinearForm) -> LinearForm:
    if right.slopes:
        return left + right.times(Fraction(-1))
    return LinearForm(left.constant - right.constant, left.slopes)


def _arithmetic(sign: str, left: LinearForm, right: LinearForm) -> LinearForm:
    match sign:
        case "+":
            return left + right
        case "-":
            return _minus(left, right)
        case "*" if not left.slopes:
            return right.times(left.constant)
        case "*" if not right.slopes:
            return left.times(right.constant)
        case "*":
            raise NotExactError("a product of two draws is not linear")
        case _:
            if right.slopes:
                raise NotExactError("a division by a random quantity is not linear")
            if not right.constant:
                raise NotExactError("a division by 0")
            return left.times(1 / right.constant)


# ---------------------------------------------------------------------------- draws


def _gaussian(draw: program.Gaussian, variables: Variables, cell: DrawCell) -> Iterator[Way]:
    for mean, between in evaluate(draw.mean, variables, cell):
        for spread, after in evaluate(draw.variance, variables, between):
            variance = _number(spread)
            if variance.slopes:
                raise NotExactError("a variance that itself is drawn")
            if variance.constant < 0:
                raise NotExactError("a negative variance")
            yield _around(_number(mean), variance.constant, draw.site, after)


def _around(mean: LinearForm, variance: Fraction, site: Site, cell: DrawCell) -> Way:
    if not variance:
        return mean, cell
    known = cell.draws.get(site)
    if known is None:
        return mean + LinearForm(Fraction(0), {site: Fraction(1)}), cell.drawing(site, _normal_draw(variance))
    if not isinstance(known, NormalDraw):
        raise NotExactError(f"{site[0]!r} is drawn from steps on one path and from a normal distribution on another")
    return mean + LinearForm(Fraction(0), {site: _root(variance / known.variance)}), cell


_ROOT_BITS = 72
"""Binary digits of a root that is not a fraction: the truncation error is far below the rounding of floats."""


def _root(square: Fraction) -> Fraction:
    above, below = isqrt(square.numerator), isqrt(square.denominator)
    if above * above == square.numerator and below * below == square.denominator:
        return Fraction(above, below)
    return Fraction(isqrt((square.numerator << 2 * _ROOT_BITS) // square.denominator), 1 << _ROOT_BITS)


def _step(draw: StepDraw, site: Site, cell: DrawCell) -> Iterator[Way]:
    itself = LinearForm(Fraction(0), {site: Fraction(1)})
    known = cell.draws.get(site)
    if known is None:
        yield itself, cell.drawing(site, draw)
    elif known == draw:
        yield itself, cell
    elif isinstance(known, StepDraw):
        # The same share of probability lies below both, so one is linear in the other between their corners.
        for (a, b), (c, d) in _matched(known, draw):
            part = cell.within(site, a, b)
            if part is not None:
                slope = (d - c) / (b - a)
                yield LinearForm(c - slope * a, {site: slope}), part
    else:
        raise NotExactError(f"{site[0]!r} is drawn from steps on one path and from a normal distribution on another")


Span: TypeAlias = tuple[Fraction, Fraction]


def _matched(first: StepDraw, second: StepDraw) -> Iterator[tuple[Span, Span]]:
    """Spans of two draws with the same shares of probability below them."""
    corners = sorted({*_shares(first), *_shares(second)})
    for low, high in pairwise(corners):
        yield _span(first, low, high), _span(second, low, high)


def _shares(draw: StepDraw) -> Iterator[Fraction]:
    below = Fraction(0)
    yield below
    for _, _, p in draw.cells:
        below += p
        yield below


def _span(draw: StepDraw, low: Fraction, high: Fraction) -> Span:
    below = Fraction(0)
    for start, end, p in draw.cells:
        if below <= low and high <= below + p:
            return start + (end - start) * (low - below) / p, start + (end - start) * (high - below) / p
        below += p
    raise AssertionError("corners of both draws are among the shares")


def _category(categories: Categories, site: Site, cell: DrawCell) -> Iterator[Way]:
    """A value for each part of a share between 0 and 1."""
    shares = [(value, _decimal(float(share))) for value, share in categories.shares.items() if share > 0]
    whole = sum((share for _, share in shares), Fraction(0))
    if site not in cell.draws:
        cell = cell.drawing(site, StepDraw(((Fraction(0), Fraction(1), Fraction(1)),)))
    below = Fraction(0)
    for value, share in shares:
        part = cell.within(site, below / whole, (below + share) / whole)
        below += share
        if part is not None:
            yield _plain(python_value(value)), part


# ---------------------------------------------------------------------------- expressions of properties


def row_values(row: Row, way: ProgramPath, answer: Answer | None, cell: DrawCell) -> Iterator[Way]:
    """The value of an expression about one person, on each path through it."""

    def values(part: Row, at: DrawCell) -> Iterator[Way]:
        return row_values(part, way, answer, at)

    match row:
        case spec.Literal(written):
            yield _plain(written), cell
        case spec.Column(name, version):
            yield way.versions[version][name], cell
        case spec.Output("prediction", None, version, None) if answer is not None:
            yield from answer(way.versions[version], cell)
        case spec.Output("prediction", None, version, None):
            yield way.versions[version]["prediction"], cell
        case spec.RowNegative(operand):
            for value, after in values(operand, cell):
                yield _number(value).times(Fraction(-1)), after
        case spec.RowArithmetic(sign, left, right):
            for a, between in values(left, cell):
                for b, after in values(right, between):
                    yield _arithmetic(sign, _number(a), _number(b)), after
        case spec.Compare(relation, left, right):
            for a, between in values(left, cell):
                for b, after in values(right, between):
                    yield from compare(relation, a, b, after)
        case spec.Member(operand, listed):
            for value, after in values(operand, cell):
                known = [_plain(item.value) for item in listed if isinstance(item, spec.Literal)]
                yield any(met for other in known for met, _ in compare("==", value, other, after)), after
        case spec.RowNot(operand):
            for value, after in values(operand, cell):
                yield not _true(value), after
        case spec.RowJunction(connective, operands):
            parts = [lambda at, part=part: values(part, at) for part in operands]
            yield from _junction(connective, parts, cell)
        case spec.Missing():
            yield False, cell
        case spec.Call(function, (operand,)) if function == "abs":
            for value, after in values(operand, cell):
                for negative, side in compare("<", value, LinearForm(Fraction(0)), after):
                    yield _number(value).times(Fraction(-1 if negative else 1)), side
        case spec.Call(function, (left, right)):
            for a, between in values(left, cell):
                for b, after in values(right, between):
                    for less, side in compare("<", a, b, after):
                        yield a if less == (function == "min") else b, side
        case _:
            raise NotExactError("the property uses a score, or a second person")

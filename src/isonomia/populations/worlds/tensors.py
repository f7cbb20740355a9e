"""Programs run by torch: a whole batch of people at once, on a device.

Both branches of an ``if`` are computed for all people, and each person gets the value of the branch that they take.
There is one tensor of noise for each site, which the branches share, since a person takes only one of them. An error,
such as a division by zero, counts only on the branch that a person takes.

Numbers are in single precision unless double is requested. A draw is then a normal number rounded to 24 bits, at most
6.7 deviations from its mean, and a comparison may come out differently for a person within rounding of its threshold.
That moves a probability by about the density at the threshold times the distance between two neighbouring numbers
there: about 1e-7, far below what ten thousand million draws can detect.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import inf, sqrt
from typing import Any, TypeAlias

import numpy as np

from isonomia.errors import DataError, SpecError
from isonomia.populations.protocol import Device, Wanted, check_request
from isonomia.populations.table import Table, tensor_table
from isonomia.populations.worlds.compile import RELATIONS, SIGNS, located, needed_statements
from isonomia.populations.worlds.mechanisms import WorldEquation
from isonomia.populations.worlds.run import StepTable
from isonomia.populations.worlds.world import World
from isonomia.spec.fairsquare import tree as program
from isonomia.spec.fairsquare.tree import Expression, Site, Statement
from isonomia.spec.tree import AsIf, Do, Literal, Setting, Version

Tensor: TypeAlias = Any
"""A torch tensor, or one number or truth value for all."""

LARGEST = {"float32": 1e37, "float64": 1e307}
"""Numbers that stay below this have not overflowed."""

FURTHEST = 40.0
"""No draw is more deviations from its mean than this; torch's reach 6.7 in single precision, and 9 in double."""


@dataclass(frozen=True)
class TensorSource:
    """A program opened for one run on a device."""

    world: World
    wanted: Wanted
    device: Device
    precision: str  # "float32" or "float64"
    _needed: dict[tuple[frozenset[str], frozenset[str]], tuple[Any, ...]] = field(default_factory=dict, repr=False)

    finite = False  # whether each row counts once

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Draw ``n`` people with the batch's own randomness."""
        check_request(start, n, stream, 1)
        noise = _Noise(n, self.device, self.precision, self.device.generator(rng), self._once)
        return self._table(noise, {}, self._names(self.wanted.columns))

    def people(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Mapping[Version | None, Table]:
        """Draw ``n`` people, and give them as they are and under every intervention that is requested."""
        check_request(start, n, stream, 1)
        noise = _Noise(n, self.device, self.precision, self.device.generator(rng), frozenset())
        tables: dict[Version | None, Table] = {None: self._table(noise, {}, self._names(self.wanted.columns))}
        for version, names in self.wanted.versions.items():
            if isinstance(version, Do):
                tables[version] = self._table(noise, _settings(version), self._names(names))
        return tables

    def _names(self, names: tuple[str, ...] | None) -> tuple[str, ...]:
        return self.world.names if names is None else names or self.world.names[:1]

    @cached_property
    def _once(self) -> frozenset[Site]:
        """The sites with one draw each, whose noise nothing else reads."""
        sites = [draw.site for draw in _draws(self._statements(self._names(self.wanted.columns), frozenset()))]
        return frozenset(site for site in sites if sites.count(site) == 1)

    def _statements(self, names: Sequence[str], given: frozenset[str]) -> tuple[Statement, ...]:
        key = frozenset(names), given
        if key not in self._needed:
            if any(isinstance(item, WorldEquation) for item in self.world.statements):
                raise SpecError("functions of Python are not run on a device: leave device out")
            self._needed[key] = needed_statements(self.world.statements, *key)[0]
        return self._needed[key]

    def _table(self, noise: _Noise, fixed: Mapping[str, Any], names: Sequence[str]) -> Table:
        run = _TensorRun(noise)
        values = {name: _Value(value, abs(float(value))) for name, value in fixed.items()}
        run.execute(self._statements(names, frozenset(fixed)), values, ())
        run.refuse()
        return tensor_table({name: noise.filled(values[name].data) for name in names})


def refuse_mediators(version: Do) -> None:
    """Refuse counterfactual mediators, which only NumPy can draw."""
    for item in version.items:
        if isinstance(item, AsIf):
            raise SpecError(
                f"{item.name!r} in a counterfactual cannot be drawn on a device: leave device out",
                item.place,
                name=item.name,
            )


def _settings(version: Do) -> dict[str, Any]:
    fixed = {}
    for item in version.items:
        if isinstance(item, Setting):
            assert isinstance(item.value, Literal), "variables of a for stand for values by now"
            fixed[item.name] = item.value.value
    return fixed


def _draws(statements: Sequence[Statement]) -> list[program.Gaussian | program.StepDensity]:
    result: list[program.Gaussian | program.StepDensity] = []
    for statement in statements:
        if isinstance(statement, program.If):
            result += [*program.draws_of(statement.condition), *_draws(statement.then), *_draws(statement.otherwise)]
        else:
            result += program.draws_of(statement.value)
    return result


# ---------------------------------------------------------------------------- noise


@dataclass(slots=True)
class _Noise:
    """The noise of every person at every site, drawn when first needed."""

    rows: int
    device: Device
    precision: str
    generator: Any
    once: frozenset[Site]
    normals: dict[Site, Tensor] = field(default_factory=dict)
    shares: dict[Site, Tensor] = field(default_factory=dict)

    @property
    def torch(self) -> Any:
        import torch

        return torch

    @property
    def place(self) -> dict[str, Any]:
        """Where tensors are made, and of which type."""
        kind = self.torch.float32 if self.precision == "float32" else self.torch.float64
        return {"device": self.device.name, "dtype": kind}

    def scaled(self, site: Site, mean: Tensor, deviation: Tensor) -> Tensor:
        """Normal draws. If nothing else reads the noise, it is scaled as it is drawn, in one pass over the memory."""
        if site in self.once and isinstance(mean, float) and isinstance(deviation, float):
            return self.torch.empty(self.rows, **self.place).normal_(mean, deviation, generator=self.generator)
        return self.normal(site) * deviation + mean

    def normal(self, site: Site) -> Tensor:
        """Standard normal noise, one number per person."""
        if site not in self.normals:
            share = self.shares.get(site)
            self.normals[site] = (
                self.torch.randn(self.rows, generator=self.generator, **self.place)
                if share is None
                else self.torch.special.ndtri(share)
            )
        return self.normals[site]

    def share(self, site: Site) -> Tensor:
        """Uniform noise, one number per person."""
        if site not in self.shares:
            normal = self.normals.get(site)
            self.shares[site] = (
                self.torch.rand(self.rows, generator=self.generator, **self.place)
                if normal is None
                else self.torch.special.ndtr(normal)
            )
        return self.shares[site]

    def quantile(self, site: Site, cells: tuple[tuple[float, float, float], ...]) -> Tensor:
        """Draws with a density that is constant on each cell."""
        table, share = StepTable(cells), self.share(site)
        sums = table.sums
        lows, highs = np.asarray([cell[:2] for cell in cells if cell[2] > 0]).T
        below, rises = sums[:-1], (highs - lows) / np.diff(sums)
        if len(lows) == 1:
            return share * float(rises[0]) + float(lows[0])
        cell = self.torch.bucketize(share, self._column(sums[1:-1]), right=True)
        start, rise, floor = (self._column(values)[cell] for values in (lows, rises, below))
        return start + (share - floor) * rise

    def _column(self, values: Any) -> Tensor:
        return self.torch.tensor(values, **self.place)

    def filled(self, value: Tensor) -> Tensor:
        """One value for all as a column."""
        if not isinstance(value, bool | int | float):
            return value
        dtype = self.torch.bool if isinstance(value, bool) else self.place["dtype"]
        return self.torch.full((self.rows,), value, device=self.device.name, dtype=dtype)


# ---------------------------------------------------------------------------- running


@dataclass(frozen=True, slots=True)
class _Value:
    """A tensor or one value for all, and a bound on its absolute value."""

    data: Tensor
    bound: float


_Conditions: TypeAlias = tuple[Tensor, ...]
"""The conditions that the people on a branch meet."""


@dataclass(slots=True)
class _TensorRun:
    """One run of statements, and the errors on the way, which are examined once at the end."""

    noise: _Noise
    troubles: list[tuple[Tensor, str, Expression]] = field(default_factory=list)

    def execute(self, statements: Sequence[Statement], values: dict[str, _Value], taken: _Conditions) -> None:
        """Run statements for all people, changing ``values``; ``taken`` says who takes this path."""
        for statement in statements:
            match statement:
                case program.Assign(target, value):
                    values[target] = self._safe(self._value(value, values, taken), taken, value)
                case program.If(condition, then, otherwise):
                    self._branch(self._truth(condition, values, taken), then, otherwise, values, taken)

    def refuse(self) -> None:
        """Raise the first error, if there is one."""
        for wrong, message, expression in self.troubles:
            if bool(wrong.any()):
                raise located(message, expression)

    def _branch(
        self,
        met: Tensor,
        then: Sequence[Statement],
        otherwise: Sequence[Statement],
        values: dict[str, _Value],
        taken: _Conditions,
    ) -> None:
        if isinstance(met, bool):
            self.execute(then if met else otherwise, values, taken)
            return
        first, second = dict(values), dict(values)
        self.execute(then, first, (*taken, met))
        self.execute(otherwise, second, (*taken, ~met) if otherwise else taken)
        for name in first.keys() & second.keys():
            if first[name] is not second[name]:
                values[name] = self._either(met, first[name], second[name])

    def _either(self, met: Tensor, then: _Value, otherwise: _Value) -> _Value:
        bound = max(then.bound, otherwise.bound)
        one, two = then.data, otherwise.data
        if isinstance(one, bool) and isinstance(two, bool):
            return _Value(one if one == two else met if one else ~met, bound)
        if isinstance(one, bool | int | float) and isinstance(two, bool | int | float):
            if one == two:
                return then
            one = self.noise.torch.full((), one, **self.noise.place)
        return _Value(self.noise.torch.where(met, one, two), bound)

    def _safe(self, value: _Value, taken: _Conditions, expression: Expression) -> _Value:
        """Note values that overflowed, if the bound allows that."""
        largest = LARGEST[self.noise.precision]
        if value.bound < largest or isinstance(value.data, bool | int | float):
            return value
        message = "a number overflowed, so comparisons with it are meaningless: rescale the variables"
        self._note(~self.noise.torch.isfinite(value.data), taken, message, expression)
        return _Value(value.data, largest)

    def _note(self, wrong: Tensor, taken: _Conditions, message: str, expression: Expression) -> None:
        self.troubles.append((reduce(operator.and_, taken, wrong), message, expression))

    def _value(self, expression: Expression, values: Mapping[str, _Value], taken: _Conditions) -> _Value:
        match expression:
            case program.Number(value):
                return _Value(float(value), abs(float(value)))
            case program.Boolean(value):
                return _Value(value, 1.0)
            case program.Text():
                raise SpecError("text is not drawn on a device: leave device out", expression.place)
            case program.Reference(name):
                return values[name]
            case program.UnaryMinus(operand):
                inner = self._number(operand, values, taken)
                return _Value(-inner.data, inner.bound)
            case program.BinaryOperation():
                return self._arithmetic(expression, values, taken)
            case program.Choice(condition, then, otherwise):
                met = self._truth(condition, values, taken)
                if isinstance(met, bool):
                    return self._value(then if met else otherwise, values, taken)
                first = self._value(then, values, (*taken, met))
                return self._either(met, first, self._value(otherwise, values, (*taken, ~met)))
            case program.Gaussian():
                return self._gaussian(expression, values, taken)
            case program.StepDensity(cells, site):
                ends = max(abs(end) for low, high, _ in cells for end in (low, high))
                return _Value(self.noise.quantile(site, cells), ends)
            case _:
                return _Value(self._condition(expression, values, taken), 1.0)

    def _number(self, expression: Expression, values: Mapping[str, _Value], taken: _Conditions) -> _Value:
        """A value for arithmetic; truth values count as 0 and 1."""
        value = self._value(expression, values, taken)
        if isinstance(value.data, bool | int):
            return _Value(float(value.data), value.bound)
        if not isinstance(value.data, float) and not value.data.is_floating_point():
            return _Value(value.data.to(self.noise.place["dtype"]), value.bound)
        return value

    def _arithmetic(
        self, expression: program.BinaryOperation, values: Mapping[str, _Value], taken: _Conditions
    ) -> _Value:
        left = self._number(expression.left, values, taken)
        right = self._number(expression.right, values, taken)
        if expression.sign in {"+", "-"}:
            bound = left.bound + right.bound
        else:
            bound = left.bound * right.bound if expression.sign == "*" else inf
        if expression.sign != "/":
            return self._safe(_Value(SIGNS[expression.sign](left.data, right.data), bound), taken, expression)
        message = "expected a divisor other than 0, but some people have 0: test it with an `if`"
        if isinstance(right.data, float):
            if right.data == 0:
                always = self.noise.torch.ones(1, dtype=self.noise.torch.bool, device=self.noise.device.name)
                self._note(always, taken, message, expression)
                return _Value(0.0, 0.0)
            bound = left.bound / abs(right.data)
        else:
            self._note(right.data == 0, taken, message, expression)
        return self._safe(_Value(left.data / right.data, bound), taken, expression)

    def _gaussian(self, expression: program.Gaussian, values: Mapping[str, _Value], taken: _Conditions) -> _Value:
        mean = self._number(expression.mean, values, taken)
        variance = self._number(expression.variance, values, taken)
        if isinstance(variance.data, float):
            if variance.data < 0:
                raise DataError(f"expected a variance of at least 0, but it is {variance.data!r} for some people")
            deviation: Tensor = sqrt(variance.data)
        else:
            message = "expected a variance of at least 0, but it is less for some people"
            self._note(~(variance.data >= 0), taken, message, expression)
            deviation = variance.data.sqrt()
        bound = mean.bound + FURTHEST * sqrt(variance.bound)
        return self._safe(_Value(self.noise.scaled(expression.site, mean.data, deviation), bound), taken, expression)

    def _truth(self, expression: Expression, values: Mapping[str, _Value], taken: _Conditions) -> Tensor:
        """A condition; numbers are accepted if all of them are 0 or 1."""
        value = self._value(expression, values, taken).data
        if isinstance(value, bool):
            return value
        if isinstance(value, float):
            if value not in {0.0, 1.0}:
                raise DataError(f"expected true or false as a condition, but got {value!r}: compare it with a value")
            return value == 1.0
        if value.dtype == self.noise.torch.bool:
            return value
        message = "expected true or false as a condition, but a variable holds other numbers: compare it with a value"
        self._note((value != 0) & (value != 1), taken, message, expression)
        return value == 1

    def _condition(self, expression: Expression, values: Mapping[str, _Value], taken: _Conditions) -> Tensor:
        match expression:
            case program.Chain(first, rest):
                left, met = self._value(first, values, taken).data, None
                for relation, operand in rest:
                    right = self._value(operand, values, taken).data
                    holds = RELATIONS[relation](left, right)
                    met, left = holds if met is None else met & holds, right
                return met
            case program.LogicalNot(operand):
                inner = self._truth(operand, values, taken)
                return not inner if isinstance(inner, bool) else ~inner
            case program.BooleanOperation(connective, operands):
                join = operator.and_ if connective == "and" else operator.or_
                return reduce(join, [self._truth(operand, values, taken) for operand in operands])
            case _:
                raise AssertionError(f"{type(expression).__name__} is not a condition")

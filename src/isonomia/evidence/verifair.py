"""The rule of Bastani, Zhang and Solar-Lezama (VeriFair, OOPSLA 2019), kept for comparison and reproduction.

A lemma ``(E, eps, delta)`` says that a quantity differs from its estimate ``E`` by more than ``eps`` with probability
at most ``delta``. The adaptive bound gives the lemmas of the leaves, the inference rules those of everything built on
them. The product rule and the inverse rule are printed with mistakes in the paper's Figure 3; the rules here are those
that its appendix A.2 proves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import SpecError
from isonomia.evidence.exact import opposite
from isonomia.evidence.protocol import Channel, Tallies, leaf_channel
from isonomia.spec import tree


@dataclass(frozen=True, slots=True)
class Lemma:
    """``|quantity - estimate| <= error``, except with probability ``risk``."""

    estimate: float
    error: float
    risk: float


def adaptive_error(delta: float, n: float) -> float:
    """The paper's Eq. 10 for draws in ``[0, 1]``: infinite before the first draw.

    Guarantee (its Theorem A.3): ``P(there is an n with |mean_n - mean| >= error(delta, n)) <= delta``.
    """
    if n < 1:
        return inf
    iterated = 0.6 * log(log(n, 1.1) + 1.0)  # the constants are the paper's
    return float(((iterated + 5.0 / 9.0 * log(24.0 / delta)) / n) ** 0.5)


def count_leaves(formula: tree.Formula) -> int:
    """The paper's Figure 4: how many leaves the syntax tree has, with every occurrence counted."""
    # A chain of links mentions its inner sides twice.
    return sum(_count(left) + _count(right) for left, _, right in tree.links_of(formula))


def judge_formula(formula: tree.Formula, lemmas: Mapping[tree.Leaf, Lemma]) -> tuple[bool | None, float]:
    """Infer the formula's truth, ``None`` where no rule applies, and the probability that this is wrong."""
    match formula:
        case tree.Comparison():
            return _every([_link(*link, lemmas) for link in formula.links])
        case tree.Not(operand=operand):
            truth, risk = judge_formula(operand, lemmas)
            return opposite(truth), risk
        case tree.Junction(connective=connective, operands=operands):
            parts = [judge_formula(operand, lemmas) for operand in operands]
            return _every(parts) if connective == "and" else _some(parts)
        case tree.Implies(premise=premise, conclusion=conclusion):
            return _some([judge_formula(tree.Not(premise), lemmas), judge_formula(conclusion, lemmas)])
        case tree.Each():
            raise TypeError("a quantifier is expanded before it is judged")


def infer(quantity: tree.Quantity, lemmas: Mapping[tree.Leaf, Lemma]) -> Lemma:
    """Apply the rules for expressions; an error of infinity where the inverse rule's premise fails."""
    match quantity:
        case tree.Rate() | tree.Mean():
            return lemmas[quantity]
        case tree.Constant(value=value):
            return Lemma(value, 0.0, 0.0)
        case tree.Negative(operand=operand):
            inner = infer(operand, lemmas)
            return Lemma(-inner.estimate, inner.error, inner.risk)
        case tree.Arithmetic(sign="+", left=left, right=right):
            return _sum(infer(left, lemmas), infer(right, lemmas))
        case tree.Arithmetic(sign="-", left=left, right=right):
            return _sum(infer(left, lemmas), infer(tree.Negative(right), lemmas))
        case tree.Arithmetic(sign="*", left=left, right=right):
            return _product(infer(left, lemmas), infer(right, lemmas))
        case tree.Arithmetic(left=left, right=right):
            return _product(infer(left, lemmas), _inverse(infer(right, lemmas)))
        case tree.Power(base=base, exponent=exponent):
            return _power(infer(base, lemmas), exponent)
        case tree.Extreme(function="abs", arguments=(argument,)):
            inner = infer(argument, lemmas)
            return Lemma(abs(inner.estimate), inner.error, inner.risk)
        case tree.Extreme(function=function, arguments=arguments):
            # min and max move by no more than the largest move of an argument.
            parts = [infer(argument, lemmas) for argument in arguments]
            choose = min if function == "min" else max
            return Lemma(
                choose(part.estimate for part in parts),
                max(part.error for part in parts),
                sum(part.risk for part in parts),
            )


def _link(
    left: tree.Quantity, relation: str, right: tree.Quantity, lemmas: Mapping[tree.Leaf, Lemma]
) -> tuple[bool | None, float]:
    large, small = (right, left) if relation in {"<", "<="} else (left, right)
    lemma = _sum(infer(large, lemmas), infer(tree.Negative(small), lemmas))
    if lemma.estimate - lemma.error >= 0:
        return True, lemma.risk
    return (False if lemma.estimate + lemma.error < 0 else None), lemma.risk


def _every(parts: list[tuple[bool | None, float]]) -> tuple[bool | None, float]:
    """The paper's rule for "and" needs a lemma for every part, and adds their risks."""
    truths = [truth for truth, _ in parts]
    risk = sum(risk for _, risk in parts)
    return (None if None in truths else all(truths)), risk


def _some(parts: list[tuple[bool | None, float]]) -> tuple[bool | None, float]:
    truth, risk = _every([(opposite(part), risk) for part, risk in parts])
    return opposite(truth), risk


def _sum(one: Lemma, other: Lemma) -> Lemma:
    return Lemma(one.estimate + other.estimate, one.error + other.error, one.risk + other.risk)


def _product(one: Lemma, other: Lemma) -> Lemma:
    if inf in (one.error, other.error):
        return Lemma(0.0, inf, one.risk + other.risk)
    error = abs(one.estimate) * other.error + abs(other.estimate) * one.error + one.error * other.error
    return Lemma(one.estimate * other.estimate, error, one.risk + other.risk)


def _inverse(lemma: Lemma) -> Lemma:
    size = abs(lemma.estimate)
    if size <= lemma.error:
        return Lemma(0.0, inf, lemma.risk)
    return Lemma(1.0 / lemma.estimate, lemma.error / (size * (size - lemma.error)), lemma.risk)


def _power(lemma: Lemma, exponent: float) -> Lemma:
    if lemma.error == 0.0:
        return Lemma(lemma.estimate**exponent, 0.0, lemma.risk)
    if exponent != int(exponent):
        raise SpecError(f"expected a whole exponent for a quantity that is not constant, but got {exponent:g}")
    base = lemma if exponent > 0 else _inverse(lemma)
    result = Lemma(1.0, 0.0, 0.0)
    for _ in range(abs(int(exponent))):
        result = _product(result, base)
    return result


def _count(quantity: tree.Quantity) -> int:
    match quantity:
        case tree.Rate() | tree.Mean():
            return 1
        case tree.Constant():
            return 0
        case tree.Negative(operand=operand):
            return _count(operand)
        case tree.Arithmetic(left=left, right=right):
            return _count(left) + _count(right)
        case tree.Power(base=base, exponent=exponent):
            return _count(base) * max(1, abs(int(exponent)))
        case tree.Extreme(arguments=arguments):
            return sum(_count(argument) for argument in arguments)


@dataclass(frozen=True, slots=True)
class VerifairEvidence:
    """The paper's adaptive concentration inequality with its inference rules.

    Guarantee (its Theorem 5.5): the decision is ever wrong with probability at most ``delta``. A union bound over the
    leaves needs no independence between them, so draws may be shared.
    """

    formula: tree.Formula
    delta: float
    channels: tuple[Channel, ...]

    @property
    def method(self) -> str:
        """VeriFair."""
        return "verifair"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Where the rule comes from."""
        return ("decided by the adaptive bound of Bastani, Zhang and Solar-Lezama (2019), looked at after each batch",)

    def begin(self) -> dict[Channel, NDArray[np.float64]]:
        """Nothing seen."""
        return {channel: np.zeros(channel.grid.size) for channel in self.channels}

    def step(self, state: dict[Channel, NDArray[np.float64]], tallies: Tallies) -> dict[Channel, NDArray[np.float64]]:
        """Add the batch."""
        return {channel: before + tallies[channel] for channel, before in state.items()}

    def decision(self, state: dict[Channel, NDArray[np.float64]]) -> bool | None:
        """Infer the formula from the lemmas of the leaves."""
        truth, wrong = judge_formula(self.formula, self.lemmas(state))
        # The leaves' risks are delta divided and added up again. The allowance for that rounding *can* change a
        # verdict, and raises the risk by a factor of 1 + 1e-12 at most.
        return truth if wrong <= self.delta * (1.0 + 1e-12) else None

    def lemmas(self, state: dict[Channel, NDArray[np.float64]]) -> dict[tree.Leaf, Lemma]:
        """The lemma of each leaf; the probability that any of them is ever wrong is at most ``delta``."""
        risk = self.delta / max(count_leaves(self.formula), 1)
        lemmas: dict[tree.Leaf, Lemma] = {}
        for channel, counts in state.items():
            nodes = np.asarray(channel.grid.nodes[0])
            n = float(counts.sum())
            width = float(nodes[-1] - nodes[0])
            mean = float(counts @ nodes) / n if n else float(nodes[0])
            lemmas[channel.leaves[0]] = Lemma(mean, width * adaptive_error(risk, n), risk)
        return lemmas

    def progress(self, state: dict[Channel, NDArray[np.float64]]) -> float:
        """1 when decided; before that it is unknown, so 0."""
        return 0.0 if self.decision(state) is None else 1.0


def verifair_for(
    formula: tree.Formula,
    leaves: Sequence[tree.Leaf],
    ranges: Mapping[tree.Leaf, tuple[float, float]],
    streams: Sequence[tree.Row | None],
    delta: float,
) -> VerifairEvidence:
    """Prepare the paper's rule for any formula."""
    return VerifairEvidence(formula, delta, tuple(leaf_channel(leaf, streams, ranges) for leaf in leaves))

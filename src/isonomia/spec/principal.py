"""Principal fairness as a property: whose predictions may not depend on the attribute, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Literal as OneOf

from isonomia.errors import UsageError
from isonomia.spec.tree import Value

_NAMES = {
    1: "principal fairness in each stratum",
    2: "principal fairness over all strata together",
    3: "counterfactual fairness",
    4: "counterfactual equalized odds",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PrincipalFairness:
    """No one is predicted differently because of an attribute that does not affect their outcome.

    Every person has an outcome and a prediction under each value of the attribute, but only one of each is seen. The
    property compares predictions within strata of people, which are defined by outcomes that are mostly never seen. So
    data can refute it, and can prove it only up to a margin, sometimes not at all.

    Attributes
    ----------
    attribute
        The column with the protected attribute.
    outcome
        The column with the outcome that is predicted.
    prediction
        The column with the prediction or decision; the model's prediction where a model is given.
    given
        Columns that hold all common causes of the attribute and of outcome or prediction: within each combination of
        their values, a *subgroup*, the attribute must be as good as random.
    definition
        1: within each stratum of people who have one given outcome under every attribute value; 2: within all of these
        strata together; 3: over everyone (counterfactual fairness); 4: within the people who would have one given
        outcome under the first attribute value (counterfactual equalized odds).
    within
        How large a difference still counts as fair, from 0 to below 1. With 0, draws can refute fairness, never prove
        it.
    normalised
        What the margin limits. If true, ``tau``, the difference of rates within the stratum; otherwise ``tau'``, the
        same as a share of the whole subgroup.
    assumptions
        What else is assumed: names such as ``"outcome never falls"``, or comparisons over the potential values, such as
        ``"P[Y0 > Y1] <= 0.05"``.
    values
        The values of a column in their order: ``{"sex": ["F", "M"]}`` makes ``F`` the first, number 0. Other columns
        have the values that occur, ascending.
    name
        What people call it, for reports.

    Raises
    ------
    UsageError
        Where an argument is none of these.

    Notes
    -----
    Source: "Counterfactual Fairness Using Principal Stratification", Definitions 1 to 4.

    Examples
    --------
    >>> print(PrincipalFairness(attribute="sex", outcome="passed", given=["school"]))
    principal fairness in each stratum: prediction by sex, outcome passed, for each school
    """

    attribute: str
    outcome: str
    prediction: str = "prediction"
    given: Sequence[str] = ()
    definition: OneOf[1, 2, 3, 4] = 1
    within: float = 0.0
    normalised: bool = False
    assumptions: Sequence[str] = ()
    values: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Check every argument, and make lists tuples."""
        put = object.__setattr__
        put(self, "given", _texts("given", self.given, "columns, such as ['school']"))
        put(self, "assumptions", _texts("assumptions", self.assumptions, "sentences"))
        for role, column in zip(("attribute", "outcome", "prediction"), self.roles, strict=True):
            if not isinstance(column, str) or not column:
                raise UsageError(f"expected {role} as a column's name, but got {column!r}")
        _refuse_repetition((*self.roles, *self.given))
        if isinstance(self.definition, bool) or self.definition not in _NAMES:
            raise UsageError(f"expected definition 1, 2, 3 or 4, but got {self.definition!r}")
        put(self, "within", _margin(self.within))
        put(self, "values", _orders(self.values, self.roles))

    @property
    def roles(self) -> tuple[str, str, str]:
        """The columns of attribute, outcome and prediction."""
        return (self.attribute, self.outcome, self.prediction)

    def named(self, name: str) -> PrincipalFairness:
        """The same property under a name."""
        if not isinstance(name, str):
            raise UsageError(f"name must be a str, but it is {name!r} of type {type(name).__name__}", name="name")
        return replace(self, name=name)

    def __str__(self) -> str:
        where = f", for each {' and '.join(self.given)}" if self.given else ""
        margin = f", within {self.within:g}" if self.within else ""
        of_what = " of the stratum" if self.within and self.normalised else ""
        if_so = f", if {'; '.join(self.assumptions)}" if self.assumptions else ""
        head = f"{_NAMES[self.definition]}: {self.prediction} by {self.attribute}"
        return f"{head}, outcome {self.outcome}{where}{margin}{of_what}{if_so}"

    def __repr__(self) -> str:
        return f"PrincipalFairness({str(self)!r})"

    def explain(self) -> str:
        """Say in words who the strata are, what is claimed of them, and what data can say about it."""
        return " ".join((_setting(self), _strata(self), _claim(self), _reading(self)))


def _setting(prop: PrincipalFairness) -> str:
    where = f"Within each combination of {' and '.join(prop.given)}, imagine" if prop.given else "Imagine"
    return (
        f"{where} every person once with each value of {prop.attribute}: each time with an outcome, "
        f"{prop.outcome}, and a prediction, {prop.prediction}; only those under the person's own {prop.attribute} are "
        "ever seen."
    )


def _strata(prop: PrincipalFairness) -> str:
    same = f"whose {prop.outcome} would be the same whatever their {prop.attribute}"
    match prop.definition:
        case 1:
            return f"The strata are the people {same}, one stratum for each value of {prop.outcome}."
        case 2:
            return f"The stratum is all people {same}."
        case 3:
            return "The stratum is everyone."
        case 4:
            return (
                f"The strata are the people with the same {prop.outcome} under the first value of {prop.attribute}, "
                f"one stratum for each value of {prop.outcome} but the first."
            )


def _claim(prop: PrincipalFairness) -> str:
    alike = "is equally frequent" if not prop.within else f"differs in frequency by at most {prop.within:g}"
    share = " of the stratum" if prop.normalised else " of the subgroup" if prop.given else " of all people"
    return (
        f"Within a stratum each value of {prop.prediction} but the first {alike}{share if prop.within else ''}, "
        f"whichever {prop.attribute} everyone in it has."
    )


def _reading(prop: PrincipalFairness) -> str:
    proof = "Data can show that the claim is false" + (
        "." if prop.within else ", but without a margin never that it is true."
    )
    return (
        f"{proof} Strata are not observed, so a difference is known up to an interval only, and one that covers zero "
        "proves nothing."
    )


def _texts(name: str, items: Any, what: str) -> tuple[str, ...]:
    if isinstance(items, str) or not isinstance(items, Sequence) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"expected {name} as a list of {what}, but got {items!r}")
    return tuple(items)


def _refuse_repetition(columns: tuple[str, ...]) -> None:
    for number, column in enumerate(columns):
        if column in columns[:number]:
            raise UsageError(f"expected attribute, outcome, prediction and given to differ, but got {column!r} twice")


def _margin(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < 1.0:
        raise UsageError(f"expected within, the largest fair difference, from 0 to below 1, but got {value!r}")
    return float(value)


def _orders(values: Any, roles: tuple[str, ...]) -> dict[str, tuple[Value, ...]]:
    if not isinstance(values, Mapping):
        raise UsageError(f"expected values as {{column: [value, ...]}}, but got {values!r}")
    for column, listed in values.items():
        if column not in roles:
            raise UsageError(f"expected values of {', '.join(map(repr, roles))}, but got those of {column!r}")
        if (
            isinstance(listed, str)
            or not isinstance(listed, Sequence)
            or len(set(listed)) != len(listed)
            or len(listed) < 2
        ):
            raise UsageError(f"expected at least two different values of {column!r} in a list, but got {listed!r}")
    return {column: tuple(listed) for column, listed in values.items()}

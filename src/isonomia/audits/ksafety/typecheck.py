"""What is checked of a specification once the data is known: functions, features, and kinds that cannot be compared."""

from __future__ import annotations

from isonomia.audits.ksafety.functions import BUILT_IN
from isonomia.errors import DataError, SpecError, nearest
from isonomia.populations.domains import Domain, Kind
from isonomia.spec.nomos import PlainBlock, Spec, read_block
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import (
    Binary,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    ScalarLiteral,
    Unary,
    Update,
    Var,
)

__all__ = ["check_meaning"]

_FEATURED = frozenset({"getFeat", "setFeat", "randFeat"})
_GIVES: dict[str, Kind] = {
    "setFeat": "record",
    "randInt": "number",
    "randReal": "number",
    "strConcat": "text",
    "abs": "number",
    "score": "number",
}
_ORDERED = frozenset({"<", "<=", ">", ">="})


def check_meaning(spec: Spec, domain: Domain) -> None:
    """Refuse what can have no meaning for this data.

    Raises
    ------
    SpecError
        For a function that is not offered or gets the wrong number of arguments, a feature that the data lacks, and
        values that cannot be compared or computed with. The error points at the place.
    """
    block = read_block(spec.block)
    kinds: dict[str, Kind] = dict.fromkeys(spec.inputs, "record")
    steps = [*spec.before, *(block.steps if isinstance(block, PlainBlock) else ()), *spec.after]
    for name in spec.outputs:
        kinds[name] = "anything"
    for step in steps:
        if isinstance(step, Var):
            kinds[step.name] = _kind(step.value, kinds, domain, spec)
        else:
            _condition(step.condition, kinds, domain, spec)
    for item in spec.ensures:
        _condition(item.condition, kinds, domain, spec)


def _condition(node: Expression, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> None:
    kind = _kind(node, kinds, domain, spec)
    if kind in {"record", "text"}:
        message = f"expected something that is true or false, but `{expression_text(node)}` is a {kind}: compare it"
        raise SpecError(message, node.place)


def _kind(node: Expression, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> Kind:
    match node:
        case ScalarLiteral():
            return _constant(node)
        case Name():
            return kinds.get(node.name, "number")
        case FeatureRead():
            _expect_record(node.record, kinds, domain, spec)
            return domain.kind(_feature(domain, node.feature, node, spec))
        case Update():
            _expect_record(node.record, kinds, domain, spec)
            _fits(domain, _feature(domain, node.feature, node, spec), _kind(node.value, kinds, domain, spec), node)
            return "record"
        case FunctionCall():
            return _call(node, kinds, domain, spec)
        case Unary():
            kind = _kind(node.operand, kinds, domain, spec)
            if kind in {"record", "text"}:
                raise SpecError(f"`{node.operator}` has no meaning for a {kind}", node.place)
            return "truth" if node.operator == "!" else "number"
        case Binary():
            return _binary(node, _kind(node.left, kinds, domain, spec), _kind(node.right, kinds, domain, spec))


def _constant(node: ScalarLiteral) -> Kind:
    match node.value:
        case bool():
            return "truth"
        case str():
            return "text"
        case None:
            return "anything"
        case _:
            return "number"


def _binary(node: Binary, left: Kind, right: Kind) -> Kind:
    pair = {left, right}
    sign = node.operator
    if sign in {"&&", "||", "==>"}:
        if pair & {"record", "text"}:
            raise SpecError(f"`{sign}` joins what is true or false, but a {_odd(pair)} came: compare it", node.place)
        return "truth"
    if sign in {"==", "!="} or sign in _ORDERED:
        _check_comparable(node, left, right)
        return "truth"
    if "record" in pair or ("text" in pair and (sign != "+" or not pair <= {"text", "anything"})):
        raise SpecError(f"`{sign}` cannot be computed for a {left} and a {right}", node.place)
    if sign in {"/", "//", "%"} and isinstance(node.right, ScalarLiteral) and node.right.value == 0:
        raise SpecError("this divides by zero", node.place)
    return "text" if "text" in pair else "number" if pair <= {"number", "truth"} else "anything"


def _check_comparable(node: Binary, left: Kind, right: Kind) -> None:
    pair = {left, right}
    if "record" in pair and (node.operator in _ORDERED or pair != {"record"}):
        message = f"a {left} and a {right} cannot be compared by `{node.operator}`"
        hint = ": records are equal or not" if node.operator in _ORDERED else ": compare a feature of the record"
        raise SpecError(message + hint, node.place)
    if "text" in pair and pair & {"number", "truth"}:
        message = f"a {left} and a {right} cannot be compared: `{expression_text(node)}` would never be true"
        raise SpecError(message, node.place)


def _odd(pair: set[Kind]) -> str:
    return "record" if "record" in pair else "text"


def _call(node: FunctionCall, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> Kind:
    name, custom = node.function, domain.functions.get(node.function)
    if custom is None and name not in BUILT_IN:
        offered = (*BUILT_IN, *domain.functions)
        raise SpecError(
            f"there is no function `{name}`: {domain.name} offers {', '.join(sorted(offered))}.{nearest(name, offered)}"
            " Give another one by functions={...}",
            node.place or spec.block.place,
        )
    takes = custom.takes if custom is not None else BUILT_IN[name]
    least, most = (takes, takes) if isinstance(takes, int) else takes
    if not least <= len(node.arguments) <= most:
        told = f"{least}" if least == most else f"{least} to {most}"
        message = f"`{name}` takes {told} arguments, but {len(node.arguments)} came"
        raise SpecError(message, node.place or spec.block.place)
    if custom is not None:
        for argument in node.arguments:
            _kind(argument, kinds, domain, spec)
        return custom.gives
    return _built_in(node, kinds, domain, spec)


def _built_in(node: FunctionCall, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> Kind:
    name = node.function
    if name in {"getFeat", "setFeat", "randFeat", "label", "predict", "score"}:
        _expect_record(node.arguments[0], kinds, domain, spec)
    if name in _FEATURED:
        chosen = node.arguments[1]
        if not isinstance(chosen, ScalarLiteral) or isinstance(chosen.value, bool | float | None):
            message = f"the feature of `{name}` is a name in quotation marks or a whole number"
            raise SpecError(message, chosen.place or spec.block.place)
        feature = _feature(domain, chosen.value, chosen, spec)
        if name != "setFeat":
            return domain.kind(feature)
        _fits(domain, feature, _kind(node.arguments[2], kinds, domain, spec), node)
        return "record"
    rest = [_kind(argument, kinds, domain, spec) for argument in node.arguments]
    if name in {"randInt", "randReal", "abs", "min", "max"} and {"record", "text"} & set(rest):
        raise SpecError(f"`{name}` takes numbers, but a {_odd(set(rest))} came", node.place or spec.block.place)
    if name == "strConcat" and "record" in rest:
        raise SpecError("`strConcat` takes texts, but a record came: take a feature of it", node.place)
    return _GIVES.get(name, "anything" if name in {"predict", "label"} else "number")


def _expect_record(node: Expression, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> None:
    kind = _kind(node, kinds, domain, spec)
    if kind not in {"record", "anything"}:
        message = f"expected a record such as an input, but `{expression_text(node)}` is a {kind}"
        raise SpecError(message, node.place or spec.block.place)


def _feature(domain: Domain, feature: str | int, node: Expression, spec: Spec) -> str:
    try:
        return domain.feature(feature)
    except DataError as error:
        raise SpecError(str(error), node.place or spec.block.place) from None


def _fits(domain: Domain, feature: str, kind: Kind, node: Expression) -> None:
    has = domain.kind(feature)
    if kind == "record" or {has, kind} in ({"text", "number"}, {"text", "truth"}):
        raise SpecError(f"the feature {feature!r} is a {has} and cannot be set to a {kind}", node.place)

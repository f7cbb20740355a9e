"""Definite assignment and kinds, on trees made by hand."""

import pytest

from isonomia.errors import SpecError
from isonomia.spec.fairsquare.tree import (
    Assign,
    Boolean,
    BooleanOperation,
    Chain,
    Expression,
    If,
    LogicalNot,
    Number,
    Reference,
    Statement,
    UnaryMinus,
    Variables,
    assignments_of,
    outline_of,
    reads_of,
    variables_after,
)
from raising import raises

ONE = Number(1)
YES = Boolean(True)


def scope_of(*statements: Statement) -> Variables:
    return variables_after(statements, Variables(outline_of(statements)))


def sure(scope: Variables) -> dict[str, str]:
    return {name: state.kind for name, state in scope.states().items() if state.sure}


def doubtful(scope: Variables) -> set[str]:
    return {name for name, state in scope.states().items() if not state.sure}


def sets(name: str, value: Expression = ONE) -> Assign:
    return Assign(name, value)


def test_what_both_branches_set_is_sure_and_what_one_sets_is_doubtful() -> None:
    scope = scope_of(If(YES, (sets("a"), sets("b")), (sets("b"), sets("c"))))
    assert sure(scope) == {"b": "number"}
    assert doubtful(scope) == {"a", "c"}


def test_setting_a_doubtful_variable_makes_it_sure() -> None:
    scope = scope_of(If(YES, (sets("a"),)), sets("a", YES))
    assert sure(scope) == {"a": "truth"}
    assert doubtful(scope) == set()


def test_a_variable_set_before_stays_sure_whatever_one_branch_does() -> None:
    assert sure(scope_of(sets("a"), If(YES, (sets("a", Number(2)),)))) == {"a": "number"}


def test_what_stays_doubtful_within_a_branch_is_doubtful_behind_it() -> None:
    scope = scope_of(If(YES, (If(YES, (sets("a"),)),), (sets("a"),)))
    assert sure(scope) == {}
    assert doubtful(scope) == {"a"}


def test_a_doubtful_variable_keeps_its_kind_across_branches() -> None:
    with pytest.raises(SpecError, match="`a` is a number where this condition is true and a truth value"):
        scope_of(If(YES, (If(YES, (sets("a"),)),), (sets("a", YES),)))


def test_a_branch_does_not_see_what_the_other_sets() -> None:
    with raises(SpecError, name="a"):
        scope_of(If(YES, (sets("a"),), (sets("b", Reference("a")),)))


def test_a_mark_takes_a_condition_and_is_not_read() -> None:
    mark = Assign("minority", Chain(ONE, (("<", ONE),)))
    outline = outline_of((mark,), (mark,))
    assert sure(variables_after((mark,), Variables(outline))) == {"minority": "truth"}
    with raises(SpecError, name="minority"):
        variables_after((mark, sets("x", Reference("minority"))), Variables(outline))
    number = Assign("minority", ONE)
    with pytest.raises(SpecError, match="this is a number, but a condition"):
        variables_after((number,), Variables(outline_of((number,), (number,))))


def test_assignments_come_in_the_order_of_the_text() -> None:
    tree = (sets("a"), If(YES, (sets("b"), If(YES, (sets("c"),))), (sets("d"),)), sets("e"))
    assert [assignment.target for assignment in assignments_of(tree)] == list("abcde")


def test_a_scope_is_not_changed_by_what_comes_after_it() -> None:
    statements = (sets("a"), sets("b"))
    scope = variables_after(statements[:1], Variables(outline_of(statements)))
    later = variables_after(statements[1:], scope)
    assert sure(scope) == {"a": "number"}
    assert sure(later) == {"a": "number", "b": "number"}


def test_a_variable_of_one_branch_is_refused_behind_it_even_where_the_branch_has_no_place() -> None:
    with raises(SpecError, name="a"):
        scope_of(If(YES, (sets("a"),)), sets("b", Reference("a")))


def test_everything_that_an_expression_reads_is_found_at_any_depth() -> None:
    expression = BooleanOperation(
        "or", (LogicalNot(Reference("a")), Chain(UnaryMinus(Reference("b")), (("<", Reference("c")),)))
    )
    assert reads_of(expression) == {"a", "b", "c"}

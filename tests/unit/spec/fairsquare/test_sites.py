"""Which draws share their noise: sites count the draws for a variable on the way to each."""

from isonomia.spec.fairsquare import read_equation, read_program
from isonomia.spec.fairsquare.expressions import DrawSites
from isonomia.spec.fairsquare.tree import Assign, If, Site, Statement, draws_of


def sites_of(statements: tuple[Statement, ...]) -> list[Site]:
    """The sites of all draws, in the order of the text."""
    found: list[Site] = []
    for statement in statements:
        match statement:
            case Assign(_, value):
                found += [draw.site for draw in draws_of(value)]
            case If(condition, then, otherwise):
                found += [draw.site for draw in draws_of(condition)]
                found += sites_of(then) + sites_of(otherwise)
    return found


def sites_in(population: str, decision: str = "    pass") -> list[Site]:
    return sites_of(read_program(f"def F():\n{decision}\ndef popModel():\n{population}\n").statements)


def test_draws_for_a_variable_are_numbered_from_left_to_right_and_line_to_line() -> None:
    text = "    x = gaussian(0, 1) + step([(0, 1, 1)])\n    y = gaussian(x, 1)\n    x = x + gaussian(0, 1)"
    assert sites_in(text) == [("x", 0), ("x", 1), ("y", 0), ("x", 2)]


def test_both_branches_count_from_the_same_start_and_go_on_with_the_larger() -> None:
    text = (
        "    x = gaussian(0, 1)\n    if x > 0:\n        y = gaussian(0, 1)\n    else:\n"
        "        y = gaussian(0, 1) - gaussian(0, 1)\n        x = gaussian(5, 1)\n    y = y + gaussian(0, 1)\n"
        "    x = gaussian(x, 1)"
    )
    assert sites_in(text) == [("x", 0), ("y", 0), ("y", 0), ("y", 1), ("x", 1), ("y", 2), ("x", 2)]


def test_draws_in_conditions_are_numbered_along_the_way() -> None:
    text = (
        "    if gaussian(0, 1) > 0:\n        if gaussian(0, 1) > 1:\n            pass\n"
        "    elif gaussian(0, 1) > gaussian(0, 1):\n        pass\n    if gaussian(0, 1) > 0:\n        pass"
    )
    assert sites_in(text) == [("if", 0), ("if", 1), ("if", 1), ("if", 2), ("if", 3)]


def test_the_arguments_of_a_draw_draw_before_it() -> None:
    # The outer draw comes first in the text, but second in time.
    assert sites_in("    x = gaussian(gaussian(0, 1), 1)") == [("x", 1), ("x", 0)]


def test_marks_draw_for_their_column() -> None:
    assert sites_in("    x = gaussian(0, 1)\n    qualified(x > gaussian(0, 1))") == [("x", 0), ("qualified", 0)]


def test_popmodel_counts_before_f_also_where_f_comes_first_in_the_text() -> None:
    assert sites_in("    x = gaussian(0, 1)", "    x = gaussian(x, 1)") == [("x", 0), ("x", 1)]


def test_a_draw_that_is_only_returned_does_not_count() -> None:
    text = "    x = gaussian(0, 1)\n    return gaussian(0, 1)\n    qualified(x > gaussian(0, 1))"
    assert sites_in(text) == [("x", 0), ("qualified", 0)]


def test_the_branches_of_a_choice_share_their_sites() -> None:
    text = "(gaussian(0, 1) if gaussian(0, 1) > 0 else gaussian(0, 1) + gaussian(0, 1)) + gaussian(0, 1)"
    expression, _ = read_equation(text, "x", {})
    assert [draw.site for draw in draws_of(expression)] == [("x", 0), ("x", 1), ("x", 1), ("x", 2), ("x", 3)]


def test_a_fork_leaves_the_count_it_came_from_alone() -> None:
    sites = DrawSites()
    sites.next("x")
    way = sites.fork()
    assert way.next("x") == ("x", 1)
    assert way.next("y") == ("y", 0)
    assert sites.fork().next("x") == ("x", 1)
    sites.join([way, sites.fork()])
    assert sites.next("x") == ("x", 2)
    assert sites.next("y") == ("y", 1)

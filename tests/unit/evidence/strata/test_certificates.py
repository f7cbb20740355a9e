"""Certificates are believed only where the arithmetic agrees."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

from isonomia.errors import NumericalError
from isonomia.evidence.strata.bounds import (
    InfeasibilityProof,
    LinearProgram,
    Solution,
    certify_infeasible,
    certify_optimal,
    solve,
)
from raising import raises

# min x + 2y with x + y == 1, x <= 0.25: the optimum 1.75 at (0.25, 0.75); multipliers 2 and -1.
PROGRAM = LinearProgram(
    np.asarray([1.0, 2.0]), np.asarray([[1.0, 1.0]]), np.asarray([1.0]), np.asarray([[1.0, 0.0]]), np.asarray([0.25])
)
SOLUTION, Y, Z = np.asarray([0.25, 0.75]), np.asarray([2.0]), np.asarray([-1.0])
IMPOSSIBLE = replace(PROGRAM, below=np.asarray([[1.0, 1.0]]), bound=np.asarray([0.5]))


def test_the_optimum_and_its_proof_are_accepted() -> None:
    proof = certify_optimal(PROGRAM, SOLUTION, Y, Z)
    assert (proof.primal_residual, proof.dual_residual, proof.gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("solution", "y", "z", "what"),
    [
        (np.asarray([0.0, 1.0]), Y, Z, "gap"),
        (np.asarray([0.5, 0.5]), Y, Z, "primal residual"),
        (np.asarray([0.25, 0.7]), Y, Z, "primal residual"),
        (np.asarray([-0.25, 1.25]), Y, Z, "primal residual"),
        (SOLUTION, np.asarray([2.1]), Z, "dual residual"),
        (SOLUTION, Y, np.asarray([1.0]), "dual residual"),
        (SOLUTION, np.asarray([1.9]), Z, "gap"),
        (np.asarray([np.nan, 1.0]), Y, Z, "residual|gap"),
    ],
)
def test_a_wrong_proof_is_refused(solution: np.ndarray, y: np.ndarray, z: np.ndarray, what: str) -> None:
    with pytest.raises(NumericalError, match=what):
        certify_optimal(PROGRAM, solution, y, z)


def test_an_inequality_cannot_be_used_the_wrong_way_round() -> None:
    # Everything agrees but the sign of z: as if x <= 0.25 said x >= 0.25, or x <= 2 said x >= 2.
    other = replace(PROGRAM, cost=np.asarray([2.0, 1.0]))
    with raises(NumericalError, 2e-09, 1):
        certify_optimal(other, SOLUTION, np.asarray([1.0]), np.asarray([1.0]))
    with raises(NumericalError, 2e-09, 1):
        certify_infeasible(replace(PROGRAM, bound=np.asarray([2.0])), np.asarray([-1.0]), np.asarray([1.0]))


def test_a_proof_of_infeasibility_is_accepted() -> None:
    proof = certify_infeasible(IMPOSSIBLE, np.asarray([1.0]), np.asarray([-1.0]))
    assert proof.violation == 0.5


@pytest.mark.parametrize(
    ("program", "y", "z"),
    [
        (PROGRAM, 1.0, -1.0),
        (IMPOSSIBLE, 1.0, 0.0),
        (IMPOSSIBLE, -1.0, 1.0),
        (IMPOSSIBLE, 0.0, 0.0),
    ],
)
def test_multipliers_that_prove_nothing_are_refused(program: LinearProgram, y: float, z: float) -> None:
    with pytest.raises(NumericalError, match=r"dual residual|violation of only"):
        certify_infeasible(program, np.asarray([y]), np.asarray([z]))


def test_a_program_is_solved_with_its_proof() -> None:
    found = solve(PROGRAM)
    assert isinstance(found, Solution)
    assert found.value == pytest.approx(1.75, abs=1e-12)
    assert found.certificate.gap < 1e-12


def test_an_infeasible_program_yields_its_proof() -> None:
    found = solve(IMPOSSIBLE)
    assert isinstance(found, InfeasibilityProof)
    # Checked here once more by hand: y (x + y) + z (x + y) <= 0 for all x, y >= 0, but the right sides say 0.5.
    y, z = found.equal_multipliers[0], found.below_multipliers[0]
    assert z <= 0.0
    assert y + z <= 1e-12
    assert y * 1.0 + z * 0.5 == pytest.approx(found.violation) == pytest.approx(0.5)


def test_a_program_whose_inequalities_alone_exclude_each_other_is_proved_to_have_no_solution() -> None:
    # 1 <= x <= 0.25, with an equation that could be met.
    rows, bounds = np.asarray([[1.0, 0.0], [-1.0, 0.0]]), np.asarray([0.25, -1.0])
    found = solve(replace(PROGRAM, below=rows, bound=bounds, right=np.asarray([3.0])))
    assert isinstance(found, InfeasibilityProof)
    assert found.violation == pytest.approx(0.75)
    assert found.below_multipliers == pytest.approx([-1.0, -1.0])


def test_where_neither_a_solution_nor_a_proof_is_found_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def gives_up(*_: object, options: dict[str, object], **__: object) -> SimpleNamespace:
        tried.append(options)
        return SimpleNamespace(status=4, message="out of patience.", fun=np.inf)

    monkeypatch.setattr(scipy.optimize, "linprog", gives_up)
    with pytest.raises(NumericalError, match=r"says: out of patience\. The table may have probabilities too"):
        solve(PROGRAM)
    # Each setting is tried for a solution and for a proof: tight tolerances first, with presolve and without.
    assert [options.get("presolve", True) for options in tried] == [True, True, False, False] * 2
    assert ["primal_feasibility_tolerance" in options for options in tried] == [True] * 4 + [False] * 4


def test_a_solution_that_only_looser_settings_find_is_checked_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    real = scipy.optimize.linprog

    def fussy(*given: object, options: dict[str, object], **rest: object) -> object:
        if options:
            return SimpleNamespace(status=4, message="out of patience.", fun=np.inf)
        return real(*given, options=options, **rest)

    monkeypatch.setattr(scipy.optimize, "linprog", fussy)
    found = solve(PROGRAM)
    assert isinstance(found, Solution)
    assert found.value == pytest.approx(1.75, abs=1e-9)

"""Checks of principal fairness of every kind, for the contract of all audits."""

from __future__ import annotations

from collections.abc import Callable

from rates_cases import CENSUS, DRAWN, SAMPLE, UNLIMITED, check, proved
from repeatable_checks import Repeatable

import isonomia as iso

FAIR = {"attribute": "sex", "outcome": "passed"}

CHECKS: dict[str, Callable[[], Repeatable]] = {
    "principal": lambda: check(iso.PrincipalFairness(**FAIR, within=0.5), SAMPLE()),
    "principal without a margin": lambda: check(iso.PrincipalFairness(**FAIR), SAMPLE()),
    "principal in subgroups": lambda: check(iso.PrincipalFairness(**FAIR, given=["band"], within=0.5), SAMPLE()),
    "principal, unlimited": lambda: check(iso.PrincipalFairness(**FAIR, within=0.5), UNLIMITED(), budget=600),
    "principal, exact": lambda: check(iso.PrincipalFairness(**FAIR, within=0.3), CENSUS()),
    "principal, exact by proof": lambda: proved(iso.PrincipalFairness(**FAIR, definition=3)),
    "principal, exact in subgroups": lambda: check(iso.PrincipalFairness(**FAIR, given=["band"]), CENSUS()),
    "principal, drawn": lambda: check(iso.PrincipalFairness(**FAIR, within=0.2), DRAWN()),
}

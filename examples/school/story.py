"""Audit the recommendations, repair them, and audit them again: ``python story.py``."""

from __future__ import annotations

import numpy as np
from make import SEEDS, students, train

import isonomia as iso

# What the audit file says under "marked without names", with a margin, so that it can be shown to hold.
FAIR = iso.PrincipalFairness(
    attribute="sex",
    outcome="passed",
    prediction="recommended",
    given=["school"],
    definition=2,
    within=0.1,
    assumptions=["outcome never changes"],
)


def audit(title: str, people: dict[str, np.ndarray]) -> None:
    """Check the property, and print what is behind the answer."""
    verdict = iso.check(FAIR, population=iso.Sample(people), delta=0.01, seed=1)
    print(f"{title}: {verdict.answer} after {verdict.samples:,} students")
    for school in ("town", "hill"):
        shares = [f"{share(people, school, sex):.0%} of the {sex}s" for sex in ("girl", "boy")]
        able = [f"{share(people, school, sex, passing=True):.0%}" for sex in ("girl", "boy")]
        print(f"  {school}: {' and '.join(shares)} are recommended; of those who pass, {' and '.join(able)}")


def share(people: dict[str, np.ndarray], school: str, sex: str, passing: bool = False) -> float:
    """How many of some students are recommended."""
    some = (people["school"] == school) & (people["sex"] == sex) & (people["passed"] >= int(passing))
    return float(people["recommended"][some].mean())


def main() -> None:
    """Learn the repair from last year's students, and audit it on this year's."""
    model = train(np.random.default_rng(SEEDS[0]))
    last, this = (students(6_000, np.random.default_rng(seed)) for seed in SEEDS[1:])
    audit("as the model says", {**this, "recommended": model.predict(this)})

    # Where sex changes no one's outcome, it does not affect anyone. So the repair is that of
    # definition 3, and no one loses a recommendation by it.
    repaired = iso.PrincipalRepair(
        model, attribute="sex", given=["school"], definition=3, never_lower=True, cv="prefit", random_state=0
    ).fit(last, last["passed"])
    for (school,), repair in repaired.repairs_.items():
        for sex, chance in zip(repaired.attribute_values_, repair.change[:, 0, 1], strict=True):
            if chance > 0.005:
                print(f"repair, {school}: {chance:.0%} of the {sex}s who were left out are recommended, drawn by lot")
    audit("repaired", {**this, "recommended": repaired.predict(this)})


if __name__ == "__main__":
    main()

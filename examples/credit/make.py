"""Makes up a bank's past loans and this week's applicants: ``python make.py``.

The bank learns from loans that it granted. Applicants with three late payments or more were sent to a committee, which
granted a loan only to those with a guarantor; of guarantors nothing was ever recorded. So the few with many late
payments whose loans are on record repaid nearly always, and a model that is trained on the record takes late payments
for a good sign.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"


def applicants(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw applicants, with what the bank writes down about them."""
    income = np.round(np.exp(rng.normal(7.9, 0.45, n)), -1)
    return {
        "income": income,
        "debt": np.round(income * rng.gamma(1.2, 1.5, n), -1),
        "years_employed": np.minimum(rng.geometric(0.13, n) - 1, 40),
        "late_payments": np.minimum(rng.negative_binomial(0.7, 0.42, n), 6),
        "savings": np.round(np.where(rng.random(n) < 0.3, 0.0, rng.gamma(0.8, 6000.0, n)), -2),
        "amount": np.round(rng.uniform(1_000, 20_000, n), -2),
        "channel": rng.choice(["branch", "online", "broker"], n, p=[0.45, 0.35, 0.20]),
    }


def history(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw applicants of the past; keep those who got a loan, and say who repaid."""
    people = applicants(n, rng)
    guarantor = rng.random(n) < 0.25
    burden = (people["debt"] + people["amount"]) / people["income"]
    trouble = 0.35 * burden + 0.7 * people["late_payments"] - 0.05 * people["years_employed"]
    trouble -= 0.00008 * people["savings"] + 0.0001 * people["income"]
    # Brokers bring customers whom the bank knows less about.
    trouble += 0.5 * (people["channel"] == "broker") - 3.5 * guarantor
    repaid = trouble + rng.logistic(0.0, 0.8, n) < 2.0
    granted = np.where(people["late_payments"] >= 3, guarantor, burden < 9)
    return {name: column[granted] for name, column in {**people, "repaid": repaid.astype(int)}.items()}


def write(name: str, table: dict[str, np.ndarray]) -> None:
    """Write a table into the folder ``data``."""
    DATA.mkdir(exist_ok=True)
    with (DATA / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    print(f"data/{name}: {len(table['income']):,} rows")


def main() -> None:
    """Write both tables."""
    past, now = np.random.default_rng(11).spawn(2)
    write("history.csv", history(12_000, past))
    write("applicants.csv", applicants(3_000, now))


if __name__ == "__main__":
    main()

"""Makes up students of two schools, trains the model that recommends them for the upper track, and writes what it said.

Final examinations are marked without names, and girls and boys do equally well in them. The model never sees them: it
was trained on whom teachers recommended in earlier years, from marks in class. At the Hill school, marks in class
include behaviour, and behaviour is marked more strictly for boys. (That boys are marked lower in class than blindly is
a common finding: Lavy, "Do gender stereotypes reduce girls' or boys' human capital outcomes?", Journal of Public
Economics 92, 2008.)
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

DATA = Path(__file__).parent / "data"
SEEDS = (50, 51, 52)
"""Of the students whom the model learnt from, of last year's, and of this year's."""
FEATURES = ("mark", "homework", "absences")


def students(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw students: school, sex, what the model sees, and whether they pass the examination."""
    school = np.where(rng.random(n) < 0.6, "town", "hill")
    sex = np.where(rng.random(n) < 0.5, "girl", "boy")
    talent = rng.normal(0.0, 1.0, n)
    strict = (school == "hill") & (sex == "boy")
    return {
        "school": school,
        "sex": sex,
        "mark": np.round(np.clip(60 + 12 * talent + rng.normal(0.0, 5.0, n) - 11 * strict, 0, 100)),
        "homework": np.round(np.clip(70 + 8 * talent + rng.normal(0.0, 12.0, n), 0, 100)),
        "absences": rng.poisson(np.exp(1.2 - 0.25 * talent)),
        "passed": (talent + rng.normal(0.0, 0.35, n) > 0.1).astype(int),
    }


def matrix(people: dict[str, np.ndarray]) -> np.ndarray:
    """What the model sees of a table, as an array."""
    return np.column_stack([people[name] for name in FEATURES])


@dataclass(frozen=True)
class Recommender:
    """The model: recommends students by their marks, homework and absences."""

    fitted: LogisticRegression

    def predict(self, people: dict[str, np.ndarray]) -> np.ndarray:
        """Say 1 for each student who is recommended, 0 for the others."""
        return self.fitted.predict(matrix(people))


def train(rng: np.random.Generator) -> Recommender:
    """Learn whom teachers recommend, from 5,000 students of earlier years."""
    past = students(5_000, rng)
    liked = (past["mark"] - 61) / 6 + (past["homework"] - 70) / 30 - past["absences"] / 10
    recommended = liked + rng.logistic(0.0, 0.5, 5_000) > 0
    return Recommender(LogisticRegression(max_iter=1000).fit(matrix(past), recommended.astype(int)))


def write(name: str, table: dict[str, np.ndarray]) -> None:
    """Write a table into the folder ``data``."""
    DATA.mkdir(exist_ok=True)
    with (DATA / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    print(f"data/{name}: {len(table['sex']):,} students, of whom {table['recommended'].mean():.0%} are recommended")


def main() -> None:
    """Write this year's students, all of them and those of the town school, with the model's recommendations."""
    people = students(6_000, np.random.default_rng(SEEDS[2]))
    people["recommended"] = train(np.random.default_rng(SEEDS[0])).predict(people)
    in_town = people["school"] == "town"
    write("students.csv", people)
    write("town.csv", {name: column[in_town] for name, column in people.items()})


if __name__ == "__main__":
    main()

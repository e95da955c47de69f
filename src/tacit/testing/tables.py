"""The example tables of the lectures, about invented people, for documentation and tests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExampleTable:
    """Column names and rows of plain values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]

    def column(self, name: str) -> tuple[str | int, ...]:
        """Return the values of one column.

        Example:
            >>> VAPE.column("name")
            ('John', 'Kate', 'David')
        """
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)


SALARY = ExampleTable(
    ("position", "department", "gender", "ethnicity", "salary"),
    (
        ("faculty", "CSE", "female", "SE Asian", 95_000),
        ("faculty", "CSE", "male", "white", 97_000),
        ("faculty", "mathematics", "male", "white", 91_000),
        ("staff", "mathematics", "female", "white", 52_000),
        ("staff", "CSE", "male", "black", 51_000),
    ),
)
"""Rows without names, in which a few public facts still identify a person."""

VAPE = ExampleTable(
    ("name", "vape", "age", "income"),
    (("John", "yes", 18, 1000), ("Kate", "no", 22, 2000), ("David", "yes", 21, 5000)),
)
"""Three people with one sensitive bit each; without David's row it is a neighbouring table."""

RATINGS = ExampleTable(
    ("viewer", "first", "second", "third", "fourth", "fifth"),
    (
        ("User 1", 0, 5, 0, 1, 0),
        ("User 2", 1, 0, 0, 1, 1),
        ("User 3", 0, 4, 0, 0, 0),
    ),
)
"""A matrix of ratings, with 0 for no rating; a few ratings identify their viewer."""

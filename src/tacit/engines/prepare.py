"""Make an ordered copy of a table, where its owner says, by a connection that may write."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.core.dataset import Dataset, OrderedCopy
from tacit.engines.print.copy import dropped, made_from, placed_rows, same_keys
from tacit.errors import InvalidValue

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one statement on the owner's behalf, and gives its rows, if it has any."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many parts of a copy are made, of how many."""

    made: int
    parts: int


@dataclass(frozen=True, slots=True)
class Preparation:
    """How an ordered copy of a dataset is made: of so many parts, under a schema or database.

    Each part holds all rows of some units, so that parts are read side by side; Spark reads one
    so, whose buckets are its parts.

    Example:
        >>> import duckdb
        >>> from tacit.core.column import Column, Kind
        >>> from tacit.core.dataset import Epoch, Limits, Location, UnitColumn
        >>> from tacit.core.schema import Schema
        >>> database = duckdb.connect()
        >>> _ = database.execute("CREATE TABLE visits AS SELECT 1 AS who, 7 AS visit")
        >>> columns = Schema((Column("who", Kind.INTEGER), Column("visit", Kind.INTEGER)))
        >>> visits = Dataset(
        ...     "visits",
        ...     "people",
        ...     columns,
        ...     UnitColumn("who"),
        ...     Limits(1, 1, 1),
        ...     Location("here", ("visits",)),
        ...     Epoch("1"),
        ...     row_key="visit",
        ... )
        >>> run = lambda text: database.execute(text).fetchall()
        >>> making = Preparation(visits, ("main",), dialect="duckdb")
        >>> [step.made for step in making.steps(b"salt", run)]
        [0, 1, 2]
        >>> making.prepared.copy.tables
        (('main', 'tacit_visits_0'), ('main', 'tacit_visits_1'))
    """

    dataset: Dataset
    where: tuple[str, ...]
    dialect: str
    parts: int = 2

    def steps(self, salt: bytes, run: Run) -> Iterator[Progress]:
        """Make the parts, one by one; what was there before under their names is gone.

        Rows of one unit with the same row key are refused, to the owner, whose data it is.
        """
        yield Progress(0, self.parts)
        for part, table in enumerate(self.tables):
            run(dropped(table, self.dialect))
            rows = placed_rows(self.dataset, salt, part, self.parts, self.dialect)
            run(made_from(self.dataset, table, rows, self.dialect))
            [(twice,)] = run(same_keys(self.dataset, table, self.dialect))
            if twice:
                self.drop(run)
                raise InvalidValue(
                    f"{self.dataset.name}.{self.dataset.row_key} does not tell the rows of a "
                    f"unit apart: {twice} of its values are there twice or more. Declare as "
                    "row_key a column that does."
                )
            yield Progress(part + 1, self.parts)

    def drop(self, run: Run) -> None:
        """Drop the copy."""
        for table in self.tables:
            run(dropped(table, self.dialect))

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Where the parts are."""
        return self.copy.tables

    @property
    def copy(self) -> OrderedCopy:
        """The copy, once it is made."""
        return OrderedCopy.of(self.dataset.name, self.where, self.parts, self.dataset.epoch)

    @property
    def prepared(self) -> Dataset:
        """The dataset, with its copy."""
        return replace(self.dataset, copy=self.copy)

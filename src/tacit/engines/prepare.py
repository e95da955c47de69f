"""How a validated copy of a table is made, and how abandoned copies are dropped.

The owner of the table chooses where the copy is stored, and provides a connection that may
write there.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.core import Dataset, PublicTable, ValidatedCopy, keeps_order, kept_unique
from tacit.engines.print.copy_statement import (
    CopiedRows,
    count_out_of_order,
    count_shared_keys,
    count_split_units,
    create_copy,
    create_record,
    drop_table,
    facts_in,
    rows_in,
    tables_in,
    types_of,
)
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.validated_columns import TEXT_BYTES
from tacit.errors import InternalError, InvalidValue

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one statement for the owner and returns the rows of its result, if it has any."""


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """The progress of a copy: the number of parts that are made, and of all parts."""

    made: int
    parts: int
    left: tuple[tuple[str, ...], ...] = ()
    """Tables of the previous copy that could not be dropped; nothing reads them."""
    left_out: int = 0
    """The exact number of rows that the copy leaves out; it is for the owner only."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """The instructions for a validated copy of a table: its place, its parts and its record.

    Each part contains all rows of some units, so that parts can be read in parallel. On Spark a
    copy has one part, whose buckets are read in parallel. A copy is ordered, and read in one
    pass, if the table names its unit and its rows and the rows of a unit are limited.

    The ``mark`` is part of the tables' names. The ``facts`` are written into the record, a
    small table next to the copy: to whom the copy belongs, and of what it is a copy. The
    ``notes`` on who makes it are written there too. The ``linked`` columns are those by which
    rows of other tables find their unit.

    Example:
        >>> import duckdb
        >>> from tacit.core.domain import Column, Kind
        >>> from tacit.core.catalog import Epoch, Limits, Location, UnitColumn
        >>> from tacit.core.domain import Schema
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
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> making = Preparation(visits, ("main",), DUCKDB)
        >>> [step.made for step in making.steps(b"salt", run)]
        [0, 1, 2]
        >>> making.prepared.copy.tables
        (('main', 'tacit_visits_0'), ('main', 'tacit_visits_1'))
    """

    dataset: Dataset | PublicTable
    where: tuple[str, ...]
    dialect: Dialect
    parts: int = 2
    mark: str | None = None
    facts: tuple[str, ...] = ()
    text_bytes: int = TEXT_BYTES
    linked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def steps(self, salt: bytes, run: Run) -> Iterator[CopyProgress]:
        """Make the parts one by one; fail if a table of that name exists.

        The record is written first. If the process is stopped on an engine without
        transactions, the next run then knows to whom the tables belong.

        Guarantee: each row of the copy is a function of the rows of its own unit, a unit is in
        one part, and the rows of an ordered copy are stored in order. The last two are checked
        after the copy is made. Rows of a unit with equal row keys are ordered by their other
        values, and one row is kept of a unit that must have one row, so that the rows of one
        person cannot make the copy fail. Errors are shown to the owner, who may see the data,
        and occur before any question is asked.
        """
        yield CopyProgress(0, self.parts)
        found = run(types_of(self.dataset.location.table, self.dialect))
        types = {name: str(kind) for name, kind, *_ in found}
        rows = CopiedRows(
            self.dataset, types, self.dialect, self.parts, self.text_bytes, self.copy.unique
        )
        if self.facts:
            run(create_record(self.copy.record, (*self.facts, *self.notes), self.dialect))
        for part, table in enumerate(self.tables):
            of_part = rows.part(part, salt)
            for statement in create_copy(self.dataset, table, of_part, self.dialect):
                run(statement)
            self._check_order(table, run)
            yield CopyProgress(part + 1, self.parts)
        if isinstance(self.dataset, Dataset) and self.parts > 1:
            [(twice,)] = run(count_split_units(self.dataset, self.tables, self.dialect))
            self._assert(twice == 0, "a unit is in two parts", run)
        self._check_links(run)

    def _check_order(self, table: tuple[str, ...], run: Run) -> None:
        """Raise an error if the rows of an ordered copy are not stored in order."""
        if not isinstance(self.dataset, Dataset) or not self.ordered:
            return
        if self.dialect.streams_copies:
            [(astray,)] = run(count_out_of_order(self.dataset, table, self.dialect))
            self._assert(astray == 0, "its rows are not stored in order", run)

    def _check_links(self, run: Run) -> None:
        """Refuse a linked key that two units share: linked rows would count for both."""
        if not isinstance(self.dataset, Dataset):
            return
        for key in self.linked:
            if key == self.dataset.unit.column or key in self.copy.unique:
                continue
            [(shared,)] = run(count_shared_keys(self.dataset, key, self.tables, self.dialect))
            if shared:
                self.drop(run)
                raise InvalidValue(
                    f"{self.dataset.name}.{key} has one value in rows of two units, so rows of "
                    "other tables that are linked by it would count for both. Make its values "
                    "unique. If each unit has one row and no other column is linked, you can "
                    "declare one_row = true instead: the copy then leaves such rows out."
                )

    def _assert(self, holds: bool, otherwise: str, run: Run) -> None:  # noqa: FBT001
        if not holds:
            self.drop(run)
            raise InternalError(
                f"The copy of {self.dataset.name!r} was dropped, because {otherwise}."
            )

    def left_out(self, run: Run) -> int:
        """Count the rows that the finished copy leaves out, an exact number for the owner only.

        These are rows without a unit. In a table with one row for each unit, these are also
        all other rows of a unit, and rows whose linked key is in a row of another unit.
        """
        [(found,)] = run(rows_in([self.dataset.location.table], self.dialect))
        kept = sum(int(count) for (count,) in run(rows_in(self.tables, self.dialect)))
        return max(0, int(found) - kept)

    def drop(self, run: Run) -> None:
        """Drop the tables of the copy, and then its record."""
        for table in (*self.tables, self.copy.record):
            run(drop_table(table, self.dialect))

    @property
    def ordered(self) -> bool:
        """Whether the copy has a column with the number of each row among its unit's rows."""
        return isinstance(self.dataset, Dataset) and keeps_order(self.dataset)

    @property
    def _unique(self) -> tuple[str, ...]:
        """The columns of which the copy contains each value in one row."""
        if not isinstance(self.dataset, Dataset):
            return ()
        return kept_unique(self.dataset, self.linked)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The tables of the parts."""
        return self.copy.tables

    @property
    def copy(self) -> ValidatedCopy:
        """The description of the finished copy."""
        named, epoch = self.dataset.name, self.dataset.epoch
        parts = self.parts if isinstance(self.dataset, Dataset) else 1
        made = ValidatedCopy.of(named, self.where, parts, epoch, self.mark)
        return replace(made, ordered=self.ordered, facts=self.facts, unique=self._unique)

    @property
    def prepared(self) -> Dataset | PublicTable:
        """The dataset or public table, with its copy."""
        return replace(self.dataset, copy=self.copy)


# ------------------------------------------------------------------ abandoned copies
# Tables of copies that were never finished.
#
# On an engine without transactions, a process that is killed leaves tables behind. They contain
# people's rows, and nobody reads them. Each run writes the record of its copy first, which says
# who makes a copy of which table. So the next run for the same table and project file finds the
# tables of earlier runs and drops them. Copies of other project files stay, even if these share
# the ledger.

MAKER_LINES = ("table: ", "maker: ")
"""Prefixes of the facts in a record that name the table and the ledger of a copy."""


def drop_abandoned_copies(making: Preparation, run: Run) -> None:
    """Drop the tables of other copies of the same table by the same file and ledger.

    Guarantee: only copies are dropped whose own record says that this project file made them.
    """
    listed = [making.dialect.listed_table(row) for row in run(_listing(making))]
    whose = {fact for fact in making.facts if fact.startswith(MAKER_LINES)} | set(making.notes)
    for record in _records(making.copy, map(str, listed)):
        written = {
            str(fact) for (fact,) in run(facts_in((*making.where, record), making.dialect))
        }
        if making.notes and whose <= written:
            _drop(making, record, run, listed)


def _listing(making: Preparation) -> str:
    return tables_in(making.where, making.dialect)


def _records(copy: ValidatedCopy, listed: Iterable[str]) -> list[str]:
    """Return the records of other copies of this table and ledger, by their names alone."""
    mine = copy.record[-1]
    known = re.fullmatch(r"(tacit_.+_)[0-9a-f]{8}([0-9a-f]{8})[0-9a-f]{12}", mine)
    if known is None:
        return []
    stem, order = map(re.escape, known.groups())
    form = re.compile(f"{stem}[0-9a-f]{{8}}{order}[0-9a-f]{{12}}")
    return [name for name in listed if form.fullmatch(name) and name != mine]


def _drop(making: Preparation, record: str, run: Run, listed: Iterable[str]) -> None:
    """Drop the parts of a copy, and then its record."""
    parts = [name for name in listed if re.fullmatch(re.escape(record) + r"_\d+", name)]
    for name in (*parts, record):
        run(drop_table((*making.where, name), making.dialect))

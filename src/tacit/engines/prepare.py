"""Make a validated copy of a table, where its owner says, by a connection that may write."""

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
"""Runs one statement on the owner's behalf, and gives its rows, if it has any."""


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """How many parts of a copy are made, of how many."""

    made: int
    parts: int
    left: tuple[tuple[str, ...], ...] = ()
    """Tables of the copy before, which could not be dropped; nothing reads them."""
    left_out: int = 0
    """Rows of the table that its copy does not hold: an exact number, for the owner alone."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """How a validated copy of a table is made: of so many parts, under a schema or database.

    Each part holds all rows of some units, so that parts are read side by side; Spark reads one
    so, whose buckets are its parts. A copy of a table that names its unit and its rows, and of
    which a few rows of a unit are looked at, is ordered, and read in one pass.

    The ``mark`` is part of the tables' names, and the ``facts`` are written into a table beside
    them: whose copy it is, and of what; and so are ``notes`` on who makes it. By the ``linked``
    columns rows of other tables find their unit.

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
        """Make the parts, one by one, under names that nothing has; else this fails.

        What is written beside the copy comes first: where an engine has no transactions, and
        the making is ended in the midst of it, the next one finds whose tables these are.

        Guarantee: each row of the copy follows from the rows of its own unit alone, a unit is
        in one part, and the rows of an ordered copy lie in order: all of this was looked at
        when it was made. Rows of a unit that its row key does not tell apart are ordered by
        their other values, and of a unit that has one row one is kept, so that nobody's own
        rows stop the copy. What fails here fails before the owner, whose data it is, and before
        anything is asked.
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
            self._assert(twice == 0, "a unit is in two of its parts", run)
        self._check_links(run)

    def _check_order(self, table: tuple[str, ...], run: Run) -> None:
        """Refuse rows that are out of their place."""
        if not isinstance(self.dataset, Dataset) or not self.ordered:
            return
        if self.dialect.streams_copies:
            [(astray,)] = run(count_out_of_order(self.dataset, table, self.dialect))
            self._assert(astray == 0, "its rows do not lie in order", run)

    def _check_links(self, run: Run) -> None:
        """Refuse keys of two units by which rows of other tables would count for both."""
        if not isinstance(self.dataset, Dataset):
            return
        for key in self.linked:
            if key == self.dataset.unit.column or key in self.copy.unique:
                continue
            [(shared,)] = run(count_shared_keys(self.dataset, key, self.tables, self.dialect))
            if shared:
                self.drop(run)
                raise InvalidValue(
                    f"{self.dataset.name}.{key} holds one value in rows of two units, and rows "
                    "of other tables that are linked by it would count for both. Make its "
                    "values unique; or declare one_row = true, where each unit has one row and "
                    "no other column is linked: the copy then leaves such rows out."
                )

    def _assert(self, holds: bool, otherwise: str, run: Run) -> None:  # noqa: FBT001
        if not holds:
            self.drop(run)
            raise InternalError(f"The copy of {self.dataset.name!r} is not used: {otherwise}.")

    def left_out(self, run: Run) -> int:
        """Count the rows that the copy leaves out, once it is made; their owner alone is told.

        These are rows that name no unit; and of a table with one row for each unit all but
        one of theirs, and those whose linked key a row of another unit holds.
        """
        [(found,)] = run(rows_in([self.dataset.location.table], self.dialect))
        kept = sum(int(count) for (count,) in run(rows_in(self.tables, self.dialect)))
        return max(0, int(found) - kept)

    def drop(self, run: Run) -> None:
        """Drop the copy, and at last what is written of it."""
        for table in (*self.tables, self.copy.record):
            run(drop_table(table, self.dialect))

    @property
    def ordered(self) -> bool:
        """Whether the copy says which of its unit's rows each row is."""
        return isinstance(self.dataset, Dataset) and keeps_order(self.dataset)

    @property
    def _unique(self) -> tuple[str, ...]:
        """The columns of which the copy holds each value in one row."""
        if not isinstance(self.dataset, Dataset):
            return ()
        return kept_unique(self.dataset, self.linked)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Where the parts are."""
        return self.copy.tables

    @property
    def copy(self) -> ValidatedCopy:
        """The copy, once it is made."""
        named, epoch = self.dataset.name, self.dataset.epoch
        parts = self.parts if isinstance(self.dataset, Dataset) else 1
        made = ValidatedCopy.of(named, self.where, parts, epoch, self.mark)
        return replace(made, ordered=self.ordered, facts=self.facts, unique=self._unique)

    @property
    def prepared(self) -> Dataset | PublicTable:
        """The table, with its copy."""
        return replace(self.dataset, copy=self.copy)


# ------------------------------------------------------------------ left copies
# Tables that are left of copies whose making was ended in the midst of it.
#
# Where an engine has no transactions, a process that is killed leaves tables behind. They
# hold people's rows, and nobody reads them. A making writes first who makes what, into a
# table beside the copy; so the next making of the same table by the same project file knows
# which tables are its own, and drops them. Copies of other project files stay, also where
# these share the ledger.

MAKER_LINES = ("table: ", "maker: ")
"""How the lines beside a copy begin that say of which table it is, and by which ledger."""


def drop_abandoned_copies(making: Preparation, run: Run) -> None:
    """Drop the tables of other makings of the same table by the same file and ledger.

    Guarantee: what is dropped has a record of its own, which says that this file made it.
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
    """Names of records beside other copies of the same name and ledger, by their form alone."""
    mine = copy.record[-1]
    known = re.fullmatch(r"(tacit_.+_)[0-9a-f]{8}([0-9a-f]{8})[0-9a-f]{12}", mine)
    if known is None:
        return []
    stem, order = map(re.escape, known.groups())
    form = re.compile(f"{stem}[0-9a-f]{{8}}{order}[0-9a-f]{{12}}")
    return [name for name in listed if form.fullmatch(name) and name != mine]


def _drop(making: Preparation, record: str, run: Run, listed: Iterable[str]) -> None:
    """Drop the parts of a making, and its record at last."""
    parts = [name for name in listed if re.fullmatch(re.escape(record) + r"_\d+", name)]
    for name in (*parts, record):
        run(drop_table((*making.where, name), making.dialect))

"""Whether the copies of a catalogue are what they are said to be; no person's row is read."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, ValidatedCopy
from tacit.core.public_table import PublicTable
from tacit.engines.physical_types import Types, check_types
from tacit.engines.print.bounded_rows import with_table
from tacit.engines.print.copy import facts_in
from tacit.engines.print.join import columns
from tacit.engines.print.sql_dialect import Dialect
from tacit.errors import CopyMissing, InvalidValue

NOTES = ("made: ", "file: ")
"""How lines about the making of a copy begin, which need not be known to whoever reads it."""

Look = Callable[[str], Sequence[str]]
"""Runs a statement that finds no row, and gives the types of its columns."""


Gone = type[Exception] | tuple[type[Exception], ...]
"""What an engine raises where a name of a statement stands for nothing, before any row."""

TABLE_GONE = "A table of this question is not here, or may not be read."

Read = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement about the table beside a copy, which holds no row of a person."""


def check_copies(  # noqa: PLR0913, PLR0917 - a catalogue, and what an engine knows of itself
    catalog: Catalog,
    dialect: Dialect,
    look: Look,
    types: Types,
    failure: type[Exception],
    read: Read | None = None,
) -> tuple[Dataset | PublicTable, ...]:
    """Refuse a copy that is not there, or of something else, before a question is paid for.

    What was found is given as tables of their own, each table of a copy one.
    """
    found: list[Dataset | PublicTable] = []
    for table in catalog.tables:
        if table.copy is None:
            continue
        try:
            if table.copy.facts and read is not None:
                _check_record(table.copy, read, dialect)
            for part in _parts(catalog, table, table.copy):
                seen = look(columns(table.name, part, dialect))
                placed = part.table(table.name)
                check_types(placed, dict(zip(placed.schema.names, seen, strict=True)), types)
                found.append(placed)
        except (failure, InvalidValue) as error:
            raise CopyMissing(
                f"The copy of {table.name!r} is not here with the columns declared, is a copy "
                "of something else, or its role may not read it; make it anew: "
                f"tacit prepare {table.name}"
            ) from error
    return tuple(found)


def resolve(
    catalog: Catalog, names: Collection[str], dialect: Dialect, look: Look, gone: Gone
) -> bool:
    """Whether the tables of ``names``, or their copies, are there with the columns declared.

    Only where a look fails as ``gone`` one of them is not. No row is read.
    """
    for table in catalog.tables:
        if table.name in names:
            parts = [catalog] if table.copy is None else _parts(catalog, table, table.copy)
            try:
                for part in parts:
                    look(columns(table.name, part, dialect))
            except gone:
                return False
    return True


def in_place(catalog: Catalog) -> tuple[Dataset | PublicTable, ...]:
    """The tables that are read where they are, because they have no copy."""
    return tuple(table for table in catalog.tables if table.copy is None)


def _check_record(copy: ValidatedCopy, read: Read, dialect: Dialect) -> None:
    written = [str(fact) for (fact,) in read(facts_in(copy.record, dialect))]
    known = sorted(each for each in written if each in copy.facts or not each.startswith(NOTES))
    if known != sorted(copy.facts):
        raise InvalidValue("It is the copy of another table, unit, epoch or maker.")


def _parts(
    catalog: Catalog, table: Dataset | PublicTable, copy: ValidatedCopy
) -> list[Catalog]:
    """The catalogue with each part of a copy in place of its table."""
    if copy.ordered:
        return [with_table(catalog, table.name, part) for part in copy.tables]
    return [
        catalog.with_tables(
            replace(table, location=replace(table.location, table=part), copy=None)
        )
        for part in copy.tables
    ]

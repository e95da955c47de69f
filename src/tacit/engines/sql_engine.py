"""The code that engines over SQL share: to ask, to check copies and lookups, to rehearse.

A question is answered from a prepared copy if one has the needed order, and from the table
otherwise. Each engine passes functions that run one statement, so that drivers stay in the
modules of their engines.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

from tacit import core
from tacit.engines.engine import SecretTable, wrap_result
from tacit.engines.print.bounded_rows import with_table
from tacit.engines.print.copy_statement import facts_in
from tacit.engines.print.ranking import RowContext, copy_to_read, row_by_row
from tacit.engines.print.relation import columns, most_rows
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.statement import row_statement
from tacit.engines.print.statement_template import fill_statement
from tacit.engines.storage_rules import Types, check_types
from tacit.engines.unit_rows import UnitRows
from tacit.errors import CopyMissing, InvalidValue
from tacit.plan import BoundedPlan, one_row

ResultRows = Sequence[Sequence[Any]]
RunStatement = Callable[[str], ResultRows]
"""Runs one statement and returns all rows of its result."""

RunInParts = Callable[[str], Iterator[ResultRows]]
"""Runs one statement and returns the rows of its result in order, part by part."""

statement = lru_cache(maxsize=256)(fill_statement)
"""Return the statement of a question. It depends on public facts and the salt: cached."""


def ask(  # noqa: PLR0913 - a question, its data, and two ways to run it
    plan: BoundedPlan,
    catalog: core.Catalog,
    salt: bytes,
    dialect: Dialect,
    run: RunStatement,
    *,
    run_in_order: RunStatement | None = None,
) -> SecretTable:
    """Return the secret answer to ``plan``.

    A statement that relies on the stored order of a copy is run by ``run_in_order``, if given.

    Guarantee: the result of such a statement is used only if the same scan found every row of
    the copy in its place. Otherwise the copy is read as an unordered table, with the same
    answer.
    """
    text = statement(plan, catalog, salt, dialect)
    if not RowContext(plan, catalog, salt, dialect).streamed:
        return wrap_result(plan, run(text))
    found = (run_in_order or run)(text)
    if any(broken for *_, broken in found):
        return wrap_result(plan, run(statement(plan, catalog, salt, dialect, use_copy=False)))
    return wrap_result(plan, [row[:-1] for row in found])


def ask_rows(
    plan: BoundedPlan, catalog: core.Catalog, salt: bytes, dialect: Dialect, run: RunInParts
) -> core.Secret[UnitRows]:
    """Return the secret rows that ``plan`` keeps, however many there are."""
    rows = UnitRows(len(plan.tallies))
    for part in run(row_statement(plan, catalog, salt, dialect)):
        if part:
            units, *columns = zip(*part, strict=True)
            rows.add(units, columns)
    return core.Secret(rows)


# ------------------------------------------------------------------ copies
# Checks that the copies of a catalogue exist and are copies of the declared tables. They read
# the record of a copy and the types of its columns, and no person's row.

NOTES = ("made: ", "file: ")
"""Prefixes of notes about how a copy was made; a reader of the copy need not know them."""

DescribeColumns = Callable[[str], Sequence[str]]
"""Runs a statement that returns no row, and returns the types of its columns."""


MissingErrors = type[Exception] | tuple[type[Exception], ...]
"""The errors of an engine for a name that does not exist; they come before any row is read."""

TABLE_GONE = "A table of this question does not exist any more, or may not be read."

ReadRecord = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement about the record of a copy, which contains no row of a person."""


def check_copies(  # noqa: PLR0913, PLR0917 - a catalogue, and facts of an engine
    catalog: core.Catalog,
    dialect: Dialect,
    look: DescribeColumns,
    types: Types,
    failure: type[Exception],
    read: ReadRecord | None = None,
) -> tuple[core.Dataset | core.PublicTable, ...]:
    """Raise `CopyMissing` for a copy that does not exist or is a copy of something else.

    Return the tables of all copies, each as a table of its own. This is called before a
    question is paid for.
    """
    found: list[core.Dataset | core.PublicTable] = []
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
                f"The copy of {table.name!r} does not exist with the declared columns, is a "
                "copy of something else, or may not be read by Tacit's role. Make it again: "
                f"run `tacit prepare {table.name}`."
            ) from error
    return tuple(found)


def resolve(
    catalog: core.Catalog,
    names: Collection[str],
    dialect: Dialect,
    look: DescribeColumns,
    gone: MissingErrors,
) -> bool:
    """Return whether the tables of ``names``, or their copies, have the declared columns.

    The result is False only if a statement fails by one of the errors ``gone``. No row is read.
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


def in_place(catalog: core.Catalog) -> tuple[core.Dataset | core.PublicTable, ...]:
    """Return the tables that are read in place, because they have no copy."""
    return tuple(table for table in catalog.tables if table.copy is None)


def _check_record(copy: core.ValidatedCopy, read: ReadRecord, dialect: Dialect) -> None:
    written = [str(fact) for (fact,) in read(facts_in(copy.record, dialect))]
    known = sorted(each for each in written if each in copy.facts or not each.startswith(NOTES))
    if known != sorted(copy.facts):
        raise InvalidValue(
            "The record of the copy names another table, unit, epoch or maker, so it is a copy "
            "of something else. Make the copy again: tacit prepare"
        )


def _parts(
    catalog: core.Catalog, table: core.Dataset | core.PublicTable, copy: core.ValidatedCopy
) -> list[core.Catalog]:
    """Return one catalogue for each part of a copy, with the part in place of the table."""
    if copy.ordered:
        return [with_table(catalog, table.name, part) for part in copy.tables]
    return [
        catalog.with_tables(
            replace(
                table,
                location=replace(table.location, table=part),
                schema=table.schema.copied,
                copy=None,
            )
        )
        for part in copy.tables
    ]


# ------------------------------------------------------------------ explain
# A sentence that describes how a question is executed. It depends on public facts only, like
# the choice itself.


def describe_execution(plan: BoundedPlan, catalog: core.Catalog) -> str:
    """Return how ``plan`` is executed, and what would make it faster."""
    source, name = plan.source, plan.source.dataset
    if one_row(source, catalog):
        had = "Each unit has one row"
        if source.gathered:
            had = "The rows of each unit are aggregated to one row"
        return f"{had}, so there is nothing to bound."
    by_row = row_by_row(plan, catalog)
    copy = copy_to_read(plan, catalog)
    if copy is not None:
        how = "row by row" if by_row else "and grouped by unit"
        return f"The ordered copy of epoch {copy.epoch.label} is read {how}."
    alone = not (source.gathered or source.beside or source.semis)
    owned = isinstance(catalog.dataset(name).unit, core.UnitColumn)
    if plan.max_rows_in_all is None:
        more = f"Declare max_rows_in_all of {name}, so that a copy can be read"
        how = "Rows are grouped by unit first"
    else:
        more = f"Run `tacit prepare {name}` to read a copy in one pass instead"
        how = "A window function bounds the rows of each unit"
        how += "" if by_row else ", and rows are then grouped by unit"
    if not (alone and owned):
        more = "Copies are read for questions about one table that names its unit"
    return f"{how}. {more}."


# ------------------------------------------------------------------ listing
# The names of the tables of a database; no row is read.

TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables"
    " WHERE table_catalog = current_database()"
    " AND table_schema NOT IN ('information_schema', 'pg_catalog')"
)
"""A statement that DuckDB and PostgreSQL both accept."""

USUAL = {"main", "public"}
"""The default schemas. The name of a table in one of them is shown without its schema."""


def table_names(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return the names of tables in order; a schema is named unless it is a default one.

    Copies that `tacit prepare` made are left out, because their tables are listed themselves.

    Example:
        >>> table_names([("public", "visits"), ("ward", "beds"), ("main", "tacit_visits_0")])
        (('visits',), ('ward', 'beds'))
    """
    return tuple(
        (table,) if schema in USUAL else (schema, table)
        for schema, table in sorted(rows)
        if not core.is_copy(table)
    )


# ------------------------------------------------------------------ lookups
# A check of public tables: a value of a lookup column may be in as many rows as declared.

ReadPublic = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement about public tables and returns the rows of its result."""


def check_lookups(catalog: core.Catalog, dialect: Dialect, find: ReadPublic) -> None:
    """Refuse a public table in which a lookup value is in more rows than ``fan_out`` allows.

    The table is public, so its rows may be counted before any charge, and the count may be
    reported. Statements apply the declared limit in any case (`tacit.engines.print.relation`);
    without this check, an answer would silently leave out the rows above it.
    """
    for table in catalog.public:
        for column in table.lookup:
            [(most,)] = find(most_rows(table.name, column, catalog, dialect))
            if int(most) > table.fan_out:
                raise InvalidValue(
                    f"{table.name}.{column} has the same value in {most} rows, but a join may "
                    f"match at most {table.fan_out} of them. Make the values unique, or "
                    f"declare [public.{table.name}] fan_out = "
                    f"{min(int(most), core.MOST_FAN_OUT)}; the largest allowed value is "
                    f"{core.MOST_FAN_OUT}."
                )


# ------------------------------------------------------------------ rehearsal
# Before a question is charged, the engine parses or plans its statements. A statement that it
# cannot run is then refused without a charge. Each statement is checked once.

MOST = 4096
"""The number of statements that a cache remembers."""


class RehearsalCache:
    """A cache of statements that an engine was found to be able to run; the newest are kept."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def once(self, name: bytes, attempt: Callable[[], object]) -> None:
        """Call ``attempt`` unless ``name`` is known, and remember ``name`` if it succeeds."""
        if name in self._known:
            return
        attempt()
        self._known[name] = None
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def each(self, texts: Sequence[str], attempt: Callable[[str], object]) -> None:
        """Call ``attempt`` for each statement that is not known, and remember those."""
        for text in texts:
            self.once(sha256(text.encode()).digest(), partial(attempt, text))


def statements(
    plan: BoundedPlan, catalog: core.Catalog, salt: bytes, dialect: Dialect, *, rows: bool
) -> tuple[str, ...]:
    """Return all statements that `ask` may run for ``plan``, or `ask_rows` for ``rows``."""
    if rows:
        return (row_statement(plan, catalog, salt, dialect),)
    text = statement(plan, catalog, salt, dialect)
    if not RowContext(plan, catalog, salt, dialect).streamed:
        return (text,)
    return text, statement(plan, catalog, salt, dialect, use_copy=False)


def cannot_run(plan: BoundedPlan) -> InvalidValue:
    """Return the error for a plan that an engine cannot run; it names public sizes only."""
    return InvalidValue(
        f"This engine cannot run a question of {len(plan.tallies)} sums over "
        f"{len(plan.keys)} keys, whatever the rows are. Nothing was charged. Ask for fewer "
        "columns, or fit fewer features."
    )

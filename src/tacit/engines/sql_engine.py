"""Ask an engine a bounded question, of an ordered copy where one lies in order."""

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
from tacit.engines.print.statement import question, row_statement
from tacit.engines.storage_rules import Types, check_types
from tacit.engines.unit_rows import UnitRows
from tacit.errors import CopyMissing, InvalidValue
from tacit.plan import BoundedPlan, one_row

ResultRows = Sequence[Sequence[Any]]
RunStatement = Callable[[str], ResultRows]
"""Runs one statement, and gives all its rows."""

RunInParts = Callable[[str], Iterator[ResultRows]]
"""Runs one statement, and gives its rows in their order, part by part."""

statement = lru_cache(maxsize=256)(question)
"""The text of a question, made of public facts and the salt: kept for whoever asks again."""


def ask(  # noqa: PLR0913 - a question, what it is about, and two ways to run it
    plan: BoundedPlan,
    catalog: core.Catalog,
    salt: bytes,
    dialect: Dialect,
    run: RunStatement,
    *,
    run_in_order: RunStatement | None = None,
) -> SecretTable:
    """The secret answer to ``plan``; a copy is read by ``run_in_order``, where that is another.

    Guarantee: what is read from a copy as it lies is used only where the same scan found every
    row in its place; else the table is asked, with the same answer.
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
    """The secret rows that ``plan`` keeps, however many there are."""
    rows = UnitRows(len(plan.tallies))
    for part in run(row_statement(plan, catalog, salt, dialect)):
        if part:
            units, *columns = zip(*part, strict=True)
            rows.add(units, columns)
    return core.Secret(rows)


# ------------------------------------------------------------------ copies
# Whether the copies of a catalogue are what they are said to be; no person's row is read.

NOTES = ("made: ", "file: ")
"""How lines about the making of a copy begin, which need not be known to whoever reads it."""

DescribeColumns = Callable[[str], Sequence[str]]
"""Runs a statement that finds no row, and gives the types of its columns."""


MissingErrors = type[Exception] | tuple[type[Exception], ...]
"""What an engine raises where a name of a statement stands for nothing, before any row."""

TABLE_GONE = "A table of this question is not here, or may not be read."

ReadRecord = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement about the table beside a copy, which holds no row of a person."""


def check_copies(  # noqa: PLR0913, PLR0917 - a catalogue, and what an engine knows of itself
    catalog: core.Catalog,
    dialect: Dialect,
    look: DescribeColumns,
    types: Types,
    failure: type[Exception],
    read: ReadRecord | None = None,
) -> tuple[core.Dataset | core.PublicTable, ...]:
    """Refuse a copy that is not there, or of something else, before a question is paid for.

    What was found is given as tables of their own, each table of a copy one.
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
                f"The copy of {table.name!r} is not here with the columns declared, is a copy "
                "of something else, or its role may not read it; make it anew: "
                f"tacit prepare {table.name}"
            ) from error
    return tuple(found)


def resolve(
    catalog: core.Catalog,
    names: Collection[str],
    dialect: Dialect,
    look: DescribeColumns,
    gone: MissingErrors,
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


def in_place(catalog: core.Catalog) -> tuple[core.Dataset | core.PublicTable, ...]:
    """The tables that are read where they are, because they have no copy."""
    return tuple(table for table in catalog.tables if table.copy is None)


def _check_record(copy: core.ValidatedCopy, read: ReadRecord, dialect: Dialect) -> None:
    written = [str(fact) for (fact,) in read(facts_in(copy.record, dialect))]
    known = sorted(each for each in written if each in copy.facts or not each.startswith(NOTES))
    if known != sorted(copy.facts):
        raise InvalidValue("It is the copy of another table, unit, epoch or maker.")


def _parts(
    catalog: core.Catalog, table: core.Dataset | core.PublicTable, copy: core.ValidatedCopy
) -> list[core.Catalog]:
    """The catalogue with each part of a copy in place of its table."""
    if copy.ordered:
        return [with_table(catalog, table.name, part) for part in copy.tables]
    return [
        catalog.with_tables(
            replace(table, location=replace(table.location, table=part), copy=None)
        )
        for part in copy.tables
    ]


# ------------------------------------------------------------------ explain
# How a question is answered, in a sentence: from public facts, like the choice itself.


def describe_execution(plan: BoundedPlan, catalog: core.Catalog) -> str:
    """Which form answers ``plan``, and what would make it faster."""
    source, name = plan.source, plan.source.dataset
    if one_row(source, catalog):
        had = "Each unit has one row"
        if source.gathered:
            had = "The rows of each unit are gathered into one"
        return f"{had}; nothing is bounded."
    by_row = row_by_row(plan, catalog)
    copy = copy_to_read(plan, catalog)
    if copy is not None:
        how = "Row by row" if by_row else "Rows grouped by unit,"
        return f"{how} from the ordered copy of epoch {copy.epoch.label}."
    alone = not (source.gathered or source.beside)
    owned = isinstance(catalog.dataset(name).unit, core.UnitColumn)
    if plan.max_rows_in_all is None:
        more = f"max_rows_in_all of {name} would let a copy be read"
        how = "Rows grouped by unit first"
    else:
        more = f"tacit prepare {name} would make it a pass"
        how = "A window over the table" + ("" if by_row else ", then rows grouped by unit")
    if not (alone and owned):
        more = "a copy is read where a question asks one table that names its unit"
    return f"{how}; {more}."


# ------------------------------------------------------------------ listing
# Which tables a database has: names, and nothing of what is in them.

TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables"
    " WHERE table_catalog = current_database()"
    " AND table_schema NOT IN ('information_schema', 'pg_catalog')"
)
"""Understood by DuckDB and PostgreSQL alike."""

USUAL = {"main", "public"}
"""Schemas that a name is looked for in where none is named."""


def table_names(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """The tables in order, each by its name, and by its schema where that is not the usual one.

    Copies that `tacit prepare` made are left out: they hold the rows of tables that are there.

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
# Whether public tables are joined as declared: each value of a lookup column in few rows.

ReadPublic = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement about public tables, and gives its rows."""


def check_lookups(catalog: core.Catalog, dialect: Dialect, find: ReadPublic) -> None:
    """Refuse a public table whose lookup columns hold a value in more rows than is declared.

    The table is public, so its rows may be counted before any charge, and the count be told.
    Statements keep to the declared number in any case (`tacit.engines.print.relation`); without
    this check an answer would leave out the rows beyond it, and say nothing.
    """
    for table in catalog.public:
        for column in table.lookup:
            [(most,)] = find(most_rows(table.name, column, catalog, dialect))
            if int(most) > table.fan_out:
                raise InvalidValue(
                    f"{table.name}.{column} holds one value in {most} rows, and a join by it "
                    f"puts at most {table.fan_out} beside a row. Make its values unique, or "
                    f"declare [public.{table.name}] fan_out = "
                    f"{min(int(most), core.MOST_FAN_OUT)}; {core.MOST_FAN_OUT} is the most."
                )


# ------------------------------------------------------------------ rehearsed
# Statements that an engine is asked to read before anybody pays for them, each once.

MOST = 4096
"""Statements that are remembered."""


class RehearsalCache:
    """What was found to be possible, each tried once; the latest are remembered."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def once(self, name: bytes, attempt: Callable[[], object]) -> None:
        """Let ``attempt`` try what is not known by its ``name``; what raises stays unknown."""
        if name in self._known:
            return
        attempt()
        self._known[name] = None
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def each(self, texts: Sequence[str], attempt: Callable[[str], object]) -> None:
        """The same for statements, by their texts."""
        for text in texts:
            self.once(sha256(text.encode()).digest(), partial(attempt, text))


def statements(
    plan: BoundedPlan, catalog: core.Catalog, salt: bytes, dialect: Dialect, *, rows: bool
) -> tuple[str, ...]:
    """All statements that `ask` may run for ``plan``, or `ask_rows` where it asks for rows."""
    if rows:
        return (row_statement(plan, catalog, salt, dialect),)
    text = statement(plan, catalog, salt, dialect)
    if not RowContext(plan, catalog, salt, dialect).streamed:
        return (text,)
    return text, statement(plan, catalog, salt, dialect, use_copy=False)


def cannot_run(plan: BoundedPlan) -> InvalidValue:
    """Why a plan is refused that an engine cannot run, by its public size alone."""
    return InvalidValue(
        f"This engine cannot run a question of {len(plan.tallies)} sums over "
        f"{len(plan.keys)} keys, whatever the rows are; ask for fewer columns, or fit fewer "
        "features. Nothing was charged."
    )

"""Sessions over one table: its declarations are arguments of `open_session`.

The first functions turn these arguments into the values of `tacit.core`.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import date
from getpass import getuser
from pathlib import Path
from typing import cast

from tacit import core
from tacit.accounting import budget_within
from tacit.engines import MEMBERS, CheckedEngine, OpenRequest
from tacit.engines.duckdb_files import open_frame
from tacit.engines.registry import engine_spec, spec_for
from tacit.errors import Conflict, InvalidValue, StoreFailed, UnknownName
from tacit.extras import maker_of
from tacit.ledger import MOMENTARY, CatalogDeclarations, Declaration, Ledger, Numbered, Units
from tacit.numeric import Number, exact
from tacit.project import facts_of
from tacit.session.curator import FOLDER, Curator, LedgerFolder
from tacit.session.session import Session
from tacit.session.table_checks import check_computed, facts_about, tables_of, unit_in

Ends = core.Bounds | tuple[Number, Number] | tuple[date, date]
"""Bounds, or their two ends."""

Values = core.Keys | Iterable[core.Key]
"""Keys, or their values in order."""


def population_of(name: str | core.Population) -> core.Population:
    """Return the population with this name, whose unit is one person (add or remove)."""
    return (
        name
        if isinstance(name, core.Population)
        else core.Population(name, core.PrivacyUnit("person"))
    )


def bounds_of(ends: Ends) -> core.Bounds:
    """Return bounds from two numbers or two days."""
    if isinstance(ends, core.Bounds):
        return ends
    lower, upper = ends
    if isinstance(lower, date) and isinstance(upper, date):
        return core.Bounds.days(lower, upper)
    return core.Bounds.of(cast("Number", lower), cast("Number", upper))


def schema_of(
    found: tuple[core.Column, ...], bounds: Mapping[str, Ends], keys: Mapping[str, Values]
) -> core.Schema:
    """Return the schema of a table, with the public bounds and keys of its columns."""
    schema = core.Schema(found)
    for name in (*bounds, *keys):
        if name not in schema:
            raise UnknownName(
                f"There is no column {name!r} that can be asked about. The columns are: "
                f"{', '.join(schema.names)}. Columns of other types are left out, such as "
                "decimals with more than 20 digits before the point or 18 after it: convert "
                "them first."
            )
    return core.Schema(tuple(_with_known_values(column, bounds, keys) for column in found))


def _with_known_values(
    column: core.Column, bounds: Mapping[str, Ends], keys: Mapping[str, Values]
) -> core.Column:
    name = column.name
    if name in bounds:
        column = replace(column, bounds=bounds_of(bounds[name]))
    if name in keys:
        given = keys[name]
        if isinstance(given, str):
            raise InvalidValue(
                f"The keys of {name!r} must be a list of values, and one text was given."
            )
        column = replace(
            column, keys=given if isinstance(given, core.Keys) else core.Keys(tuple(given))
        )
    return column


# ------------------------------------------------------------------ open
# Open: one table in an engine, its declarations, and a ledger in a folder.

ENGINE = "here"
"""The name of the engine of a session over one table, which has only this one."""

ATTEMPTS = 10
"""How often a declaration is tried if other sessions write to the ledger at the same time."""

TABLE = "data"
"""The default table name of a data frame."""


def open_session(  # noqa: PLR0913 - each is a public fact that somebody has to state
    source: object = None,
    *,
    engine: CheckedEngine | str | None = None,
    population: str | core.Population,
    unit: str,
    max_groups: int,
    max_rows: int,
    bounds: Mapping[str, Ends] | None = None,
    keys: Mapping[str, Values] | None = None,
    budget: core.Budget | tuple[Number, Number] | None = None,
    table: str | None = None,
    epoch: str = "1",
    one_row: bool = False,
    row_key: str | None = None,
    max_rows_in_all: int | None = None,
    max_length: Number | None = None,
    most_rows: tuple[int, str] | None = None,
    profile: core.RowsProfile | None = None,
    min_people: int | None = None,
    folder: str | Path = FOLDER,
    principal: str | None = None,
) -> Session:
    """Open a session over one table, with its ledger in ``folder``.

    Args:
        source: a pandas, Polars or Arrow table, which is copied; or the path of a ``.parquet``
            file or of a ``.duckdb`` database; or the address of a PostgreSQL database.
        engine: an open engine instead of a source (the session closes it); or the kind of
            engine that ``source`` is an address of, with the word of the project file. The
            guarantee names an engine that is not part of Tacit.
        population: the people that the table is about. Tables about the same people must have
            the same name and folder here, and so share one budget.
        unit: the column that identifies the person to whom a row belongs.
        max_groups: the most groups of an answer in which one person counts.
        max_rows: the most rows of one person that count in a group.
        bounds: the public clamping bounds of numbers and days, by column.
        keys: the public values of columns, in the order in which groups are shown.
        budget: the total (epsilon, delta) of everything that is ever released. The first
            session sets it, and later sessions may leave it out.
        table: the table in a database, or the name for the rows of a data frame.
        epoch: the state of the data. Under a new epoch, questions are answered and charged
            again.
        one_row: each person has one row, so that no rows need to be limited. The guarantee
            states this assumption.
        row_key: the column that distinguishes the rows of one person.
        max_rows_in_all: the most rows of one person that are read in all; up to 4 is fast.
        max_length: the most length of the numbers of a person's rows by group, as a vector;
            with it, questions by group have less noise.
        most_rows: the most rows that anybody can have, and the public fact from which that is
            known, such as ``(12, "one visit a month")``. Without it, intervals are open where
            rows above the limits are missing.
        profile: how many people have more rows than a limit, as ``session.profile`` has
            measured it for this epoch. Answers then say of how many people rows are cut.
        min_people: the least number of people in a cell of an answer. A cell is left empty
            unless a noisy count of its people, which is part of the price, is large enough.
        folder: the folder of the ledger.
        principal: the name of the analyst; by default the user of this machine.

    Guarantee: until a question is charged, only the types of columns are read, and no row. The
    exception is a data frame, which is copied.
    """
    people, analyst = population_of(population), principal or getuser()
    with ExitStack() as closing:
        held, where = _engine(source, engine, table)
        closing.callback(held.close)
        dataset = core.Dataset(
            where[-1],
            people.name,
            schema_of(held.columns(where), bounds or {}, keys or {}),
            core.UnitColumn(unit, one_row),
            core.Limits(
                max_groups,
                max_rows,
                max_rows_in_all,
                None if max_length is None else exact(max_length),
            ),
            core.Location(ENGINE, where, maker_of(held)),
            core.Epoch(epoch),
            row_key,
            most_rows=_most_rows(most_rows),
            profile=profile,
            min_people=min_people,
        )
        home = LedgerFolder.at(Path(folder))
        closing.callback(home.store.close)
        catalog = core.Catalog((people,), (dataset,))
        spec = spec_for(source)
        if isinstance(source, str | Path) and (spec is None or spec.address.in_place):
            check_computed(catalog, {ENGINE: held})
        # missing tables and other column types are refused before anything is recorded
        Curator(catalog, {ENGINE: held}, home, analyst)
        tables = tables_of(catalog, {ENGINE: held})[dataset.name].all
        declarations = settle(home.ledger, catalog, tables, budget, analyst)
        curator = Curator(catalog, {ENGINE: held}, home.under(declarations), analyst)
        closing.pop_all()
    return Session(curator)


def _most_rows(given: object) -> core.PublicMost | None:
    """Read a number and its source; refuse a number without one."""
    match given:
        case None:
            return None
        case (int() as rows, str() as source):
            return core.PublicMost(rows, source)
    raise InvalidValue(
        'Give most_rows as a number and its source, as in (12, "one visit a month").'
    )


def settle(
    ledger: Ledger,
    catalog: core.Catalog,
    tables: tuple[str, ...],
    budget: core.Budget | tuple[Number, Number] | None,
    analyst: str,
) -> CatalogDeclarations:
    """Open the population's budget if it has none, and declare the one table in ``catalog``.

    Later, another budget is refused, and so is another unit column of the same table. Other
    changes, such as wider bounds, are recorded as a new declaration, for which the analyst
    must be an owner. Tables that other sessions declared stay declared.
    """
    (population,), (dataset,) = catalog.populations, catalog.datasets
    given = _budget(ledger, population.name, budget) if isinstance(budget, tuple) else budget
    said = Declaration(facts_of(catalog, population.name), tables)
    for _ in range(ATTEMPTS):
        number, now = _current_declaration(ledger, population, given)
        if number and _is_declared(now, dataset.name, said):
            return CatalogDeclarations({population.name: (number, said)}, partly=True)
        try:
            with ledger.governing(by=analyst) as acts:
                acts.lock()  # other sessions may declare their tables at this moment
                if given is not None and population.name not in acts.populations():
                    acts.open_budget(population, given, (analyst,))
                before = acts.declaration(population.name)[1]
                acts.declare({population.name: _with_table(before, dataset.name, said)})
        except Conflict:
            continue
    raise StoreFailed("The ledger is busy, and nothing was recorded. Open the session again.")


def _budget(ledger: Ledger, population: str, total: tuple[Number, Number]) -> core.Budget:
    """Return the budget for an epsilon and a delta, which is divided as in the ledger."""
    recorded = None
    with suppress(UnknownName):
        recorded = ledger.status(population).conversion_delta
    return budget_within(*total, recorded)


def _is_declared(now: Declaration, name: str, said: Declaration) -> bool:
    """Return whether exactly ``said`` is declared of one table; refuse another unit."""
    unit = unit_in(name, now.facts)
    if unit not in {None, unit_in(name, said.facts)}:
        raise InvalidValue(
            f"The ledger in this folder has {unit!r}, and another unit was given. The unit of "
            "a table cannot change: open the session with the unit of the ledger."
        )
    return now.says_all_of(said) and facts_about(name, now.facts) == said.facts


def _with_table(now: Declaration, name: str, said: Declaration) -> Declaration:
    """Return the declaration ``now`` with the facts of one table replaced by ``said``."""
    _is_declared(now, name, said)
    others = set(now.facts) - set(facts_about(name, now.facts))
    lasting = [each for each in now.tables if not each.startswith(MOMENTARY)]
    return Declaration(
        tuple(sorted({*others, *said.facts})), tuple(sorted({*lasting, *said.tables}))
    )


def _current_declaration(
    ledger: Ledger, population: core.Population, given: core.Budget | None
) -> Numbered:
    """Return the current declaration of a population; refuse a budget that differs."""
    try:
        status = ledger.status(population.name)
    except UnknownName:
        if given is None:
            raise InvalidValue(
                f"{population.name!r} has no budget yet. Set the total privacy budget: "
                "budget=(3, '1e-6') for epsilon and delta."
            ) from None
        return 0, Declaration()
    if given is not None and Units.limit(given.cap) != status.cap_units:
        raise InvalidValue(
            f"The budget of {population.name!r} is {core.loss_text(status.total)}, and another "
            "one was given. Leave out budget=, or raise the cap: session.ledger.raise_cap(...)."
        )
    return ledger.declarations()[population.name]


def _engine(
    source: object, engine: CheckedEngine | str | None, table: str | None
) -> tuple[CheckedEngine, tuple[str, ...]]:
    """Return the engine over ``source``, or the one that was given, and its table."""
    if engine is not None and not isinstance(engine, str):
        if source is not None:
            raise InvalidValue("Give a source or an open engine, and not both.")
        return _whole(engine), _table_parts(table)
    if source is None:
        raise InvalidValue(
            "Give a source, such as a data frame or a .duckdb database, or engine=, an engine."
        )
    if engine is None and not isinstance(source, str | Path):
        name = table or TABLE
        return open_frame(source, name), (name,)
    spec = spec_for(source) if engine is None else engine_spec(engine)
    if spec is None:
        raise InvalidValue(
            "A source must be a data frame, a .parquet file, a .duckdb database or a "
            "postgresql:// address."
        )
    named = spec.names_table(str(source))
    where = (table or named,) if named is not None else _table_parts(table)
    return spec.open(OpenRequest(ENGINE, str(source), where[-1:], {})), where


def _whole(engine: CheckedEngine) -> CheckedEngine:
    """Return ``engine``; refuse one that lacks a required method, before any recording."""
    lacking = [name for name in MEMBERS if not hasattr(engine, name)]
    if lacking:
        raise InvalidValue(
            f"{type(engine).__name__} is not an engine: it lacks {', '.join(lacking)}. See "
            "tacit.engines.engine.CheckedEngine."
        )
    return engine


def _table_parts(table: str | None) -> tuple[str, ...]:
    """Return the parts of a table's name in a database."""
    if not table:
        raise InvalidValue("Name a table of the database: table='visits'.")
    return tuple(table.split("."))

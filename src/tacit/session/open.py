"""One table of one population, in the words of whoever opens it."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
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
from tacit.numeric import Number
from tacit.project import facts_of
from tacit.session.curator import FOLDER, Curator, LedgerFolder
from tacit.session.session import Session
from tacit.session.table_checks import check_computed, facts_about, tables_of, unit_in

Ends = core.Bounds | tuple[Number, Number] | tuple[date, date]
"""Bounds, or their two ends."""

Values = core.Keys | Iterable[core.Key]
"""Keys, or their values in order."""


def population_of(name: str | core.Population) -> core.Population:
    """A population by its name: its unit is one person, who may be there or not."""
    return (
        name
        if isinstance(name, core.Population)
        else core.Population(name, core.PrivacyUnit("person"))
    )


def bounds_of(ends: Ends) -> core.Bounds:
    """Bounds from two numbers or two days."""
    if isinstance(ends, core.Bounds):
        return ends
    lower, upper = ends
    if isinstance(lower, date) and isinstance(upper, date):
        return core.Bounds.days(lower, upper)
    return core.Bounds.of(cast("Number", lower), cast("Number", upper))


def schema_of(
    found: tuple[core.Column, ...], bounds: Mapping[str, Ends], keys: Mapping[str, Values]
) -> core.Schema:
    """The columns of a table with what is publicly known of their values."""
    schema = core.Schema(found)
    for name in (*bounds, *keys):
        if name not in schema:
            raise UnknownName(
                f"There is no column {name!r} that can be asked about; there are "
                f"{', '.join(schema.names)}."
            )
    return core.Schema(tuple(_known(column, bounds, keys) for column in found))


def _known(
    column: core.Column, bounds: Mapping[str, Ends], keys: Mapping[str, Values]
) -> core.Column:
    name = column.name
    if name in bounds:
        column = replace(column, bounds=bounds_of(bounds[name]))
    if name in keys:
        given = keys[name]
        if isinstance(given, str):
            raise InvalidValue(f"The keys of {name!r} are a list of values, not one text.")
        column = replace(
            column, keys=given if isinstance(given, core.Keys) else core.Keys(tuple(given))
        )
    return column


# ------------------------------------------------------------------ open
# Open: one table in an engine, its declared facts, and a ledger beside them.

ENGINE = "here"
"""What the one engine of such a session is called."""

ATTEMPTS = 10
"""How often a declaration is tried again that lost to another session's."""

TABLE = "data"
"""What the rows of a data frame are called, unless they are given a name."""


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
    folder: str | Path = FOLDER,
    principal: str | None = None,
) -> Session:
    """A session over one table, with its ledger in ``folder``.

    Args:
        source: a pandas, Polars or Arrow table, which is copied; or the path of a ``.parquet``
            file or of a ``.duckdb`` database; or the address of a PostgreSQL database.
        engine: an engine that is open already, in place of a source, which the session closes;
            or the kind of engine that ``source`` is an address of, as a project file says
            it. The guarantee names an engine that is not Tacit's own.
        population: the people that the table is about. Tables about the same people share one
            name and one folder, and so one budget.
        unit: the column that names the person whom a row belongs to.
        max_groups: in how many groups of an answer one person may count.
        max_rows: how many of a person's rows may count in a group.
        bounds: the public ends of numbers and days, by column; values beyond are clamped.
        keys: the public values of columns, in the order in which groups are shown.
        budget: the (epsilon, delta) that everything ever released may lose; it is fixed by the
            first session, and may be left out afterwards.
        table: the table in a database, or what questions call the rows of a data frame.
        epoch: which state of the data this is: say another, and questions are asked anew.
        one_row: each person has one row, so that nothing is bounded; the guarantee says so.
        row_key: the column that tells the rows of a person apart.
        max_rows_in_all: how many rows of a person are looked at in all; up to 4 are fast.
        folder: where the ledger lives.
        principal: who asks; the user of this machine, unless another is named.

    Guarantee: types of columns are read, and no row, until a question is paid for; but for a
    data frame, which is copied.
    """
    people, asker = population_of(population), principal or getuser()
    with ExitStack() as closing:
        held, where = _engine(source, engine, table)
        closing.callback(held.close)
        dataset = core.Dataset(
            where[-1],
            people.name,
            schema_of(held.columns(where), bounds or {}, keys or {}),
            core.UnitColumn(unit, one_row),
            core.Limits(max_groups, max_rows, max_rows_in_all),
            core.Location(ENGINE, where, maker_of(held)),
            core.Epoch(epoch),
            row_key,
        )
        home = LedgerFolder.at(Path(folder))
        closing.callback(home.store.close)
        catalog = core.Catalog((people,), (dataset,))
        spec = spec_for(source)
        if isinstance(source, str | Path) and (spec is None or spec.address.in_place):
            check_computed(catalog, {ENGINE: held})
        # tables that are not there, or of other types, are refused before anything is recorded
        Curator(catalog, {ENGINE: held}, home, asker)
        tables = tables_of(catalog, {ENGINE: held})[dataset.name].all
        declarations = settle(home.ledger, catalog, tables, budget, asker)
        curator = Curator(catalog, {ENGINE: held}, home.under(declarations), asker)
        closing.pop_all()
    return Session(curator)


def settle(
    ledger: Ledger,
    catalog: core.Catalog,
    tables: tuple[str, ...],
    budget: core.Budget | tuple[Number, Number] | None,
    asker: str,
) -> CatalogDeclarations:
    """Open the population's budget, once, and declare its one table in ``catalog``.

    Afterwards another budget is refused, and so is another unit column of the same table.
    Other facts, such as wider bounds, are a new declaration, which an owner records by opening.
    Tables that other sessions declared stay declared.
    """
    (population,), (dataset,) = catalog.populations, catalog.datasets
    given = budget_within(*budget) if isinstance(budget, tuple) else budget
    said = Declaration(facts_of(catalog, population.name), tables)
    for _ in range(ATTEMPTS):
        number, now = _checked(ledger, population, given)
        if number and _says(now, dataset.name, said):
            return CatalogDeclarations({population.name: (number, said)}, partly=True)
        try:
            with ledger.governing(by=asker) as acts:
                acts.lock()  # other sessions may declare their tables at this moment
                if given is not None and population.name not in acts.populations():
                    acts.open_budget(population, given, (asker,))
                before = acts.declaration(population.name)[1]
                acts.declare({population.name: _with_table(before, dataset.name, said)})
        except Conflict:
            continue
    raise StoreFailed("The ledger is busy, and nothing was recorded; open it again.")


def _says(now: Declaration, name: str, said: Declaration) -> bool:
    """Whether ``said`` is declared of one table, and nothing else; another unit is refused."""
    unit = unit_in(name, now.facts)
    if unit not in {None, unit_in(name, said.facts)}:
        raise InvalidValue(
            f"The ledger in this folder holds {unit!r}, and another unit was given. Whose a "
            "row is does not change: open it as before."
        )
    return now.says_all_of(said) and facts_about(name, now.facts) == said.facts


def _with_table(now: Declaration, name: str, said: Declaration) -> Declaration:
    """What was declared, with what is said of one table in place of what was said before."""
    _says(now, name, said)
    others = set(now.facts) - set(facts_about(name, now.facts))
    lasting = [each for each in now.tables if not each.startswith(MOMENTARY)]
    return Declaration(
        tuple(sorted({*others, *said.facts})), tuple(sorted({*lasting, *said.tables}))
    )


def _checked(
    ledger: Ledger, population: core.Population, given: core.Budget | None
) -> Numbered:
    """What is declared of a population so far, where its budget is the one ``given``."""
    try:
        status = ledger.status(population.name)
    except UnknownName:
        if given is None:
            raise InvalidValue(
                f"{population.name!r} has no budget yet; say what everything that is ever "
                "released about them may lose: budget=(3, '1e-6') for epsilon and delta."
            ) from None
        return 0, Declaration()
    if given is not None and Units.limit(given.cap) != status.cap_units:
        raise InvalidValue(
            f"The budget of {population.name!r} is {status.total}, and another was given; "
            "leave it out, or raise the cap: session.ledger.raise_cap(...)."
        )
    return ledger.declarations()[population.name]


def _engine(
    source: object, engine: CheckedEngine | str | None, table: str | None
) -> tuple[CheckedEngine, tuple[str, ...]]:
    """The engine over ``source``, or the one that was given, and the table there."""
    if engine is not None and not isinstance(engine, str):
        if source is not None:
            raise InvalidValue("Give a source or an engine that is open, and not both.")
        return _whole(engine), _named(table)
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
            "A source is a data frame, a .parquet file, a .duckdb database or a postgresql:// "
            "address."
        )
    named = spec.names_table(str(source))
    where = (table or named,) if named is not None else _named(table)
    return spec.open(OpenRequest(ENGINE, str(source), where[-1:], {})), where


def _whole(engine: CheckedEngine) -> CheckedEngine:
    """Refuse an engine that lacks a part of the port, before anything is recorded."""
    lacking = [name for name in MEMBERS if not hasattr(engine, name)]
    if lacking:
        raise InvalidValue(
            f"{type(engine).__name__} is no engine: it has no {', '.join(lacking)}; see "
            "tacit.engines.engine.CheckedEngine."
        )
    return engine


def _named(table: str | None) -> tuple[str, ...]:
    """The parts of a table's name in a database."""
    if not table:
        raise InvalidValue("Say which table of the database it is: table='visits'.")
    return tuple(table.split("."))

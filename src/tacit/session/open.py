"""Open: one table in an engine, its declared facts, and a ledger beside them."""

from collections.abc import Mapping
from contextlib import ExitStack
from getpass import getuser
from pathlib import Path

from tacit.accounting.promise import budget_within
from tacit.core.budget import Budget
from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.population import Population
from tacit.engines.duckdb import open_duckdb
from tacit.engines.duckdb_source import open_frame, open_parquet
from tacit.engines.engine import CheckedEngine
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.ledger.ledger import Ledger
from tacit.ledger.units import Units
from tacit.numeric.exact import Number
from tacit.session.curator import Curator
from tacit.session.declare import Ends, Values, population_of, schema_of
from tacit.session.home import FOLDER, Home
from tacit.session.in_place import check_computed
from tacit.session.session import Session

ENGINE = "here"
"""What the one engine of such a session is called."""

PARQUET = ".parquet"
POSTGRES = ("postgresql://", "postgres://")
TABLE = "data"
"""What the rows of a data frame are called, unless they are given a name."""


def open_session(  # noqa: PLR0913 - each is a public fact that somebody has to state
    source: object,
    *,
    population: str | Population,
    unit: str,
    max_groups: int,
    max_rows: int,
    bounds: Mapping[str, Ends] | None = None,
    keys: Mapping[str, Values] | None = None,
    budget: Budget | tuple[Number, Number] | None = None,
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
        engine, where = _engine(source, table)
        closing.callback(engine.close)
        dataset = Dataset(
            where[-1],
            people.name,
            schema_of(engine.columns(where), bounds or {}, keys or {}),
            UnitColumn(unit, one_row),
            Limits(max_groups, max_rows, max_rows_in_all),
            Location(ENGINE, where),
            Epoch(epoch),
            row_key,
        )
        home = Home.at(Path(folder))
        closing.callback(home.store.close)
        catalog = Catalog((people,), (dataset,))
        if isinstance(source, str | Path) and not str(source).endswith(PARQUET):
            check_computed(catalog, {ENGINE: engine})
        curator = Curator(catalog, {ENGINE: engine}, home, asker)
        settle(home.ledger, people, budget, asker)
        closing.pop_all()
    return Session(curator)


def settle(
    ledger: Ledger,
    population: Population,
    budget: Budget | tuple[Number, Number] | None,
    owner: str,
) -> None:
    """Open the population's budget, once; afterwards, refuse another than the ledger holds."""
    given = budget_within(*budget) if isinstance(budget, tuple) else budget
    try:
        status = ledger.status(population.name)
    except UnknownName:
        if given is None:
            raise InvalidValue(
                f"{population.name!r} has no budget yet; say what everything that is ever "
                "released about them may lose: budget=(3, '1e-6') for epsilon and delta."
            ) from None
        ledger.open_budget(population, given, (owner,), by=owner)
        return
    if given is not None and Units.limit(given.cap) != status.cap_units:
        raise InvalidValue(
            f"The budget of {population.name!r} is {status.total}, and another was given; "
            "leave it out, or raise the cap: session.ledger.raise_cap(...)."
        )


def _engine(source: object, table: str | None) -> tuple[CheckedEngine, tuple[str, ...]]:
    """The engine over ``source``, and the table there."""
    if not isinstance(source, str | Path):
        name = table or TABLE
        return open_frame(source, name), (name,)
    address = str(source)
    if address.startswith(POSTGRES):
        postgres = load("tacit.engines.postgres", extra="postgres").Postgres(address)
        return postgres, _named(table)
    if address.endswith(PARQUET):
        name = table or Path(address).stem
        return open_parquet(address, name), (name,)
    if address.endswith((".duckdb", ".db")):
        return open_duckdb(address), _named(table)
    raise InvalidValue(
        "A source is a data frame, a .parquet file, a .duckdb database or a postgresql:// "
        "address."
    )


def _named(table: str | None) -> tuple[str, ...]:
    """The parts of a table's name in a database."""
    if not table:
        raise InvalidValue("Say which table of the database it is: table='visits'.")
    return tuple(table.split("."))

"""Columns that are converted, in questions with functions, joins and subselects.

Each question has one answer on the reference, DuckDB and PostgreSQL, over rows with extreme
times, infinities, NULL and the hours at which clocks are changed. Refusals come before any row
is read.
"""

# ruff: noqa: S608 - our own names

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache

import duckdb
import postgres_over
import pytest
import stored_types
from stored_types import DUCKDB, POSTGRES, TABLE, UUIDS, catalog_on, meant

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Keys, Kind, Schema, StoredAs
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import CheckedEngine, Engine
from tacit.engines.print import relation
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse
from tacit.sql.printer import show

SALT = b"salt"
CALLS = ("calls",)
TIMES = (
    *("2026-03-29 00:59:59", "2026-03-29 01:00:00", "2026-10-25 00:30:00"),
    *("2026-10-25 01:30:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    *("2026-02-28 23:30:00", "1969-12-31 23:59:59"),
)
CODES = ("ab", "AB ", "", "é", "ab   ")


def calls() -> Iterator[tuple[str | None, str | None, str | None]]:
    """Yield rows of a second table of the same people: person, time in UTC, code."""
    people = (*UUIDS, None)
    for place in range(24):
        time = None if place % 9 == 8 else TIMES[place % len(TIMES)]
        yield people[place % len(people)], time, CODES[place % len(CODES)]


def known(engine: str) -> Catalog:
    """Return the catalogue with both tables; the epoch is a day."""
    catalog = catalog_on(engine)
    (stays,) = catalog.datasets
    columns = (
        Column("person", Kind.TEXT, stored=StoredAs.UUID),
        Column("called", Kind.TIMESTAMP, stored_types.YEARS, zone="Europe/Berlin"),
        Column("code", Kind.TEXT, keys=Keys(stored_types.CHARS), stored=StoredAs.CHAR),
    )
    table = Dataset(
        "calls",
        "people",
        Schema(columns),
        UnitColumn("person"),
        Limits(3, 4),
        Location("warehouse", CALLS),
        Epoch("2026-07-15"),
    )
    return replace(catalog, datasets=(replace(stays, epoch=Epoch("2026-07-15")), table))


def rows_of_calls() -> list[Row]:
    """Return the rows of the second table as the reference reads them."""
    return [
        {
            "person": person,
            "called": None if time is None else datetime.fromisoformat(f"{time}+00:00"),
            "code": code,
        }
        for person, time, code in calls()
    ]


def statements(engine: str) -> Iterator[str]:
    """Yield the statements that make both tables."""
    yield from stored_types.statements(engine)
    types = {DUCKDB: ("UUID", "TIMESTAMPTZ", "VARCHAR")}
    person, time, code = types.get(engine, ("uuid", "timestamptz", "char(5)"))
    yield f"CREATE TABLE calls (person {person}, called {time}, code {code})"
    cells = []
    for who, when, text in calls():
        parts = (
            "NULL" if who is None else f"CAST('{who}' AS {person})",
            "NULL" if when is None else f"CAST('{when}+00' AS {time})",
            f"'{text}'",
        )
        cells.append(f"({', '.join(parts)})")
    yield f"INSERT INTO calls VALUES {', '.join(cells)}"


@contextmanager
def on_duckdb() -> Iterator[CheckedEngine]:
    with duckdb.connect() as connection:
        for statement in statements(DUCKDB):
            connection.execute(statement)
        yield DuckDB(connection)


@contextmanager
def on_postgres() -> Iterator[CheckedEngine]:
    engine, owner = postgres_over._server()
    owner.execute(b"DROP TABLE IF EXISTS stays, calls; DROP TYPE IF EXISTS status")
    for statement in statements(POSTGRES):
        owner.execute(statement.encode())
    yield engine
    owner.execute(b"DROP TABLE stays, calls; DROP TYPE status")


OPENED = {DUCKDB: on_duckdb, POSTGRES: on_postgres}

PARTS = ("QUARTER", "WEEK", "DOY", "ISODOW", "DOW", "MONTH", "DAY", "HOUR", "MINUTE")
GROWING = ("YEAR", "ISOYEAR", "DECADE", "CENTURY", "MILLENNIUM")

ASKED = tuple(
    f"SELECT {text}"
    for text in (
        # parts of times, in all spellings
        *(
            f"{', '.join(f'SUM(EXTRACT({part} FROM {name}))' for part in PARTS)} FROM stays"
            for name in ("seen", "ever", "berlin", "behind")
        ),
        *(
            f"{', '.join(f'SUM(EXTRACT({part} FROM {name}))' for part in GROWING)} FROM stays"
            for name in ("seen", "berlin")
        ),
        "DATE_PART('hour', berlin) AS h, COUNT(*) FROM stays GROUP BY h",
        "EXTRACT(WEEK FROM berlin) AS w, COUNT(*) FROM stays GROUP BY w",
        "MINUTE(ever) AS m, COUNT(*) FROM stays WHERE HOUR(ever) BETWEEN 1 AND 13 GROUP BY m",
        # plain texts, intervals, the date of the data, and days that are moved
        "COUNT(*) FROM stays WHERE berlin >= '2026-03-29' AND berlin < '2026-10-25 02:30:00'",
        "COUNT(*) FROM stays WHERE seen IN ('2026-01-01', '2026-07-15 13:37:11.500')",
        "COUNT(*) FROM stays WHERE ever > CURRENT_DATE - INTERVAL 30 DAY",
        "COUNT(*) FROM stays WHERE seen < TIMESTAMP '2026-03-31 01:00:00' - INTERVAL 1 MONTH",
        "COUNT(*) FROM stays WHERE seen > DATE_TRUNC('month', TIMESTAMP '2026-03-31 01:00:00')",
        "COUNT(*) FROM stays WHERE CAST(berlin AS DATE) + INTERVAL 7 DAY <= '2026-04-05'",
        "COUNT(*) FROM stays WHERE seen::date - 1 = DATE '2026-07-14'",
        "COUNT(*) FROM stays WHERE DATE(ever) + 3 > day AND DATE(seen) <= CAST(ever AS DATE)",
        "COUNT(*) FROM stays WHERE CAST(ever AS DATE) IN ('2026-03-29', '9999-12-30')",
        "COUNT(*) FROM stays WHERE DATE_TRUNC('month', seen) = '2026-03-01'",
        "COUNT(*) FROM stays WHERE DATE_TRUNC('year', berlin) < '2026-01-01'",
        "COUNT(*) FROM stays WHERE DATE_TRUNC('week', berlin) > '2026-03-29'",
        "COUNT(*) FROM stays WHERE NOT DATE_TRUNC('quarter', ever) IN ('2026-01-01')",
        "COUNT(*) FROM stays WHERE day IN (TIMESTAMP '2026-01-01 00:00:00', DATE '2026-03-29')",
        "COUNT(*) FROM stays WHERE day < TIMESTAMP '2026-07-15 12:00:00'",
        "COUNT(*) FROM stays WHERE day + 1 > '2026-01-01'",
        "COUNT(*) FROM stays WHERE seen::timestamp <= '2026-07-15'",
        # differences
        "SUM(DATE_DIFF('day', seen, berlin)), SUM(DATE_DIFF('day', day, seen)) FROM stays",
        "SUM(DATE_DIFF('month', berlin, CURRENT_DATE)) FROM stays",
        "SUM(DATE_DIFF('week', seen, day)), SUM(DATE_DIFF('year', day, berlin)) FROM stays",
        "SUM(DATE_DIFF('day', berlin, TIMESTAMP '2026-07-15 13:00:00')) FROM stays",
        # aggregates
        "COUNT(DISTINCT id), COUNT(DISTINCT code), COUNT(DISTINCT status) FROM stays",
        "COUNT(DISTINCT CAST(berlin AS DATE)), COUNT(DISTINCT HOUR(ever)) FROM stays",
        "COUNT(DISTINCT CASE WHEN HOUR(seen) > 1 THEN tag END) FROM stays",
        "COUNT(CAST(behind AS DATE)), COUNT(COALESCE(seen, berlin)) FROM stays",
        "MEDIAN(CAST(seen AS DATE)), MEDIAN(HOUR(berlin)) FROM stays",
        "CORR(HOUR(seen), MINUTE(berlin)) FROM stays",
        # groups
        "code, HOUR(seen) AS h, COUNT(*) FROM stays GROUP BY ROLLUP (code, h)",
        "status, id, COUNT(*) FROM stays GROUP BY CUBE (status, id)",
        "UPPER(code) AS c, COUNT(*) FROM stays GROUP BY UPPER(code)",
        "COALESCE(id, 'none') AS i, COUNT(*) FROM stays GROUP BY COALESCE(id, 'none')",
        "HOUR(berlin) < 12 AS early, COUNT(*) FROM stays GROUP BY HOUR(berlin) < 12",
        "COUNT(*) FROM stays WHERE code ILIKE 'A%' OR TRIM(status) = 'north'",
        # other rows of the same person
        (
            "COUNT(*) FROM stays WHERE EXISTS (SELECT 1 FROM calls WHERE calls.person = "
            "stays.person AND calls.called >= '2026-03-29 03:00:00')"
        ),
        "COUNT(*) FROM stays WHERE person IN (SELECT person FROM calls WHERE HOUR(called) = 3)",
        (
            "COUNT(*) FROM stays WHERE NOT EXISTS (SELECT 1 FROM calls WHERE calls.person = "
            "stays.person AND calls.code = stays.code)"
        ),
        (
            "COUNT(*), COUNT(called), SUM(HOUR(called)) FROM stays LEFT JOIN calls ON "
            "stays.person = calls.person"
        ),
        (
            "SUM(DATE_DIFF('day', seen, called)) FROM stays JOIN calls ON stays.person = "
            "calls.person WHERE CAST(called AS DATE) > '2026-03-01'"
        ),
        (
            "AVG(n) FROM (SELECT person, COUNT(*) AS n FROM calls WHERE called > "
            "'2026-01-01' GROUP BY person) AS t"
        ),
    )
)


def answer(engine: Engine, text: str, catalog: Catalog) -> object:
    """Return the exact tallies of a question, its groups and its leaves."""
    plan = bound(canonical(parse(text, catalog)).plan, catalog).plan
    table = engine.run(plan, catalog, SALT)
    groups = None if table.groups is None else unseal(table.groups)
    return groups, [unseal(tally).tolist() for tally in table.tallies]


@cache
def reference(engine: str) -> Reference:
    return Reference({TABLE: meant(engine), CALLS: rows_of_calls()})


@pytest.mark.parametrize("name", OPENED)
def test_kinds_and_functions_mean_the_same_together(name: str) -> None:
    catalog, counted = known(name), 0
    with OPENED[name]() as engine:
        engine.check(catalog)
        for text in ASKED:
            found = answer(engine, text, catalog)
            assert found == answer(reference(name), text, catalog), text
            counted += any(any(numbers) for numbers in found[1])  # type: ignore[index]
    assert counted > 0.9 * len(ASKED)  # the rows decide the answers


@pytest.mark.parametrize("text", ASKED)
def test_a_question_is_printed_as_one_with_the_same_plan(text: str) -> None:
    catalog = known(DUCKDB)
    asked = canonical(parse(text, catalog))
    assert canonical(parse(show(parse(text, catalog), catalog), catalog)).hash == asked.hash


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("COUNT(*) FROM stays WHERE HOUR(day) = 1", "A date has no HOUR"),
        ("COUNT(*) FROM stays WHERE MINUTE(CAST(seen AS DATE)) = 1", "A date has no MINUTE"),
        ("SUM(EXTRACT(HOUR FROM DATE '2026-01-31')) FROM stays", "A date has no HOUR"),
        ("SUM(EXTRACT(SECOND FROM seen)) FROM stays", "EXTRACT"),
        ("SUM(EXTRACT(YEAR FROM ever)) FROM stays", "has no bounds"),
        ("COUNT(*) FROM stays WHERE seen + INTERVAL 7 DAY > berlin", "Timestamps are not"),
        ("COUNT(*) FROM stays WHERE seen + 7 > DATE '2026-01-31'", "Timestamps are not"),
        ("SUM(seen - DATE '2026-01-31') FROM stays", "use its day"),
        ("SUM(seen - berlin) FROM stays", "use its day"),
        ("COUNT(*) FROM stays WHERE seen > TIMESTAMP '2026-01-31 00:00:00' + 7", "Timestamps"),
        ("COUNT(*) FROM stays WHERE seen > '2026-02-30'", "A date must be written"),
        ("COUNT(*) FROM stays WHERE seen > 'soon'", "A timestamp must be written"),
        ("COUNT(*) FROM stays WHERE seen > TIMESTAMPTZ '2026-01-31 00:00:00+01'", "local time"),
        ("COUNT(*) FROM stays WHERE seen = day", "Compare a column"),
        ("COUNT(*) FROM stays WHERE seen = CAST(seen AS DATE)", "Compare a column"),
        ("COUNT(*) FROM stays WHERE day = '2026-01-31 12:00:00'", "A date must be written"),
        ("COUNT(*) FROM stays WHERE day + 1 IN (TIMESTAMP '2026-01-31 12:00:00')", "not a day"),
        ("COUNT(DISTINCT seen) FROM stays", "COUNT(DISTINCT CAST(stays.seen AS DATE))"),
        ("COUNT(DISTINCT ever) FROM stays", "COUNT(DISTINCT CAST(stays.ever AS DATE))"),
        ("MIN(seen) FROM stays", "use its day, as in CAST(seen AS DATE)"),
        ("AVG(ever) FROM stays", "use its day"),
        ("AVG(CAST(seen AS DATE)) FROM stays", "The mean of days is not supported"),
        ("MAX(CAST(ever AS DATE)) FROM stays", "has no bounds"),
        ("seen, COUNT(*) FROM stays GROUP BY seen", "DATE_TRUNC('month'"),
        ("COUNT(*) FROM stays WHERE id > 'a'", "supports only the comparisons = and <>"),
        ("COUNT(*) FROM stays WHERE seen = 1", "cannot be compared"),
    ],
)
def test_what_a_kind_lacks_is_refused_before_any_row(asked: str, said: str) -> None:
    catalog = known(DUCKDB)
    with pytest.raises(InvalidValue) as refused:
        bound(canonical(parse(f"SELECT {asked}", catalog)).plan, catalog)
    assert said in str(refused.value)


def test_a_difference_of_dates_has_the_plan_that_it_had() -> None:
    catalog = known(DUCKDB)
    texts = ("SUM(DATE_DIFF('day', day, DATE '2026-01-31'))", "SUM(DATE '2026-01-31' - day)")
    one, other = (canonical(parse(f"SELECT {text} FROM stays", catalog)) for text in texts)
    assert one == other


def test_a_time_that_is_converted_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation, "_read_as_converted", lambda catalog, _: catalog)
    catalog, joined = known(DUCKDB), [text for text in ASKED if "JOIN calls" in text]
    with on_duckdb() as engine:
        assert any(
            answer(engine, text, catalog) != answer(reference(DUCKDB), text, catalog)
            for text in joined
        )

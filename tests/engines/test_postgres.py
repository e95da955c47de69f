"""PostgreSQL: a role that reads and nothing else, and nothing of a question in its log."""

# ruff: noqa: S608 - our own names

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from postgres_cluster import PostgresCluster

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.engines.postgres import Postgres
from tacit.engines.postgres_role import QUIET, reader
from tacit.engines.reference import Reference, Row
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse

LONG = "x" * 60
WIDE = Bounds.of(-(10**300), 10**300)
SALT = b"salt"
TABLE = ("people",)


def declared() -> Catalog:
    columns = (
        Column("person", Kind.TEXT),
        Column("cost", Kind.DECIMAL, bounds=Bounds.of(0, 100), step=Fraction(1, 100)),
        Column("mass", Kind.FLOAT, bounds=WIDE),
        Column(f"{LONG}_1", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        Column(f"{LONG}_2", Kind.INTEGER, bounds=Bounds.of(0, 10)),
    )
    people = Dataset(
        "people",
        "people",
        Schema(columns),
        UnitColumn("person"),
        Limits(1, 1),
        Location("here", TABLE),
        Epoch("1"),
    )
    return Catalog((Population("people", PrivacyUnit("person")),), (people,))


CATALOG = declared()
ROWS: list[Row] = [
    {"person": f"p{place}", "cost": cost, "mass": mass, f"{LONG}_1": place, f"{LONG}_2": 10}
    for place, (cost, mass) in enumerate(
        [
            (Decimal("NaN"), nan),
            (Decimal("1.50"), 5e-324),
            (None, -5e-324),
            (Decimal(-3), inf),
            (Decimal("999.99"), 1e299),
            (Decimal("2.25"), -1e308),
        ]
    )
]


@pytest.fixture
def address(cluster: PostgresCluster) -> str:
    """A database with people, whose owner is the superuser."""
    made = cluster.database(f"tacit_{uuid4().hex}")
    with psycopg.connect(made, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE people (person text, cost numeric(18, 2), mass double precision, "
            f"{LONG}_1 bigint, {LONG}_2 bigint)"
        )
        for row in ROWS:
            owner.execute("INSERT INTO people VALUES (%s, %s, %s, %s, %s)", list(row.values()))
    return made


@pytest.fixture
def role(address: str) -> Iterator[str]:
    """A reader of that database, made as the statements say."""
    name = f"tacit_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as owner:
        for statement in reader(name, CATALOG):
            owner.execute(statement.encode())
        yield name
        owner.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


@pytest.fixture
def theirs(address: str, role: str) -> str:
    """The address of the database for its reader."""
    return address.replace("postgres@", f"{role}@")


def found(table: SecretTable) -> list[list[int]]:
    return [unseal(tally).tolist() for tally in table.tallies]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(cost), COUNT(cost) FROM people",
        "SELECT SUM(mass), COUNT(mass) FROM people",
        "SELECT COUNT(*) FROM people WHERE mass > 0",
        "SELECT COUNT(*) FROM people WHERE cost IS NULL",
        f"SELECT SUM({LONG}_1) FROM people",
        f"SELECT SUM({LONG}_2), SUM({LONG}_1) FROM people",
    ],
)
def test_what_only_postgresql_holds_means_what_it_says(text: str, theirs: str) -> None:
    plan = bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan
    reference = Reference({TABLE: ROWS}).run(plan, CATALOG, SALT)
    assert found(Postgres(theirs).run(plan, CATALOG, SALT)) == found(reference)


def test_a_reader_passes(theirs: str) -> None:
    Postgres(theirs).check(CATALOG)


def test_a_superuser_is_refused(address: str) -> None:
    with pytest.raises(InvalidValue, match="superuser"):
        Postgres(address).check(CATALOG)


@pytest.mark.parametrize("right", ["INSERT", "UPDATE", "DELETE", "TRUNCATE"])
def test_a_role_that_may_write_is_refused(
    right: str, address: str, role: str, theirs: str
) -> None:
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"GRANT {right} ON people TO {role}".encode())
    with pytest.raises(
        InvalidValue, match=r"may write 'people', but it must only read\. Run: REVOKE"
    ):
        Postgres(theirs).check(CATALOG)


@pytest.mark.parametrize("setting", QUIET)
def test_a_server_that_logs_questions_is_refused(
    setting: str, address: str, role: str, theirs: str
) -> None:
    loud = {"log_statement": "all", "log_min_error_statement": "error"}
    loud |= {"log_transaction_sample_rate": "0.5"}
    value = loud.get(setting, "1000" if QUIET[setting] == "-1" else "on")
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"ALTER ROLE {role} SET {setting} = '{value}'".encode())
    with pytest.raises(InvalidValue, match=f"would log questions: {setting} is"):
        Postgres(theirs).check(CATALOG)


def test_a_limit_of_temporary_files_is_refused(address: str, role: str, theirs: str) -> None:
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"ALTER ROLE {role} SET temp_file_limit = '1GB'".encode())
    with pytest.raises(InvalidValue, match=r"limited to 1GB\. The rows of one person"):
        Postgres(theirs).check(CATALOG)


def test_an_address_where_nothing_answers_is_refused() -> None:
    with pytest.raises(InvalidValue, match="does not answer"):
        Postgres("postgresql://nobody@127.0.0.1:1/none").check(CATALOG)


def test_a_table_that_is_not_there_is_refused(cluster: PostgresCluster, theirs: str) -> None:
    empty = cluster.database(f"tacit_{uuid4().hex}")
    where = theirs.rpartition("/")[0] + "/" + empty.rpartition("/")[2]
    with pytest.raises(InvalidValue, match="has no table with the declared columns"):
        Postgres(where).check(CATALOG)


def test_a_text_that_takes_two_names_for_one_is_refused(address: str, theirs: str) -> None:
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(
            "CREATE COLLATION loose "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        owner.execute("ALTER TABLE people ALTER person TYPE text COLLATE loose")
    with pytest.raises(InvalidValue, match=r"people\.person has a collation"):
        Postgres(theirs).check(CATALOG)


@pytest.mark.parametrize(
    ("column", "kind", "physical"),
    [
        ("person", Kind.TEXT, "char(10)"),
        ("cost", Kind.DECIMAL, "numeric"),
        ("cost", Kind.DECIMAL, "numeric(38, 19)"),
        ("mass", Kind.FLOAT, "numeric(10, 2)"),
    ],
)
def test_a_type_on_which_it_could_fail_is_refused(
    column: str, kind: Kind, physical: str, address: str, theirs: str
) -> None:
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(b"TRUNCATE people")
        owner.execute(f"ALTER TABLE people ALTER {column} TYPE {physical}".encode())
    with pytest.raises(InvalidValue, match=rf"people\.{column} is declared as {kind.value}"):
        Postgres(theirs).check(CATALOG)


def test_a_question_that_fails_leaves_nothing_in_the_log(
    cluster: PostgresCluster, address: str, theirs: str, role: str
) -> None:
    text = "SELECT COUNT(*) FROM people WHERE person = 'SECRET-literal'"
    plan = bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"REVOKE SELECT ON people FROM {role}".encode())
        with pytest.raises(EngineUnreachable, match=r"^A table of this question"):
            Postgres(theirs).run(plan, CATALOG, SALT)
        log: Path = cluster.log
        assert "SECRET-literal" not in log.read_text()
        assert SALT.hex() not in log.read_text()
        # the same failure, by a role that the server listens to, is written down
        with pytest.raises(psycopg.Error):
            owner.execute("SELECT 'SECRET-literal' FROM people WHERE nothing")
        assert "SECRET-literal" in log.read_text()

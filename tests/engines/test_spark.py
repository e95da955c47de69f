"""Spark: a session that no text reaches out of, and whose errors have one text."""

# ruff: noqa: S608 - our own names

import logging
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from math import inf, nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spark_over
from neighbouring import opened
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession
from spark_session import folder, local

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.engines import spark
from tacit.engines.print.sql_dialects import SparkDialect
from tacit.engines.reference import Reference, Row
from tacit.engines.spark import SETTINGS, Spark
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse

SALT = b"salt"
TABLE = ("people",)
FAR = 2**56
HOSTILE = (
    *("${env:HOME}", "${spark.app.name}", "${system:user.home}", "$HOME", "a\\b", "\\", "\\'"),
    *(
        "'",
        '"',
        "`",
        "it's",
        "\\n",
        "a\nb",
        "\t",
        "%",
        "_",
        "\\%",
        "--",
        "/*",
        ";",
        ":name",
        "?",
    ),
    *("'; SET spark.sql.ansi.enabled=false; --", "\\u0041", "\\x41", "\\101", "A", "a", "é"),
    *("e\u0301", "😀", "", " ", "{{}}", "IDENTIFIER('x')", "$$", "r'x'"),
)
LONG = "x" * 80


def declared() -> Catalog:
    columns = (
        Column("person", Kind.TEXT),
        Column("label", Kind.TEXT, keys=Keys(HOSTILE)),
        Column("cost", Kind.DECIMAL, bounds=Bounds.of(0, 100), step=Fraction(1, 100)),
        Column("mass", Kind.FLOAT, bounds=Bounds.of(-(10**300), 10**300)),
        Column("far", Kind.INTEGER, bounds=Bounds.of(-FAR, FAR)),
        Column("Far", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        Column(f"{LONG}_1", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        Column(f"{LONG}_2", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        Column("born", Kind.DATE, bounds=Bounds.days(date(1, 1, 1), date(2020, 1, 1))),
    )
    people = Dataset(
        "people",
        "people",
        Schema(columns),
        UnitColumn("person"),
        Limits(len(HOSTILE), 40),
        Location("here", TABLE),
        Epoch("1"),
    )
    return Catalog((Population("people", PrivacyUnit("person")),), (people,))


CATALOG = declared()
SPECIAL = (nan, 5e-324, -5e-324, inf, -inf, 1e299, -1e308, -0.0, None)
BORN = (date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(2000, 2, 29), None)
ROWS: list[Row] = [
    {
        "person": f"p{place % 3}" if place < len(HOSTILE) else "p0",
        "label": label,
        "cost": Decimal(place) / 4 if place % 5 else None,
        "mass": SPECIAL[place % len(SPECIAL)],
        "far": 2**62,
        "Far": place,
        f"{LONG}_1": place % 7,
        f"{LONG}_2": 10,
        "born": BORN[place % len(BORN)],
    }
    for place, label in enumerate((*HOSTILE, *[HOSTILE[0]] * 200))
]


@pytest.fixture(scope="module")
def engine() -> Spark:
    """An engine of its own, whose session no other test sees."""
    made = Spark(local())
    spark_over.show(made._session, CATALOG, {TABLE: ROWS})
    return made


@pytest.fixture
def owner() -> Iterator[SparkSession]:
    """The owner's session, and a table of theirs in the catalogue."""
    session = local()
    columns = ", ".join(
        f"`{each.name}` {spark_over.TYPES[each.kind][0]}"
        for each in CATALOG.tables[0].schema.columns
        if each.name != "Far"
    )
    session.conf.set("spark.sql.caseSensitive", "true")
    session.sql(f"CREATE TABLE people ({columns}, `Far` BIGINT) USING parquet")
    yield session
    session.sql("DROP TABLE people")
    session.conf.unset("spark.sql.caseSensitive")


def planned(text: str) -> BoundedPlan:
    return bound(canonical(parse(text, CATALOG)).plan, CATALOG).plan


@pytest.mark.parametrize(
    "text",
    [
        "SELECT label, COUNT(*) FROM people GROUP BY label",
        "SELECT SUM(mass), COUNT(mass), SUM(cost), COUNT(cost), SUM(far) FROM people",
        "SELECT COUNT(*) FROM people WHERE mass > 0 AND cost IS NOT NULL AND label LIKE '\\'",
        f"SELECT SUM({LONG}_1), SUM({LONG}_2), SUM(far + 1) FROM people",
        "SELECT born, COUNT(*), SUM(YEAR(born)) FROM people GROUP BY born",
        "SELECT MAX(far * 0 * far), SUM(far * 0 * far) FROM people",
        "SELECT AVG(t) FROM (SELECT person, SUM(far) AS t FROM people GROUP BY person)",
    ],
)
def test_what_only_spark_does_means_what_it_says(text: str, engine: Spark) -> None:
    found = engine.run(planned(text), CATALOG, SALT)
    assert opened(found) == opened(Reference({TABLE: ROWS}).run(planned(text), CATALOG, SALT))


def test_a_person_with_enough_rows_fails_a_sum_of_64_bits(
    engine: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkDialect, "rewrites", ())
    with pytest.raises(InternalError):
        engine.run(planned("SELECT SUM(far) FROM people"), CATALOG, SALT)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "spark.sql.variable.substitute",
            "true",
            "SELECT label, COUNT(*) FROM people GROUP BY label",
        ),
        (
            "spark.sql.parser.escapedStringLiterals",
            "true",
            "SELECT label, COUNT(*) FROM people GROUP BY label",
        ),
        ("spark.sql.caseSensitive", "false", "SELECT SUM(far) FROM people"),
        ("spark.sql.optimizer.excludedRules", "", "SELECT MAX(far * 0 * far) FROM people"),
        (
            "spark.sql.parquet.datetimeRebaseModeInRead",
            "LEGACY",
            "SELECT born, COUNT(*) FROM people GROUP BY born",
        ),
    ],
)
def test_another_setting_means_something_else(name: str, value: str, text: str) -> None:
    other = Spark(local())
    spark_over.show(other._session, CATALOG, {TABLE: ROWS})
    other._session.conf.set(name, value)
    try:
        found: object = opened(other.run(planned(text), CATALOG, SALT))
    except (EngineUnreachable, InternalError):  # by names, or by a row
        found = None
    assert found != opened(Reference({TABLE: ROWS}).run(planned(text), CATALOG, SALT))


def test_no_text_reaches_the_environment_or_the_settings(engine: Spark) -> None:
    session = engine._session
    assert session.sql("SELECT '${env:HOME}'").collect()[0][0] == "${env:HOME}"
    # the lie: a session as Spark makes it
    assert local().sql("SELECT '${env:HOME}'").collect()[0][0] != "${env:HOME}"
    with pytest.raises(ParseException):
        session.sql("SELECT 1; SET spark.sql.ansi.enabled=false")
    engine.run(planned("SELECT label, COUNT(*) FROM people GROUP BY label"), CATALOG, SALT)
    assert {name: session.conf.get(name) for name in SETTINGS} == dict(SETTINGS)


def test_what_the_owner_sets_in_their_own_session_stays_there(
    owner: SparkSession, engine: Spark
) -> None:
    owner.conf.set("spark.sql.ansi.enabled", "false")
    assert engine._session.conf.get("spark.sql.ansi.enabled") == "true"
    assert Spark(owner)._session.conf.get("spark.sql.ansi.enabled") == "true"
    owner.conf.unset("spark.sql.ansi.enabled")


def test_a_table_of_the_catalogue_passes(owner: SparkSession) -> None:
    Spark(owner).check(CATALOG)


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidValue, match="'people' has no table with the declared columns"):
        Spark(local()).check(CATALOG)


@pytest.mark.parametrize(
    "name", ["spark.sql.legacy.charVarcharAsString", "spark.sql.parser.escapedStringLiterals"]
)
def test_a_spark_that_brings_back_old_meanings_is_refused(name: str) -> None:
    cluster = local().sparkContext._jsc.sc().conf()
    cluster.set(name, "true")
    try:
        with pytest.raises(InvalidValue, match=rf"The setting {name} gives statements"):
            Spark(local())
    finally:
        cluster.remove(name)
    Spark(local())


@pytest.mark.parametrize(
    ("column", "kind", "physical"),
    [
        ("person", Kind.TEXT, "CHAR(10)"),
        ("person", Kind.TEXT, "VARCHAR(10)"),
        ("person", Kind.TEXT, "STRING COLLATE UNICODE_CI"),
        ("person", Kind.TEXT, "STRING COLLATE UTF8_LCASE"),
        ("person", Kind.TEXT, "BINARY"),
        ("cost", Kind.DECIMAL, "DECIMAL(38, 19)"),
        ("cost", Kind.DECIMAL, "DECIMAL(38, 0)"),
        ("mass", Kind.FLOAT, "DECIMAL(10, 2)"),
        ("far", Kind.INTEGER, "DECIMAL(20, 0)"),
        ("born", Kind.DATE, "TIMESTAMP"),
    ],
)
def test_a_type_on_which_it_could_fail_is_refused(
    column: str, kind: Kind, physical: str, owner: SparkSession
) -> None:
    columns = ", ".join(
        f"`{each.name}` {physical if each.name == column else spark_over.TYPES[each.kind][0]}"
        for each in CATALOG.tables[0].schema.columns
    )
    owner.sql("DROP TABLE people")
    owner.sql(f"CREATE TABLE people ({columns}) USING parquet")
    with pytest.raises(InvalidValue, match=rf"people\.{column} is declared as {kind.value}"):
        Spark(owner).check(CATALOG)


def broken(engine: Spark) -> None:
    """Put a table in place of the engine's, whose costs are words: Spark fails on a row."""
    names = CATALOG.tables[0].schema.columns
    columns = {each.name: pa.array(["SECRET-hiv+"]) for each in names}
    path = folder() / "broken.parquet"
    pq.write_table(pa.table(columns), path)
    engine._session.read.parquet(str(path)).createOrReplaceTempView("people")


def test_a_rehearsal_resolves_a_statement_and_reads_no_row() -> None:
    engine, plan = Spark(local()), planned("SELECT SUM(cost) FROM people")
    with pytest.raises(EngineUnreachable):
        engine.rehearse(plan, CATALOG, SALT)  # there is no such table
    broken(engine)
    engine.rehearse(plan, CATALOG, SALT)
    with pytest.raises(InternalError):  # by a row, which a rehearsal would have met
        engine.run(plan, CATALOG, SALT)


def test_a_failure_has_one_text_and_leaves_none_behind() -> None:
    engine = Spark(local())
    broken(engine)
    heard, logger = StringIO(), logging.getLogger(spark.LOGGERS[0])
    logger.addHandler(logging.StreamHandler(heard))
    with pytest.raises(InternalError, match=r"^The engine failed\.$") as caught:
        engine.run(planned("SELECT SUM(cost) FROM people"), CATALOG, SALT)
    assert "SECRET" in str(caught.value.__cause__)
    assert not heard.getvalue()
    # the lie: as PySpark would have it
    logger.disabled = False
    with pytest.raises(PySparkException, match="SECRET"):
        engine._session.sql("SELECT SUM(CAST(cost AS INT)) FROM people").collect()
    logger.disabled = True
    assert "SECRET" in heard.getvalue()

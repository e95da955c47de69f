"""The engine over Spark: tables of a cluster, in a session of its own, classic or Connect."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from socket import create_connection
from typing import Any
from urllib.parse import urlsplit

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.types import StructField

from tacit.core import Catalog, Column, Kind, Secret, is_copy
from tacit.engines.engine import SecretTable
from tacit.engines.prepare import Run
from tacit.engines.print.relation import columns, everything
from tacit.engines.print.sql_builder import identifier
from tacit.engines.print.sql_dialects import SPARK
from tacit.engines.sql_engine import (
    TABLE_GONE,
    RehearsalCache,
    ask,
    ask_rows,
    cannot_run,
    check_copies,
    check_lookups,
    in_place,
    resolve,
    statements,
)
from tacit.engines.storage_rules import (
    Types,
    check_types,
    columns_without_kind,
    kinds,
    plain_in_spark,
)
from tacit.engines.table_identity import identity
from tacit.engines.unit_rows import PART, UnitRows
from tacit.errors import EngineUnreachable, InternalError, InvalidValue, TacitError
from tacit.plan import BoundedPlan

SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.variable.substitute": "false",
    # Spark knows that an ordered copy is sorted, and reads its buckets in their order
    "spark.sql.legacy.bucketedTableScan.outputOrdering": "true",
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # a product of decimals is exact or fails: it never loses digits
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # (a * 0) * b must stay as it is written: after reordering, a * b may overflow
    "spark.sql.optimizer.excludedRules": (
        "org.apache.spark.sql.catalyst.optimizer.ReorderAssociativeOperator"
    ),
    # a day before 1582 is read as it is stored; other modes shift it, or fail
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    # plans contain the salt, and the web pages of the driver show plans
    "spark.sql.redaction.string.regex": "(?s).+",
}
"""Settings of the session: no substitution of variables in statements, and no rounding."""

OTHER_MEANINGS = re.compile(r"spark\.sql\.legacy\..*|spark\.sql\.parser\.escapedStringLiterals")
"""Settings that restore the meaning that statements had in other versions."""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("boolean"),
    Kind.INTEGER: re.compile("tinyint|smallint|int|bigint"),
    Kind.DECIMAL: re.compile(r"decimal\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("float|double"),
    Kind.TEXT: re.compile("string"),
    Kind.DATE: re.compile("date"),
    Kind.TIMESTAMP: re.compile("timestamp_ntz"),
    **SPARK.stored_types,
}
"""The supported types. All collations except the binary one are missing."""

CONNECT_PORT = 15002
UNANSWERED = "The engine's Spark does not answer. Check its address, and that it runs."

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of PySpark that record errors with the statement and a value of a row."""


class Spark:
    """An engine over Spark, with a session of its own in addition to the owner's.

    The session sees the tables of the catalogue, and not the temporary views of another
    session. A Spark with settings of `OTHER_MEANINGS` is refused.

    Guarantee: only statements that `tacit.engines.print` built are run. No Python runs on
    Spark's workers. All errors have one text, because Spark's own text may contain a value of a
    row.
    """

    dialect = SPARK

    def __init__(
        self, session: SparkSession | ConnectSession, address: str | None = None
    ) -> None:
        self._rehearsed = RehearsalCache()
        self._address = address
        """The address of the Connect server; None for a session in this process."""
        for name in LOGGERS:
            PySparkLogger.getLogger(name).disabled = True
        self._session: Any = session.newSession()
        for name in self._session.conf.getAll:
            if OTHER_MEANINGS.fullmatch(name):
                raise InvalidValue(
                    f"The setting {name} gives statements of this Spark the meaning of another "
                    "version. Remove it from the configuration of Spark's sessions."
                )
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue with a missing table or other column types; no row is read."""
        for dataset in in_place(catalog):
            try:
                types = self._look(columns(dataset.name, catalog, SPARK))
            except Exception as error:
                raise InvalidValue(
                    f"{dataset.name!r} has no table with the declared columns in this "
                    "catalogue. Correct the names of the table and its columns, or the address "
                    "of the engine."
                ) from error
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)
        check_copies(catalog, SPARK, self._look, TYPES, Exception, self.write)
        check_lookups(catalog, SPARK, self._fetch)

    @staticmethod
    def plain(catalog: Catalog) -> tuple[str, ...]:
        """Return a refusal for each table: no table of Spark is served in place."""
        return plain_in_spark(catalog)

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of all tables of the catalogue, as tuples, without copies."""
        try:
            found = [
                (space.name, table.name)
                for space in self._session.catalog.listDatabases()
                for table in self._session.catalog.listTables(space.name)
                if not table.isTemporary and not is_copy(table.name)
            ]
        except Exception as error:
            raise InvalidValue(UNANSWERED) from error
        return tuple(sorted(found))

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns that questions can use, by their types; no row is read."""
        return kinds(self._types(table), TYPES)

    def unused_columns(self, table: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return the names and types of the columns that no question can use."""
        return columns_without_kind(self._types(table), TYPES)

    def _types(self, table: tuple[str, ...]) -> dict[str, str]:
        try:
            found = self._session.sql(everything(table, SPARK)).schema.fields
        except Exception as error:
            raise InvalidValue(
                f"There is no table {'.'.join(table)!r} in this catalogue. Correct its name."
            ) from error
        return {field.name: _type(field) for field in found}

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Return the identities of a table: its name, and the folder of its files if known."""
        try:
            found = self._session.sql(
                f"DESCRIBE TABLE EXTENDED {_quoted_name(table)}"
            ).collect()
        except Exception as error:
            raise InvalidValue(
                f"There is no table {'.'.join(table)!r} in this catalogue. Correct its name."
            ) from error
        described = {row[0]: row[1] for row in found}
        name = [described.get(part) for part in ("Catalog", "Database", "Table")]
        known = [identity("spark", *name)]
        if described.get("Location"):
            known.append(identity("path", str(described["Location"]).removeprefix("file:"), ""))
        return tuple(known)

    def close(self) -> None:
        """Close a session of Connect; a session in this process stays, as others may use it."""
        if isinstance(self._session, ConnectSession):
            self._session.stop()

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer to ``plan``."""
        with self._reading(plan, catalog):
            return ask(plan, catalog, salt, SPARK, self._fetch)

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan whose statements Spark cannot resolve; none is planned or run."""
        texts = statements(plan, catalog, salt, SPARK, rows=rows)
        self._reach()
        try:
            self._rehearsed.each(texts, self._look)
        except Exception as error:
            if isinstance(error, AnalysisException) and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise cannot_run(plan) from error

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the secret rows that ``plan`` keeps; Spark sends one partition at a time."""
        with self._reading(plan, catalog):
            return ask_rows(plan, catalog, salt, SPARK, self._fetch_in_parts)

    def write(self, text: str) -> list[Any]:
        """Run a statement about a copy for its owner, who may see Spark's own errors."""
        found: list[Any] = self._session.sql(text).collect()
        return found

    @contextmanager
    def _reading(self, plan: BoundedPlan, catalog: Catalog) -> Iterator[None]:
        """Distinguish an outage from a failure if Spark cannot resolve a statement's names.

        Such a statement has read no row. If one of its tables does not exist any more, such as
        a copy that its owner dropped, that is an outage, and the paid question waits for the
        table. If files are deleted while a statement runs, that is a failure, because it has
        read rows.
        """
        try:
            yield
        except InternalError as error:
            unresolved = isinstance(error.__cause__, AnalysisException)
            if unresolved and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise

    def _resolves(self, plan: BoundedPlan, catalog: Catalog) -> bool:
        """Return whether the tables of ``plan`` still exist."""
        names = plan.source.datasets
        try:
            return resolve(catalog, names, SPARK, self._look, AnalysisException)
        except Exception:  # noqa: BLE001 - a network error says nothing about tables
            return True

    def _look(self, text: str) -> list[str]:
        return [_type(field) for field in self._session.sql(text).schema.fields]

    def _reach(self) -> None:
        """Raise `EngineUnreachable` if no Connect server listens at the address."""
        if self._address is not None:
            try:
                _check_listening(self._address)
            except OSError as error:
                # no statement was sent, so no row can be the cause
                raise EngineUnreachable(
                    "Spark cannot be reached. Check its address, and that it runs."
                ) from error

    def _fetch_in_parts(self, text: str) -> Iterator[list[Any]]:
        self._reach()
        try:
            found = iter(self._session.sql(text).toLocalIterator())
            while part := list(islice(found, PART)):
                yield part
        except Exception as error:
            raise InternalError("The engine failed.") from error

    def _fetch(self, text: str) -> list[Any]:
        self._reach()
        try:
            found: list[Any] = self._session.sql(text).collect()
        except Exception as error:
            # errors of Spark, of its bridge and of the network have no common base class
            raise InternalError("The engine failed.") from error
        return found


def open_spark(address: str) -> Spark:
    """Return the engine at ``address``: sc:// for Connect, or the master of a cluster."""
    try:
        if address.startswith("sc://"):
            _check_listening(address)
            return Spark(ConnectSession.builder.remote(address).create(), address)
        return Spark(SparkSession.builder.master(address).appName("tacit").getOrCreate())
    except InvalidValue:
        raise
    except Exception:  # noqa: BLE001 - its text may contain the address, and so a token
        unanswered = InvalidValue(UNANSWERED)
    raise unanswered


def _check_listening(address: str) -> None:
    """Raise `OSError` at once if no server listens; Connect itself retries for minutes."""
    split = urlsplit(address)
    with create_connection((split.hostname or "", split.port or CONNECT_PORT), timeout=10):
        pass


def _quoted_name(table: tuple[str, ...]) -> str:
    """Return a table's name as quoted identifiers of Spark, whatever it contains."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in table)


def _type(field: StructField) -> str:
    """Return the type of a column; Spark reports char(n) only in a column's metadata."""
    said: str = field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", field.dataType.simpleString())
    return said


# ------------------------------------------------------------------ spark owner
# Spark with the owner's rights: to make and drop copies, and for nothing else.


@contextmanager
def spark_owner(address: str, database: str) -> Iterator[Run]:
    """Yield a function that runs statements at ``address``, with the settings of `Spark`.

    Guarantee: a copy is made with the same arithmetic as answers. Spark has no transactions: a
    copy that was begun and failed is made again by the next attempt.
    """
    spark = open_spark(address)
    try:
        spark.write(f"CREATE DATABASE IF NOT EXISTS {SPARK.render(identifier(database))}")
        yield spark.write
    except TacitError:
        raise
    except Exception as error:  # an error of Spark, its bridge or the network
        raise InvalidValue(
            f"Spark failed with {type(error).__name__}. Check the address, and that the user "
            "may read the table and create tables in the database of the copy."
        ) from error
    finally:
        spark.close()

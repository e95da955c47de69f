"""Spark: tables of a cluster, by a session of its own, classic or Connect."""

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
from tacit.engines.storage_rules import Types, check_types, kinds, plain_in_spark
from tacit.engines.table_identity import identity
from tacit.engines.unit_rows import PART, UnitRows
from tacit.errors import EngineUnreachable, InternalError, InvalidValue, TacitError
from tacit.plan import BoundedPlan

SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.variable.substitute": "false",
    # an ordered copy is known to be sorted, and read as its buckets lie
    "spark.sql.legacy.bucketedTableScan.outputOrdering": "true",
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # a product of decimals is exact, or would fail: it never loses digits
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # (a * 0) * b stays as it is written: a * b, which it would become, may not fit
    "spark.sql.optimizer.excludedRules": (
        "org.apache.spark.sql.catalyst.optimizer.ReorderAssociativeOperator"
    ),
    # a day before 1582 is the day that its file says; other modes move it, or fail on it
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    # plans hold the salt, and the driver's pages show them
    "spark.sql.redaction.string.regex": "(?s).+",
}
"""What the session is set to: no text reaches the environment, and nothing is rounded."""

OTHER_MEANINGS = re.compile(r"spark\.sql\.legacy\..*|spark\.sql\.parser\.escapedStringLiterals")
"""Names that bring back what statements meant in other versions."""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("boolean"),
    Kind.INTEGER: re.compile("tinyint|smallint|int|bigint"),
    Kind.DECIMAL: re.compile(r"decimal\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("float|double"),
    Kind.TEXT: re.compile("string"),
    Kind.DATE: re.compile("date"),
    Kind.TIMESTAMP: re.compile("timestamp_ntz"),
}
"""No char(n) or varchar(n), which pad and cut; no collations but the binary one; no zones."""

CONNECT_PORT = 15002
UNANSWERED = "The engine's Spark does not answer; look at its address and that it runs."

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""They write each error down, with the statement and the value of a row that it fell over."""


class Spark:
    """An engine over a Spark session of its own, which it makes beside the owner's.

    It sees the tables of the catalogue, and not the temporary views of another session. A Spark
    whose statements mean what they meant in another version is refused.

    Guarantee: only statements that `tacit.engines.print` made are run; there is no Python on
    the workers; what goes wrong has one text, since Spark's own may hold a value of a row.
    """

    dialect = SPARK

    def __init__(
        self, session: SparkSession | ConnectSession, address: str | None = None
    ) -> None:
        self._rehearsed = RehearsalCache()
        self._address = address
        """Where its Connect server listens; None for a session in this process."""
        for name in LOGGERS:
            PySparkLogger.getLogger(name).disabled = True
        self._session: Any = session.newSession()
        for name in self._session.conf.getAll:
            if OTHER_MEANINGS.fullmatch(name):
                raise InvalidValue(
                    f"This Spark is set to mean what another version meant, by {name}; unset "
                    "it where its sessions are set up."
                )
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types; no row is read."""
        for dataset in in_place(catalog):
            try:
                types = self._look(columns(dataset.name, catalog, SPARK))
            except Exception as error:
                raise InvalidValue(
                    f"{dataset.name!r} has no table here with the columns declared."
                ) from error
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)
        check_copies(catalog, SPARK, self._look, TYPES, Exception, self.write)
        check_lookups(catalog, SPARK, self._fetch)

    @staticmethod
    def plain(catalog: Catalog) -> tuple[str, ...]:
        """Why tables may not be served in place: none of Spark's may."""
        return plain_in_spark(catalog)

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The names of all tables of its catalogue, part by part, but those of copies."""
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
        """The columns of a table that can be asked about, by their types; no row is read."""
        try:
            found = self._session.sql(everything(table, SPARK)).schema.fields
        except Exception as error:
            raise InvalidValue(f"There is no table {'.'.join(table)!r} here.") from error
        return kinds({field.name: _type(field) for field in found}, TYPES)

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Which table of the catalogue this is, and where its files lie, as far as it tells."""
        try:
            found = self._session.sql(
                f"DESCRIBE TABLE EXTENDED {_quoted_name(table)}"
            ).collect()
        except Exception as error:
            raise InvalidValue(f"There is no table {'.'.join(table)!r} here.") from error
        told = {row[0]: row[1] for row in found}
        name = [told.get(part) for part in ("Catalog", "Database", "Table")]
        known = [identity("spark", *name)]
        if told.get("Location"):
            known.append(identity("path", str(told["Location"]).removeprefix("file:"), ""))
        return tuple(known)

    def close(self) -> None:
        """Leave Connect; a session in this process goes with it, and others may use it."""
        if isinstance(self._session, ConnectSession):
            self._session.stop()

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        with self._reading(plan, catalog):
            return ask(plan, catalog, salt, SPARK, self._fetch)

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan whose statements Spark does not resolve; none is planned or run."""
        texts = statements(plan, catalog, salt, SPARK, rows=rows)
        self._reach()
        try:
            self._rehearsed.each(texts, self._look)
        except Exception as error:
            if isinstance(error, AnalysisException) and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise cannot_run(plan) from error

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """The secret rows that ``plan`` keeps; Spark hands on one partition at a time."""
        with self._reading(plan, catalog):
            return ask_rows(plan, catalog, salt, SPARK, self._fetch_in_parts)

    def write(self, text: str) -> list[Any]:
        """Run what makes or drops a copy, for its owner, who may read Spark's own errors."""
        found: list[Any] = self._session.sql(text).collect()
        return found

    @contextmanager
    def _reading(self, plan: BoundedPlan, catalog: Catalog) -> Iterator[None]:
        """Tell an outage from a failure, where Spark does not resolve a statement.

        Such a statement has read no row. Where one of its tables is gone, such as a copy that
        its owner dropped, what is paid for waits for it. A statement whose files are gone while
        it runs is a failure: it has read rows.
        """
        try:
            yield
        except InternalError as error:
            unresolved = isinstance(error.__cause__, AnalysisException)
            if unresolved and not self._resolves(plan, catalog):
                raise EngineUnreachable(TABLE_GONE) from error
            raise

    def _resolves(self, plan: BoundedPlan, catalog: Catalog) -> bool:
        """Whether the names of the tables of ``plan`` still stand for something."""
        names = plan.source.datasets
        try:
            return resolve(catalog, names, SPARK, self._look, AnalysisException)
        except Exception:  # noqa: BLE001 - of the network: then nobody knows
            return True

    def _look(self, text: str) -> list[str]:
        return [_type(field) for field in self._session.sql(text).schema.fields]

    def _reach(self) -> None:
        """Refuse to ask a Connect server where nobody listens."""
        if self._address is not None:
            try:
                _check_listening(self._address)
            except OSError as error:
                # no statement was sent: no row can be the cause
                raise EngineUnreachable("Spark cannot be reached.") from error

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
            # of Spark, of the bridge to it, or of the network: there is no tree of them
            raise InternalError("The engine failed.") from error
        return found


def open_spark(address: str) -> Spark:
    """The Spark at ``address``: sc:// of Connect, or the master of a cluster."""
    try:
        if address.startswith("sc://"):
            _check_listening(address)
            return Spark(ConnectSession.builder.remote(address).create(), address)
        return Spark(SparkSession.builder.master(address).appName("tacit").getOrCreate())
    except InvalidValue:
        raise
    except Exception:  # noqa: BLE001 - its words may hold the address, and so a token
        told = InvalidValue(UNANSWERED)
    raise told


def _check_listening(address: str) -> None:
    """Fail at once where nobody listens; Connect itself tries again for minutes."""
    split = urlsplit(address)
    with create_connection((split.hostname or "", split.port or CONNECT_PORT), timeout=10):
        pass


def _quoted_name(table: tuple[str, ...]) -> str:
    """A table's name as Spark reads it, whatever stands in it."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in table)


def _type(field: StructField) -> str:
    """The type of a column; Spark calls char(n) a string, and says beside it what it is."""
    said: str = field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", field.dataType.simpleString())
    return said


# ------------------------------------------------------------------ spark owner
# Spark as the owner of the tables: to make and drop copies, and nothing else.


@contextmanager
def spark_owner(address: str, database: str) -> Iterator[Run]:
    """Runs statements at ``address``, in a session that is set as those that answer are.

    Guarantee: a copy is made by the arithmetic that questions are answered by. Spark has no
    transactions: what was begun and failed is made anew by the next attempt.
    """
    spark = open_spark(address)
    try:
        spark.write(f"CREATE DATABASE IF NOT EXISTS {SPARK.render(identifier(database))}")
        yield spark.write
    except TacitError:
        raise
    except Exception as error:  # of Spark, of the bridge to it, or of the network
        raise InvalidValue(
            f"Spark failed, by a {type(error).__name__}; look at the address, and that it may "
            "read the table, and create tables where the copy shall lie."
        ) from error
    finally:
        spark.close()

"""Spark: tables of a cluster, by a session that the owner made."""

import re
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.engines.engine import SecretTable, boxed
from tacit.engines.physical_types import Types, check_types
from tacit.engines.print.join import columns
from tacit.engines.print.question import question
from tacit.errors import InternalError, InvalidValue
from tacit.plan.bounded import BoundedPlan

SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.variable.substitute": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # a product of decimals is exact, or would fail: it never loses digits
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""What the session is set to: no text reaches the environment, and nothing is rounded."""

TYPES: Types = {
    Kind.BOOLEAN: re.compile("boolean"),
    Kind.INTEGER: re.compile("tinyint|smallint|int|bigint"),
    Kind.DECIMAL: re.compile(r"decimal\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("float|double"),
    Kind.TEXT: re.compile("string"),
    Kind.DATE: re.compile("date"),
    Kind.TIMESTAMP: re.compile("timestamp_ntz"),
}
"""No char(n) or varchar(n), which pad and cut; no collations but the binary one."""


class Spark:
    """An engine over a Spark session of its own, which it sets up.

    Guarantee: only statements that `tacit.engines.print` made are run; there is no Python on
    the workers; what goes wrong has one text, since Spark's own may hold a value of a row.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session.newSession()
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types; no row is read."""
        for dataset in catalog.datasets:
            try:
                found = self._session.sql(columns(dataset.name, catalog, dialect="spark"))
                types = [field.dataType.simpleString() for field in found.schema.fields]
            except PySparkException as error:
                raise InvalidValue(
                    f"{dataset.name!r} has no table here with the columns declared."
                ) from error
            check_types(dataset, dict(zip(dataset.schema.names, types, strict=True)), TYPES)

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        text = question(plan, catalog, salt, dialect="spark")
        try:
            found = self._session.sql(text).collect()
        except PySparkException as error:
            raise InternalError("The engine failed.") from error
        return boxed(plan, found)

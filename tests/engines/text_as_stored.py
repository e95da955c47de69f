"""A lie for tests: text is read as its column compares it, on every engine."""

import pytest
from sqlglot import exp

from tacit.core.domain import Kind
from tacit.engines.print.postgres_dialect import PostgresDialect
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DuckDBDialect, SparkDialect


def read_text_as_stored(patch: pytest.MonkeyPatch) -> None:
    """Read text without a look at its bytes; decimals keep their meaning."""

    def cell(self: Dialect, value: exp.Expr, kind: Kind) -> exp.Expr:
        return self.finite(value) if kind is Kind.DECIMAL else value

    for dialect in (DuckDBDialect, PostgresDialect, SparkDialect):
        patch.setattr(dialect, "cell", cell)

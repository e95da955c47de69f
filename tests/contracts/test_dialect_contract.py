"""Every dialect that has an engine keeps its contract, and each check refuses its lie."""

import duckdb
import pytest
from sqlglot import exp

from tacit.core.domain import Kind
from tacit.engines.print.sql_builder import literal
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DUCKDB, DuckDBDialect, wide_sums
from tacit.testing.dialect_contract import DialectContract, Run


@pytest.fixture
def run() -> Run:
    connection = duckdb.connect()
    return lambda text: connection.execute(text).fetchall()


def test_duckdb_keeps_it(run: Run) -> None:
    assert DialectContract(DUCKDB, run).violations() == []


class WrongHex(DuckDBDialect):
    """A lie: the digits are not read."""

    def hex_to_integer(self, digits: exp.Expr) -> exp.Expr:
        del digits
        return literal(7)


class Folded(DuckDBDialect):
    """A lie: text is compared without its case."""

    def cell(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        return exp.Lower(this=value) if kind is Kind.TEXT else value


class Narrow(DuckDBDialect):
    """A lie: sums are of 64 bits."""

    rewrites = (wide_sums("BIGINT"),)

    def render(self, tree: exp.Expr) -> str:
        return super().render(tree).replace("SUM(CAST(v AS BIGINT))", "CAST(SUM(v) AS BIGINT)")


class Elsewhere(DuckDBDialect):
    """A lie: another text."""

    def render(self, tree: exp.Expr) -> str:
        return super().render(tree).replace("%", "_")


class Stateful(DuckDBDialect):
    """A lie: it has a setting."""

    def __init__(self, setting: int) -> None:
        self.setting = setting


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (WrongHex(), "The expression has another value: a hash in hexadecimal."),
        (Folded(), "The expression has another value: text is ordered by its bytes."),
        (Narrow(), "a sum of more than 64 bits."),
        (Elsewhere(), "The text '%' is printed as another text."),
        (Stateful(1), "cannot be created without arguments"),
    ],
)
def test_a_dialect_that_lies_is_found(lie: Dialect, found: str, run: Run) -> None:
    assert any(found in each for each in DialectContract(lie, run).violations())


class Unprintable(DuckDBDialect):
    """A lie: nothing can be printed."""

    def render(self, tree: exp.Expr) -> str:
        raise NotImplementedError(type(tree))


def test_a_check_that_fails_is_a_violation(run: Run) -> None:
    found = DialectContract(Unprintable(), run).violations()
    said = "The check changed_texts cannot be finished: it raises NotImplementedError"
    assert any(each.startswith(said) for each in found)

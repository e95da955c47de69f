"""The types behind a catalogue are those on which nothing that is printed fails."""

import duckdb
import pytest
import specials
from specials import rows

from tacit.core.catalog import Limits
from tacit.engines.duckdb import DuckDB
from tacit.errors import InvalidValue

CATALOG = specials.catalog(Limits(1, 1))


def test_the_types_behind_the_kinds_are_checked_without_a_row() -> None:
    with specials.database(rows()) as connection:
        DuckDB(connection).check(CATALOG)


@pytest.mark.parametrize(
    ("column", "physical"),
    [
        ("huge", "UHUGEINT"),
        ("huge", "DOUBLE"),
        ("fine", "DECIMAL(38,19)"),
        ("fine", "DECIMAL(38,0)"),
        ("double", "VARCHAR"),
        ("label", "ENUM ('a', 'b')"),
        ("label", "UUID"),
        ("moment", "TIMESTAMPTZ"),
        ("day", "TIMESTAMP"),
    ],
)
def test_a_type_on_which_an_engine_could_fail_is_refused(column: str, physical: str) -> None:
    with specials.database([]) as connection:
        connection.execute(f"ALTER TABLE specials ALTER {column} TYPE {physical}")
        with pytest.raises(InvalidValue, match=rf"specials\.{column} is declared as"):
            DuckDB(connection).check(CATALOG)


def test_a_table_that_is_not_there_is_refused() -> None:
    with (
        duckdb.connect() as connection,
        pytest.raises(InvalidValue, match="has no table with the declared columns"),
    ):
        DuckDB(connection).check(CATALOG)

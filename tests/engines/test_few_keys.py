"""Few public texts are asked for as DuckDB is fastest at, and nowhere else."""

import pytest
from sqlglot import exp

from tacit.core.domain import Keys, Kind
from tacit.engines.print.expressions import is_group
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DUCKDB, MOST_COMPARED, SPARK
from tacit.plan.bounded_plan import ColumnKey


def asked(dialect: Dialect, *keys: str | int) -> exp.Expr:
    kind = Kind.TEXT if isinstance(keys[0], str) else Kind.INTEGER
    return is_group(ColumnKey("key_0", "ward", kind, Keys(keys)), "k0", dialect)


@pytest.mark.parametrize("count", range(2, MOST_COMPARED + 1))
def test_few_texts_are_one_value_on_duckdb(count: int) -> None:
    assert isinstance(asked(DUCKDB, *"abcdef"[:count]), exp.Is)


@pytest.mark.parametrize(
    ("dialect", "keys"),
    [
        (DUCKDB, ("a",)),
        (DUCKDB, tuple("abcde")),
        (DUCKDB, (1, 2)),
        (POSTGRES, ("a", "b")),
        (SPARK, ("a", "b")),
    ],
)
def test_all_others_are_looked_up(dialect: Dialect, keys: tuple[str | int, ...]) -> None:
    assert isinstance(asked(dialect, *keys), exp.In)

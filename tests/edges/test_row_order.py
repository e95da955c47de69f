"""F-P13: the floats of one unit are added in an order that only its own rows decide.

Version 0.1.0 took a unit's rows in the order in which the engine found them. A sum of floats
depends on that order, so the integer of a unit was 472322 or 472323 by where others stood in
the table.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Bar
from engines_over import Over, duckdb_over
from fitted_models import People
from postgres_over import postgres_over

from tacit.core.privacy_unit import Neighbours
from tacit.core.unseal import unseal
from tacit.engines import duckdb, sql_engine
from tacit.engines.print.statement import row_statement
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.query.paid_work import Data

ORDERS = 6
LAST = re.compile(r"(ORDER BY [^,]+?)(, \"?t\d+\"?( NULLS (FIRST|LAST))?)+$")
MODEL = LogisticRegression(bounds=([-1, 0], [1, 50]), clip=100.0)


def listings(over: Over) -> list[list[list[int]]]:
    """The rows of a fit, for one table written in several orders."""
    numbers = np.random.default_rng(13)
    units = np.repeat(np.arange(40), 5)
    rows = numbers.uniform([-1, 0, 0], [1, 50, 2], (units.size, 3)).tolist()
    arrays = People(units.tolist(), []).shown(5, Neighbours.ADD_REMOVE)
    found = []
    for _ in range(ORDERS):
        mixed = numbers.permutation(units.size).tolist()
        people = People(
            [int(units[at]) for at in mixed],
            [(rows[at][0], rows[at][1], int(rows[at][2])) for at in mixed],
        )
        engine = over(arrays.catalog, people.tables)
        step = MODEL.rows(arrays.training).step(arrays.training)
        blocks = unseal(Data(engine, arrays.catalog, b"arrays").answer(step)).blocks()
        found.append([row for block in blocks for row in block.tolist()])
    return found


def as_found(*given: Any) -> str:
    """The lie: rows by their unit, and those of a unit in an order that nobody promises."""
    return LAST.sub(r"\1, RANDOM()", row_statement(*given))


@pytest.mark.parametrize(
    ("name", "over"), [("DuckDB", duckdb_over), ("PostgreSQL", postgres_over)]
)
def test_a_units_rows_come_in_one_order(
    name: str, over: Over, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = len({str(each) for each in listings(over)})
    bar(f"edge row_order: ways that {name} lists one table", ways, "1", ways == 1)
    monkeypatch.setattr(duckdb, "row_statement", as_found)
    monkeypatch.setattr(sql_engine, "row_statement", as_found)
    ways = len({str(each) for each in listings(over)})
    bar(f"edge row_order: the same as in 0.1.0, {name}", ways, "> 1", ways > 1)


def test_the_order_of_floats_shows_in_a_units_integer() -> None:
    def total(order: Callable[[list[float]], list[float]]) -> float:
        return float(np.add.reduce(np.array(order([1e16, 1.0, -1e16, 1.0]))))

    assert total(list) != total(sorted)

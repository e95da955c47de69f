"""F-P9: a public table is joined as it is, however many of its rows stand beside one row."""

from collections.abc import Callable

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print import relation
from tacit.plan.source import JoinedTable

PLACE = "tacit.engines.print.relation:_joined_table"
CAUGHT_BY = (
    "tests/edges/test_fan_out.py::test_a_statement_multiplies_by_the_declared_number_at_most"
)
SHOWN = "rows of a join for a person of 5 rows: 5000 (wanted at most 80) short"

Printed = Callable[[JoinedTable, Catalog, str], exp.Expr]


def bug(_: Printed) -> Printed:
    return lambda each, catalog, _: relation._table(each.dataset, catalog)

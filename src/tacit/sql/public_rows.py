"""Statements that are answered by declarations and constants alone: SELECT 1, SELECT DISTINCT.

Tools send SELECT 1 to find out whether a connection works, and SELECT DISTINCT ward to fill a
list from which people choose. Declared keys are public, so that the second needs no data: the
answer is the declared keys, also those that no row has.
"""

from collections.abc import Callable

from sqlglot import exp

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.plan import Expression, Field
from tacit.plan import plan as nodes
from tacit.sql.expression import AGGREGATES, expression
from tacit.sql.released import released_function

ONE_ROW = ("row", (1,))
"""The column of a table with one row, over which constants are computed."""

KEY = "key"


def public_rows(
    select: exp.Select, catalog: Catalog, limit_of: Callable[[exp.Query], int | None]
) -> nodes.PublicRows | None:
    """Return the answer to a statement that needs no data; None for any other statement."""
    if select.args.get("from_") is None:
        return _constants(select, limit_of(select))
    if not _lists_keys(select):
        return None
    table, column = _listed_column(select, catalog)
    keys = catalog.table(table).schema[column].keys
    if keys is None:
        counted = f"SELECT {column}, COUNT(*) FROM {table} GROUP BY {column}"  # noqa: S608
        raise InvalidValue(
            f"The values of {table}.{column} are not public; ask for their counts: {counted}."
        )
    name = select.expressions[0].alias_or_name
    order = select.args.get("order")
    post = nodes.Post(
        (nodes.Output(name, Field(KEY)),),
        None,
        tuple(_order(each, name, column) for each in (order.expressions if order else ())),
        limit_of(select),
    )
    return nodes.PublicRows(((KEY, keys.values),), post, (table,))


def _constants(select: exp.Select, limit: int | None) -> nodes.PublicRows:
    """Return the row of a SELECT without FROM."""
    for part in ("where", "group", "having", "order", "joins", "distinct", "with_"):
        if select.args.get(part):
            raise InvalidValue("A question needs FROM with the name of a dataset.")
    outputs = tuple(
        nodes.Output(
            node.alias if isinstance(node, exp.Alias) else f"column_{place + 1}",
            expression(node.unalias(), _no_column),
        )
        for place, node in enumerate(select.expressions)
    )
    return nodes.PublicRows((ONE_ROW,), nodes.Post(outputs, limit=limit))


def _no_column(node: exp.Expr) -> Expression | None:
    """Translate functions of constants; refuse whatever needs rows."""
    if isinstance(node, (exp.Column, exp.Star, exp.Window, exp.Subquery, *AGGREGATES)):
        raise InvalidValue("A question needs FROM with the name of a dataset.")
    return released_function(node, lambda part: expression(part, _no_column))


def _lists_keys(select: exp.Select) -> bool:
    """Return whether a SELECT has only columns, with DISTINCT or with the same GROUP BY."""
    group = select.args.get("group")
    plain = all(isinstance(each.unalias(), exp.Column) for each in select.expressions)
    if not plain or any(each.is_star for each in select.expressions):
        return False
    if select.args.get("having") is not None or select.find(*AGGREGATES) is not None:
        return False
    return group is not None or select.args.get("distinct") is not None


def _listed_column(select: exp.Select, catalog: Catalog) -> tuple[str, str]:
    """Return the table and the column of which a SELECT lists the values."""
    if not select.expressions:
        raise InvalidValue("SELECT names no column; write one, as in SELECT DISTINCT ward.")
    source = select.args["from_"].this
    column = select.expressions[0].unalias()
    group = select.args.get("group")
    grouped = [] if group is None else group.expressions
    others = ("where", "joins", "with_")
    if (
        len(select.expressions) != 1
        or any(select.args.get(part) for part in others)
        or not isinstance(source, exp.Table)
        or any(each.name not in {column.name, select.expressions[0].alias} for each in grouped)
    ):
        raise InvalidValue(
            "The declared keys are listed for one column of one dataset, without a condition, "
            "as in SELECT DISTINCT ward FROM visits. For groups of rows, ask for their counts: "
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward."
        )
    table = catalog.table(source.name)
    table.schema[column.name]  # refuses an unknown name
    return table.name, column.name


def _order(node: exp.Expr, *names: str) -> nodes.OrderBy:
    if not isinstance(node.this, exp.Column) or node.this.name not in names:
        raise InvalidValue("The declared keys can be sorted only by themselves.")
    return nodes.OrderBy(
        Field(KEY), bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    )

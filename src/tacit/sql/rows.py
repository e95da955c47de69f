"""Where a SELECT's rows come from: datasets, joins along links, and queries below.

A query below that only names, computes and filters rows is taken in: what it calls a column is
replaced by what that stands for. One that aggregates does so for each unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.errors import InvalidValue
from tacit.plan.expression import Expression, Field
from tacit.plan.relation import Filter, Join, Relation, Scan
from tacit.plan.size import LARGEST_PART, not_too_large
from tacit.plan.source import source_of
from tacit.sql.expression import expression
from tacit.sql.names import Names
from tacit.sql.per_unit import UnitRows, aggregates

Below = Mapping[str, exp.Select]
"""The queries that WITH names."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation, and the names that its columns have above it."""

    relation: Relation
    names: Names


def rows_of(select: exp.Select, catalog: Catalog, below: Below) -> Rows:
    """The rows that ``select`` reads, joined and filtered."""
    source = select.args.get("from_")
    if source is None:
        raise InvalidValue("A question says FROM which dataset it asks.")
    below = _with(select, below)
    rows = _table(source.this, catalog, below)
    for join in select.args.get("joins") or ():
        rows = _joined(rows, join, catalog, below)
    where = select.args.get("where")
    if where is not None:
        wanted = expression(where.this, rows.names)
        rows = Rows(Filter(rows.relation, wanted), rows.names)
    return rows


def _with(select: exp.Select, below: Below) -> Below:
    """The queries that can be named inside ``select``."""
    found = dict(below)
    with_ = select.args.get("with_")
    for each in with_.expressions if with_ is not None else ():
        query = each.this
        if not isinstance(query, exp.Select):
            raise InvalidValue("WITH names queries that are SELECTs.")
        if query.args.get("with_") is not None:
            raise InvalidValue("WITH stands at the top of a question.")
        found[each.alias] = _closed(query, found)
    return found


def _closed(query: exp.Select, below: Below) -> exp.Select:
    """``query`` with the queries that it may name: those before it, and not itself."""
    query.meta["below"] = dict(below)
    return query


def _table(node: exp.Expr, catalog: Catalog, below: Below) -> Rows:
    match node:
        case exp.Subquery() if isinstance(node.this, exp.Select):
            return _taken_in(node.this, node.alias, catalog, below)
        case exp.Table() if node.name in below:
            query = below[node.name]
            return _taken_in(query, node.alias or node.name, catalog, query.meta["below"])
        case exp.Table():
            dataset = catalog.dataset(node.name)
            columns = {name: Field(f"{dataset.name}.{name}") for name in dataset.schema.names}
            return Rows(Scan(dataset.name), Names({node.alias or node.name: columns}))
    raise InvalidValue("A question asks a dataset, or a query below it.")


def _taken_in(query: exp.Select, alias: str, catalog: Catalog, below: Below) -> Rows:
    """A query below, taken in: its rows, under the names that it gives."""
    for part in ("order", "limit"):
        if query.args.get(part) is not None:
            raise InvalidValue(
                f"{part.upper()} in a query below chooses among the rows of all; write it at "
                "the end of the question, for what is released."
            )
    rows = rows_of(query, catalog, below)
    if aggregates(query):
        unit = source_of(rows.relation, catalog).unit
        relation, found = UnitRows(rows.relation, rows.names, unit).read(query)
        return Rows(relation, Names({alias: found}))
    named = [pair for node in query.expressions for pair in _columns(node, rows.names)]
    columns = dict(named)
    if len(columns) != len(named):
        raise InvalidValue("Columns of a query below have distinct names; name each with AS.")
    return Rows(rows.relation, Names({alias: columns}))


def _columns(node: exp.Expr, names: Names) -> list[tuple[str, Expression]]:
    """What one part of a SELECT below calls its columns, and what they stand for."""
    if isinstance(node, exp.Star):
        return [pair for columns in names.tables.values() for pair in columns.items()]
    if not isinstance(node, exp.Alias | exp.Column):
        raise InvalidValue("Columns of a query below have names; name each with AS.")
    inner = node.this if isinstance(node, exp.Alias) else node
    return [(node.alias_or_name, not_too_large(expression(inner, names), LARGEST_PART))]


def _joined(rows: Rows, join: exp.Join, catalog: Catalog, below: Below) -> Rows:
    """One more dataset, by an equation of two columns."""
    if join.args.get("kind") not in {None, "", "INNER"}:
        raise InvalidValue("Joins are inner joins: JOIN ... ON a.x = b.y.")
    table, on = join.this, join.args.get("on")
    if not isinstance(table, exp.Table) or not isinstance(on, exp.EQ):
        raise InvalidValue("A dataset is joined by JOIN dataset ON a.x = b.y.")
    if table.name in below:
        raise InvalidValue(f"{table.name!r} is a query here, and only datasets are joined.")
    right = _table(table, catalog, {})
    names = rows.names
    for name, columns in right.names.tables.items():
        names = names.beside(name, columns)
    sides = [expression(side, names) for side in (on.this, on.expression)]
    dataset = right.relation.dataset if isinstance(right.relation, Scan) else ""
    fields = [side.name for side in sides if isinstance(side, Field)]
    ours = [name for name in fields if name.startswith(f"{dataset}.")]
    theirs = [name for name in fields if name not in ours]
    if len(ours) != 1 or len(theirs) != 1:
        raise InvalidValue("ON equates a column of the joined dataset with one before it.")
    joined = Join(rows.relation, dataset, theirs[0], ours[0].partition(".")[2])
    return Rows(joined, names)

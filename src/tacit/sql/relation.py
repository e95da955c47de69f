"""The FROM part of a question: tables, joins and subqueries, and the names of their columns.

A subquery that only renames, computes and filters rows is inlined: each of its columns is
replaced by its definition. A subquery that aggregates becomes a `PerUnit` relation
(`PerUnitQuery`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.core import Catalog, PublicTable
from tacit.errors import InvalidValue
from tacit.plan import LARGEST_PART, Expression, Field, equation, not_too_large, same_person
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.sql.advice import refusal_of_join
from tacit.sql.expression import expression
from tacit.sql.per_unit_query import Columns, NameScope, PerUnitQuery, aggregates
from tacit.sql.subselect import (
    Subselect,
    asking_for,
    refuse_subselects,
    say_uncorrelated,
    split_where,
    take_equations,
)

Below = Mapping[str, exp.Select]
"""The queries that WITH defines, by name."""


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A relation, and the names of its columns in the query above it."""

    relation: nodes.Relation
    names: NameScope


def rows_of(select: exp.Select, catalog: Catalog, below: Below) -> NamedRelation:
    """Return the rows that ``select`` reads, after joins and WHERE."""
    source = select.args.get("from_")
    if source is None:
        raise InvalidValue("A question needs FROM with the name of a dataset.")
    below = with_queries(select, below)
    rows = _table(source.this, catalog, below)
    for join in select.args.get("joins") or ():
        rows = _join(rows, join, catalog, below)
    _refuse_subselects(select)
    where = select.args.get("where")
    return rows if where is None else _where(rows, where.this, catalog, below)


def _where(
    rows: NamedRelation, condition: exp.Expr, catalog: Catalog, below: Below
) -> NamedRelation:
    """Return the rows for which a condition is true; subselects become semi-joins."""
    plain, subselects = split_where(condition)
    relation, wanted = rows.relation, [expression(each, rows.names) for each in plain]
    for each in subselects:
        before = NamedRelation(relation, rows.names)
        if _is_public(each.query, catalog, below):
            relation, more = _look_up(before, each, catalog, below)
        else:
            relation, more = _semi_join(before, each, catalog, below)
        wanted += more
    if wanted:
        all_of = wanted[0] if len(wanted) == 1 else expr.And(tuple(wanted))
        relation = nodes.Filter(relation, all_of)
    return NamedRelation(relation, rows.names)


def _refuse_subselects(select: exp.Select) -> None:
    """Refuse subselects where they are neither tables nor conditions."""
    for part in (*select.expressions, *(select.args.get(key) for key in AFTER)):
        if part is not None:
            refuse_subselects(part)


AFTER = ("group", "having", "order")


def _equations(
    rows: NamedRelation, found: Subselect, catalog: Catalog, below: Below
) -> tuple[exp.Select, list[tuple[Expression, exp.Expr]]]:
    """Return a subselect without its equations with the outer row, and the equated columns."""
    _refuse_order(found.query)
    inside = _inner_names(found.query, catalog, below)
    correlated = take_equations(found.query, inside, rows.names.tables)
    pairs = [(expression(left, rows.names), right) for left, right in correlated.equations]
    if found.tested is not None:
        tested, listed = expression(found.tested, rows.names), found.query.expressions
        column = listed[0].unalias() if len(listed) == 1 else None
        if not isinstance(tested, Field) or not isinstance(column, exp.Column):
            raise InvalidValue(
                f"{found.word} must compare one column with one column, as in a.patient IN "  # noqa: S608 - a refusal
                "(SELECT b.patient FROM b)."
            )
        pairs.append((tested, column))
    return correlated.query, pairs


def _semi_join(
    rows: NamedRelation, found: Subselect, catalog: Catalog, below: Below
) -> tuple[nodes.Relation, list[Expression]]:
    """Return the semi-join of a subselect, and conditions on the rows that it keeps.

    NOT IN keeps no row whose own value is NULL.
    """
    query, pairs = _equations(rows, found, catalog, below)
    inner = _inner_rows(query, catalog, below)
    on = [(left, expression(right, inner.names)) for left, right in pairs]
    columns = [(a.name, b.name) for a, b in on if isinstance(a, Field) and isinstance(b, Field)]
    if len(columns) != len(on):
        raise InvalidValue(
            "A subselect must equate columns of datasets; a column that a subquery computes "
            "cannot be equated. Use the columns of its tables."
        )
    one, other = (nodes.tables_in_scope(each)[0] for each in (rows.relation, inner.relation))
    if not any(same_person(left, right, catalog) for left, right in columns):
        raise say_uncorrelated(found, one, other, catalog)
    tested = None if found.tested is None else pairs[-1][0]
    known: list[Expression] = []
    if found.negated and tested is not None:
        known.append(expr.Not(expr.IsNull(tested)))
    return nodes.Semi(rows.relation, inner.relation, tuple(columns), found.negated), known


def _is_public(query: exp.Select, catalog: Catalog, below: Below) -> bool:
    """Return whether a subselect reads a public table first."""
    source = query.args.get("from_")
    node = None if source is None else source.this
    if not isinstance(node, exp.Table) or node.name in below:
        return False
    return catalog.is_public(node.name)


def _look_up(
    rows: NamedRelation, found: Subselect, catalog: Catalog, below: Below
) -> tuple[nodes.Relation, list[Expression]]:
    """Return the join that stands for a subselect of a public table, and its conditions.

    If a value is in one row of the table, a row has one match or none, so that a join keeps
    the same rows.
    """
    query, pairs = _equations(rows, found, catalog, below)
    node = query.args["from_"].this
    table = catalog.table(node.name)
    names = {name: Field(f"{table.name}.{name}") for name in table.schema.names}
    inside = NameScope({node.alias or node.name: names})
    on = [(left, expression(right, inside)) for left, right in pairs]
    alone = not query.args.get("joins") and not aggregates(query)
    once = isinstance(table, PublicTable) and table.fan_out == 1
    match on:
        case [(Field(left), Field(right))] if alone and once and not found.negated:
            joined = nodes.JoinPublic(rows.relation, table.name, left, right.partition(".")[2])
        case _:
            raise InvalidValue(
                f"{found.word} can read a public table only without NOT, by one equation, and "
                f"if each value is in one row of it; write LEFT JOIN {table.name} ON an "
                "equation with its lookup column, and conditions in WHERE."
            )
    where = query.args.get("where")
    return joined, [] if where is None else [expression(where.this, inside)]


def _inner_names(query: exp.Select, catalog: Catalog, below: Below) -> dict[str, Columns]:
    """Return the columns of the tables of a subselect, by the names of the tables."""
    found: dict[str, Columns] = {}
    source = query.args.get("from_")
    joins = [join.this for join in query.args.get("joins") or ()]
    for node in [*([] if source is None else [source.this]), *joins]:
        plain = isinstance(node, exp.Table) and node.name not in below
        if plain and catalog.is_public(node.name):
            names = dict.fromkeys(catalog.table(node.name).schema.names, Field(""))
            found[node.alias or node.name] = names
        else:
            found |= _table(node, catalog, below).names.tables
    return found


def _inner_rows(query: exp.Select, catalog: Catalog, below: Below) -> NamedRelation:
    """Return the rows of a subselect, and the names of the columns that equations can use."""
    rows = rows_of(query, catalog, below)
    if not aggregates(query):
        return rows
    group = query.args.get("group")
    made = query.copy()
    keys = [] if group is None else group.expressions
    made.set("expressions", [each.copy() for each in keys if isinstance(each, exp.Column)])
    relation, _ = PerUnitQuery(rows.relation, rows.names, catalog).read(made)
    return NamedRelation(relation, rows.names)


def _refuse_order(query: exp.Select) -> None:
    for part in ("order", "limit"):
        if query.args.get(part) is not None:
            raise InvalidValue(
                f"{part.upper()} is not supported in a subquery, because it would select among "
                "the rows of several people; write it at the end of the question."
            )


def with_queries(select: exp.Query, below: Below) -> Below:
    """Return the queries that can be used by name inside ``select``."""
    found = dict(below)
    with_ = select.args.get("with_")
    for each in with_.expressions if with_ is not None else ():
        query = each.this
        if not isinstance(query, exp.Select):
            raise InvalidValue("A query in WITH must be a SELECT.")
        if query.args.get("with_") is not None:
            raise InvalidValue("WITH is supported only at the beginning of a question.")
        found[each.alias] = _attach_scope(query, found)
    return found


def _attach_scope(query: exp.Select, below: Below) -> exp.Select:
    """Attach to ``query`` the queries that it can use: those defined before it, not itself."""
    query.meta["below"] = dict(below)
    return query


def _table(node: exp.Expr, catalog: Catalog, below: Below) -> NamedRelation:
    match node:
        case exp.Subquery() if isinstance(node.this, exp.Select):
            return _inline(node.this, node.alias, catalog, below)
        case exp.Table() if node.name in below:
            query = below[node.name]
            return _inline(query, node.alias or node.name, catalog, query.meta["below"])
        case exp.Table():
            dataset = catalog.dataset(node.name)
            columns = {name: Field(f"{dataset.name}.{name}") for name in dataset.schema.names}
            return NamedRelation(
                nodes.Scan(dataset.name), NameScope({node.alias or node.name: columns})
            )
    raise InvalidValue("FROM supports only a dataset or a subquery.")


def _inline(query: exp.Select, alias: str, catalog: Catalog, below: Below) -> NamedRelation:
    """Return the rows of a subquery, with the names that it gives to their columns."""
    _refuse_order(query)
    if query.args.get("distinct") is not None:
        raise InvalidValue(
            "SELECT DISTINCT is not supported in a subquery, because equal rows of several "
            "people would become one; leave DISTINCT out, and write GROUP BY with the unit, "
            "and the other columns after it."
        )
    rows = rows_of(query, catalog, below)
    if aggregates(query):
        relation, found = PerUnitQuery(rows.relation, rows.names, catalog).read(query)
        return NamedRelation(relation, NameScope({alias: found}))
    named = [pair for node in query.expressions for pair in _columns(node, rows.names)]
    columns = dict(named)
    if len(columns) != len(named):
        raise InvalidValue(
            "Columns of a subquery must have distinct names; rename one with AS."
        )
    return NamedRelation(rows.relation, NameScope({alias: columns}))


def _columns(node: exp.Expr, names: NameScope) -> list[tuple[str, Expression]]:
    """Return the names and definitions of the columns of one part of a subquery's SELECT."""
    if isinstance(node, exp.Star):
        return [pair for columns in names.tables.values() for pair in columns.items()]
    if not isinstance(node, exp.Alias | exp.Column):
        raise InvalidValue("A column of a subquery needs a name; name it with AS.")
    inner = node.this if isinstance(node, exp.Alias) else node
    return [(node.alias_or_name, not_too_large(expression(inner, names), LARGEST_PART))]


def _join(rows: NamedRelation, join: exp.Join, catalog: Catalog, below: Below) -> NamedRelation:
    """Join one more table, by an equation of two columns."""
    table, on = join.this, join.args.get("on")
    outer = _outer(join)
    if not isinstance(table, exp.Table) or not isinstance(on, exp.EQ):
        raise InvalidValue("A join must be written as JOIN dataset ON a.x = b.y.")
    if table.name in below:
        raise InvalidValue(f"{table.name!r} is a subquery; only datasets can be joined.")
    public = catalog.is_public(table.name)
    if not public and table.name in nodes.tables_in_scope(rows.relation):
        raise _self_join(table.name, catalog)
    found = catalog.table(table.name)
    columns = {name: Field(f"{found.name}.{name}") for name in found.schema.names}
    names = rows.names.beside(table.alias or table.name, columns)
    sides = [expression(side, names) for side in (on.this, on.expression)]
    fields = [side.name for side in sides if isinstance(side, Field)]
    ours = [name for name in fields if name.startswith(f"{found.name}.")]
    theirs = [name for name in fields if name not in ours]
    if len(ours) != 1 or len(theirs) != 1:
        raise InvalidValue(
            "ON must equate a column of the joined dataset with a column of an earlier one."
        )
    left, right = theirs[0], ours[0].partition(".")[2]
    if public:
        return NamedRelation(
            nodes.JoinPublic(rows.relation, found.name, left, right, outer), names
        )
    joined = nodes.LeftJoin if outer else nodes.Join
    return NamedRelation(joined(rows.relation, found.name, left, right), names)


def _self_join(name: str, catalog: Catalog) -> InvalidValue:
    """Return the refusal of a table that is joined twice, with a question about its rows."""
    column = (equation(name, name, catalog) or ("",))[0]
    return InvalidValue(
        f"{name!r} cannot be joined with itself, because every pair of a person's rows would "
        f"count. To ask whether a person has another row, write {asking_for(name, column)}, "
        "with conditions in the WHERE of the subselect."
    )


def _outer(join: exp.Join) -> bool:
    """Return whether a join keeps rows without a match."""
    side, kind = join.args.get("side") or "", join.args.get("kind") or ""
    if side == "LEFT" and kind in {"", "OUTER"}:
        return True
    if side or kind not in {"", "INNER"}:
        raise InvalidValue(refusal_of_join(side, kind))
    return False

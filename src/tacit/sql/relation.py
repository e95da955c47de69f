"""The FROM part of a question: tables, joins and subqueries, and the names of their columns.

A subquery that only renames, computes and filters rows is inlined: each of its columns is
replaced by its definition. A subquery that aggregates becomes a `PerUnit` relation, which
aggregates the rows of each unit; it must therefore group by the unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from tacit.core import Catalog, Dataset, Link, PublicTable
from tacit.errors import InvalidValue, UnknownName
from tacit.plan import (
    LARGEST_PART,
    Expression,
    Field,
    equation,
    every,
    not_too_large,
    same_person,
    source_of,
)
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.sql.expression import AGGREGATES, aggregate, expression
from tacit.sql.subselect import (
    Subselect,
    asking_for,
    refuse_subselects,
    say_uncorrelated,
    split_where,
    take_equations,
)

# Names ---------------------------------------------------------------------------------------

Columns = Mapping[str, Expression]
"""The columns of a table or of a subquery, with their definitions."""


@dataclass(frozen=True, slots=True)
class NameScope:
    """The columns that a SELECT can use, by the name of their table."""

    tables: Mapping[str, Columns]

    def __call__(self, node: exp.Expr) -> Expression | None:
        """Return the definition of a column; None for any other node."""
        if not isinstance(node, exp.Column):
            return None
        if node.table:
            return self._in(node.table, node.name)
        found = [columns for columns in self.tables.values() if node.name in columns]
        if len(found) > 1:
            places = ", ".join(name for name, cols in self.tables.items() if node.name in cols)
            raise UnknownName(
                f"The column {node.name!r} is ambiguous; write the table's name before it, one "
                f"of: {places}."
            )
        if not found:
            known = ", ".join(name for columns in self.tables.values() for name in columns)
            raise UnknownName(f"There is no column {node.name!r}; the columns are: {known}.")
        return found[0][node.name]

    def beside(self, name: str, columns: Columns) -> "NameScope":
        """Return this scope with one more table."""
        if name in self.tables:
            raise UnknownName(
                f"Two tables of this question are called {name!r}; rename one with AS."
            )
        return NameScope({**self.tables, name: columns})

    def _in(self, table: str, name: str) -> Expression:
        if table not in self.tables:
            known = ", ".join(self.tables)
            raise UnknownName(
                f"There is no table {table!r} in this question; the tables are: {known}."
            )
        if name not in self.tables[table]:
            known = ", ".join(self.tables[table])
            raise UnknownName(
                f"The table {table!r} has no column {name!r}; its columns are: {known}."
            )
        return self.tables[table][name]


# Subqueries that aggregate -------------------------------------------------------------------


def aggregates(query: exp.Select) -> bool:
    """Return whether ``query`` has an aggregate, GROUP BY or HAVING."""
    parts = (query.args.get("group"), query.args.get("having"))
    asked = (node.find(*AGGREGATES) is not None for node in query.expressions)
    return any(part is not None for part in parts) or any(asked)


def _columns_of_one_unit(relation: nodes.Relation, catalog: Catalog) -> set[str]:
    """Return the columns of which each value belongs to one unit, by the declared links.

    These are both ends of each link: GROUP BY visits.patient groups the rows of one person. The
    unit is a key of the subquery in any case, so that a link whose values belong to several
    people makes more groups, and never groups of several people. The columns of a table that
    LEFT JOIN adds do not count: they are NULL for everybody without a match.
    """
    found: set[str] = set()
    added = {each.dataset for each in every(relation, nodes.LeftJoin)}
    for name in nodes.tables_in_scope(relation):
        table = catalog.table(name)
        if isinstance(table, Dataset) and isinstance(table.unit, Link) and name not in added:
            found |= {f"{name}.{table.unit.column}"}
            if table.unit.parent not in added:
                found |= {f"{table.unit.parent}.{table.unit.parent_column}"}
    return found


def _joined_to_unit(relation: nodes.Relation, catalog: Catalog) -> nodes.Relation:
    """Return ``relation`` joined along its links to the table that has the unit's column.

    A row without such a parent belongs to nobody, and is not counted in any question.
    """
    tables = nodes.tables_in_scope(relation)
    path = catalog.path_to_unit(tables[0])
    for child, parent in pairwise(path):
        if parent.name not in tables and isinstance(child.unit, Link):
            left = f"{child.name}.{child.unit.column}"
            relation = nodes.Join(relation, parent.name, left, child.unit.parent_column)
    return relation


class PerUnitQuery:
    """A collector of the keys and aggregates of a subquery that aggregates, each once."""

    def __init__(self, relation: nodes.Relation, names: NameScope, catalog: Catalog) -> None:
        self._relation = _joined_to_unit(relation, catalog)
        self._names = names
        self._unit = source_of(relation, catalog).unit
        self._owned = {self._unit, *_columns_of_one_unit(relation, catalog)}
        self._keys: list[str] = []
        self._values: dict[nodes.Aggregate, str] = {}
        self._shown: dict[str, Expression] = {}

    def read(self, query: exp.Select) -> tuple[nodes.Relation, Columns]:
        """Return the relation of the subquery ``query``, and its columns."""
        group = query.args.get("group")
        asked = [] if group is None else [self._key(node, query) for node in group.expressions]
        if not any(field.name in self._owned for field in asked):
            raise InvalidValue(
                "A subquery that aggregates must have the unit in its GROUP BY; write GROUP BY "
                f"{self._unit}, and other columns after it."
            )
        self._keys = [field.name for field in asked]
        for node in query.expressions:
            name, column = self._column(node)
            if name in self._shown:
                raise InvalidValue(
                    f"Two columns of a subquery are called {name!r}; rename one with AS."
                )
            self._shown[name] = column
        having = query.args.get("having")
        wanted = None if having is None else expression(having.this, self._leaf)
        keys = tuple(dict.fromkeys(name for name in self._keys if name != self._unit))
        values = tuple(nodes.UnitValue(name, part) for part, name in self._values.items())
        made: nodes.Relation = nodes.PerUnit(self._relation, keys, values)
        return (made if wanted is None else nodes.Filter(made, wanted)), self._shown

    def _key(self, node: exp.Expr, query: exp.Select) -> Field:
        if self._is_alias(node):
            called = {each.alias: each.this for each in query.expressions if each.alias}
            node = called.get(node.name, node)
        found = expression(node, self._names)
        if not isinstance(found, Field):
            raise InvalidValue(
                "GROUP BY in a subquery supports only columns of its datasets; group by an "
                "expression in the outer question."
            )
        return found

    def _is_alias(self, node: exp.Expr) -> bool:
        """Return whether ``node`` can only be an alias: the rows have no such column."""
        known = any(node.name in columns for columns in self._names.tables.values())
        return isinstance(node, exp.Column) and not node.table and not known

    def _column(self, node: exp.Expr) -> tuple[str, Expression]:
        if not isinstance(node, exp.Alias | exp.Column):
            raise InvalidValue("A column of a subquery needs a name; name it with AS.")
        inner = node.this if isinstance(node, exp.Alias) else node
        found = not_too_large(expression(inner, self._leaf), LARGEST_PART)
        return node.alias_or_name, found

    def _leaf(self, node: exp.Expr) -> Expression | None:
        """Translate aggregates and group keys into columns of the subquery's result."""
        if isinstance(node, AGGREGATES):
            found = aggregate(node, self._names, self._unit)
            name = self._values.setdefault(found, f"value_{len(self._values)}")
            return Field(f"{nodes.BELOW}.{name}")
        if not isinstance(node, exp.Column):
            return None
        if self._is_alias(node) and node.name in self._shown:
            return self._shown[node.name]
        column = self._names(node)
        if isinstance(column, Field) and column.name in self._keys:
            return column
        raise InvalidValue(
            f"{node.name!r} must be in GROUP BY or be the argument of an aggregate."
        )


# Tables, joins and inlined subqueries --------------------------------------------------------

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
        raise InvalidValue(
            "This kind of join is not supported; write an inner join: JOIN ... ON a.x = b.y."
        )
    return False

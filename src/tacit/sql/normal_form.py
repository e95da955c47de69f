"""Rewriting of syntax that has another spelling, before a question is translated.

People and tools write one thing in many ways: GROUP BY 1, COUNT(1), USING, a comma between two
tables, FILTER, CAST among numbers, a schema before a table's name. `to_normal_form` replaces
each of them by the spelling that the rest of the package reads. It works on syntax trees that
`tacit.sql.allow_list.admit` has accepted, and needs the names and kinds of declared columns.
`read_dates` does the same for texts that are compared with days.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

from tacit.core import DAYS, Catalog, Kind
from tacit.errors import InvalidValue, UnknownName
from tacit.plan import PARTS
from tacit.plan import expression as expr
from tacit.sql.expression import AGGREGATES, DAY, TIMESTAMPS, day_constant, time_constant
from tacit.sql.functions import digits_of


def respell(tree: exp.Query) -> None:
    """Replace spellings that the allow-list does not have by those that it has, in place.

    They are DATE_PART('year', day), FETCH FIRST 3 ROWS ONLY and GROUP BY ALL.
    """
    for call in list(tree.find_all(exp.Anonymous)):
        match call.name.upper(), call.expressions:
            case ("DATE_PART" | "DATEPART", [exp.Literal(is_string=True) as part, day]):
                call.replace(exp.Extract(this=exp.var(part.name.upper()), expression=day))
    for fetch in list(tree.find_all(exp.Fetch)):
        options = fetch.args.get("limit_options")
        unlike = options is not None and any(map(options.args.get, ("percent", "with_ties")))
        if not unlike and fetch.args.get("count") is not None:
            fetch.replace(exp.Limit(expression=fetch.args["count"]))
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.args.get("all") and not group.expressions:
            shown = [each.unalias() for each in select.expressions]
            keys = [each.copy() for each in shown if each.find(*AGGREGATES, exp.Window) is None]
            select.set("group", exp.Group(expressions=keys) if keys else None)


SCHEMAS = {"public", "main"}
"""Schemas that may stand before the name of any dataset: the defaults of the engines."""


def to_normal_form(tree: exp.Query, catalog: Catalog) -> None:
    """Rewrite ``tree`` in place."""
    _strip_schemas(tree, catalog)
    for only in list(tree.find_all(exp.Filter)):
        only.replace(_case_of_filter(only))
    for count in tree.find_all(exp.Count):
        if isinstance(count.this, exp.Literal | exp.Boolean):
            count.set("this", exp.Star())
    named = {each.alias: each for each in tree.root().find_all(exp.CTE)}
    for select in list(tree.find_all(exp.Select)):
        _replace_places(select)
        scope = _Tables(select, catalog, named)
        _replace_using(select, scope)
        _replace_comma_joins(select, scope)
        _split_conditions(select, scope)
        for cast in [each for each in select.find_all(exp.Cast) if _owner(each) is select]:
            made = _cast(cast, scope)
            if made is not None:
                cast.replace(made)


def _owner(node: exp.Expr) -> exp.Expr | None:
    """Return the SELECT to which a node belongs."""
    return node.find_ancestor(exp.Select)


# Names ---------------------------------------------------------------------------------------


def _strip_schemas(tree: exp.Query, catalog: Catalog) -> None:
    """Remove schemas from names of tables and columns; refuse any that is not known."""
    named = {each.alias for each in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.args.get("db") is None:
            continue
        if table.name in named:
            raise InvalidValue(
                f"{table.name!r} is a query in WITH, and a schema stands before its name; "
                "rename the query."
            )
        _check_schema(table.name, table.db, table.catalog, catalog)
        table.set("db", None)
        table.set("catalog", None)
    for column in tree.find_all(exp.Column):
        if column.args.get("db") is not None:
            _check_schema(column.table, column.db, column.catalog, catalog)
            column.set("db", None)
            column.set("catalog", None)


def _check_schema(table: str, schema: str, database: str, catalog: Catalog) -> None:
    """Refuse a schema other than the engines' default ones and the declared one."""
    *_, declared_database, declared, _ = (None, None, *catalog.table(table).location.table)
    if schema not in SCHEMAS and schema != declared:
        raise UnknownName(
            f"The table {table!r} is not in a schema {schema!r}; write its name without a "
            f"schema: FROM {table}."
        )
    if database and database != declared_database:
        raise UnknownName(
            f"The table {table!r} is not in a database {database!r}; write its name without a "
            f"database: FROM {table}."
        )


class _Tables:
    """The tables of a SELECT, in order, with the names and kinds of their columns if known."""

    def __init__(
        self, select: exp.Select, catalog: Catalog, named: Mapping[str, exp.CTE]
    ) -> None:
        self._catalog = catalog
        self.columns: dict[str, Mapping[str, Kind | None]] = {}
        source = select.args.get("from_")
        joins = select.args.get("joins") or []
        for node in ([source] if source is not None else []) + joins:
            self.columns[node.this.alias_or_name] = self._columns(node.this, named)

    def _columns(
        self, table: exp.Expr, named: Mapping[str, exp.CTE]
    ) -> Mapping[str, Kind | None]:
        if isinstance(table, exp.Subquery):
            query = table.this
        else:
            query = named[table.name].this if table.name in named else None
        if isinstance(query, exp.Select):
            return {each.alias_or_name: None for each in query.expressions}
        if not isinstance(table, exp.Table) or query is not None:
            return {}
        try:
            schema = self._catalog.table(table.name).schema
        except (UnknownName, InvalidValue):  # refused later, with its reason
            return {}
        return {column.name: column.kind for column in schema.columns}

    def table_of(self, column: exp.Expr) -> str | None:
        """Return the table of a column, or None if it is ambiguous or not a column."""
        if not isinstance(column, exp.Column):
            return None
        if column.table:
            return column.table if column.table in self.columns else None
        found = [name for name, columns in self.columns.items() if column.name in columns]
        return found[0] if len(found) == 1 else None

    def kind_of(self, column: exp.Expr) -> Kind | None:
        """Return the declared kind of a column; None if it is not known."""
        table = self.table_of(column)
        return None if table is None else self.columns[table].get(column.name)


# Place numbers -------------------------------------------------------------------------------


def _replace_places(select: exp.Select) -> None:
    """Replace the numbers of GROUP BY 1 and ORDER BY 2 by the columns that they count."""
    group = select.args.get("group")
    for node in list(group.expressions) if group is not None else []:
        if _is_number(node):
            column = _column_at(select, node, "GROUP BY")
            if column.find(*AGGREGATES) is not None:
                raise InvalidValue(
                    f"GROUP BY {node.this} is column {node.this} of SELECT, which has an "
                    "aggregate; write the number of a column without one, as in GROUP BY 1."
                )
            node.replace(column)
    order = select.args.get("order")
    for node in list(order.expressions) if order is not None else []:
        if _is_number(node.this):
            column = _column_at(select, node.this, "ORDER BY")
            if column.find(exp.Column, exp.Window, *AGGREGATES) is None:
                node.pop()  # a constant sorts nothing, and a number would be a place again
            else:
                node.set("this", column)
    if order is not None and not order.expressions:
        select.set("order", None)


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _column_at(select: exp.Select, number: exp.Expr, where: str) -> exp.Expr:
    """Return the definition of the column of SELECT with this number, counted from 1."""
    written, columns = str(number.this), select.expressions
    if not re.fullmatch("[0-9]{1,4}", written) or not 1 <= int(written) <= len(columns):
        raise InvalidValue(
            f"{where} {written[:20]} is not the number of a column: SELECT has the columns 1 "
            f"to {len(columns)}."
        )
    found: exp.Expr = columns[int(written) - 1].unalias().copy()
    if found.is_star and not isinstance(found, AGGREGATES):
        raise InvalidValue(f"{where} {written} counts a *; write the name of a column.")
    return found


# Joins ---------------------------------------------------------------------------------------


def _replace_using(select: exp.Select, scope: _Tables) -> None:
    """Replace JOIN b USING (x) by JOIN b ON a.x = b.x; x alone then means a.x."""
    earlier = [each for each in [select.args.get("from_")] if each is not None]
    for join in select.args.get("joins") or []:
        using = join.args.get("using") or []
        name = join.this.alias_or_name
        equal = []
        for column in using:
            before = [each.this.alias_or_name for each in earlier]
            owners = [each for each in before if column.name in scope.columns[each]]
            if not owners or column.name not in scope.columns[name]:
                raise UnknownName(
                    f"USING ({column.name}) needs a column {column.name!r} in {name!r} and in "
                    "a table before it; write JOIN ... ON a.x = b.y."
                )
            left, right = _column(column.name, owners[0]), _column(column.name, name)
            equal.append(exp.EQ(this=left, expression=right))
            for node in list(select.find_all(exp.Column)):
                if node.name == column.name and not node.table and _owner(node) is select:
                    node.replace(left.copy())
        if equal:
            join.set("using", None)
            join.set("on", exp.and_(*equal, copy=False) if len(equal) > 1 else equal[0])
        earlier.append(join)


def _column(name: str, table: str) -> exp.Column:
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True)
    )


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND connects."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _is_plain(join: exp.Join) -> bool:
    """Return whether a join has no condition: FROM a, b, or CROSS JOIN."""
    args = ("on", "using", "side", "method")
    return (join.args.get("kind") or "CROSS") == "CROSS" and not any(map(join.args.get, args))


def _replace_comma_joins(select: exp.Select, scope: _Tables) -> None:
    """Move equations of two tables from WHERE into joins that have no condition.

    Tables are joined in an order in which each has an equation with an earlier one.
    """
    joins, where = select.args.get("joins") or [], select.args.get("where")
    source = select.args.get("from_")
    # without FROM, the question is refused later
    if source is None or where is None or not any(map(_is_plain, joins)):
        return
    first = source.this.alias_or_name
    wanted, done, waiting = list(_conjuncts(where.this)), [first], list(joins)
    made: list[exp.Join] = []
    while waiting:
        found = next(
            (
                (join, equal)
                for join in waiting
                for equal in ([None] if not _is_plain(join) else wanted)
                if equal is None or _connects(equal, join.this.alias_or_name, done, scope)
            ),
            None,
        )
        if found is None:
            raise InvalidValue(
                f"The table {waiting[0].this.alias_or_name!r} has no equation with another "
                "table in WHERE, and every pair of rows would meet; write FROM a, b WHERE "
                "a.x = b.y, or JOIN b ON a.x = b.y."
            )
        join, equal = found
        if equal is not None:
            join.set("on", equal.copy())
            join.set("kind", None)
            wanted = [each for each in wanted if each is not equal]
        made.append(join)
        done.append(join.this.alias_or_name)
        waiting = [each for each in waiting if each is not join]
    select.set("joins", made)
    _set_where(select, wanted)


def _connects(node: exp.Expr, table: str, others: list[str], scope: _Tables) -> bool:
    """Return whether ``node`` equates a column of ``table`` with one of the other tables."""
    if not isinstance(node, exp.EQ):
        return False
    sides = {scope.table_of(node.this), scope.table_of(node.expression)}
    return table in sides and any(other in sides for other in others)


def _set_where(select: exp.Select, wanted: list[exp.Expr]) -> None:
    if not wanted:
        select.set("where", None)
        return
    # each part in parentheses, so that an OR in it stays together
    parts = [
        exp.paren(each, copy=False) if isinstance(each, exp.Or) else each for each in wanted
    ]
    select.set("where", exp.Where(this=exp.and_(*parts, copy=False)))


def _split_conditions(select: exp.Select, scope: _Tables) -> None:
    """Leave one equation in ON of an inner join, and move its other conditions to WHERE."""
    done = [each.this.alias_or_name for each in [select.args.get("from_")] if each is not None]
    moved: list[exp.Expr] = []
    for join in select.args.get("joins") or []:
        name, on = join.this.alias_or_name, join.args.get("on")
        if on is not None and not join.args.get("side"):
            parts = list(_conjuncts(on))
            equal = [each for each in parts if _connects(each, name, done, scope)]
            if len(parts) > 1 and equal:
                join.set("on", equal[0].copy())
                moved += [each.copy() for each in parts if each is not equal[0]]
        done.append(name)
    if moved:
        where = select.args.get("where")
        before = [] if where is None else list(_conjuncts(where.this))
        _set_where(select, [*before, *moved])


# FILTER and CAST -----------------------------------------------------------------------------


def _case_of_filter(node: exp.Filter) -> exp.Expr:
    """Return an aggregate with FILTER (WHERE c) as an aggregate of CASE WHEN c THEN x END."""
    call: exp.Expr = node.this.copy()
    condition: exp.Expr = node.expression.this

    def only(value: exp.Expr, wanted: exp.Expr = condition) -> exp.Expr:
        return exp.Case(ifs=[exp.If(this=wanted.copy(), true=value.copy())])

    counted: exp.Expr = call.this
    if isinstance(call, exp.Count) and isinstance(counted, exp.Distinct):
        counted.set("expressions", [only(each) for each in counted.expressions])
    elif isinstance(call, exp.Count):
        wanted = condition
        if not isinstance(counted, exp.Star | exp.Literal):
            there = exp.Not(this=exp.Is(this=counted.copy(), expression=exp.null()))
            wanted = exp.And(this=exp.paren(condition.copy()), expression=there)
        call.set("this", only(exp.Literal.number(1), wanted))
    elif isinstance(call, exp.WithinGroup):
        for each in call.expression.expressions:
            each.set("this", only(each.this))
    elif isinstance(call, AGGREGATES):
        call.set("this", only(counted))
    else:
        raise InvalidValue(
            "FILTER is supported only after an aggregate, as in COUNT(*) FILTER (WHERE x > 1)."
        )
    return call


NUMBERS = {
    *(exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL),
    *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT),
}
FRACTIONS = {exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL}
TEXTS = {exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR}


def _cast(node: exp.Cast, scope: _Tables) -> exp.Expr | None:
    """Return the value of a CAST without CAST; None for constant dates and values of rows.

    Casts of rows are functions of a row. Released numbers are exact, so that a CAST to a number
    with fractions changes nothing, and one to an integer rounds, with halves away from 0.
    """
    kind, inner = node.to.this, node.this
    plain = inner.unnest()
    known = scope.kind_of(plain)
    if kind is exp.DType.DATE:
        if isinstance(plain, exp.TimestampTrunc) or known is Kind.DATE:
            return exp.paren(inner.copy())
        return None
    if kind in TIMESTAMPS and known is Kind.TIMESTAMP:
        return exp.paren(inner.copy())
    if kind in NUMBERS and _is_of_row(inner, scope):
        return None
    if kind in FRACTIONS:
        places = digits_of(node.to)
        if places is None:
            return exp.paren(inner.copy())
        return exp.Round(this=inner.copy(), decimals=exp.Literal.number(places))
    if kind in NUMBERS:
        whole = isinstance(plain, exp.Count)
        return exp.paren(inner.copy()) if whole else exp.Round(this=inner.copy())
    return exp.paren(inner.copy()) if kind in TEXTS and known is Kind.TEXT else None


def _is_of_row(inner: exp.Expr, scope: _Tables) -> bool:
    """Return whether a value is computed from constants and columns of tables alone."""
    known = (scope.kind_of(each) is not None for each in inner.find_all(exp.Column))
    return inner.find(*AGGREGATES) is None and all(known)


# Dates ---------------------------------------------------------------------------------------


def read_dates(node: Any, catalog: Catalog) -> Any:
    """Return ``node``, a part of a plan, with texts that are compared with days as days.

    Texts that are compared with timestamps are days or times. The day of a date is the date.

    Example:
        ``day >= '2026-01-31'`` becomes ``day >= DATE '2026-01-31'`` if ``day`` is a date.
    """
    if isinstance(node, tuple):
        return tuple(read_dates(part, catalog) for part in node)
    names = PARTS[type(node)]
    if names is None:
        return node
    made = type(node)(*[read_dates(getattr(node, name), catalog) for name in names])
    match made:
        case expr.Compare(comparison, left, right):
            kinds = _days(left, catalog), _days(right, catalog)
            return expr.Compare(comparison, _day(left, kinds[1]), _day(right, kinds[0]))
        case expr.OneOf(part, values):
            kind = _days(part, catalog)
            return expr.OneOf(part, tuple(_day_value(value, kind) for value in values))
        case expr.Arithmetic(expr.Operation.SUBTRACT, left, right):
            kinds = _days(left, catalog), _days(right, catalog)
            one, other = _day(left, kinds[1]), _day(right, kinds[0])
            sides = _plain_day(one, catalog), _plain_day(other, catalog)
            return expr.Arithmetic(expr.Operation.SUBTRACT, *sides)
        case expr.DatePart(part, day):
            return expr.DatePart(part, _plain_day(day, catalog))
    return made


def _days(part: expr.Expression, catalog: Catalog) -> Kind | None:
    """Return the kind of a column of dates or timestamps, or of a day computed from one."""
    if isinstance(part, expr.Period):
        return Kind.DATE
    if isinstance(part, expr.Arithmetic) and isinstance(part.right, expr.Constant):
        moved = isinstance(part.right.value, int) and _days(part.left, catalog) is Kind.DATE
        return Kind.DATE if moved else None
    if not isinstance(part, expr.Field):
        return None
    table, _, column = part.name.partition(".")
    try:
        kind = catalog.table(table).schema[column].kind
    except (UnknownName, InvalidValue):  # a column that a subquery computes
        return None
    return kind if kind in DAYS else None


def _plain_day(part: expr.Expression, catalog: Catalog) -> expr.Expression:
    """Return a column of dates in place of its days."""
    match part:
        case expr.Period(expr.Span.DAYS, day) if _days(day, catalog) is Kind.DATE:
            return day
    return part


def _day(part: expr.Expression, beside: Kind | None) -> expr.Expression:
    if isinstance(part, expr.Constant) and isinstance(part.value, str):
        return expr.Constant(_day_value(part.value, beside))
    return part


def _day_value(value: expr.Value, beside: Kind | None) -> expr.Value:
    if beside is None or not isinstance(value, str):
        return value
    has_time = beside is Kind.TIMESTAMP and not DAY.fullmatch(value)
    return time_constant(value) if has_time else day_constant(value)

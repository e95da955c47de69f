"""The printer: from a plan to SQL text that parses to the same plan.

Expressions are translated node by node, with parentheses where operators would otherwise bind
in another order. `show` is the inverse of `tacit.sql.parser.parse`.
"""

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.numeric import plain
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan import source_of
from tacit.sql.expression import COMPARISONS, OPERATIONS, PAIR_FUNCTIONS
from tacit.sql.grouping_sets import show_sets
from tacit.sql.released import ONE_ARGUMENT, WINDOWED

# Expressions ---------------------------------------------------------------------------------

Shown = Callable[[expr.Field], exp.Expr]
"""A function that writes a column."""

ORING, ANDING, DENYING, COMPARING, ADDING, MULTIPLYING, ALONE = range(7)
"""Precedence of operators, from the loosest to the tightest."""

BINDING: dict[type[exp.Expr], int] = {
    exp.Or: ORING,
    exp.And: ANDING,
    exp.Not: DENYING,
    **dict.fromkeys((*COMPARISONS, exp.Is, exp.In, exp.Like, exp.ILike), COMPARING),
    **dict.fromkeys((exp.Add, exp.Sub), ADDING),
    **dict.fromkeys((exp.Mul, exp.Div), MULTIPLYING),
}

LONGEST_CHAIN = 20
"""Largest number of conditions in a chain; more are joined as a balanced tree."""

COMPARED = {comparison: node for node, comparison in COMPARISONS.items()}
COMPUTED = {operation: node for node, operation in OPERATIONS.items()}
CALLED = {function: node for node, function in ONE_ARGUMENT.items()}
OVER = {function: node for node, function in WINDOWED.items()}


def show_expression(part: expr.Expression, shown: Shown) -> exp.Expr:
    """Return ``part`` as SQL, with parentheses where they are needed."""
    match part:
        case expr.Field():
            return shown(part)
        case expr.Constant(value):
            return literal(value)
        case expr.Compare(comparison, left, right):
            sides = (show_expression(side, shown) for side in (left, right))
            one, other = (_above(COMPARING, side) for side in sides)
            return COMPARED[comparison](this=one, expression=other)
        case expr.Arithmetic(operation, left, right):
            sides = (show_expression(side, shown) for side in (left, right))
            return _left_first(COMPUTED[operation], *sides)
        case expr.Divide(left, right):
            sides = (show_expression(side, shown) for side in (left, right))
            return _left_first(exp.Div, *sides)
        case expr.OneOf(inner, values):
            listed = [literal(value) for value in values]
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.In(this=tested, expressions=listed)
        case expr.Like(expr.FunctionCall(expr.Function.ASCII_LOWER, (inner,)), pattern):
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.ILike(this=tested, expression=literal(pattern))
        case expr.FunctionCall(function, parts):
            return _call(function, [show_expression(each, shown) for each in parts])
        case expr.Like(inner, pattern):
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.Like(this=tested, expression=literal(pattern))
        case expr.DatePart(which, day):
            taken = _above(MULTIPLYING, show_expression(day, shown))
            return exp.Extract(this=exp.var(which.value), expression=taken)
        case expr.Period(span, day):
            taken = _above(MULTIPLYING, show_expression(day, shown))
            return exp.TimestampTrunc(this=taken, unit=exp.var(span.value))
        case expr.IsNull(inner):
            tested = _above(COMPARING, show_expression(inner, shown))
            return exp.Is(this=tested, expression=exp.null())
        case expr.Not(inner):
            return exp.Not(this=_above(ANDING, show_expression(inner, shown)))
        case expr.And(parts):
            return all_of([show_expression(each, shown) for each in parts])
        case expr.Or(parts):
            return _chain(exp.Or, [show_expression(each, shown) for each in parts])
        case expr.Bin(inner, width):
            divided = _left_first(exp.Div, show_expression(inner, shown), literal(width))
            return exp.Mul(this=exp.Floor(this=divided), expression=literal(width))
        case expr.Case(whens, otherwise):
            case = exp.Case()
            for when, then in whens:
                pair = show_expression(when, shown), show_expression(then, shown)
                case = case.when(*pair, copy=False)
            return case.else_(show_expression(otherwise, shown), copy=False)
        case expr.OfReleased(function, parts):
            return _released_call(function, [show_expression(each, shown) for each in parts])
        case expr.WindowValue():
            return _window(part, shown)


def _released_call(function: expr.ReleasedFunction, parts: list[exp.Expr]) -> exp.Expr:
    """Return a function of released values."""
    match function:
        case expr.ReleasedFunction.ROUND:
            return exp.Round(this=parts[0], decimals=parts[1] if len(parts) > 1 else None)
        case expr.ReleasedFunction.COALESCE:
            return exp.Coalesce(this=parts[0], expressions=parts[1:])
        case expr.ReleasedFunction.NULLIF:
            return exp.Nullif(this=parts[0], expression=parts[1])
    return CALLED[function](this=parts[0])


def _window(window: expr.WindowValue, shown: Shown) -> exp.Expr:
    """Return a window function: SUM(n) OVER (PARTITION BY x ORDER BY y)."""
    call = OVER[window.function]()
    if window.part is not None:
        call.set("this", show_expression(window.part, shown))
    elif window.function is expr.WindowFunction.COUNT:
        call.set("this", exp.Star())
    if window.offset != 1:
        call.set("offset", literal(window.offset))
    order = [
        exp.Ordered(
            this=show_expression(key.part, shown),
            desc=key.descending,
            nulls_first=key.nulls_first,
        )
        for key in window.order
    ]
    return exp.Window(
        this=call,
        partition_by=[show_expression(each, shown) for each in window.partition],
        order=exp.Order(expressions=order) if order else None,
        spec=None if window.frame is None else _frame(*window.frame),
        over="OVER",
    )


def _frame(before: int | None, after: int | None) -> exp.Expr:
    def bound(many: int | None, one: str, other: str) -> tuple[object, str | None]:
        if many is None:
            return "UNBOUNDED", one
        return (
            ("CURRENT ROW", None) if many == 0 else (literal(abs(many)), (one, other)[many < 0])
        )

    start, start_side = bound(before, "PRECEDING", "FOLLOWING")
    end, end_side = bound(after, "FOLLOWING", "PRECEDING")
    return exp.WindowSpec(
        kind="ROWS", start=start, start_side=start_side, end=end, end_side=end_side
    )


def _call(function: expr.Function, given: list[exp.Expr]) -> exp.Expr:
    """Return the call of a function of a row."""
    match function:
        case expr.Function.INTEGER:
            return exp.cast(given[0], "BIGINT")
        case expr.Function.JOIN:
            one, other = (exp.paren(each, copy=False) for each in given)
            return exp.paren(exp.DPipe(this=one, expression=other, safe=True), copy=False)
        case expr.Function.ASCII_LOWER:
            raise InvalidValue("This function can be written only as a part of ILIKE.")
        case expr.Function.SUBSTRING:  # its arguments can also be written with FROM and FOR
            given = [_above(COMPARING, each) for each in given]
    return exp.Anonymous(this=function.value, expressions=given)


def all_of(parts: list[exp.Expr]) -> exp.Expr:
    """Join several conditions with AND."""
    return _chain(exp.And, parts)


def column(name: str, table: str | None = None) -> exp.Expr:
    """Return a column with quoted names."""
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True)
    )


def literal(value: expr.Value | None) -> exp.Expr:
    """Return a constant as SQL."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | Fraction():
            text = plain(abs(Fraction(value)))
            if "/" in text:
                raise InvalidValue(
                    f"{text} cannot be written as a finite decimal, as SQL requires; round it."
                )
            number = exp.Literal.number(text)
            return exp.paren(exp.Neg(this=number)) if value < 0 else number
        case str():
            return exp.Literal.string(value)
        case datetime():  # before date, because it is one in Python
            return exp.cast(exp.Literal.string(value.isoformat(" ")), "TIMESTAMP")
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")


def _above(binding: int, part: exp.Expr) -> exp.Expr:
    """Return ``part``, in parentheses unless it binds more tightly than ``binding``."""
    return part if BINDING.get(type(part), ALONE) > binding else exp.paren(part, copy=False)


def _left_first(node: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a binary operation; operators of equal precedence are left-associative."""
    binding = BINDING[node]
    return node(this=_above(binding - 1, left), expression=_above(binding, right))


def _chain(node: type[exp.Expr], parts: list[exp.Expr]) -> exp.Expr:
    """Join parts with AND or OR; many parts as a balanced tree, which is less deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2 if len(parts) > LONGEST_CHAIN else len(parts) - 1
    return _left_first(node, _chain(node, parts[:middle]), _chain(node, parts[middle:]))


# Aggregates ----------------------------------------------------------------------------------


PAIRS = {function: node for node, function in PAIR_FUNCTIONS.items()}


def rows(field: expr.Field) -> exp.Expr:
    """Return a column of the rows, which is called dataset.column or by its own name."""
    table, dot, name = field.name.partition(".")
    return column(name, table) if dot else column(field.name)


def show_aggregate(aggregate: nodes.Aggregate, unit: str, shown: Shown = rows) -> exp.Expr:
    """Return the call of ``aggregate``; ``unit`` is the column that identifies the unit."""

    def of(argument: expr.Expression) -> exp.Expr:
        return show_expression(argument, shown)

    match aggregate:
        case nodes.CountRows():
            return exp.Count(this=exp.Star())
        case nodes.CountUnits():
            return exp.Count(this=exp.Distinct(expressions=[shown(expr.Field(unit))]))
        case nodes.CountValues(argument):
            return exp.Count(this=of(argument))
        case nodes.CountDistinct(argument):
            return exp.Count(this=exp.Distinct(expressions=[of(argument)]))
        case nodes.Sum(argument):
            return exp.Sum(this=of(argument))
        case nodes.Mean(argument):
            return exp.Avg(this=of(argument))
        case nodes.Variance(argument, sample):
            return (exp.Variance if sample else exp.VariancePop)(this=of(argument))
        case nodes.Deviation(argument, sample):
            return (exp.StddevSamp if sample else exp.StddevPop)(this=of(argument))
        case nodes.PairStatistic(function, y, x):
            return PAIRS[function](this=of(y), expression=of(x))
        case nodes.Quantile(argument, fraction):
            return exp.Quantile(this=of(argument), quantile=literal(fraction))
        case nodes.Least(argument):
            return exp.Min(this=of(argument))
        case nodes.Greatest(argument):
            return exp.Max(this=of(argument))


def aggregate_text(aggregate: nodes.Aggregate, unit: str) -> str:
    """Return ``aggregate`` as a person writes it, with columns without their tables.

    Example:
        >>> aggregate_text(nodes.Mean(expr.Field("visits.cost")), "visits.patient")
        'AVG(cost)'
    """
    made = show_aggregate(
        aggregate, unit, lambda field: exp.column(field.name.rpartition(".")[2])
    )
    return str(made.sql(dialect="duckdb", comments=False))


# Plans ---------------------------------------------------------------------------------------


def show(plan: nodes.Plan, catalog: Catalog) -> str:
    """Return ``plan`` as SQL text, which parses to an equivalent plan.

    Guarantee: ``canonical(parse(show(plan, catalog), catalog)) == canonical(plan)``, if each
    column of ``plan`` is called dataset.column and each measure is used in an output, in ORDER
    BY or in HAVING. A measure that is not used cannot be written in SQL.
    """
    unit = source_of(plan.source, catalog).unit
    shown = _column_writer(plan.source, unit)
    keys = {key.name: show_expression(key.expression, shown) for key in plan.keys}
    measures = {m.name: show_aggregate(m.aggregate, unit, shown) for m in plan.measures}
    meant = {**keys, **measures}

    def write_released(field: expr.Field) -> exp.Expr:
        return meant[field.name].copy()

    def write(post: nodes.Post) -> exp.Select:
        """Return a step of the post-processing as SELECT."""
        column_of: Shown = write_output if post.below else write_released
        if post.below:
            parts = [write(step) for step in post.below]
            select = exp.select().from_(_union(parts).subquery("released"), copy=False)
        else:
            select = _from(plan.source, unit, catalog)
        for output in post.outputs:
            made = show_expression(output.expression, column_of)
            select = select.select(exp.alias_(made, output.name, quoted=True), copy=False)
        if plan.sets and not post.below:
            copies = {name: key.copy() for name, key in keys.items()}
            select = select.group_by(show_sets(copies, plan.sets), copy=False)
        elif keys and not post.below:
            select = select.group_by(*(key.copy() for key in keys.values()), copy=False)
        if post.having is not None:
            wanted = show_expression(post.having, column_of)
            filtered = select.where if post.below else select.having
            select = filtered(wanted, copy=False)
        for order in post.order:
            key = show_expression(order.expression, column_of)
            ordered = exp.Ordered(this=key, desc=order.descending)
            ordered.set("nulls_first", order.nulls_first)
            select = select.order_by(ordered, copy=False)
        return select if post.limit is None else select.limit(post.limit, copy=False)

    text: str = write(plan.post).sql(dialect="duckdb", comments=False)
    return text


def write_output(field: expr.Field) -> exp.Expr:
    """Return a column of the step below."""
    return column(field.name)


def _union(parts: list[exp.Select]) -> exp.Query:
    """Return the rows of all parts, one after another; sorted parts are in parentheses."""
    if len(parts) == 1:
        return parts[0]
    closed = [
        part.subquery(copy=False) if part.args.get("order") or part.args.get("limit") else part
        for part in parts
    ]
    found: exp.Query = closed[0]
    for part in closed[1:]:
        found = exp.Union(this=found, expression=part, distinct=False)
    return found


def _column_writer(relation: nodes.Relation, unit: str, level: str = "") -> Shown:
    """Return the function that writes the columns of a relation in the query above it.

    The names of tables end in ``level``.
    """
    below = nodes.per_unit_in(relation)
    named = set() if below is None else {unit, *below.keys}

    def write(field: expr.Field) -> exp.Expr:
        if field.name in named:
            return column(field.name, f"{nodes.BELOW}{level}")
        table, dot, name = field.name.partition(".")
        return column(name, f"{table}{level}") if dot else column(field.name)

    return write


def _from(relation: nodes.Relation, unit: str, catalog: Catalog, level: str = "") -> exp.Select:
    """Return the FROM, the joins and the WHERE of a relation.

    Filters and semi-joins are moved after all joins, which selects the same rows.
    """
    first, joins = _split(relation)
    shown = _column_writer(relation, unit, level)
    if isinstance(first, nodes.Scan):
        table: exp.Expr = _table(first.dataset, level)
    else:
        table = _below(first, unit, catalog, level)
    select = exp.select().from_(table, copy=False)
    for join in joins:
        name = join.table if isinstance(join, nodes.JoinPublic) else join.dataset
        right = column(join.right, f"{name}{level}")
        equal = exp.EQ(this=shown(expr.Field(join.left)), expression=right)
        outer = join.outer if isinstance(join, nodes.JoinPublic) else None
        outer = isinstance(join, nodes.LeftJoin) if outer is None else outer
        kind = "left" if outer else None
        select = select.join(_table(name, level), on=equal, join_type=kind, copy=False)
    wanted = [show_expression(each, shown) for each in nodes.filters(relation)]
    wanted += [_exists(each, shown, catalog, level) for each in nodes.semi_joins(relation)]
    return select.where(all_of(wanted)) if wanted else select


def _exists(semi: nodes.Semi, outside: Shown, catalog: Catalog, level: str) -> exp.Expr:
    """Return the condition of a semi-join, whose tables have other names than those outside."""
    level = f"{level} inside"
    unit = source_of(semi.below, catalog).unit
    inside = _column_writer(semi.below, unit, level)
    equal: list[exp.Expr] = [
        exp.EQ(this=inside(expr.Field(right)), expression=outside(expr.Field(left)))
        for left, right in semi.on
    ]
    query = _from(semi.below, unit, catalog, level).select(exp.Literal.number(1), copy=False)
    there = exp.Exists(this=query.where(all_of(equal), copy=False))
    return exp.Not(this=there) if semi.anti else there


def _below(relation: nodes.PerUnit, unit: str, catalog: Catalog, level: str) -> exp.Subquery:
    """Return the subquery that aggregates the rows of each unit."""
    shown = _column_writer(relation.source, unit, level)
    select = _from(relation.source, unit, catalog, level)
    for name in (unit, *relation.keys):
        key = shown(expr.Field(name))
        select = select.select(exp.alias_(key, name, quoted=True), copy=False)
        select = select.group_by(key.copy(), copy=False)
    for value in relation.values:
        made = show_aggregate(value.aggregate, unit, shown)
        select = select.select(exp.alias_(made, value.name, quoted=True), copy=False)
    called = exp.to_identifier(f"{nodes.BELOW}{level}", quoted=True)
    return select.subquery(called, copy=False)


Joined = nodes.Join | nodes.LeftJoin | nodes.JoinPublic


def _split(relation: nodes.Relation) -> tuple[nodes.Scan | nodes.PerUnit, list[Joined]]:
    """Return the first table or subquery of a relation, and its joins."""
    match relation:
        case nodes.Scan() | nodes.PerUnit():
            return relation, []
        case nodes.Filter(source, _) | nodes.Semi(source, _, _, _):
            return _split(source)
        case _:
            first, joins = _split(relation.source)
            return first, [*joins, relation]


def _table(dataset: str, level: str = "") -> exp.Expr:
    table = exp.Table(this=exp.to_identifier(dataset, quoted=True))
    if not level:
        return table
    return exp.alias_(table, exp.to_identifier(f"{dataset}{level}", quoted=True), table=True)

"""Expressions of a plan to those of SQL, one case a node."""

from collections.abc import Callable
from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.numeric import plain
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan import source_of
from tacit.sql.expression import COMPARISONS, OPERATIONS

Shown = Callable[[expr.Field], exp.Expr]
"""How a column is written."""

ORING, ANDING, DENYING, COMPARING, ADDING, MULTIPLYING, ALONE = range(7)
"""How tightly operators bind."""

BINDING: dict[type[exp.Expr], int] = {
    exp.Or: ORING,
    exp.And: ANDING,
    exp.Not: DENYING,
    **dict.fromkeys((*COMPARISONS, exp.Is, exp.In, exp.Like), COMPARING),
    **dict.fromkeys((exp.Add, exp.Sub), ADDING),
    **dict.fromkeys((exp.Mul, exp.Div), MULTIPLYING),
}

LONGEST_CHAIN = 20
"""Conditions in one chain."""

COMPARED = {comparison: node for node, comparison in COMPARISONS.items()}
COMPUTED = {operation: node for node, operation in OPERATIONS.items()}


def show_expression(part: expr.Expression, shown: Shown) -> exp.Expr:
    """``part`` as it is written, with parentheses where it would be read otherwise."""
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
            return _joined(exp.Or, [show_expression(each, shown) for each in parts])
        case expr.Bin(inner, width):
            divided = _left_first(exp.Div, show_expression(inner, shown), literal(width))
            return exp.Mul(this=exp.Floor(this=divided), expression=literal(width))
        case expr.Case(whens, otherwise):
            case = exp.Case()
            for when, then in whens:
                pair = show_expression(when, shown), show_expression(then, shown)
                case = case.when(*pair, copy=False)
            return case.else_(show_expression(otherwise, shown), copy=False)


def all_of(parts: list[exp.Expr]) -> exp.Expr:
    """All of several conditions."""
    return _joined(exp.And, parts)


def column(name: str, table: str | None = None) -> exp.Expr:
    """A column by its names, quoted."""
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True)
    )


def literal(value: expr.Value | None) -> exp.Expr:
    """A constant as it is written."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | Fraction():
            text = plain(abs(Fraction(value)))
            if "/" in text:
                raise InvalidValue(f"{text} has no end as a decimal, and SQL has no fractions.")
            number = exp.Literal.number(text)
            return exp.paren(exp.Neg(this=number)) if value < 0 else number
        case str():
            return exp.Literal.string(value)
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")


def _above(binding: int, part: exp.Expr) -> exp.Expr:
    """``part``, in parentheses unless it binds more tightly."""
    return part if BINDING.get(type(part), ALONE) > binding else exp.paren(part, copy=False)


def _left_first(node: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Operators that bind equally are read from the left."""
    binding = BINDING[node]
    return node(this=_above(binding - 1, left), expression=_above(binding, right))


def _joined(node: type[exp.Expr], parts: list[exp.Expr]) -> exp.Expr:
    """Parts joined two by two where they are many, since a long chain is a deep tree."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2 if len(parts) > LONGEST_CHAIN else len(parts) - 1
    return _left_first(node, _joined(node, parts[:middle]), _joined(node, parts[middle:]))


# ------------------------------------------------------------------ show aggregate
# Aggregates of a plan to those of SQL, one case a function.


def rows(field: expr.Field) -> exp.Expr:
    """A column of the rows, called dataset.column or by its own name."""
    table, dot, name = field.name.partition(".")
    return column(name, table) if dot else column(field.name)


def show_aggregate(aggregate: nodes.Aggregate, unit: str, shown: Shown = rows) -> exp.Expr:
    """The call of ``aggregate``; ``unit`` is the column that names the unit."""

    def of(argument: expr.Expression) -> exp.Expr:
        return show_expression(argument, shown)

    match aggregate:
        case nodes.CountRows():
            return exp.Count(this=exp.Star())
        case nodes.CountUnits():
            return exp.Count(this=exp.Distinct(expressions=[shown(expr.Field(unit))]))
        case nodes.CountValues(argument):
            return exp.Count(this=of(argument))
        case nodes.Sum(argument):
            return exp.Sum(this=of(argument))
        case nodes.Mean(argument):
            return exp.Avg(this=of(argument))
        case nodes.Variance(argument, sample):
            return (exp.Variance if sample else exp.VariancePop)(this=of(argument))
        case nodes.Deviation(argument, sample):
            return (exp.StddevSamp if sample else exp.StddevPop)(this=of(argument))
        case nodes.Quantile(argument, fraction):
            return exp.Quantile(this=of(argument), quantile=literal(fraction))
        case nodes.Least(argument):
            return exp.Min(this=of(argument))
        case nodes.Greatest(argument):
            return exp.Max(this=of(argument))


# ------------------------------------------------------------------ show
# A plan back to text, in the language that `tacit.sql.parser` reads.


def show(plan: nodes.Plan, catalog: Catalog) -> str:
    """The text of ``plan``: what it parses to means the same.

    Guarantee: ``canonical(parse(show(plan, catalog), catalog)) == canonical(plan)``, where each
    column of ``plan`` is called dataset.column and each measure is shown, ordered by or asked
    for by HAVING: no text asks for a measure that it does not name.
    """
    unit = source_of(plan.source, catalog).unit
    shown = _shown(plan.source, unit)
    keys = {key.name: show_expression(key.expression, shown) for key in plan.keys}
    measures = {m.name: show_aggregate(m.aggregate, unit, shown) for m in plan.measures}
    meant = {**keys, **measures}

    def released(field: expr.Field) -> exp.Expr:
        return meant[field.name].copy()

    select = _from(plan.source, unit)
    for output in plan.post.outputs:
        made = show_expression(output.expression, released)
        select = select.select(exp.alias_(made, output.name, quoted=True), copy=False)
    if keys:
        select = select.group_by(*keys.values(), copy=False)
    if plan.post.having is not None:
        select = select.having(show_expression(plan.post.having, released), copy=False)
    for order in plan.post.order:
        key = show_expression(order.expression, released)
        select = select.order_by(exp.Ordered(this=key, desc=order.descending), copy=False)
    if plan.post.limit is not None:
        select = select.limit(plan.post.limit, copy=False)
    text: str = select.sql(dialect="duckdb", comments=False)
    return text


def _shown(relation: nodes.Relation, unit: str) -> Shown:
    """How the columns of a relation are written above it."""
    below = nodes.per_unit_in(relation)
    if below is None:
        return rows
    named = {unit, *below.keys}

    def shown(field: expr.Field) -> exp.Expr:
        return column(field.name, nodes.BELOW) if field.name in named else rows(field)

    return shown


def _from(relation: nodes.Relation, unit: str) -> exp.Select:
    """The tables and conditions of a relation; which come first is all the same."""
    first, joins, wanted = _taken_apart(relation)
    shown = _shown(relation, unit)
    table = _table(first.dataset) if isinstance(first, nodes.Scan) else _below(first, unit)
    select = exp.select().from_(table, copy=False)
    for join in joins:
        name = join.table if isinstance(join, nodes.JoinPublic) else join.dataset
        equal = exp.EQ(this=shown(expr.Field(join.left)), expression=column(join.right, name))
        outer = "left" if isinstance(join, nodes.JoinPublic) and join.outer else None
        select = select.join(_table(name), on=equal, join_type=outer, copy=False)
    if wanted:
        select = select.where(all_of([show_expression(each, shown) for each in wanted]))
    return select


def _below(relation: nodes.PerUnit, unit: str) -> exp.Subquery:
    """A query below that aggregates; its columns have the names of those that they are."""
    shown = _shown(relation.source, unit)
    select = _from(relation.source, unit)
    for name in (unit, *relation.keys):
        key = shown(expr.Field(name))
        select = select.select(exp.alias_(key, name, quoted=True), copy=False)
        select = select.group_by(key.copy(), copy=False)
    for value in relation.values:
        made = show_aggregate(value.aggregate, unit, shown)
        select = select.select(exp.alias_(made, value.name, quoted=True), copy=False)
    return select.subquery(exp.to_identifier(nodes.BELOW, quoted=True), copy=False)


def _taken_apart(
    relation: nodes.Relation,
) -> tuple[
    nodes.Scan | nodes.PerUnit, list[nodes.Join | nodes.JoinPublic], list[expr.Expression]
]:
    match relation:
        case nodes.Scan() | nodes.PerUnit():
            return relation, [], []
        case nodes.Filter(source, condition):
            first, joins, wanted = _taken_apart(source)
            return first, joins, [*wanted, condition]
        case nodes.Join(source, _, _, _) | nodes.JoinPublic(source, _, _, _, _):
            first, joins, wanted = _taken_apart(source)
            return first, [*joins, relation], wanted


def _table(dataset: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(dataset, quoted=True))

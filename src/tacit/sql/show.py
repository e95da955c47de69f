"""A plan back to text, in the language that `tacit.sql.parse` reads."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.plan.expression import Expression, Field
from tacit.plan.plan import Plan
from tacit.plan.relation import BELOW, Filter, Join, PerUnit, Relation, Scan, per_unit_in
from tacit.plan.source import source_of
from tacit.sql.show_aggregate import rows, show_aggregate
from tacit.sql.show_expression import Shown, all_of, column, show_expression


def show(plan: Plan, catalog: Catalog) -> str:
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

    def released(field: Field) -> exp.Expr:
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


def _shown(relation: Relation, unit: str) -> Shown:
    """How the columns of a relation are written above it."""
    below = per_unit_in(relation)
    if below is None:
        return rows
    named = {unit, *below.keys}

    def shown(field: Field) -> exp.Expr:
        return column(field.name, BELOW) if field.name in named else rows(field)

    return shown


def _from(relation: Relation, unit: str) -> exp.Select:
    """The tables and conditions of a relation; which come first is all the same."""
    first, joins, wanted = _taken_apart(relation)
    shown = _shown(relation, unit)
    table = _table(first.dataset) if isinstance(first, Scan) else _below(first, unit)
    select = exp.select().from_(table, copy=False)
    for join in joins:
        equal = exp.EQ(
            this=shown(Field(join.left)), expression=column(join.right, join.dataset)
        )
        select = select.join(_table(join.dataset), on=equal, copy=False)
    if wanted:
        select = select.where(all_of([show_expression(each, shown) for each in wanted]))
    return select


def _below(relation: PerUnit, unit: str) -> exp.Subquery:
    """A query below that aggregates; its columns have the names of those that they are."""
    shown = _shown(relation.source, unit)
    select = _from(relation.source, unit)
    for name in (unit, *relation.keys):
        key = shown(Field(name))
        select = select.select(exp.alias_(key, name, quoted=True), copy=False)
        select = select.group_by(key.copy(), copy=False)
    for value in relation.values:
        made = show_aggregate(value.aggregate, unit, shown)
        select = select.select(exp.alias_(made, value.name, quoted=True), copy=False)
    return select.subquery(exp.to_identifier(BELOW, quoted=True), copy=False)


def _taken_apart(
    relation: Relation,
) -> tuple[Scan | PerUnit, list[Join], list[Expression]]:
    match relation:
        case Scan() | PerUnit():
            return relation, [], []
        case Filter(source, condition):
            first, joins, wanted = _taken_apart(source)
            return first, joins, [*wanted, condition]
        case Join(source, _, _, _):
            first, joins, wanted = _taken_apart(source)
            return first, [*joins, relation], wanted


def _table(dataset: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(dataset, quoted=True))

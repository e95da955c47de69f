"""A plan back to text, in the language that `tacit.sql.parse` reads."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.plan.expression import Expression, Field
from tacit.plan.plan import Plan
from tacit.plan.relation import Filter, Join, Relation, Scan
from tacit.plan.source import source_of
from tacit.sql.show_aggregate import rows, show_aggregate
from tacit.sql.show_expression import all_of, column, show_expression


def show(plan: Plan, catalog: Catalog) -> str:
    """The text of ``plan``: what it parses to means the same.

    Guarantee: ``canonical(parse(show(plan, catalog), catalog)) == canonical(plan)``, where each
    column of ``plan`` is called dataset.column and each measure is shown, ordered by or asked
    for by HAVING: no text asks for a measure that it does not name.
    """
    unit = source_of(plan.source, catalog).unit
    keys = {key.name: show_expression(key.expression, rows) for key in plan.keys}
    measures = {part.name: show_aggregate(part.aggregate, unit) for part in plan.measures}
    meant = {**keys, **measures}

    def released(field: Field) -> exp.Expr:
        return meant[field.name].copy()

    select = _from(plan.source)
    for output in plan.post.outputs:
        shown = show_expression(output.expression, released)
        select = select.select(exp.alias_(shown, output.name, quoted=True), copy=False)
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


def _from(relation: Relation) -> exp.Select:
    """The tables and conditions of a relation; which come first is all the same."""
    first, joins, wanted = _taken_apart(relation)
    select = exp.select().from_(_table(first), copy=False)
    for join in joins:
        equal = exp.EQ(this=rows(Field(join.left)), expression=column(join.right, join.dataset))
        select = select.join(_table(join.dataset), on=equal, copy=False)
    if wanted:
        select = select.where(all_of([show_expression(each, rows) for each in wanted]))
    return select


def _taken_apart(relation: Relation) -> tuple[str, list[Join], list[Expression]]:
    match relation:
        case Scan(dataset):
            return dataset, [], []
        case Filter(source, condition):
            first, joins, wanted = _taken_apart(source)
            return first, joins, [*wanted, condition]
        case Join(source, _, _, _):
            first, joins, wanted = _taken_apart(source)
            return first, [*joins, relation], wanted


def _table(dataset: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(dataset, quoted=True))

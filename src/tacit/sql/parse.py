"""SQL text to a plan. The text itself goes no further than this file."""

from sqlglot import exp
from sqlglot import parse as read
from sqlglot.errors import SqlglotError

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset
from tacit.errors import InvalidValue
from tacit.plan.aggregate import Aggregate, CountRows, CountUnits, CountValues, Mean, Sum
from tacit.plan.expression import Expression, Field
from tacit.plan.plan import GroupKey, Measure, Plan
from tacit.plan.relation import Filter, Relation, Scan
from tacit.sql.expression import expression
from tacit.sql.gate import admit

LONGEST_TEXT = 20_000
"""Characters of a question."""

DEEPEST_TREE = 100
"""Nodes above a node; more is an attack on whoever walks the tree."""


def parse(text: str, catalog: Catalog) -> Plan:
    """The plan that ``text`` asks for; refused, with the reason, where it is not understood.

    Guarantee: a function of the text and the catalog alone; no engine is asked.
    """
    select = _select(text)
    dataset, alias = _dataset(select, catalog)
    for column in select.find_all(exp.Column):
        if column.table and column.table not in {dataset.name, alias}:
            raise InvalidValue(f"There is no table {column.table!r} in this question.")
    source: Relation = Scan(dataset.name)
    where = select.args.get("where")
    if where is not None:
        source = Filter(source, expression(where.this))
    shown = [_named(node, place) for place, node in enumerate(select.expressions)]
    measures = tuple(
        Measure(name, _aggregate(node, dataset)) for name, node in shown if _aggregates(node)
    )
    asked = {name: expression(node) for name, node in shown if not _aggregates(node)}
    return Plan(source, _keys(select, asked), measures, tuple(name for name, _ in shown))


def _select(text: str) -> exp.Select:
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise InvalidValue(f"A question has at most {LONGEST_TEXT} characters, and no NUL.")
    try:
        statements = [tree for tree in read(text, read="duckdb") if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise InvalidValue("This is not SQL that can be read.") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise InvalidValue("A question is one SELECT.")
    select = statements[0]
    _not_too_deep(select)
    admit(select)
    return select


def _not_too_deep(tree: exp.Expr) -> None:
    level: list[exp.Expr] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise InvalidValue("This question is nested too deeply.")


def _dataset(select: exp.Select, catalog: Catalog) -> tuple[Dataset, str]:
    source = select.args.get("from_")
    if source is None:
        raise InvalidValue("A question says FROM which dataset it asks.")
    table = source.this
    return catalog.dataset(table.name), table.alias


def _named(node: exp.Expr, place: int) -> tuple[str, exp.Expr]:
    """A column of the answer, and its name."""
    match node:
        case exp.Alias():
            return node.alias, node.this
        case exp.Column():
            return node.name, node
        case exp.Star():
            raise InvalidValue("Rows are not released; ask for aggregates, such as COUNT(*).")
        case _:
            return f"column_{place + 1}", node


def _aggregates(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count | exp.Sum | exp.Avg)


def _aggregate(node: exp.Expr, dataset: Dataset) -> Aggregate:
    match node:
        case exp.Count() if isinstance(node.this, exp.Star):
            return CountRows()
        case exp.Count() if isinstance(node.this, exp.Distinct):
            if [expression(part) for part in node.this.expressions] != [
                Field(dataset.unit.column)
            ]:
                raise InvalidValue(
                    f"COUNT(DISTINCT ...) counts units: COUNT(DISTINCT {dataset.unit.column})."
                )
            return CountUnits()
        case exp.Count():
            return CountValues(expression(node.this))
        case exp.Sum():
            return Sum(expression(node.this))
    return Mean(expression(node.this))


def _keys(select: exp.Select, asked: dict[str, Expression]) -> tuple[GroupKey, ...]:
    """The groups: by the columns of the answer that are no aggregates, and by no others."""
    group = select.args.get("group")
    named = [_key(node, asked) for node in group.expressions] if group is not None else []
    for name, wanted in asked.items():
        if wanted not in named:
            raise InvalidValue(f"{name!r} is neither an aggregate nor in GROUP BY.")
    names = {wanted: name for name, wanted in asked.items()}
    return tuple(
        GroupKey(names.get(wanted, f"key_{place + 1}"), wanted)
        for place, wanted in enumerate(dict.fromkeys(named))
    )


def _key(node: exp.Expr, asked: dict[str, Expression]) -> Expression:
    if isinstance(node, exp.Literal):
        raise InvalidValue("GROUP BY names its columns; a number says nothing.")
    wanted = expression(node)
    return asked.get(wanted.name, wanted) if isinstance(wanted, Field) else wanted

"""UNION ALL: one question that releases what all of its parts ask, for one charge."""

from collections.abc import Callable
from dataclasses import replace

from tacit.errors import InvalidValue
from tacit.plan import Field, rename_released
from tacit.plan import expression as expr
from tacit.plan import plan as nodes


def merge_union(plans: list[nodes.Plan]) -> tuple[nodes.Plan, tuple[nodes.Post, ...]]:
    """Return one question that releases what all ``plans`` ask, and the steps that read it.

    The parts must ask about the same rows with the same keys, and may differ in WHERE. The
    condition of each part then becomes a CASE inside its aggregates.

    Guarantee: the question is bounded, priced and charged as one plan, like any other.
    """
    split = [_split_filter(plan.source) for plan in plans]
    same = len({plan.source for plan in plans}) == 1
    keys = {key.expression: f"key {place}" for place, key in enumerate(plans[0].keys)}
    if len({rows for rows, _ in split}) > 1 or any(
        plan.sets or {key.expression for key in plan.keys} != keys.keys() for plan in plans
    ):
        raise InvalidValue(
            "The parts of UNION ALL must have the same FROM and GROUP BY, and may differ in "
            "WHERE; ask other parts as questions of their own, such as SELECT COUNT(*) FROM "
            "visits."
        )
    conditions = [wanted for _, wanted in split]
    measures: dict[nodes.Aggregate, str] = {}
    posts = []
    for plan, wanted in zip(plans, conditions, strict=True):
        names = {key.name: keys[key.expression] for key in plan.keys}
        for measure in plan.measures:
            asked = measure.aggregate
            if not same and wanted is not None:
                asked = _only_where(asked, wanted)
            names[measure.name] = measures.setdefault(asked, f"measure {len(measures)}")
        posts.append(rename_released(plan.post, _renaming(names)))
    source = plans[0].source
    if not same:
        source = split[0][0]
        known = [each for each in conditions if each is not None]
        if len(known) == len(conditions):
            source = nodes.Filter(source, expr.Or(tuple(dict.fromkeys(known))))
    made = nodes.Plan(
        source,
        tuple(nodes.GroupKey(name, key) for key, name in keys.items()),
        tuple(nodes.NamedAggregate(name, each) for each, name in measures.items()),
        posts[0],
    )
    return made, tuple(posts)


def _renaming(names: dict[str, str]) -> Callable[[Field], Field]:
    return lambda field: Field(names[field.name])


def _split_filter(
    relation: nodes.Relation,
) -> tuple[nodes.Relation, expr.Expression | None]:
    """Return the rows below WHERE, and its condition."""
    if isinstance(relation, nodes.Filter):
        rows, wanted = _split_filter(relation.source)
        both = relation.condition if wanted is None else expr.And((wanted, relation.condition))
        return rows, both
    return relation, None


def _only_where(aggregate: nodes.Aggregate, wanted: expr.Expression) -> nodes.Aggregate:
    """Return an aggregate of the rows for which a condition is true."""
    match aggregate:
        case nodes.CountRows():
            return nodes.CountValues(_case(wanted, expr.Constant(1)))
        case nodes.CountValues(argument):
            there = expr.And((wanted, expr.Not(expr.IsNull(argument))))
            return nodes.CountValues(_case(there, expr.Constant(1)))
        case nodes.CountUnits():
            raise InvalidValue(
                "COUNT(DISTINCT ...) is not supported in parts of UNION ALL that differ in "
                "WHERE; ask each part as a question of its own."
            )
        case nodes.PairStatistic():
            raise InvalidValue(
                "CORR, COVAR and REGR are not supported in parts of UNION ALL that differ in "
                "WHERE; ask each part as a question of its own."
            )
    return replace(aggregate, argument=_case(wanted, aggregate.argument))


def _case(wanted: expr.Expression, value: expr.Expression) -> expr.Case:
    return expr.Case(((wanted, value),), expr.Constant(None))

"""Questions that choices make over a catalogue: joins, conditions, keys and aggregates."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from made_expression import CONSTANTS_AFTER, Maker, filled, text_function
from made_relation import beside_public, per_unit, semi_join

from tacit.audit.synthetic_people import Choices
from tacit.core.catalog import Catalog, Link, UnitColumn
from tacit.core.domain import Kind
from tacit.plan.bounding import gather
from tacit.plan.expression import (
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    DatePartName,
    Divide,
    Expression,
    Field,
    Function,
    FunctionCall,
    OfReleased,
    Operation,
    Period,
    ReleasedFunction,
    SortKey,
    Span,
    WindowFunction,
    WindowValue,
)
from tacit.plan.group_keys import GROUPED
from tacit.plan.plan import (
    Aggregate,
    CountDistinct,
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Filter,
    Greatest,
    GroupKey,
    Join,
    Least,
    LeftJoin,
    Mean,
    NamedAggregate,
    OrderBy,
    Output,
    PairFunction,
    PairStatistic,
    Plan,
    Post,
    Quantile,
    Relation,
    Scan,
    Sum,
    Variance,
    tables_in_scope,
)

DEEPEST = 6


def plan(catalog: Catalog, choices: Choices) -> Plan:
    """A question; some are refused, as what people write is."""
    depth = 1 + choices.below(DEEPEST)

    def make(source: Relation) -> Maker:
        return Maker(gather(source, catalog).scope, choices, depth)

    source: Relation = Scan(choices.one(catalog.datasets).name)
    for _ in range(choices.below(len(catalog.datasets))):
        source = _filtered(source, make)
        joins = _joins(source, catalog)
        joined = choices.one(joins) if joins else source
        if joins and choices.once_in(3):
            joined = LeftJoin(source, joined.dataset, joined.left, joined.right)
        source = joined
    if catalog.public and choices.once_in(2):
        source = beside_public(make(source), source)
    source = _filtered(source, make)

    def inside(below: Relation) -> Relation:
        if choices.once_in(4):
            below = semi_join(make(below), below, catalog, inside)
        return _filtered(below, make)

    while choices.once_in(4):
        source = semi_join(make(source), source, catalog, inside)
    while choices.once_in(8):
        source = _filtered(per_unit(make(source), source), make)
        if choices.once_in(4):
            source = semi_join(make(source), source, catalog, inside)
    over = make(source)
    keys = [GroupKey(f"k{place}", part) for place, part in enumerate(_keys(over))]
    measures = choices.some(1, 3, lambda place: NamedAggregate(f"m{place}", aggregate(over)))
    names = [part.name for part in (*keys, *measures)]
    post, sets = _post(names, len(keys), choices), _sets(names[: len(keys)], choices)
    return Plan(source, tuple(keys), tuple(measures), post, sets)


def _sets(keys: list[str], choices: Choices) -> tuple[tuple[str, ...], ...]:
    """Grouping sets of some questions: all of a ROLLUP or a CUBE, which need public keys."""
    if not keys or not choices.once_in(4):
        return ()
    every = tuple(part for most in range(len(keys) + 1) for part in combinations(keys, most))
    rollup = tuple(tuple(keys[:most]) for most in range(len(keys) + 1))
    return choices.one((every, rollup))


def _filtered(source: Relation, make: Callable[[Relation], Maker]) -> Relation:
    over = make(source)
    # deep conditions are false of nearly all rows
    shallow = replace(over, depth=1 + over.choices.below(over.depth))
    return Filter(source, shallow.condition()) if over.choices.once_in(4) else source


def _joins(source: Relation, catalog: Catalog) -> list[Join]:
    """Every join that adds a table: along a link, either way, or by the person."""
    found = []
    for left in tables_in_scope(source):
        for right in {each.name for each in catalog.datasets} - set(tables_in_scope(source)):
            pairs = [
                *_equal(left, right, catalog),
                *map(reversed, _equal(right, left, catalog)),
            ]
            for one, other in pairs:
                found.append(Join(source, right, f"{left}.{one}", other))
    return sorted(found, key=repr)


def _equal(child: str, parent: str, catalog: Catalog) -> list[tuple[str, str]]:
    """The columns that may be equated on the way from one table to another."""
    way, above = catalog.dataset(child).unit, catalog.dataset(parent).unit
    if isinstance(way, Link):
        return [(way.column, way.parent_column)] if way.parent == parent else []
    return [(way.column, above.column)] if isinstance(above, UnitColumn) else []


def _keys(make: Maker) -> list[Expression]:
    def key(_: int) -> Expression:
        return _computed_key(make) if make.choices.once_in(4) else _key(make)

    return list(dict.fromkeys(make.choices.some(0, 2, key)))


def _key(make: Maker) -> Expression:
    which = make.choices.below(10)
    days = make.names(Kind.DATE, Kind.TIMESTAMP)
    if which == 9 and days:
        return Period(make.choices.one(tuple(Span)), make.field(days))
    if which == 8 and days:
        return DatePart(make.choices.one(tuple(DatePartName)), make.field(days))
    if which == 0:
        return Bin(make.number(), make.choices.one((7, 40, 25)))
    if which == 1:
        return Case(((make.condition(), Constant("yes")),), Constant("no"))
    if which == 2:
        thens = [(make.condition(), Constant(place)) for place in range(2)]
        return Case(tuple(thens), Constant(None))
    return make.field([name for name in make.names(*GROUPED) if not name.endswith(".id")])


def _computed_key(make: Maker) -> Expression:
    """A key that is a function of declared keys, a condition or an integer."""
    keyed = [name for name in make.names(Kind.TEXT) if make.scope[name].keys is not None]
    which = make.choices.below(3)
    if which == 0 and keyed:
        if make.choices.once_in(2):
            return filled(make.field(keyed), Constant("unknown"))
        return text_function(make, keyed)
    if which == 1:
        return make.condition()
    return FunctionCall(
        Function.FLOOR, (Divide(make.number(), Constant(make.choices.one((7, 40)))),)
    )


def _value(make: Maker) -> Aggregate:
    part = make.field(make.names(*Kind)) if make.choices.once_in(2) else make.number()
    return CountValues(part)


def _distinct(make: Maker) -> Aggregate:
    if make.choices.once_in(4):
        return CountDistinct(make.number())
    part: Expression = make.field(make.names(*Kind))
    if make.choices.once_in(3):
        part = Case(((make.condition(), part),), Constant(None))
    return CountDistinct(part)


AGGREGATES: tuple[Callable[[Maker], Aggregate], ...] = (
    lambda _: CountRows(),
    lambda _: CountUnits(),
    _value,
    _distinct,
    lambda make: Sum(make.number()),
    lambda make: Mean(make.number()),
    lambda make: Variance(make.number(), make.choices.once_in(2)),
    lambda make: Deviation(make.number(), make.choices.once_in(2)),
    lambda make: PairStatistic(
        make.choices.one(tuple(PairFunction)), make.number(), make.number()
    ),
    lambda make: Quantile(make.number(), make.choices.one((Fraction(1, 2), Fraction(9, 10)))),
    lambda make: Least(make.number()),
    lambda make: Greatest(make.number()),
)
"""What can be asked of a group; a new aggregate is one more line."""


def aggregate(make: Maker) -> Aggregate:
    """Something asked of each group."""
    return make.choices.one(AGGREGATES)(make)


OF_ONE = (ReleasedFunction.ROUND, ReleasedFunction.FLOOR, ReleasedFunction.ABS)
"""Functions of one released number."""

OVER = (
    WindowFunction.SUM,
    WindowFunction.MEAN,
    WindowFunction.GREATEST,
    WindowFunction.EARLIER,
)
"""Functions of a released number in several rows."""


def _post(names: list[str], keys: int, choices: Choices) -> Post:
    """What is done with the answer: computed columns, HAVING, an order and a limit."""
    measures = names[keys:]

    def computed(_: int) -> Expression:
        one, other = Field(choices.one(measures)), choices.one(CONSTANTS_AFTER)
        return choices.one(
            (
                *(one, Divide(one, Field(choices.one(measures))), Divide(one, other)),
                *(Arithmetic(choices.one(tuple(Operation)), one, other),),
            )
        )

    def released(place: int) -> Expression:
        """A computed column, a function of it, or a window over the rows of the answer."""
        found = computed(place)
        if choices.once_in(3):
            return OfReleased(choices.one(OF_ONE), (found,))
        if choices.once_in(3):
            order = (SortKey(Field(choices.one(names)), choices.once_in(2)),)
            return WindowValue(choices.one(OVER), found, (), order)
        return found

    outputs = [Output(name, Field(name)) for name in names]
    outputs += [
        Output(f"c{place}", part) for place, part in enumerate(choices.some(0, 2, released))
    ]
    having = None
    if choices.once_in(3):
        having = Compare(
            choices.one(tuple(Comparison)), computed(0), choices.one(CONSTANTS_AFTER)
        )
    order = choices.some(0, 2, lambda _: OrderBy(Field(choices.one(names)), choices.once_in(2)))
    limit = choices.below(4) if choices.once_in(4) else None
    return Post(tuple(outputs), having, tuple(order), limit)

"""Group keys that are computed: COALESCE, functions of declared keys, conditions, integers.

A computed key must have a public list of values, because its groups would otherwise be selected
by their number of people for no reason. The list follows from declarations: a text comes from
the declared keys of a column and from constants, and an integer from a range of numbers. So
COALESCE(ward, 'unknown') has the declared wards as groups, and 'unknown'.
"""

from tacit.core import Key, Keys, Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import CaseKey, StepsKey
from tacit.plan.lowering import condition, number
from tacit.plan.text_functions import cases_first, key_map
from tacit.plan.type_check import NUMBERS, kind_of

MOST_NAMED = 200
"""Largest number of values of a computed key; each is a comparison for every row."""

MOST_INTEGERS = 1_000
"""Largest number of integers of a computed key; engines find one in a list by hashing."""

Branch = tuple[grid_steps.Condition, Key | None]
"""A condition, and the group of the rows that meet it and none before it; None drops them."""

ALWAYS = grid_steps.ConstantCondition(True)


def computed_key(name: str, expression: expr.Expression, schema: Schema) -> CaseKey | StepsKey:
    """Return the group key of an expression, with the public list of its values.

    Example:
        >>> from tacit.core import Column
        >>> wards = Schema((Column("ward", Kind.TEXT, keys=Keys(("n", "s"))),))
        >>> ward = expr.Field("ward")
        >>> known = expr.Case(((expr.Not(expr.IsNull(ward)), ward),), expr.Constant("?"))
        >>> computed_key("k", known, wards).keys.values
        ('n', 's', '?')
    """
    kind = kind_of(expression, schema)
    branches = _branches(cases_first(expression), schema)
    if branches is None and kind in NUMBERS:
        return _integers(name, expression, schema)
    if branches is None:
        raise InvalidValue(
            "This expression cannot be a group key. Group by a column, by bins of a number, as "
            "in FLOOR(x / 10) * 10, by dates, as in MONTH(day) or DATE_TRUNC('month', day), by "
            "functions of columns with declared keys, as in UPPER(ward), or by a CASE whose "
            "values are constants."
        )
    if len(branches) > MOST_NAMED:
        raise InvalidValue(
            f"This group key has {len(branches)} cases, and {MOST_NAMED} are the most; group "
            "by the column itself, or by fewer values."
        )
    values = tuple(dict.fromkeys(key for _, key in branches if key is not None))
    if not values:
        raise InvalidValue("This group key is always NULL; group by another expression.")
    rest = None
    if branches[-1][0] == ALWAYS:
        *branches, (_, rest) = branches
    if not branches:
        raise InvalidValue("GROUP BY does not support constants; write a column's name.")
    return CaseKey(name, tuple(branches), rest, Keys(values))


def _branches(part: expr.Expression, schema: Schema) -> list[Branch] | None:
    """Return the groups of ``part``, in order; None if they are not a public list."""
    match part:
        case expr.Case(whens, otherwise):
            found: list[Branch] = []
            for when, then in whens:
                below = _branches(then, schema)
                if below is None:
                    return None
                found += _within(condition(when, schema), below)
            rest = _branches(otherwise, schema)
            return None if rest is None else found + rest
        case expr.Constant(bool() as truth):
            return [(ALWAYS, int(truth))]
        case expr.Constant(int() | str() | None as value):
            return [(ALWAYS, value)]
        case expr.Field(name) if schema[name].kind is not Kind.BOOLEAN:
            column = schema[name]
            if column.keys is None or isinstance(column, grid_steps.ComputedColumn):
                return None
            if column.kind not in {Kind.TEXT, Kind.INTEGER}:
                return None
            return [
                (grid_steps.ColumnOneOf(column.name, column.kind, (key,)), key)
                for key in column.keys.values
            ]
        case expr.FunctionCall(function, _) if function.of_text:
            mapped = key_map(part, schema, function.value)
            name, kind = mapped.column.name, mapped.column.kind
            texts: list[Branch] = [
                (grid_steps.ColumnOneOf(name, kind, tuple(keys)), text)
                for text, keys in mapped.keys_by_result().items()
            ]
            if mapped.null is not None:
                texts.append((grid_steps.ColumnIsNull(name, kind), mapped.null))
            return texts
    if kind_of(part, schema) is Kind.BOOLEAN:
        true = condition(part, schema)
        return [(true, 1), (grid_steps.Negation(true), 0)]
    return None


def _within(when: grid_steps.Condition, below: list[Branch]) -> list[Branch]:
    """Return the branches of rows that meet ``when``, which no later branch may take."""
    if below[0][0] == ALWAYS:
        return [(when, below[0][1])]
    inside: list[Branch] = [
        (when if each == ALWAYS else grid_steps.AllOf((when, each)), key) for each, key in below
    ]
    return inside if below[-1][0] == ALWAYS else [*inside, (when, None)]


def _integers(name: str, expression: expr.Expression, schema: Schema) -> StepsKey:
    """Return the key of an integer of a row, which has one group for each integer."""
    value = number(expression, schema)
    if value.step.denominator != 1:
        raise InvalidValue(
            "Groups by a number with fractions would have one value each; use bins, as in "
            "FLOOR(x / 10) * 10, or round it, as in ROUND(x)."
        )
    each = int(value.step)
    whole = value.refine(value.step / each)
    count = (whole.high - whole.low) // each + 1
    if count > MOST_INTEGERS:
        raise InvalidValue(
            f"This number has {count} values within the bounds of its columns, and "
            f"{MOST_INTEGERS} are the most of a group key; use bins, as in FLOOR(x / 10) * 10."
        )
    return StepsKey(name, whole.steps, Keys(tuple(range(whole.low, whole.high + 1, each))))

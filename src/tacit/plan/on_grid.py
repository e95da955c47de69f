"""From what the analyst wrote to what an engine computes: steps of grids, and conditions."""

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub

from tacit.core.column import Kind
from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.plan.column_beside import compare_column, ordered
from tacit.plan.days import day_column, day_part, days_between
from tacit.plan.expression import (
    And,
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    Expression,
    Field,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Value,
)
from tacit.plan.held import Held
from tacit.plan.kind import NUMBERS, kind_of
from tacit.plan.like import like
from tacit.plan.ranged import Ranged, in_one_step
from tacit.plan.steps import (
    AllOf,
    AnyOf,
    CaseSteps,
    ColumnIsNull,
    ColumnIsTrue,
    ColumnOneOf,
    ColumnSteps,
    CompareColumns,
    CompareSteps,
    Condition,
    Known,
    NotSo,
    StepsAreNull,
    StepsOneOf,
    WholeSteps,
)

OPERATIONS: dict[Operation, Callable[[Ranged, Ranged], Ranged]] = {
    Operation.ADD: add,
    Operation.SUBTRACT: sub,
    Operation.MULTIPLY: mul,
}


def number(expression: Expression, schema: Schema) -> Ranged:
    """``expression`` in steps, with its range.

    Columns stand for their values clamped to their bounds.
    """
    match expression:
        case Field(name):
            column = schema[name]
            if isinstance(column, Held):
                return column.value
            grid = column.grid()
            if column.kind not in NUMBERS:
                raise InvalidValue(f"{column.name!r} holds {column.kind.value}s, not numbers.")
            clamped = ColumnSteps(column.name, column.kind, grid)
            rounding = grid.rounding_error(rows=1) if column.kind is Kind.FLOAT else Fraction(0)
            return Ranged(clamped, grid.lowest, grid.highest, grid.step, rounding)
        case Constant(None):
            return Ranged(WholeSteps(None), 0, 0, Fraction(1))
        case Constant(bool()):
            pass
        case Constant(int() | Fraction() as value):
            return Ranged.constant(Fraction(value))
        case DatePart(part, day):
            return day_part(part, day_column(day, schema))
        case Arithmetic(Operation.SUBTRACT, left, right) if (
            found := days_between(left, right, schema)
        ) is not None:
            return found
        case Arithmetic(operation, left, right):
            return OPERATIONS[operation](number(left, schema), number(right, schema))
        case Case(whens, otherwise):
            conditions = [condition(when, schema) for when, _ in whens]
            values = in_one_step([number(part, schema) for part in [*_thens(whens), otherwise]])
            steps = [value.steps for value in values]
            pairs = tuple(zip(conditions, steps[:-1], strict=True))
            low, high = min(v.low for v in values), max(v.high for v in values)
            rounding = max(value.rounding for value in values)
            return Ranged(CaseSteps(pairs, steps[-1]), low, high, values[0].step, rounding)
    raise InvalidValue("A number is expected here.")


def condition(expression: Expression, schema: Schema) -> Condition:
    """``expression`` as an engine decides it."""
    match expression:
        case Compare(comparison, left, right):
            return _compare(comparison, left, right, schema)
        case OneOf(part, values):
            kind_of(expression, schema)  # refuses what is not comparable
            return _one_of(part, values, schema)
        case Like():
            return like(expression, schema)
        case IsNull(Field(name)) if not _held(schema, name):
            return ColumnIsNull(schema[name].name, schema[name].kind)
        case IsNull(part) if kind_of(part, schema) in NUMBERS:
            return StepsAreNull(number(part, schema).steps)
        case And(parts):
            return AllOf(tuple(condition(part, schema) for part in parts))
        case Or(parts):
            return AnyOf(tuple(condition(part, schema) for part in parts))
        case Not(part):
            return NotSo(condition(part, schema))
        case Field(name) if schema[name].kind is Kind.BOOLEAN:
            return ColumnIsTrue(schema[name].name)
        case Constant(bool() | None as truth):
            return Known(truth)
    raise InvalidValue("A condition is expected here, such as age > 30 or ward = 'north'.")


def _thens(whens: tuple[tuple[Expression, Expression], ...]) -> list[Expression]:
    return [then for _, then in whens]


def _one_of(part: Expression, values: tuple[Value, ...], schema: Schema) -> Condition:
    if isinstance(part, Field) and not _held(schema, part.name):
        column = schema[part.name]
        for value in values:
            compare_column(Comparison.EQUAL, column, value)
        return ColumnOneOf(column.name, column.kind, values)
    listed = [number(Constant(value), schema) for value in values]
    asked, *whole = in_one_step([number(part, schema), *listed])
    return StepsOneOf(asked.steps, tuple(value.low for value in whole))


def _compare(
    comparison: Comparison, left: Expression, right: Expression, schema: Schema
) -> Condition:
    kind_of(Compare(comparison, left, right), schema)  # refuses what is not comparable
    match left, right:
        case (Constant(None), _) | (_, Constant(None)):
            return Known(None)
        case Field(name), Constant(value) if value is not None and not _held(schema, name):
            return compare_column(comparison, schema[name], value)
        case Constant(value), Field(name) if value is not None and not _held(schema, name):
            return compare_column(comparison.mirrored, schema[name], value)
        case Field(one), Field(other) if schema[one].kind is schema[other].kind and not _held(
            schema, one, other
        ):
            ordered(comparison, schema[one])
            names = schema[one].name, schema[other].name
            return CompareColumns(comparison, *names, schema[one].kind)
    if kind_of(left, schema) in NUMBERS and kind_of(right, schema) in NUMBERS:
        numbers = in_one_step([number(left, schema), number(right, schema)])
        return CompareSteps(comparison, numbers[0].steps, numbers[1].steps)
    raise InvalidValue("Compare a column with a value, two columns of one kind, or numbers.")


def _held(schema: Schema, *names: str) -> bool:
    """Whether a column holds steps, which are compared as numbers are."""
    return any(isinstance(schema[name], Held) for name in names)

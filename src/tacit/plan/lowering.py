"""The translation of an analyst's expressions into integer arithmetic and conditions.

`number` turns an expression into steps of a grid with a known range, and `condition` turns one
into a condition that every engine decides in the same way. Where engines disagree, for example
about the order of texts or about comparing an integer with a fraction, the expression is
refused or rewritten here.
"""

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub

from tacit.core import Column, Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.type_check import NUMBERS, day_column, day_part, days_between, kind_of, like

DECIMALS = 10**18
"""Common denominator of decimals in a question: they have at most 18 digits after the point."""


# Comparisons of stored columns with constants ------------------------------------------------


def compare_column(
    comparison: expr.Comparison, column: Column, value: expr.Value
) -> grid_steps.Condition:
    """Return the condition that compares a column, without clamping, with a constant."""
    check_comparison(comparison, column)
    if isinstance(value, int | Fraction):
        _comparable(Fraction(value), column)
    if column.kind is Kind.INTEGER and isinstance(value, Fraction):
        # engines compare integers with integers exactly but differ for fractions, so that the
        # constant is rounded to the integer that gives the same result
        below = value.__floor__()
        if comparison in {expr.Comparison.EQUAL, expr.Comparison.UNEQUAL} and below != value:
            raise InvalidValue(
                f"{column.name!r} is an integer column, and {value} is not an integer; compare "
                "with an integer."
            )
        up = comparison in {expr.Comparison.LESS, expr.Comparison.AT_LEAST}
        return grid_steps.CompareColumn(
            comparison, column.name, column.kind, -(-value // 1) if up else below
        )
    return grid_steps.CompareColumn(comparison, column.name, column.kind, value)


def _comparable(value: Fraction, column: Column) -> None:
    """Refuse a number that an engine could not compare exactly with every value of a column."""
    if abs(value) >= grid_steps.ROOM:
        raise InvalidValue(
            "A number in a comparison must have at most 62 bits; use a smaller number."
        )
    if column.kind is Kind.DECIMAL and DECIMALS % value.denominator:
        raise InvalidValue(
            "A number that is compared with a decimal column must have at most 18 digits after "
            "the decimal point."
        )


def check_comparison(comparison: expr.Comparison, column: Column) -> None:
    """Refuse < and > for kinds of columns that engines order differently or not at all."""
    equality = comparison in {expr.Comparison.EQUAL, expr.Comparison.UNEQUAL}
    if column.kind in {Kind.TEXT, Kind.BOOLEAN} and not equality:
        raise InvalidValue(
            f"{column.name!r} is a {column.kind.value} column, which supports only the "
            "comparisons = and <>."
        )


# Numbers and conditions ----------------------------------------------------------------------

OPERATIONS: dict[
    expr.Operation, Callable[[grid_steps.Ranged, grid_steps.Ranged], grid_steps.Ranged]
] = {
    expr.Operation.ADD: add,
    expr.Operation.SUBTRACT: sub,
    expr.Operation.MULTIPLY: mul,
}


def number(expression: expr.Expression, schema: Schema) -> grid_steps.Ranged:
    """Return ``expression`` in steps of a grid, with its range.

    Columns are clamped to their bounds.
    """
    match expression:
        case expr.Field(name):
            column = schema[name]
            if isinstance(column, grid_steps.ComputedColumn):
                return column.value
            grid = column.grid()
            if column.kind not in NUMBERS:
                raise InvalidValue(
                    f"{column.name!r} is a {column.kind.value} column; a number is expected."
                )
            clamped = grid_steps.ColumnSteps(column.name, column.kind, grid)
            rounding = grid.rounding_error(rows=1) if column.kind is Kind.FLOAT else Fraction(0)
            return grid_steps.Ranged(clamped, grid.lowest, grid.highest, grid.step, rounding)
        case expr.Constant(None):
            return grid_steps.Ranged(grid_steps.WholeSteps(None), 0, 0, Fraction(1))
        case expr.Constant(bool()):
            pass
        case expr.Constant(int() | Fraction() as value):
            return grid_steps.Ranged.constant(Fraction(value))
        case expr.DatePart(part, day):
            return day_part(part, day_column(day, schema))
        case expr.Arithmetic(expr.Operation.SUBTRACT, left, right) if (
            found := days_between(left, right, schema)
        ) is not None:
            return found
        case expr.Arithmetic(operation, left, right):
            return OPERATIONS[operation](number(left, schema), number(right, schema))
        case expr.Case(whens, otherwise):
            conditions = [condition(when, schema) for when, _ in whens]
            values = grid_steps.in_one_step(
                [number(part, schema) for part in [*_thens(whens), otherwise]]
            )
            steps = [value.steps for value in values]
            pairs = tuple(zip(conditions, steps[:-1], strict=True))
            low, high = min(v.low for v in values), max(v.high for v in values)
            rounding = max(value.rounding for value in values)
            return grid_steps.Ranged(
                grid_steps.CaseSteps(pairs, steps[-1]), low, high, values[0].step, rounding
            )
    raise InvalidValue("A number is expected here, such as a column of numbers or age + 1.")


def condition(expression: expr.Expression, schema: Schema) -> grid_steps.Condition:
    """Return the condition that engines evaluate for ``expression``."""
    match expression:
        case expr.Compare(comparison, left, right):
            return _compare(comparison, left, right, schema)
        case expr.OneOf(part, values):
            kind_of(expression, schema)  # refuses values of another kind
            return _one_of(part, values, schema)
        case expr.Like():
            return like(expression, schema)
        case expr.IsNull(expr.Field(name)) if not _is_computed(schema, name):
            return grid_steps.ColumnIsNull(schema[name].name, schema[name].kind)
        case expr.IsNull(part) if kind_of(part, schema) in NUMBERS:
            return grid_steps.StepsAreNull(number(part, schema).steps)
        case expr.And(parts):
            return grid_steps.AllOf(tuple(condition(part, schema) for part in parts))
        case expr.Or(parts):
            return grid_steps.AnyOf(tuple(condition(part, schema) for part in parts))
        case expr.Not(part):
            return grid_steps.Negation(condition(part, schema))
        case expr.Field(name) if schema[name].kind is Kind.BOOLEAN:
            return grid_steps.ColumnIsTrue(schema[name].name)
        case expr.Constant(bool() | None as truth):
            return grid_steps.ConstantCondition(truth)
    raise InvalidValue("A condition is expected here, such as age > 30 or ward = 'north'.")


def _thens(whens: tuple[tuple[expr.Expression, expr.Expression], ...]) -> list[expr.Expression]:
    return [then for _, then in whens]


def _one_of(
    part: expr.Expression, values: tuple[expr.Value, ...], schema: Schema
) -> grid_steps.Condition:
    if isinstance(part, expr.Field) and not _is_computed(schema, part.name):
        column = schema[part.name]
        for value in values:
            compare_column(expr.Comparison.EQUAL, column, value)
        return grid_steps.ColumnOneOf(column.name, column.kind, values)
    listed = [number(expr.Constant(value), schema) for value in values]
    asked, *whole = grid_steps.in_one_step([number(part, schema), *listed])
    return grid_steps.StepsOneOf(asked.steps, tuple(value.low for value in whole))


def _compare(
    comparison: expr.Comparison, left: expr.Expression, right: expr.Expression, schema: Schema
) -> grid_steps.Condition:
    kind_of(expr.Compare(comparison, left, right), schema)  # refuses values of another kind
    match left, right:
        case (expr.Constant(None), _) | (_, expr.Constant(None)):
            return grid_steps.ConstantCondition(None)
        case expr.Field(name), expr.Constant(value) if value is not None and not _is_computed(
            schema, name
        ):
            return compare_column(comparison, schema[name], value)
        case expr.Constant(value), expr.Field(name) if value is not None and not _is_computed(
            schema, name
        ):
            return compare_column(comparison.mirrored, schema[name], value)
        case expr.Field(one), expr.Field(other) if schema[one].kind is schema[
            other
        ].kind and not _is_computed(schema, one, other):
            check_comparison(comparison, schema[one])
            names = schema[one].name, schema[other].name
            return grid_steps.CompareColumns(comparison, *names, schema[one].kind)
    if kind_of(left, schema) in NUMBERS and kind_of(right, schema) in NUMBERS:
        numbers = grid_steps.in_one_step([number(left, schema), number(right, schema)])
        return grid_steps.CompareSteps(comparison, numbers[0].steps, numbers[1].steps)
    raise InvalidValue("Compare a column with a value, two columns of one kind, or numbers.")


def _is_computed(schema: Schema, *names: str) -> bool:
    """Return whether a column was computed by a subquery, and so is stored in steps."""
    return any(isinstance(schema[name], grid_steps.ComputedColumn) for name in names)

"""The translation of an analyst's expressions into integer arithmetic and conditions.

`number` turns an expression into steps of a grid with a known range, and `condition` turns one
into a condition that every engine decides in the same way. Where engines disagree, for example
about the order of texts or about comparing an integer with a fraction, the expression is
refused or rewritten here.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from operator import add, mul, sub

from tacit.core import Column, Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import number_functions as functions
from tacit.plan import steps as grid_steps
from tacit.plan.patterns import like
from tacit.plan.text_functions import cases_first, key_map
from tacit.plan.tree_walk import every
from tacit.plan.type_check import (
    NUMBERS,
    day_column,
    day_number,
    day_part,
    digits_of,
    is_day,
    kind_of,
    part_column,
)

DECIMALS = 10**18
"""Common denominator of decimals in a question: they have at most 18 digits after the point."""


# Comparisons of stored columns with constants ------------------------------------------------


def compare_column(
    comparison: expr.Comparison, column: Column, value: expr.Value
) -> grid_steps.Condition:
    """Return the condition that compares a column, without clamping, with a constant."""
    check_comparison(comparison, column)
    if (
        column.stored is not None
        and isinstance(value, str)
        and not column.stored.can_hold(value)
    ):
        raise InvalidValue(
            f"No row of {column.name!r} can have this text, because UUIDs are read in lower "
            "case with hyphens, and char without blanks at its end; write it in that form."
        )
    if isinstance(value, int | Fraction):
        _comparable(Fraction(value), column)
    if column.kind is Kind.DATE and isinstance(value, datetime):
        value = _as_day(comparison, column, value)
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


def _as_day(comparison: expr.Comparison, column: Column, value: datetime) -> date:
    """Return the day that gives the same result in a comparison with a column of dates."""
    if value.time() == time():
        return value.date()
    if comparison in {expr.Comparison.EQUAL, expr.Comparison.UNEQUAL}:
        raise InvalidValue(
            f"{column.name!r} is a date column, and {value} is not a date; compare with a "
            "date, as in DATE '2026-01-31'."
        )
    up = comparison in {expr.Comparison.LESS, expr.Comparison.AT_LEAST}
    if up and value.date() == date.max:
        raise InvalidValue("A timestamp in a comparison with a date must be before year 10000.")
    return value.date() + timedelta(days=1) if up else value.date()


def compare_day(comparison: expr.Comparison, column: Column, day: date) -> grid_steps.Condition:
    """Return the condition that compares the days of a column, without clamping, with a day.

    A timestamp is on a day if it is at least the day's first moment and before the next day's.
    """
    if column.kind is Kind.DATE:
        return compare_column(comparison, column, day)
    from_day = grid_steps.CompareColumn(expr.Comparison.AT_LEAST, column.name, column.kind, day)
    # after the last day there is no other: the condition is false, and unknown for NULL
    later: grid_steps.Condition = grid_steps.CompareColumns(
        expr.Comparison.UNEQUAL, column.name, column.name, column.kind
    )
    if day < date.max:
        later = grid_steps.CompareColumn(
            expr.Comparison.AT_LEAST, column.name, column.kind, day + timedelta(days=1)
        )
    match comparison:
        case expr.Comparison.AT_LEAST:
            return from_day
        case expr.Comparison.LESS:
            return grid_steps.Negation(from_day)
        case expr.Comparison.MORE:
            return later
        case expr.Comparison.AT_MOST:
            return grid_steps.Negation(later)
        case expr.Comparison.EQUAL:
            return grid_steps.AllOf((from_day, grid_steps.Negation(later)))
        case expr.Comparison.UNEQUAL:
            return grid_steps.AnyOf((grid_steps.Negation(from_day), later))


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


CONSTANTS: dict[expr.Operation, Callable[[Fraction, Fraction], Fraction]] = {
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
            if column.kind is Kind.TIMESTAMP:
                raise InvalidValue(
                    f"{column.name!r} is a timestamp column; use its day, as in CAST(seen AS "
                    "DATE), or a part, as in EXTRACT(HOUR FROM seen)."
                )
            grid = column.grid()
            if column.kind not in NUMBERS:
                raise InvalidValue(
                    f"{column.name!r} is a {column.kind.value} column; a number is expected, "
                    "such as a number of days: day - DATE '2020-01-01'."
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
            return day_part(part, part_column(part, day, schema))
        case expr.Arithmetic(expr.Operation.SUBTRACT, left, right) if is_day(
            left, schema
        ) and is_day(right, schema):
            for field in every((left, right), expr.Field):
                schema[field.name].grid()  # refuses a column without bounds
            return days(left, schema) - days(right, schema)
        case expr.Arithmetic(operation, left, right):
            return OPERATIONS[operation](number(left, schema), number(right, schema))
        case expr.Divide(left, right):
            kind_of(expression, schema)  # refuses to divide by a column
            divisor = _constant(right)
            if divisor is None:
                return number(expr.Constant(None), schema)
            return functions.divide(number(left, schema), divisor)
        case expr.FunctionCall(function, parts) if not function.of_text:
            kind_of(expression, schema)
            return _call(function, parts, schema)
        case expr.Case(whens, otherwise):
            return _case(whens, otherwise, schema, number)
    raise InvalidValue("A number is expected here, such as a column of numbers or age + 1.")


def _case(
    whens: tuple[tuple[expr.Expression, expr.Expression], ...],
    otherwise: expr.Expression,
    schema: Schema,
    part: Callable[[expr.Expression, Schema], grid_steps.Ranged],
) -> grid_steps.Ranged:
    """Return a CASE in one step, whose range contains the ranges of all its values."""
    conditions = [condition(when, schema) for when, _ in whens]
    thens = [then for _, then in whens]
    values = grid_steps.in_one_step([part(each, schema) for each in [*thens, otherwise]])
    steps = [value.steps for value in values]
    pairs = tuple(zip(conditions, steps[:-1], strict=True))
    low, high = min(v.low for v in values), max(v.high for v in values)
    rounding = max(value.rounding for value in values)
    return grid_steps.Ranged(
        grid_steps.CaseSteps(pairs, steps[-1]), low, high, values[0].step, rounding
    )


def days(day: expr.Expression, schema: Schema) -> grid_steps.Ranged:
    """Return the number of a day, counted from 1970-01-01; see `is_day`.

    A column is clamped to its bounds, or to the years 1 to 9999. A day plus days can be beyond
    these years, because engines only compute with its number.
    """
    kind_of(day, schema)  # refuses arithmetic with days that has no meaning
    match day:
        case expr.Arithmetic(operation, left, right) if is_day(left, schema):
            return OPERATIONS[operation](days(left, schema), number(right, schema))
        case expr.Arithmetic(operation, left, right):
            return OPERATIONS[operation](number(left, schema), days(right, schema))
        case expr.Case(whens, otherwise):
            return _case(whens, otherwise, schema, days)
        case expr.Field() | expr.Period() | expr.Constant():
            return day_number(day, schema)
    raise InvalidValue("A day is expected here, such as a column of days or day + 7.")


def _constant(part: expr.Expression) -> Fraction | None:
    """Return a constant that was computed from constants; None is NULL."""
    match part:
        case expr.Constant(None):
            return None
        case expr.Constant(int() | Fraction() as value):
            return Fraction(value)
        case expr.Arithmetic(operation, left, right):
            one, other = _constant(left), _constant(right)
            if one is None or other is None:
                return None
            return CONSTANTS[operation](one, other)
        case expr.Divide(left, right):
            one, other = _constant(left), _constant(right)
            return None if one is None or not other else one / other
    raise InvalidValue("A divisor must be a constant number, as in cost / 2.")


def _call(
    function: expr.Function, parts: tuple[expr.Expression, ...], schema: Schema
) -> grid_steps.Ranged:
    """Return a function of numbers, whose arguments `kind_of` has checked."""
    first = parts[0]
    match function:
        case expr.Function.INTEGER if kind_of(first, schema) is Kind.BOOLEAN:
            return grid_steps.Ranged(truth_steps(first, schema), 0, 1, Fraction(1))
        case expr.Function.GREATEST | expr.Function.LEAST:
            greatest = function is expr.Function.GREATEST
            return functions.extreme([number(p, schema) for p in parts], greatest=greatest)
        case expr.Function.ABS:
            return functions.absolute(number(first, schema))
        case expr.Function.POWER:
            exponent = number(parts[1], schema)
            return functions.power(number(first, schema), exponent.low * exponent.step)
        case expr.Function.SQRT:
            return functions.curve(grid_steps.Curve.ROOT, number(first, schema))
        case expr.Function.LN:
            return functions.curve(grid_steps.Curve.LOGARITHM, number(first, schema))
        case expr.Function.EXP:
            return functions.curve(grid_steps.Curve.EXPONENTIAL, number(first, schema))
        case _:
            digits = digits_of(function, parts)
            return functions.round_to(number(first, schema), function, digits)


def condition(expression: expr.Expression, schema: Schema) -> grid_steps.Condition:
    """Return the condition that engines evaluate for ``expression``."""
    match expression:
        case expr.Compare(comparison, left, right):
            return _compare(comparison, left, right, schema)
        case expr.OneOf(part, values):
            kind_of(expression, schema)  # refuses values of another kind
            return _one_of(part, values, schema)
        case expr.Like(part, pattern):
            kind_of(expression, schema)  # refuses other kinds than text
            return by_branch(part, schema, lambda each: like(each, pattern, schema))
        case expr.IsNull(part):
            return _is_null(part, schema)
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
        case expr.Case() if kind_of(expression, schema) in {Kind.BOOLEAN, None}:
            return by_branch(expression, schema, lambda each: condition(each, schema))
    raise InvalidValue("A condition is expected here, such as age > 30 or ward = 'north'.")


Leaf = Callable[[expr.Expression], grid_steps.Condition]
"""A function that returns a condition on one branch of a CASE."""


def by_branch(part: expr.Expression, schema: Schema, leaf: Leaf) -> grid_steps.Condition:
    """Return the condition ``leaf`` of the branch of a CASE that a row takes.

    CASE WHEN a THEN x ELSE y END = 'n' is true if the row takes the branch x and x = 'n' is
    true, or if it takes the branch y and y = 'n' is true.
    """
    part = cases_first(part)
    if not isinstance(part, expr.Case):
        return leaf(part)
    return grid_steps.CompareSteps(
        expr.Comparison.EQUAL, _branch_steps(part, schema, leaf), grid_steps.WholeSteps(1)
    )


def truth_steps(part: expr.Expression, schema: Schema) -> grid_steps.Steps:
    """Return a condition as a number: 1 if it is true, 0 if it is false, NULL if unknown."""
    return _branch_steps(part, schema, lambda each: condition(each, schema))


def _branch_steps(part: expr.Expression, schema: Schema, leaf: Leaf) -> grid_steps.Steps:
    if isinstance(part, expr.Case):
        pairs = tuple(
            (condition(when, schema), _branch_steps(then, schema, leaf))
            for when, then in part.whens
        )
        return grid_steps.CaseSteps(pairs, _branch_steps(part.otherwise, schema, leaf))
    found = leaf(part)
    if isinstance(found, grid_steps.ConstantCondition):
        return grid_steps.WholeSteps(None if found.truth is None else int(found.truth))
    one, zero = grid_steps.WholeSteps(1), grid_steps.WholeSteps(0)
    return grid_steps.CaseSteps(
        ((found, one), (grid_steps.Negation(found), zero)), grid_steps.WholeSteps(None)
    )


def _is_null(part: expr.Expression, schema: Schema) -> grid_steps.Condition:
    """Return the condition that a value of any kind is NULL."""
    part = cases_first(part)
    if isinstance(part, expr.Field) and not _is_computed(schema, part.name):
        return grid_steps.ColumnIsNull(schema[part.name].name, schema[part.name].kind)
    kind = kind_of(part, schema)
    if isinstance(part, expr.Period):
        column = day_column(part, schema)
        return grid_steps.ColumnIsNull(column.name, column.kind)
    if kind in NUMBERS:
        return grid_steps.StepsAreNull(number(part, schema).steps)
    if kind is Kind.DATE:
        return grid_steps.StepsAreNull(days(part, schema).steps)
    match part:
        case expr.Constant(value):
            return grid_steps.ConstantCondition(value is None)
        case expr.Case():
            return by_branch(part, schema, lambda each: _is_null(each, schema))
        case expr.FunctionCall(function, _):
            return key_map(part, schema, function.value).is_null()
    return grid_steps.StepsAreNull(truth_steps(part, schema))


def _one_of(
    part: expr.Expression, values: tuple[expr.Value, ...], schema: Schema
) -> grid_steps.Condition:
    if isinstance(part, expr.Field) and not _is_computed(schema, part.name):
        column = schema[part.name]
        for value in values:
            compare_column(expr.Comparison.EQUAL, column, value)
        if column.kind is Kind.DATE:  # a midnight is a day
            values = tuple(v.date() if isinstance(v, datetime) else v for v in values)
        return grid_steps.ColumnOneOf(column.name, column.kind, values)
    if isinstance(part, expr.Constant) and not _are_numbers(values):
        known = [condition(_equal(part, value), schema) for value in values]
        return grid_steps.AnyOf(tuple(known))
    if isinstance(part, expr.Period):
        return grid_steps.AnyOf(tuple(condition(_equal(part, each), schema) for each in values))
    if is_day(part, schema):
        whole_days = tuple(days(expr.Constant(value), schema).low for value in values)
        return grid_steps.StepsOneOf(days(part, schema).steps, whole_days)
    kind = kind_of(part, schema)
    if isinstance(part, expr.FunctionCall) and kind is Kind.TEXT:
        return by_branch(part, schema, lambda each: _text_one_of(each, values, schema))
    if isinstance(part, expr.Case) and kind not in NUMBERS:
        return by_branch(part, schema, lambda each: _one_of(each, values, schema))
    listed = [number(expr.Constant(value), schema) for value in values]
    asked, *whole = grid_steps.in_one_step([number(part, schema), *listed])
    return grid_steps.StepsOneOf(asked.steps, tuple(value.low for value in whole))


def _are_numbers(values: tuple[expr.Value, ...]) -> bool:
    return all(kind_of(expr.Constant(value), Schema(())) in NUMBERS for value in values)


def _text_one_of(
    part: expr.Expression, values: tuple[expr.Value, ...], schema: Schema
) -> grid_steps.Condition:
    """Return whether a constant, or a function of a declared key, is one of several texts."""
    if isinstance(part, expr.Constant):
        return _one_of(part, values, schema)
    return _text(part, schema, frozenset(values).__contains__)


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
        case expr.Period(_, day), expr.Constant(date() as value):
            return _compare_cast_day(comparison, day_column(day, schema), value)
        case expr.Constant(date() as value), expr.Period(_, day):
            return _compare_cast_day(comparison.mirrored, day_column(day, schema), value)
        case expr.Field(one), expr.Field(other) if schema[one].kind is schema[
            other
        ].kind and not _is_computed(schema, one, other):
            check_comparison(comparison, schema[one])
            names = schema[one].name, schema[other].name
            return grid_steps.CompareColumns(comparison, *names, schema[one].kind)
    found = _compare_branches(comparison, left, right, schema)
    if found is not None:
        return found
    if kind_of(left, schema) in NUMBERS and kind_of(right, schema) in NUMBERS:
        numbers = grid_steps.in_one_step([number(left, schema), number(right, schema)])
        return grid_steps.CompareSteps(comparison, numbers[0].steps, numbers[1].steps)
    raise InvalidValue("Compare a column with a value, two columns of one kind, or numbers.")


def _compare_branches(
    comparison: expr.Comparison, left: expr.Expression, right: expr.Expression, schema: Schema
) -> grid_steps.Condition | None:
    """Return a comparison of computed days, texts and truths; None if they are numbers."""
    match left, right:
        case expr.Constant(), (expr.Arithmetic() | expr.FunctionCall() | expr.Case()):
            return _compare_branches(comparison.mirrored, right, left, schema)
        case (expr.Constant(str() as one), expr.Constant(str() as other)) | (
            expr.Constant(bool() as one),
            expr.Constant(bool() as other),
        ):
            _check_equality(comparison)
            return grid_steps.ConstantCondition(comparison.holds(one, other))
        case (
            expr.Arithmetic(
                operation,
                (expr.Field() | expr.Period()) as column,
                expr.Constant(int() as moved),
            ),
            expr.Constant(date() as day),
        ) if is_day(column, schema):
            # day + 7 < constant is day < constant - 7, which needs no clamping
            back = -moved if operation is expr.Operation.ADD else moved
            shifted = shift_day(day, back)
            return condition(expr.Compare(comparison, column, expr.Constant(shifted)), schema)
    if is_day(left, schema) and is_day(right, schema):
        steps = (days(side, schema).steps for side in (left, right))
        return grid_steps.CompareSteps(comparison, *steps)
    if kind_of(left, schema) not in {Kind.TEXT, Kind.BOOLEAN, None}:
        return None
    match left, right:
        case (expr.Case() as case, beside) | (beside, expr.Case() as case):
            _check_equality(comparison)

            def compare(each: expr.Expression) -> grid_steps.Condition:
                return condition(expr.Compare(comparison, each, beside), schema)

            return by_branch(case, schema, compare)
        case expr.FunctionCall(), expr.Constant(str() as text):
            _check_equality(comparison)
            equal = by_branch(left, schema, lambda each: _equals(each, schema, text))
            if comparison is expr.Comparison.UNEQUAL:
                return grid_steps.Negation(equal)
            return equal
    return None


def _equals(part: expr.Expression, schema: Schema, text: str) -> grid_steps.Condition:
    """Return the condition that a constant, or a function of a declared key, is ``text``."""
    if isinstance(part, expr.Constant):
        return condition(_equal(part, text), schema)
    return _text(part, schema, text.__eq__)


def _text(
    part: expr.Expression, schema: Schema, wanted: Callable[[str], bool]
) -> grid_steps.Condition:
    """Return the condition that a function of a declared key is a ``wanted`` text."""
    name = (
        part.function.value if isinstance(part, expr.FunctionCall) else "A function of a text"
    )
    return key_map(part, schema, name).where(wanted)


def _equal(part: expr.Expression, value: expr.Value) -> expr.Compare:
    return expr.Compare(expr.Comparison.EQUAL, part, expr.Constant(value))


def _check_equality(comparison: expr.Comparison) -> None:
    if comparison not in {expr.Comparison.EQUAL, expr.Comparison.UNEQUAL}:
        raise InvalidValue("Texts and truths can be compared only with = and <>.")


def shift_day(day: date, more: int) -> date:
    """Return the day ``more`` days later; refuse a day outside of the years 1 to 9999.

    Example:
        >>> shift_day(date(2026, 3, 1), -1).isoformat()
        '2026-02-28'
    """
    try:
        return day + timedelta(days=more)
    except OverflowError:
        raise InvalidValue("A day must be in the years 1 to 9999.") from None


def _compare_cast_day(
    comparison: expr.Comparison, column: Column, value: date
) -> grid_steps.Condition:
    """Return the comparison of CAST(column AS DATE) with a date or a timestamp."""
    if isinstance(value, datetime):
        value = _as_day(comparison, column, value)
    return compare_day(comparison, column, value)


def _is_computed(schema: Schema, *names: str) -> bool:
    """Return whether a column was computed by a subquery, and so is stored in steps."""
    return any(isinstance(schema[name], grid_steps.ComputedColumn) for name in names)

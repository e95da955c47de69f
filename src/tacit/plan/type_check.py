"""Name resolution and type checking of expressions.

`kind_of` computes the kind (SQL type) of an expression, and refuses an expression that has
none; every expression of a question passes through it before the question is priced. Columns
are found in a `ColumnScope`, the columns of the tables that a question reads, or in `Released`,
the columns of its answer.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from tacit.core import DAYS, FIRST, LAST, Catalog, Column, Kind, Schema, day_of, number_of
from tacit.errors import InvalidValue, UnknownName
from tacit.numeric import Grid
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.text_functions import key_map
from tacit.plan.tree_walk import every


@dataclass(frozen=True, slots=True)
class ColumnScope(Schema):
    """Columns with full names, dataset.column.

    A column is found by its full name, or by its own name if that is unambiguous.
    """

    def __getitem__(self, name: str) -> Column:
        found = [
            column
            for column in self.columns
            if column.name == name or column.name.partition(".")[2] == name
        ]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(column.name for column in found)
            raise UnknownName(f"The column {name!r} is ambiguous; write one of: {choices}.")
        known = ", ".join(column.name for column in self.columns)
        raise UnknownName(f"There is no column {name!r}; the columns are: {known}.")


@dataclass(frozen=True, slots=True)
class Released(Schema):
    """Columns of an answer. Expressions over them are post-processing."""


def scope_of(names: tuple[str, ...], catalog: Catalog) -> ColumnScope:
    """Return the columns of the tables ``names``, with full names."""
    return ColumnScope(
        tuple(
            replace(column, name=f"{name}.{column.name}")
            for name in names
            for column in catalog.table(name).schema.columns
        )
    )


# Dates ---------------------------------------------------------------------------------------
#
# Engines compute with days as integers, counted from 1970-01-01.

CALENDAR = Grid(Fraction(FIRST), Fraction(LAST), Fraction(1))
"""The range to which days are clamped if their column has no bounds; it is the same for all
engines."""


def day_column(day: expr.Expression, schema: Schema) -> Column:
    """Return the column of dates or timestamps from which a part or a period is computed."""
    match day:
        case expr.Field(name) if schema[name].kind in DAYS:
            return schema[name]
        case expr.Period(expr.Span.DAYS, inner):
            return day_column(inner, schema)
    raise InvalidValue(
        "EXTRACT and DATE_TRUNC need a date or timestamp column as argument, as in YEAR(day)."
    )


def part_column(part: expr.DatePartName, day: expr.Expression, schema: Schema) -> Column:
    """Return the column of a part; refuse the hour or the minute of a date."""
    column = day_column(day, schema)
    if part.is_of_time and (column.kind is Kind.DATE or isinstance(day, expr.Period)):
        raise InvalidValue(
            f"A date has no {part.value}; use a timestamp column, without a cast to a date."
        )
    return column


def clamped_days(column: Column) -> grid_steps.ColumnSteps:
    """Return the days of a column, clamped to its bounds or to the calendar."""
    grid = CALENDAR if column.bounds is None else column.grid()
    return grid_steps.ColumnSteps(column.name, column.kind, grid)


def day_part(part: expr.DatePartName, column: Column) -> grid_steps.Ranged:
    """Return a part of the days of ``column``; for years the column must have bounds."""
    if part.grows:
        column.grid()  # refuses a column without bounds
    days = clamped_days(column)
    ends = day_of(days.grid.lowest), day_of(days.grid.highest)
    return grid_steps.Ranged(_part_steps(days, part), *part.reach(*ends), Fraction(1))


def _part_steps(days: grid_steps.ColumnSteps, part: expr.DatePartName) -> grid_steps.Steps:
    """Return a part of a day; parts that some engine lacks are computed from others."""

    def of(other: expr.DatePartName) -> grid_steps.Steps:
        return grid_steps.PartSteps(days, other)

    def compare(comparison: str, other: expr.DatePartName, value: int) -> grid_steps.Condition:
        whole = grid_steps.WholeSteps(value)
        return grid_steps.CompareSteps(expr.Comparison(comparison), of(other), whole)

    def years_above(more: int, each: int) -> grid_steps.Steps:
        year = of(expr.DatePartName.YEAR)
        if more:
            year = grid_steps.SumSteps(year, grid_steps.WholeSteps(more))
        return grid_steps.QuotientSteps(year, each)

    match part:
        case expr.DatePartName.ISO_WEEKDAY:
            sunday = compare("=", expr.DatePartName.WEEKDAY, 0)
            return grid_steps.CaseSteps(
                ((sunday, grid_steps.WholeSteps(7)),), of(expr.DatePartName.WEEKDAY)
            )
        case expr.DatePartName.ISO_YEAR:
            week, month = expr.DatePartName.WEEK, expr.DatePartName.MONTH
            before = grid_steps.AllOf((compare(">=", week, 52), compare("=", month, 1)))
            after = grid_steps.AllOf((compare("=", week, 1), compare("=", month, 12)))
            moved = grid_steps.CaseSteps(
                ((before, grid_steps.WholeSteps(-1)), (after, grid_steps.WholeSteps(1))),
                grid_steps.WholeSteps(0),
            )
            return grid_steps.SumSteps(of(expr.DatePartName.YEAR), moved)
        case expr.DatePartName.DECADE:
            return years_above(0, 10)
        case expr.DatePartName.CENTURY:
            return years_above(99, 100)
        case expr.DatePartName.MILLENNIUM:
            return years_above(999, 1000)
    return of(part)


def is_day(part: expr.Expression, schema: Schema) -> bool:
    """Return whether an expression is a day.

    Days are columns of dates, timestamps that are cast to a date, constants, and a day plus
    days. A timestamp is not a day.
    """
    match part:
        case expr.Field(name):
            return schema[name].kind is Kind.DATE
        case expr.Period(span, _):
            return span is expr.Span.DAYS
        case expr.Constant(value):
            return isinstance(value, date) and not isinstance(value, datetime)
        case expr.Arithmetic(_, left, right):
            return is_day(left, schema) is not is_day(right, schema)
        case expr.Case(whens, otherwise):
            values = (*(then for _, then in whens), otherwise)
            return any(is_day(each, schema) for each in values)
    return False


def day_number(
    day: expr.Field | expr.Period | expr.Constant, schema: Schema
) -> grid_steps.Ranged:
    """Return the number of a day, counted from 1970-01-01."""
    match day:
        case expr.Field() | expr.Period():
            days = clamped_days(day_column(day, schema))
            return grid_steps.Ranged(days, days.grid.lowest, days.grid.highest, days.grid.step)
        case expr.Constant(datetime() as value):
            raise InvalidValue(f"{value} is not a day; write one, as in DATE '2026-01-31'.")
        case expr.Constant(date() as value):
            return grid_steps.Ranged.constant(Fraction(number_of(value)))
    return grid_steps.Ranged(grid_steps.WholeSteps(None), 0, 0, Fraction(1))


# Kinds of expressions ------------------------------------------------------------------------

NUMBERS = {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}


def kind_of(expression: expr.Expression, schema: Schema) -> Kind | None:
    """Return the kind of ``expression`` over rows of ``schema``, or raise `InvalidValue`.

    The kind of NULL is None, which is compatible with every kind.

    Example:
        >>> from tacit.core.domain import Column
        >>> from tacit.plan.expression import Comparison
        >>> ages = Schema((Column("age", Kind.INTEGER),))
        >>> kind_of(expr.Compare(Comparison.MORE, expr.Field("age"), expr.Constant(30)), ages)
        <Kind.BOOLEAN: 'boolean'>
    """
    match expression:
        case expr.Field(name):
            return schema[name].kind
        case expr.Constant(value):
            return kind_of_value(value)
        case expr.Compare(_, left, right):
            _comparable(kind_of(left, schema), kind_of(right, schema))
            return Kind.BOOLEAN
        case expr.OneOf(part, values):
            kind = kind_of(part, schema)
            for value in values:
                _comparable(kind, kind_of_value(value))
            return Kind.BOOLEAN
        case expr.Like(part, _):
            check_like(part, schema)
            return Kind.BOOLEAN
        case expr.IsNull(part):
            kind_of(part, schema)
            return Kind.BOOLEAN
        case expr.And(parts) | expr.Or(parts):
            for part in parts:
                _condition(part, schema)
            return Kind.BOOLEAN
        case expr.Not(part):
            _condition(part, schema)
            return Kind.BOOLEAN
        case expr.Arithmetic(operation, left, right):
            # compute each kind once: two calls per level would take exponential time
            one, other = kind_of(left, schema), kind_of(right, schema)
            if DAYS & {one, other}:
                return _kind_of_days(operation, one, other)
            if not {one, other} <= NUMBERS | {None}:
                days = ", or two days of a row" if operation is expr.Operation.SUBTRACT else ""
                raise InvalidValue(f"The operands of {operation.value} must be numbers{days}.")
            return _number_kind(one, other)
        case expr.Divide(left, right) if isinstance(schema, Released):
            if not {kind_of(left, schema), kind_of(right, schema)} <= NUMBERS | {None}:
                raise InvalidValue("The operands of / must be numbers.")
            return Kind.FLOAT
        case expr.Divide(left, right):
            both = {kind_of(left, schema), kind_of(right, schema)}
            if any(True for _ in every((right,), expr.Field)) or not both <= NUMBERS | {None}:
                raise InvalidValue(
                    "Values of a row can be divided only by a constant number, as in cost / 2; "
                    "divide aggregates instead, as in SUM(x) / SUM(y)."
                )
            return Kind.FLOAT if Kind.FLOAT in both else Kind.DECIMAL
        case expr.FunctionCall(function, parts):
            return _kind_of_call(function, parts, schema)
        case expr.Bin():
            raise InvalidValue("Bins can be used only as a group key; put them into GROUP BY.")
        case expr.DatePart(part, day):
            part_column(part, day, schema)
            return Kind.INTEGER
        case expr.Period(expr.Span.DAYS, day) if not isinstance(schema, Released):
            day_column(day, schema)
            return Kind.DATE
        case expr.Period():
            raise InvalidValue(
                "DATE_TRUNC can be used only as a group key; put it into GROUP BY, or compare "
                "CAST(time AS DATE) with dates."
            )
        case expr.Case(whens, otherwise):
            for condition, _ in whens:
                _condition(condition, schema)
            kinds = [kind_of(value, schema) for _, value in whens]
            return _common_kind([*kinds, kind_of(otherwise, schema)])
        case expr.OfReleased() | expr.WindowValue() if not isinstance(schema, Released):
            name = expression.function.value
            raise InvalidValue(
                f"{name} is supported here only for released values; compute it from "
                "aggregates, as in ROUND(AVG(x), 2)."
            )
        case expr.OfReleased():
            return _released_kind(expression, schema)
        case expr.WindowValue():
            return _window_kind(expression, schema)


def _released_kind(call: expr.OfReleased, schema: Schema) -> Kind | None:
    """Return the kind of a function of released values."""
    kinds = [kind_of(part, schema) for part in call.parts]
    match call.function:
        case expr.ReleasedFunction.COALESCE:
            return _common_kind(kinds, "COALESCE")
        case expr.ReleasedFunction.NULLIF:
            _comparable(kinds[0], kinds[1])
            return kinds[0]
    if not {*kinds} <= NUMBERS | {None}:
        raise InvalidValue(f"The argument of {call.function.value} must be a number.")
    whole = call.function in {expr.ReleasedFunction.FLOOR, expr.ReleasedFunction.CEIL}
    return Kind.INTEGER if whole else kinds[0]


def _window_kind(window: expr.WindowValue, schema: Schema) -> Kind | None:
    """Return the kind of a function of several released rows."""
    name = window.function.value
    parts = (window.part, window.partition, window.order)
    if any(every(parts, expr.WindowValue)):
        raise InvalidValue(
            f"The argument of {name} OVER contains OVER; compute it in a subquery in FROM."
        )
    for part in (*window.partition, *(key.part for key in window.order)):
        kind_of(part, schema)
    kind = None if window.part is None else kind_of(window.part, schema)
    match window.function:
        case expr.WindowFunction.EARLIER | expr.WindowFunction.LATER:
            return kind
        case (
            expr.WindowFunction.SUM
            | expr.WindowFunction.MEAN
            | expr.WindowFunction.LEAST
            | expr.WindowFunction.GREATEST
        ):
            if kind not in NUMBERS | {None}:
                raise InvalidValue(f"The argument of {name} OVER must be a number.")
            return kind
    return Kind.INTEGER


def _kind_of_days(operation: expr.Operation, left: Kind | None, right: Kind | None) -> Kind:
    """Return the kind of arithmetic with a day: a number of days, or another day."""
    if Kind.TIMESTAMP in {left, right}:
        raise InvalidValue(
            f"Timestamps are not supported with {operation.value}; use their days, as in "
            "CAST(seen AS DATE) + 7 or DATE_DIFF('day', seen, DATE '2026-01-31'), or compare "
            "them with a constant that is moved, as in seen > DATE '2026-01-31' - INTERVAL 7 "
            "DAY."
        )
    match operation, left, right:
        case expr.Operation.SUBTRACT, Kind.DATE, Kind.DATE:
            return Kind.INTEGER
        case expr.Operation.SUBTRACT | expr.Operation.ADD, Kind.DATE, Kind.INTEGER:
            return Kind.DATE
        case expr.Operation.ADD, Kind.INTEGER, Kind.DATE:
            return Kind.DATE
    others = {
        expr.Operation.ADD: ", or a day and an integer",
        expr.Operation.SUBTRACT: ", or two days, or a day and an integer",
        expr.Operation.MULTIPLY: "",
    }
    raise InvalidValue(f"The operands of {operation.value} must be numbers{others[operation]}.")


def _kind_of_call(
    function: expr.Function, parts: tuple[expr.Expression, ...], schema: Schema
) -> Kind:
    """Return the kind of a function's result; refuse arguments of other kinds."""
    if isinstance(schema, Released):
        raise InvalidValue(f"{function.value} is not supported for released values.")
    kinds = [kind_of(part, schema) for part in parts]
    if function.of_text:
        texts = kinds if function in {expr.Function.CONCAT, expr.Function.JOIN} else kinds[:1]
        others = parts[len(texts) :]
        constant = all(isinstance(each, expr.Constant) for each in others)
        if not set(texts) <= {Kind.TEXT, None} or not constant:
            raise InvalidValue(
                f"{function.value} needs texts, and its other arguments must be constants."
            )
        return Kind.TEXT
    if function is expr.Function.INTEGER and kinds == [Kind.BOOLEAN]:
        return Kind.INTEGER
    if not set(kinds) <= NUMBERS | {None}:
        raise InvalidValue(f"{function.value} needs numbers, as in {function.value}(age).")
    match function, parts:
        case (expr.Function.FLOOR | expr.Function.CEIL | expr.Function.INTEGER, _):
            return Kind.INTEGER
        case (expr.Function.ROUND | expr.Function.TRUNCATE, _):
            return Kind.INTEGER if digits_of(function, parts) <= 0 else Kind.DECIMAL
        case (expr.Function.SQRT | expr.Function.LN | expr.Function.EXP, _):
            return Kind.FLOAT
        case (expr.Function.POWER, (_, part)):
            if isinstance(part, expr.Constant) and part.value is not None:
                half = part.value == Fraction(1, 2)
                return Kind.FLOAT if half else _common_kind(kinds[:1]) or Kind.INTEGER
            raise InvalidValue("The exponent of POWER must be a constant, as in POWER(age, 2).")
    return _common_kind(kinds) or Kind.INTEGER


def digits_of(function: expr.Function, parts: tuple[expr.Expression, ...]) -> int:
    """Return the number of digits after the point to which ROUND or TRUNC rounds."""
    match parts:
        case (_,):
            return 0
        case (_, expr.Constant(bool())):
            pass
        case (_, expr.Constant(int() as digits)):
            return digits
    raise InvalidValue(
        f"The digits of {function.value} must be a constant integer, as in "
        f"{function.value}(cost, 1)."
    )


def check_like(part: expr.Expression, schema: Schema) -> None:
    """Refuse LIKE of released values, and of anything that is not a text."""
    if isinstance(schema, Released):
        raise InvalidValue(
            "LIKE is not supported for released values; put it into WHERE, or use = and IN."
        )
    if not isinstance(part, expr.Field | expr.FunctionCall | expr.Case):
        raise InvalidValue("LIKE needs a column on its left side, as in ward LIKE 'no%'.")
    if isinstance(part, expr.Field):
        key_map(part, schema, "LIKE")
    elif kind_of(part, schema) is not Kind.TEXT:
        raise InvalidValue("LIKE needs a text on its left side, as in UPPER(ward) LIKE 'NO%'.")


def kind_of_value(value: expr.Value | None) -> Kind | None:
    """Return the kind of a constant."""
    match value:
        case None:
            return None
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INTEGER
        case Fraction():
            return Kind.DECIMAL
        case str():
            return Kind.TEXT
        case datetime():  # before date, because it is one in Python
            return Kind.TIMESTAMP
        case date():
            return Kind.DATE


def _comparable(left: Kind | None, right: Kind | None) -> None:
    if None in {left, right} or left is right or {left, right} <= NUMBERS:
        return
    if Kind.TIMESTAMP in {left, right} and Kind.DATE in {left, right}:
        return
    raise InvalidValue(
        f"The kinds {_name(left)} and {_name(right)} cannot be compared; write two values of "
        "one kind."
    )


def _condition(part: expr.Expression, schema: Schema) -> None:
    kind = kind_of(part, schema)
    if kind not in {Kind.BOOLEAN, None}:
        raise InvalidValue(
            f"A condition is expected, such as age > 30, and not a value of kind {_name(kind)}."
        )


def _number_kind(left: Kind | None, right: Kind | None) -> Kind:
    for kind in (Kind.FLOAT, Kind.DECIMAL):
        if kind in {left, right}:
            return kind
    return Kind.INTEGER


def _common_kind(kinds: list[Kind | None], where: str = "a CASE") -> Kind | None:
    """Return the common kind of all values of a CASE or of another choice of values."""
    known = {kind for kind in kinds if kind is not None}
    if len(known) <= 1:
        return known.pop() if known else None
    if known <= NUMBERS:
        return Kind.FLOAT if Kind.FLOAT in known else Kind.DECIMAL
    raise InvalidValue(f"All values of {where} must be of one kind.")


def _name(kind: Kind | None) -> str:
    return "NULL" if kind is None else kind.value

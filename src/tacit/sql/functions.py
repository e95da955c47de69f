"""The translation of SQL functions of a row: numbers, days, texts and NULL.

COALESCE, NULLIF, SIGN and IF become CASE, and intervals become numbers of days, so that a plan
has few nodes. Functions of constants are computed here. The nodes must have passed
`tacit.sql.allow_list.admit` before.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta

from sqlglot import exp

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.plan import LARGEST_PART, apply_text, ascii_lower, not_too_large
from tacit.plan import expression as expr

Translate = Callable[[exp.Expr], expr.Expression]
"""A function that translates a node."""

WHOLE = re.compile("[+-]?[0-9]{1,9}")

NUMBER_FUNCTIONS: dict[type[exp.Expr], expr.Function] = {
    exp.Abs: expr.Function.ABS,
    exp.Floor: expr.Function.FLOOR,
    exp.Ceil: expr.Function.CEIL,
    exp.Round: expr.Function.ROUND,
    exp.Trunc: expr.Function.TRUNCATE,
    exp.Greatest: expr.Function.GREATEST,
    exp.Least: expr.Function.LEAST,
    exp.Pow: expr.Function.POWER,
    exp.Sqrt: expr.Function.SQRT,
    exp.Ln: expr.Function.LN,
    exp.Exp: expr.Function.EXP,
}
TEXT_FUNCTIONS: dict[type[exp.Expr], expr.Function] = {
    exp.Upper: expr.Function.UPPER,
    exp.Lower: expr.Function.LOWER,
    exp.Substring: expr.Function.SUBSTRING,
    exp.Concat: expr.Function.CONCAT,
    exp.DPipe: expr.Function.JOIN,
}
TRIMS = {
    "LEADING": expr.Function.TRIM_LEFT,
    "TRAILING": expr.Function.TRIM_RIGHT,
}
WHOLE_TYPES = frozenset(
    {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128}
)
NUMBER_TYPES = frozenset({exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL})


def call(node: exp.Expr, translate: Translate) -> expr.Expression | None:
    """Return the expression of a function of a row; None for other nodes."""
    found = bin_of(node, translate)
    if found is not None:
        return found
    match node:
        case exp.Coalesce():
            return _coalesce([node.this, *node.expressions], translate)
        case exp.Nullif():
            part = _several(translate(node.this))
            same = expr.Compare(expr.Comparison.EQUAL, part, translate(node.expression))
            return expr.Case(((same, expr.Constant(None)),), part)
        case exp.If():
            other = node.args.get("false")
            then = translate(node.args["true"])
            rest = expr.Constant(None) if other is None else translate(other)
            return expr.Case(((translate(node.this), then),), rest)
        case exp.Sign():
            return _sign(_several(translate(node.this)))
        case exp.Cast():
            return _cast(node, translate)
        case exp.ILike():
            return _ilike(node, translate)
        case exp.Trim():
            function = TRIMS.get(node.args.get("position") or "", expr.Function.TRIM)
            return _text(function, [node.this, node.args.get("expression")], translate)
        case exp.Left():
            places: list[exp.Expr | None] = [exp.Literal.number(1), node.expression]
            return _text(expr.Function.SUBSTRING, [node.this, *places], translate)
        case exp.Substring():
            given = [node.this, node.args.get("start"), node.args.get("length")]
            return _text(expr.Function.SUBSTRING, given, translate)
        case exp.DPipe():
            return _text(expr.Function.JOIN, [node.this, node.expression], translate)
        case exp.Concat():
            return _text(expr.Function.CONCAT, node.expressions, translate)
        case exp.Upper() | exp.Lower():
            return _text(TEXT_FUNCTIONS[type(node)], [node.this], translate)
    if type(node) in NUMBER_FUNCTIONS:
        given = [node.this, node.args.get("decimals") or node.args.get("expression")]
        parts = [*given, *node.expressions]
        called = tuple(translate(part) for part in parts if part is not None)
        return expr.FunctionCall(NUMBER_FUNCTIONS[type(node)], called)
    return _of_days(node, translate)


def bin_of(node: exp.Expr, translate: Translate) -> expr.Bin | None:
    """Return the bin that FLOOR(x / width) * width denotes; None for other nodes."""
    floor = _plain(node.this) if isinstance(node, exp.Mul) else None
    divided = _plain(floor.this) if isinstance(floor, exp.Floor) else None
    if not isinstance(divided, exp.Div):
        return None
    ends = _plain(divided.expression), _plain(node.expression)
    if not all(isinstance(end, exp.Literal | exp.Boolean) for end in ends):
        return None  # a part that is translated twice at each level would take forever
    match translate(divided.expression), translate(node.expression):
        case expr.Constant(bool()), _:
            pass
        case expr.Constant(int() as width), expr.Constant(int() as times) if width == times:
            return expr.Bin(translate(divided.this), width)
    return None


def _plain(node: object) -> object:
    """Return the node inside parentheses."""
    return _plain(node.this) if isinstance(node, exp.Paren) else node


def _several(part: expr.Expression) -> expr.Expression:
    """Return a part that is used more than once, unless it is large."""
    return not_too_large(part, LARGEST_PART)


# NULL and numbers ----------------------------------------------------------------------------


def _coalesce(given: list[exp.Expr], translate: Translate) -> expr.Expression:
    *parts, last = (translate(each) for each in given)
    known = [part for part in parts if part != expr.Constant(None)]
    pairs = ((expr.Not(expr.IsNull(_several(part))), part) for part in known)
    return expr.Case(tuple(pairs), last) if known else last


def _sign(part: expr.Expression) -> expr.Expression:
    zero = expr.Constant(0)
    signs = ((expr.Comparison.MORE, 1), (expr.Comparison.LESS, -1), (expr.Comparison.EQUAL, 0))
    pairs = tuple((expr.Compare(how, part, zero), expr.Constant(sign)) for how, sign in signs)
    return expr.Case(pairs, expr.Constant(None))


def _cast(node: exp.Cast, translate: Translate) -> expr.Expression | None:
    """Return a cast of a number or a truth to a number; None for other casts."""
    kind = node.to.this
    if kind in WHOLE_TYPES and not node.to.expressions:
        part = translate(node.this)
        return None if _is_text(part) else expr.FunctionCall(expr.Function.INTEGER, (part,))
    if kind not in NUMBER_TYPES:
        return None
    part = translate(node.this)
    if _is_text(part):
        return None
    after = digits_of(node.to)
    if after is None:
        return part
    return expr.FunctionCall(expr.Function.ROUND, (part, expr.Constant(after)))


DEFAULT_DIGITS = [18, 3]
"""The digits that the parser gives to DECIMAL and NUMERIC without any; nothing is rounded."""


def digits_of(kind: exp.DataType) -> int | None:
    """Return the digits after the point of DECIMAL(9, 2); None if a type does not round."""
    digits = [int(each.name) for each in kind.expressions if each.name.isdigit()]
    if kind.this is not exp.DType.DECIMAL or digits == DEFAULT_DIGITS:
        return None
    return digits[1] if len(digits) > 1 else 0


def _is_text(part: expr.Expression) -> bool:
    return isinstance(part, expr.Constant) and isinstance(part.value, str)


# Texts ---------------------------------------------------------------------------------------


def _text(
    function: expr.Function, given: list[exp.Expr | None], translate: Translate
) -> expr.Expression:
    """Return a function of a text; that of constants is computed at once."""
    parts = tuple(translate(each) for each in given if each is not None)
    values = [part.value for part in parts if isinstance(part, expr.Constant)]
    if len(values) == len(parts):
        return expr.Constant(apply_text(function, tuple(values)))
    return expr.FunctionCall(function, parts)


def _ilike(node: exp.ILike, translate: Translate) -> expr.Expression:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise InvalidValue(
            "The pattern of ILIKE must be a constant text, as in ward ILIKE 'no%'."
        )
    part = expr.FunctionCall(expr.Function.ASCII_LOWER, (translate(node.this),))
    asked = expr.Like(part, ascii_lower(str(pattern.this)))
    return expr.Not(asked) if node.args.get("negate") else asked


# Days ----------------------------------------------------------------------------------------


def date_part(part: expr.DatePartName, day: expr.Expression) -> expr.Expression:
    """Return a part of a day or a time; that of a constant is computed at once."""
    match day:
        case expr.Constant(date() as value):
            if part.is_of_time and not isinstance(value, datetime):
                raise InvalidValue(
                    f"A date has no {part.value}; write TIMESTAMP '2026-01-31 12:00:00'."
                )
            return expr.Constant(part.of(value))
    return expr.DatePart(part, day)


def period(span: expr.Span, day: expr.Expression) -> expr.Expression:
    """Return the first day of a period; that of a constant is computed at once."""
    match day:
        case expr.Constant(datetime() as value):  # before date, because it is one in Python
            return expr.Constant(span.start(value.date()))
        case expr.Constant(date() as value):
            return expr.Constant(span.start(value))
        case expr.Constant(str()) if span is expr.Span.DAYS:
            raise InvalidValue("A date must be written as DATE '2026-01-31'.")
    return expr.Period(span, day)


def _of_days(node: exp.Expr, translate: Translate) -> expr.Expression | None:
    """Return an expression with days and intervals; None for other nodes."""
    match node:
        case exp.Add() | exp.Sub() | exp.DateAdd() | exp.DateSub():
            sign = -1 if isinstance(node, exp.Sub | exp.DateSub) else 1
            if isinstance(node.expression, exp.Interval):
                return _move(translate(node.this), node.expression, sign)
            if isinstance(node, exp.DateAdd | exp.DateSub):
                raise InvalidValue("DATE_ADD needs an interval, as in day + INTERVAL 7 DAY.")
            return _constant_day(node, sign, translate)
        case exp.Interval():
            raise InvalidValue(
                "An interval must be added to a day or subtracted from it, as in day + "
                "INTERVAL 7 DAY."
            )
        case exp.DateDiff():
            unit = node.args.get("unit")
            name = unit.name.upper() if unit is not None else "DAY"
            return _difference(name, translate(node.expression), translate(node.this))
        case exp.DateTrunc():
            return _truncate(node, translate)
        case exp.CurrentDate():
            raise InvalidValue("CURRENT_DATE is not known here; write DATE '2026-01-31'.")
    return None


def _move(day: expr.Expression, interval: exp.Interval, sign: int) -> expr.Expression:
    """Return a day plus an interval; months and years are added to constants only."""
    written = _plain(interval.this)
    if isinstance(written, exp.Neg):
        written, sign = _plain(written.this), -sign
    text = str(written.this) if isinstance(written, exp.Literal) else ""
    unit = interval.args.get("unit")
    name = (unit.name if isinstance(unit, exp.Var) else "").upper().removesuffix("S")
    if not WHOLE.fullmatch(text) or name not in {*DAYS, *MONTHS}:
        raise InvalidValue(
            "An interval must be a constant number of days, weeks, months, quarters or years, "
            "as in INTERVAL 7 DAY."
        )
    count = sign * int(text)
    match day:
        case expr.Constant(date() as value):
            return expr.Constant(_later(value, count, name))
        case expr.Constant():
            raise InvalidValue(
                "An interval can be added only to a day, as in day + INTERVAL 7 DAY."
            )
    if name in MONTHS:
        raise InvalidValue(
            "Months and years can be added only to constant days, because they differ in "
            "length; write INTERVAL 30 DAY, or move the interval to the constant, as in day > "
            "DATE '2026-01-31' - INTERVAL 1 MONTH."
        )
    moved = count * DAYS[name]
    operation = expr.Operation.SUBTRACT if moved < 0 else expr.Operation.ADD
    return expr.Arithmetic(operation, day, expr.Constant(abs(moved)))


DAYS = {"DAY": 1, "WEEK": 7}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _later(day: date, count: int, unit: str) -> date:
    """Return the day that is ``count`` units later; the 31st becomes the last of a month."""
    try:
        if unit in DAYS:
            return day + timedelta(days=count * DAYS[unit])
        months = day.year * 12 + day.month - 1 + count * MONTHS[unit]
        year, month = divmod(months, 12)
        last = monthrange(year, month + 1)[1]
        return day.replace(year=year, month=month + 1, day=min(day.day, last))
    except (OverflowError, ValueError):
        raise InvalidValue("A day must be in the years 1 to 9999.") from None


def _constant_day(node: exp.Expr, sign: int, translate: Translate) -> expr.Expression | None:
    """Return a constant day plus a constant number of days; None for other sums."""
    day, days = _plain(node.this), _plain(node.expression)
    written = isinstance(day, exp.Cast) and isinstance(day.this, exp.Literal)
    if not written or not isinstance(days, exp.Literal):
        return None
    match translate(node.this), translate(node.expression):
        case expr.Constant(datetime()), _:
            pass  # only days have a next one
        case expr.Constant(date() as first), expr.Constant(int() as more):
            return expr.Constant(_later(first, sign * more, "DAY"))
    return None


def _truncate(node: exp.Expr, translate: Translate) -> expr.Expression:
    """Return the first day of the period of a constant day."""
    spans = {span.value: span for span in expr.Span}
    span, day = spans.get(node.args["unit"].name.upper()), translate(node.this)
    if span is not None and isinstance(day, expr.Constant) and isinstance(day.value, date):
        return period(span, day)
    raise InvalidValue("DATE_TRUNC needs a date column, as in DATE_TRUNC('month', day).")


def _difference(unit: str, first: expr.Expression, last: expr.Expression) -> expr.Expression:
    """Return how many days, or borders of weeks, months, quarters or years, lie between.

    A time counts by its day, as in all databases that have DATE_DIFF.
    """
    first, last = _day_of(first), _day_of(last)
    if unit == "DAY":
        return expr.Arithmetic(expr.Operation.SUBTRACT, last, first)
    if unit not in {"WEEK", "MONTH", "QUARTER", "YEAR"}:
        raise InvalidValue(
            "DATE_DIFF supports only 'day', 'week', 'month', 'quarter' and 'year', as in "
            "DATE_DIFF('day', day, until)."
        )
    ends = (_periods(unit, _several(day)) for day in (last, first))
    return expr.Arithmetic(expr.Operation.SUBTRACT, *ends)


def _day_of(time: expr.Expression) -> expr.Expression:
    """Return the day of a column or a constant time; `read_dates` leaves it out for dates."""
    match time:
        case expr.Field() | expr.Constant(datetime()):
            return period(expr.Span.DAYS, time)
    return time


def _periods(unit: str, day: expr.Expression) -> expr.Expression:
    """Return the number of the period that contains a day, counted from year 1 or year 0."""
    if unit == "WEEK":
        # the first day of year 1 is a Monday
        since = expr.Arithmetic(expr.Operation.SUBTRACT, day, expr.Constant(date.min))
        return expr.FunctionCall(expr.Function.FLOOR, (expr.Divide(since, expr.Constant(7)),))
    year = date_part(expr.DatePartName.YEAR, day)
    if unit == "YEAR":
        return year
    name = expr.DatePartName.MONTH if unit == "MONTH" else expr.DatePartName.QUARTER
    each = expr.Constant(12 if unit == "MONTH" else 4)
    years = expr.Arithmetic(expr.Operation.MULTIPLY, year, each)
    return expr.Arithmetic(expr.Operation.ADD, years, date_part(name, day))


# The date of the data ------------------------------------------------------------------------

ISO_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def set_current_date(select: exp.Expr, catalog: Catalog) -> None:
    """Replace CURRENT_DATE by the date of the data: the latest epoch of the question's tables.

    The day on which a question is asked says nothing about the data, and the same question
    would be charged again on each day. So the epochs that the owner declared must be days.
    """
    found = list(select.find_all(exp.CurrentDate))
    if not found:
        return
    known = {table.name: table for table in catalog.tables}
    names = dict.fromkeys(node.name for node in select.find_all(exp.Table))
    labels = [
        known[name].epoch.label
        for name in names
        if name in known and not catalog.is_public(name)
    ]
    days = [_iso_day(label) for label in labels]
    if not days or None in days:
        raise InvalidValue(
            "CURRENT_DATE is the date of the data, and the epochs of these tables are not days "
            "such as '2026-01-31'; write a day, as in DATE '2026-01-31'."
        )
    latest = max(day for day in days if day is not None).isoformat()
    for node in found:
        node.replace(exp.cast(exp.Literal.string(latest), "DATE"))


def _iso_day(label: str) -> date | None:
    try:
        return date.fromisoformat(label) if ISO_DAY.fullmatch(label) else None
    except ValueError:
        return None

"""Name resolution and type checking of expressions.

`kind_of` computes the kind (SQL type) of an expression, and refuses an expression that has
none; every expression of a question passes through it before the question is priced. Columns
are found in a `ColumnScope`, the columns of the tables that a question reads, or in `Released`,
the columns of its answer. LIKE is resolved here too: a pattern becomes the list of declared
keys that match it, so that engines never match patterns against data.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from tacit.core import FIRST, LAST, Catalog, Column, Kind, Schema, day_of, number_of
from tacit.errors import InvalidValue, UnknownName
from tacit.numeric import Grid
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.plan import Plan
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
    """Return the column of days from which a part or a period is computed."""
    if isinstance(day, expr.Field) and schema[day.name].kind is Kind.DATE:
        return schema[day.name]
    raise InvalidValue(
        "EXTRACT and DATE_TRUNC need a date column as argument, as in YEAR(day)."
    )


def clamped_days(column: Column) -> grid_steps.ColumnSteps:
    """Return the days of a column, clamped to its bounds or to the calendar."""
    grid = CALENDAR if column.bounds is None else column.grid()
    return grid_steps.ColumnSteps(column.name, column.kind, grid)


def day_part(part: expr.DatePartName, column: Column) -> grid_steps.Ranged:
    """Return a part of the days of ``column``; for years the column must have bounds."""
    if part is expr.DatePartName.YEAR:
        column.grid()  # refuses a column without bounds
    days = clamped_days(column)
    ends = day_of(days.grid.lowest), day_of(days.grid.highest)
    return grid_steps.Ranged(grid_steps.PartSteps(days, part), *part.reach(*ends), Fraction(1))


def days_between(
    left: expr.Expression, right: expr.Expression, schema: Schema
) -> grid_steps.Ranged | None:
    """Return the number of days from ``right`` to ``left``; None if they are not both days."""
    one, other = _day_number(left, schema), _day_number(right, schema)
    return None if one is None or other is None else one - other


def _day_number(day: expr.Expression, schema: Schema) -> grid_steps.Ranged | None:
    match day:
        case expr.Field(name) if schema[name].kind is Kind.DATE:
            grid = schema[name].grid()
            days = grid_steps.ColumnSteps(schema[name].name, Kind.DATE, grid)
            return grid_steps.Ranged(days, grid.lowest, grid.highest, grid.step)
        case expr.Constant(date() as value):
            return grid_steps.Ranged.constant(Fraction(number_of(value)))
    return None


# LIKE ----------------------------------------------------------------------------------------

MOST_MATCHES = 100_000
"""Largest number of keys with which all patterns of a question together are compared. The
comparison is made before the question is priced, so that it must be fast."""

MOST_WILDCARDS, LONGEST_PATTERN = 4, 1000
"""Largest number of % and _ in a pattern, and its largest length in bytes of UTF-8."""


def matching(pattern: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that match ``pattern``: % is any text, _ is one character.

    For each part between two %, the first match is taken; if any match leads to success, the
    first does too. There is no backtracking, so that the time is at most proportional to the
    length of the pattern times the length of the text.

    Example:
        >>> matching("n%t_", ["north", "nt", "ninety", "south"])
        ('north', 'ninety')
    """
    parts = [_compile_part(each) for each in pattern.split("%")]
    lengths = [len(each) for each in pattern.split("%")]

    def fits(text: str) -> bool:
        if len(parts) == 1:
            return parts[0].fullmatch(text) is not None
        if parts[0].match(text) is None:
            return False
        place = lengths[0]
        for part in parts[1:-1]:
            found = part.search(text, place)
            if found is None:
                return False
            place = found.end()
        end = len(text) - lengths[-1]
        return end >= place and parts[-1].match(text, end) is not None

    return tuple(text for text in texts if fits(text))


def _compile_part(written: str) -> re.Pattern[str]:
    """Compile the part of a pattern between two %, which matches texts of one length."""
    return re.compile("".join("." if c == "_" else re.escape(c) for c in written), re.DOTALL)


def declared_keys(part: expr.Expression, schema: Schema) -> tuple[Column, list[str]]:
    """Return the column of a LIKE and its declared keys; refuse a column without keys."""
    if isinstance(schema, Released):
        raise InvalidValue(
            "LIKE is not supported for released values; put it into WHERE, or use = and IN."
        )
    if not isinstance(part, expr.Field):
        raise InvalidValue("LIKE needs a column on its left side, as in ward LIKE 'no%'.")
    column = schema[part.name]
    if column.kind is not Kind.TEXT or column.keys is None:
        raise InvalidValue(
            f"LIKE needs a text column with declared keys, and {column.name!r} has none; list "
            "the values with IN, or ask the owner to declare the keys."
        )
    return column, [key for key in column.keys.values if isinstance(key, str)]


def check_pattern(pattern: str) -> None:
    """Refuse a pattern with too many wildcards, or that is too long.

    Example:
        >>> check_pattern("n%t_")
    """
    wildcards = pattern.count("%") + pattern.count("_")
    if wildcards > MOST_WILDCARDS:
        raise InvalidValue(
            f"A pattern of LIKE can have at most {MOST_WILDCARDS} wildcards (% and _), and "
            f"this one has {wildcards}; list the values with IN."
        )
    if len(pattern.encode(errors="surrogatepass")) > LONGEST_PATTERN:
        raise InvalidValue(
            f"A pattern of LIKE can be at most {LONGEST_PATTERN} bytes long; list the values "
            "with IN."
        )


def like(wanted: expr.Like, schema: Schema) -> grid_steps.Condition:
    """Return LIKE as a condition without a pattern: the column is one of the matching keys."""
    check_pattern(wanted.pattern)
    column, keys = declared_keys(wanted.part, schema)
    matched = matching(wanted.pattern, keys)
    if not matched:
        # column <> column: false, and unknown where the column is NULL
        return grid_steps.CompareColumns(
            expr.Comparison.UNEQUAL, column.name, column.name, column.kind
        )
    return grid_steps.ColumnOneOf(column.name, column.kind, matched)


def not_too_many_patterns(plan: Plan, schema: Schema) -> None:
    """Refuse a question whose patterns together need too many comparisons with keys."""
    asking = (plan.source, plan.keys, plan.measures)
    asked = sum(len(declared_keys(each.part, schema)[1]) for each in every(asking, expr.Like))
    if asked > MOST_MATCHES:
        raise InvalidValue(
            f"The patterns of this question need {asked} comparisons with declared keys, and "
            f"{MOST_MATCHES} are the most; use fewer patterns, or list the values with IN."
        )


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
            declared_keys(part, schema)
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
            if operation is expr.Operation.SUBTRACT and {one, other} == {Kind.DATE}:
                return Kind.INTEGER
            if not {one, other} <= NUMBERS | {None}:
                days = ", or two days" if operation is expr.Operation.SUBTRACT else ""
                raise InvalidValue(f"The operands of {operation.value} must be numbers{days}.")
            return _number_kind(one, other)
        case expr.Divide(left, right) if isinstance(schema, Released):
            if not {kind_of(left, schema), kind_of(right, schema)} <= NUMBERS | {None}:
                raise InvalidValue("The operands of / must be numbers.")
            return Kind.FLOAT
        case expr.Divide():
            raise InvalidValue(
                "Division is not supported for values of a row; divide aggregates instead, as "
                "in SUM(x) / COUNT(*)."
            )
        case expr.Bin():
            raise InvalidValue("Bins can be used only as a group key; put them into GROUP BY.")
        case expr.DatePart(_, day):
            day_column(day, schema)
            return Kind.INTEGER
        case expr.Period():
            raise InvalidValue(
                "DATE_TRUNC can be used only as a group key; put it into GROUP BY."
            )
        case expr.Case(whens, otherwise):
            for condition, _ in whens:
                _condition(condition, schema)
            kinds = [kind_of(value, schema) for _, value in whens]
            return _common_kind([*kinds, kind_of(otherwise, schema)])


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


def _common_kind(kinds: list[Kind | None]) -> Kind | None:
    """Return the common kind of all values of a CASE."""
    known = {kind for kind in kinds if kind is not None}
    if len(known) <= 1:
        return known.pop() if known else None
    if known <= NUMBERS:
        return Kind.FLOAT if Kind.FLOAT in known else Kind.DECIMAL
    raise InvalidValue("All values of a CASE must be of one kind.")


def _name(kind: Kind | None) -> str:
    return "NULL" if kind is None else kind.value

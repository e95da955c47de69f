"""Which columns can be named: those of the datasets that a question reads, or its answer's."""

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
    """Columns under the names that engines know them by, dataset.column.

    A column is found by that name, or by its own where no other dataset has one of that name.
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
            raise UnknownName(f"{name!r} can be any of {choices}; write which.")
        known = ", ".join(column.name for column in self.columns)
        raise UnknownName(f"There is no column {name!r}; there are {known}.")


@dataclass(frozen=True, slots=True)
class Released(Schema):
    """Columns that were released: what is computed of them looks at nothing else."""


def scope_of(names: tuple[str, ...], catalog: Catalog) -> ColumnScope:
    """The columns of the tables ``names``."""
    return ColumnScope(
        tuple(
            replace(column, name=f"{name}.{column.name}")
            for name in names
            for column in catalog.table(name).schema.columns
        )
    )


# ------------------------------------------------------------------ days
# Days as engines compute with them: whole numbers, of a clamped column or a constant.

CALENDAR = Grid(Fraction(FIRST), Fraction(LAST), Fraction(1))
"""Where a day is clamped whose column has no bounds: the same on every engine, and public."""


def day_column(day: expr.Expression, schema: Schema) -> Column:
    """The column of days that a part or a period is taken of."""
    if isinstance(day, expr.Field) and schema[day.name].kind is Kind.DATE:
        return schema[day.name]
    raise InvalidValue("EXTRACT and DATE_TRUNC take a column of days, as in YEAR(day).")


def clamped_days(column: Column) -> grid_steps.ColumnSteps:
    """The days of a column, clamped to its bounds, or to the calendar where it has none."""
    grid = CALENDAR if column.bounds is None else column.grid()
    return grid_steps.ColumnSteps(column.name, column.kind, grid)


def day_part(part: expr.DatePartName, column: Column) -> grid_steps.Ranged:
    """A part of the days of ``column``; years have a range only where the days have bounds."""
    if part is expr.DatePartName.YEAR:
        column.grid()  # refuses a column without bounds
    days = clamped_days(column)
    ends = day_of(days.grid.lowest), day_of(days.grid.highest)
    return grid_steps.Ranged(grid_steps.PartSteps(days, part), *part.reach(*ends), Fraction(1))


def days_between(
    left: expr.Expression, right: expr.Expression, schema: Schema
) -> grid_steps.Ranged | None:
    """How many days ``left`` is after ``right``; None where they are not both days."""
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


# ------------------------------------------------------------------ like
# LIKE is decided in public: a pattern becomes the declared keys that it matches.

MOST_MATCHES = 100_000
"""Keys that all patterns of a question together are put beside, before it has a price."""

MOST_WILDCARDS, LONGEST_PATTERN = 4, 1000
"""Of one pattern: how many % and _ it holds, and how many bytes of UTF-8 it is long."""


def matching(pattern: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Those of ``texts`` that look like ``pattern``: % is any text, _ one character.

    Between two % the first place that fits is taken, which is as good as any other: the time
    is that of the pattern times the text, whatever they hold.

    Example:
        >>> matching("n%t_", ["north", "nt", "ninety", "south"])
        ('north', 'ninety')
    """
    parts = [_part(each) for each in pattern.split("%")]
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


def _part(written: str) -> re.Pattern[str]:
    """What stands between two %: so many characters."""
    return re.compile("".join("." if c == "_" else re.escape(c) for c in written), re.DOTALL)


def declared_keys(part: expr.Expression, schema: Schema) -> tuple[Column, list[str]]:
    """The column that is asked about, and its keys; refused where none are declared."""
    if isinstance(schema, Released):
        raise InvalidValue("LIKE is about rows; put it into WHERE, or use = and IN.")
    if not isinstance(part, expr.Field):
        raise InvalidValue("LIKE asks about a column, as in ward LIKE 'no%'.")
    column = schema[part.name]
    if column.kind is not Kind.TEXT or column.keys is None:
        raise InvalidValue(
            f"LIKE needs a text column with declared keys, and {column.name!r} is none; list "
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
            f"A pattern of LIKE holds at most {MOST_WILDCARDS} wildcards (% and _), and this "
            f"one holds {wildcards}; list the values with IN."
        )
    if len(pattern.encode(errors="surrogatepass")) > LONGEST_PATTERN:
        raise InvalidValue(
            f"A pattern of LIKE is at most {LONGEST_PATTERN} bytes long; list the values with "
            "IN."
        )


def like(wanted: expr.Like, schema: Schema) -> grid_steps.Condition:
    """``wanted`` as an engine decides it: no pattern is left."""
    check_pattern(wanted.pattern)
    column, keys = declared_keys(wanted.part, schema)
    matched = matching(wanted.pattern, keys)
    if not matched:
        # false, and unknown where it is NULL
        return grid_steps.CompareColumns(
            expr.Comparison.UNEQUAL, column.name, column.name, column.kind
        )
    return grid_steps.ColumnOneOf(column.name, column.kind, matched)


def not_too_many_patterns(plan: Plan, schema: Schema) -> None:
    """Refuse patterns that would take long to decide, one by one harmless."""
    asking = (plan.source, plan.keys, plan.measures)
    asked = sum(len(declared_keys(each.part, schema)[1]) for each in every(asking, expr.Like))
    if asked > MOST_MATCHES:
        raise InvalidValue(
            f"The patterns of a question are put beside at most {MOST_MATCHES} keys in all, "
            f"and these beside {asked}; ask for fewer, or list the values with IN."
        )


# ------------------------------------------------------------------ kind
# The kind of an expression: the validation, since what has none is refused, with a reason.

NUMBERS = {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}


def kind_of(expression: expr.Expression, schema: Schema) -> Kind | None:
    """The kind of ``expression`` over rows of ``schema``; None for NULL, which fits every kind.

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
            # each once: twice at every level would double at every level
            one, other = kind_of(left, schema), kind_of(right, schema)
            if operation is expr.Operation.SUBTRACT and {one, other} == {Kind.DATE}:
                return Kind.INTEGER
            if not {one, other} <= NUMBERS | {None}:
                days = ", or two days" if operation is expr.Operation.SUBTRACT else ""
                raise InvalidValue(f"{operation.value} takes numbers{days}.")
            return _number_kind(one, other)
        case expr.Divide(left, right) if isinstance(schema, Released):
            if not {kind_of(left, schema), kind_of(right, schema)} <= NUMBERS | {None}:
                raise InvalidValue("/ takes numbers.")
            return Kind.FLOAT
        case expr.Divide():
            raise InvalidValue(
                "The values of a row are not divided; divide what is released, as in "
                "SUM(x) / COUNT(*)."
            )
        case expr.Bin():
            raise InvalidValue("Bins name groups; put them into GROUP BY.")
        case expr.DatePart(_, day):
            day_column(day, schema)
            return Kind.INTEGER
        case expr.Period():
            raise InvalidValue("DATE_TRUNC names groups; put it into GROUP BY.")
        case expr.Case(whens, otherwise):
            for condition, _ in whens:
                _condition(condition, schema)
            kinds = [kind_of(value, schema) for _, value in whens]
            return _shared([*kinds, kind_of(otherwise, schema)])


def kind_of_value(value: expr.Value | None) -> Kind | None:
    """The kind of a constant."""
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
        f"A {_name(left)} is not compared with a {_name(right)}; write a value of one kind."
    )


def _condition(part: expr.Expression, schema: Schema) -> None:
    kind = kind_of(part, schema)
    if kind not in {Kind.BOOLEAN, None}:
        raise InvalidValue(f"A condition is expected here, and a {_name(kind)} is none.")


def _number_kind(left: Kind | None, right: Kind | None) -> Kind:
    for kind in (Kind.FLOAT, Kind.DECIMAL):
        if kind in {left, right}:
            return kind
    return Kind.INTEGER


def _shared(kinds: list[Kind | None]) -> Kind | None:
    """The one kind of all values of a CASE."""
    known = {kind for kind in kinds if kind is not None}
    if len(known) <= 1:
        return known.pop() if known else None
    if known <= NUMBERS:
        return Kind.FLOAT if Kind.FLOAT in known else Kind.DECIMAL
    raise InvalidValue("The values of a CASE are of one kind.")


def _name(kind: Kind | None) -> str:
    return "NULL" if kind is None else kind.value

"""Expressions that choices make over typed columns; a new node is one more function here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from tacit.audit.synthetic_people import ORDINARY, Choices
from tacit.core.domain import Kind
from tacit.plan.expression import (
    And,
    Arithmetic,
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
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Span,
    Value,
)
from tacit.plan.steps import ComputedColumn
from tacit.plan.type_check import NUMBERS, ColumnScope

EQUALITY = (Comparison.EQUAL, Comparison.UNEQUAL)
CONSTANTS = (
    *(Constant(2), Constant(-1), Constant(Fraction("0.5")), Constant(0), Constant(40)),
    *(Constant(7), Constant(Fraction("-0.25")), Constant(None)),
)
CONSTANTS_AFTER = (Constant(0), Constant(3), Constant(Fraction("-2.5")), Constant(None))
PATTERNS = ("n%", "%", "_", "%t_%", "it's", "x%", "%|_", "NULL", "")


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes expressions over the columns of ``scope``, at most ``depth`` nodes deep."""

    scope: ColumnScope
    choices: Choices
    depth: int

    def below(self) -> "Maker":
        """The same, one node further down."""
        return Maker(self.scope, self.choices, self.depth - 1)

    def names(self, *kinds: Kind, bounded: bool = False) -> list[str]:
        """The columns of some kinds."""
        return [
            column.name
            for column in self.scope.columns
            if column.kind in kinds
            and (not bounded or column.bounds is not None or isinstance(column, ComputedColumn))
        ]

    def field(self, names: Sequence[str]) -> Field:
        """One of several columns."""
        return Field(self.choices.one(names))

    def number(self) -> Expression:
        """A number."""
        if self.depth > 1 and not self.choices.once_in(3):
            return self.choices.one(NUMBER_NODES)(self.below())
        if self.choices.once_in(8):
            return of_days(self)
        names = self.names(*NUMBERS, bounded=True)
        if names and not self.choices.once_in(5):
            return self.field(names)
        return self.choices.one(CONSTANTS)

    def condition(self) -> Expression:
        """A condition."""
        if self.depth > 1 and not self.choices.once_in(3):
            return self.choices.one(CONDITION_NODES)(self.below())
        return self.choices.one(CONDITION_LEAVES)(self.below())

    def value(self, kind: Kind) -> Value:
        """A value of a kind, as a question writes it."""
        found = self.choices.one(ORDINARY[kind])
        if isinstance(found, Decimal | float):
            return Fraction(round(found * 100), 100)
        if isinstance(found, datetime) and self.choices.once_in(2):
            return found
        if isinstance(found, date):
            return date(found.year, found.month, found.day)
        return found if found is not None else 0


def arithmetic(make: Maker) -> Expression:
    return Arithmetic(make.choices.one(tuple(Operation)), make.number(), make.number())


def of_days(make: Maker) -> Expression:
    """A part of a day, or the days from one to another."""
    days, bounded = make.names(Kind.DATE), make.names(Kind.DATE, bounded=True)
    if bounded and make.choices.once_in(2):
        other = make.choices.one([*map(Field, bounded), Constant(make.value(Kind.DATE))])
        return Arithmetic(Operation.SUBTRACT, moved_day(make, bounded), other)
    days += make.names(Kind.TIMESTAMP)
    if days:
        return DatePart(make.choices.one(tuple(DatePartName)), make.field(days))
    return make.choices.one(CONSTANTS)


def moved_day(make: Maker, names: Sequence[str]) -> Expression:
    """A day, or some days before or after it, or another day where it is NULL."""
    day = make.field(names)
    if make.choices.once_in(3):
        operation = make.choices.one((Operation.ADD, Operation.SUBTRACT))
        return Arithmetic(operation, day, make.choices.one((Constant(7), Constant(400))))
    return filled(day, Constant(make.value(Kind.DATE))) if make.choices.once_in(4) else day


def filled(part: Expression, otherwise: Expression) -> Case:
    """What COALESCE becomes."""
    return Case(((Not(IsNull(part)), part),), otherwise)


def divided(make: Maker) -> Expression:
    return Divide(make.number(), Constant(make.choices.one((2, -3, Fraction("0.25"), 7))))


def rounded(make: Maker) -> Expression:
    function = make.choices.one(ROUNDINGS)
    digits = (Function.ROUND, Function.TRUNCATE)
    if function in digits and make.choices.once_in(2):
        return FunctionCall(function, (make.number(), Constant(make.choices.one((1, -1, 0)))))
    return FunctionCall(function, (make.number(),))


def extreme(make: Maker) -> Expression:
    function = make.choices.one((Function.GREATEST, Function.LEAST))
    return FunctionCall(function, tuple(make.choices.some(2, 3, lambda _: make.number())))


def curved(make: Maker) -> Expression:
    """A power, a root, a logarithm or an exponential, mostly within its domain."""
    part = make.number()
    which = make.choices.below(4)
    if which == 0:
        return FunctionCall(Function.POWER, (part, Constant(make.choices.one((2, 3)))))
    if which == 1:
        inside = FunctionCall(Function.GREATEST, (part, Constant(-5)))
        return FunctionCall(
            Function.EXP, (FunctionCall(Function.LEAST, (inside, Constant(5))),)
        )
    function, least = ((Function.SQRT, 0), (Function.LN, 1))[which - 2]
    if make.choices.once_in(2):
        part = FunctionCall(Function.GREATEST, (part, Constant(least)))
    return FunctionCall(function, (part,))


def filled_number(make: Maker) -> Expression:
    return filled(make.number(), make.number())


def truth_number(make: Maker) -> Expression:
    return FunctionCall(Function.INTEGER, (make.condition(),))


def text_function(make: Maker, names: Sequence[str]) -> Expression:
    """A function of a column with declared keys."""
    part: Expression = make.field(names)
    if make.choices.once_in(3):
        part = filled(part, Constant(make.choices.one(("unknown", "north"))))
    match make.choices.below(4):
        case 0:
            return FunctionCall(Function.SUBSTRING, (part, Constant(1), Constant(2)))
        case 1:
            return FunctionCall(
                make.choices.one((Function.CONCAT, Function.JOIN)), (part, Constant("!"))
            )
        case 2:
            return FunctionCall(make.choices.one((Function.UPPER, Function.LOWER)), (part,))
    return FunctionCall(Function.TRIM, (part,))


def case_number(make: Maker) -> Expression:
    whens = make.choices.some(1, 2, lambda _: (make.condition(), make.number()))
    return Case(tuple(whens), make.number())


def both(make: Maker) -> Expression:
    return And(tuple(make.choices.some(2, 3, lambda _: make.condition())))


def either(make: Maker) -> Expression:
    return Or(tuple(make.choices.some(2, 3, lambda _: make.condition())))


def opposite(make: Maker) -> Expression:
    return Not(make.condition())


def compare_numbers(make: Maker) -> Expression:
    return Compare(make.choices.one(tuple(Comparison)), make.number(), make.number())


def number_is_null(make: Maker) -> Expression:
    return IsNull(make.number())


def number_one_of(make: Maker) -> Expression:
    return OneOf(make.number(), (0, 1, Fraction("0.5"), 40))


def compare_value(make: Maker) -> Expression:
    """A column of any kind beside a value of its kind, or beside another column."""
    name = make.field(make.names(*Kind)).name
    kind = make.scope[name].kind
    ordered = kind not in {Kind.TEXT, Kind.BOOLEAN}
    how = make.choices.one(tuple(Comparison) if ordered else EQUALITY)
    others = [other for other in make.names(kind) if other != name]
    if others and make.choices.once_in(3):
        return Compare(how, Field(name), make.field(others))
    sides = [Field(name), Constant(make.value(kind))]
    left, right = make.choices.permute(sides)
    return Compare(how, left, right)


def column_one_of(make: Maker) -> Expression:
    name = make.field(make.names(*Kind)).name
    values = make.choices.some(1, 4, lambda _: make.value(make.scope[name].kind))
    return OneOf(Field(name), tuple(dict.fromkeys(values)))


def like(make: Maker) -> Expression:
    keyed = [name for name in make.names(Kind.TEXT) if make.scope[name].keys is not None]
    return Like(make.field(keyed), make.choices.one(PATTERNS)) if keyed else truth(make)


def compare_text(make: Maker) -> Expression:
    """A function of a declared key beside a text, a list, a pattern or NULL."""
    keyed = [name for name in make.names(Kind.TEXT) if make.scope[name].keys is not None]
    if not keyed:
        return truth(make)
    part = text_function(make, keyed)
    match make.choices.below(4):
        case 0:
            return OneOf(part, ("NORTH", "no", "a!", "unknown"))
        case 1:
            folded = FunctionCall(Function.ASCII_LOWER, (part,))
            return Like(folded, make.choices.one(PATTERNS).lower())
        case 2:
            return IsNull(part)
    how = make.choices.one(EQUALITY)
    return Compare(how, part, Constant(make.choices.one(("NORTH", "it", "a|b!", "south"))))


def compare_days(make: Maker) -> Expression:
    days, times = make.names(Kind.DATE), make.names(Kind.TIMESTAMP)
    if times and make.choices.once_in(2):
        day = Period(Span.DAYS, make.field(times))
        how = make.choices.one(tuple(Comparison))
        return Compare(how, day, Constant(make.value(Kind.DATE)))
    if not days:
        return truth(make)
    other = make.choices.one([*map(Field, days), Constant(make.value(Kind.DATE))])
    return Compare(make.choices.one(tuple(Comparison)), moved_day(make, days), other)


def filled_truth(make: Maker) -> Expression:
    return filled(make.condition(), Constant(make.choices.one((True, False))))


def column_is_null(make: Maker) -> Expression:
    return IsNull(make.field(make.names(*Kind)))


def truth(make: Maker) -> Expression:
    names = make.names(Kind.BOOLEAN)
    known = (Constant(True), Constant(False), Constant(None))
    return (
        make.field(names) if names and not make.choices.once_in(6) else make.choices.one(known)
    )


Node = Callable[[Maker], Expression]
ROUNDINGS = (
    *(Function.FLOOR, Function.CEIL, Function.ROUND, Function.TRUNCATE, Function.INTEGER),
    Function.ABS,
)
NUMBER_NODES: tuple[Node, ...] = (
    *(arithmetic, arithmetic, arithmetic, case_number, divided, rounded, extreme, curved),
    *(filled_number, truth_number),
)
CONDITION_LEAVES: tuple[Node, ...] = (
    *(compare_value, compare_value, compare_value, column_one_of, column_is_null, truth, like),
    *(compare_text, compare_days),
)
CONDITION_NODES: tuple[Node, ...] = (
    *(both, either, opposite, compare_numbers, number_is_null, number_one_of, filled_truth),
)

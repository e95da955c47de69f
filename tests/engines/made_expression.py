"""Expressions that choices make over typed columns; a new node is one more function here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
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
        return Arithmetic(Operation.SUBTRACT, make.field(bounded), other)
    if days:
        return DatePart(make.choices.one(tuple(DatePartName)), make.field(days))
    return make.choices.one(CONSTANTS)


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


def column_is_null(make: Maker) -> Expression:
    return IsNull(make.field(make.names(*Kind)))


def truth(make: Maker) -> Expression:
    names = make.names(Kind.BOOLEAN)
    known = (Constant(True), Constant(False), Constant(None))
    return (
        make.field(names) if names and not make.choices.once_in(6) else make.choices.one(known)
    )


Node = Callable[[Maker], Expression]
NUMBER_NODES: tuple[Node, ...] = (arithmetic, arithmetic, case_number)
CONDITION_LEAVES: tuple[Node, ...] = (
    *(compare_value, compare_value, compare_value, column_one_of, column_is_null, truth, like),
)
CONDITION_NODES: tuple[Node, ...] = (
    *(both, either, opposite, compare_numbers, number_is_null, number_one_of),
)

"""Equal questions made equal: the names and the order that an analyst chose are put aside.

The text of a canonical question is hashed into the key of its release, by which the same
question is found again and is free. Declarations and streams are hashed in the same way. So
what stands in a text is written down here, and in the tables of those who hash more: a class
or a field may be renamed or moved in the code, and its stored name stays. A stored name is
never reused and never removed.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from tacit.errors import InternalError, InvalidValue
from tacit.plan.aggregate import (
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from tacit.plan.calendar import Part, Span
from tacit.plan.expression import (
    And,
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    Divide,
    Field,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
)
from tacit.plan.node import PARTS
from tacit.plan.plan import GroupKey, Measure, Plan
from tacit.plan.post import OrderBy, Output, Post
from tacit.plan.relation import (
    BELOW,
    Filter,
    Join,
    JoinPublic,
    PerUnit,
    Relation,
    Scan,
    UnitValue,
)
from tacit.plan.rewrite import rewritten
from tacit.plan.size import not_too_large

Node = TypeVar("Node")


class StoredForm(NamedTuple):
    """How a class stands in a text: its stored name, and its fields, in the order of the text.

    Fields that are ``left_out`` on purpose do not tell two values apart.
    """

    name: str
    fields: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The classes that a text may hold, in their stored forms, and the choices, by name.

    Guarantee: no two classes have one stored name, nor two choices, and every field of a class
    is in its stored form or is left out on purpose. A field that nobody wrote down would let
    two questions pass for one, so that a vocabulary without it is refused when it is made.
    """

    classes: Mapping[type, StoredForm]
    choices: Mapping[Enum, str]

    def __post_init__(self) -> None:
        named = [form.name for form in self.classes.values()]
        for names in (named, list(self.choices.values())):
            if len(set(names)) != len(names):
                raise InternalError(f"Stored names are distinct; these are {sorted(names)}.")
        for kind, form in self.classes.items():
            held = {part.name for part in fields(kind)} if is_dataclass(kind) else set()
            told = [*form.fields, *form.left_out]
            if len(set(told)) != len(told) or set(told) != held:
                raise InternalError(
                    f"{kind.__name__} has the fields {sorted(held)}, and its stored form has "
                    f"{sorted(told)}; write each of them down, or leave it out on purpose."
                )

    def with_more(
        self, classes: Mapping[type, StoredForm], choices: Mapping[Enum, str] | None = None
    ) -> "Vocabulary":
        """Return these classes and choices, and more."""
        return Vocabulary({**self.classes, **classes}, {**self.choices, **(choices or {})})

    def form_of(self, kind: type) -> StoredForm:
        """Return the stored form of a class; our mistake where there is none."""
        found = self.classes.get(kind)
        if found is None:
            raise InternalError(
                f"The class {kind.__name__} has no stored form; write it down in "
                "the vocabulary of whoever hashes it."
            )
        return found

    def choice_of(self, choice: Enum) -> str:
        """Return the stored name of a choice; our mistake where there is none."""
        found = self.choices.get(choice)
        if found is None:
            raise InternalError(
                f"The choice {choice} has no stored name; write it down beside its class."
            )
        return found


_OF_AGGREGATES: dict[type, StoredForm] = {
    CountRows: StoredForm("CountRows"),
    CountUnits: StoredForm("CountUnits"),
    CountValues: StoredForm("CountValues", ("argument",)),
    Sum: StoredForm("Sum", ("argument",)),
    Mean: StoredForm("Mean", ("argument",)),
    Variance: StoredForm("Variance", ("argument", "sample")),
    Deviation: StoredForm("Deviation", ("argument", "sample")),
    Quantile: StoredForm("Quantile", ("argument", "fraction")),
    Least: StoredForm("Least", ("argument",)),
    Greatest: StoredForm("Greatest", ("argument",)),
}
_OF_EXPRESSIONS: dict[type, StoredForm] = {
    Field: StoredForm("Field", ("name",)),
    Constant: StoredForm("Constant", ("value",)),
    Compare: StoredForm("Compare", ("comparison", "left", "right")),
    OneOf: StoredForm("OneOf", ("part", "values")),
    Like: StoredForm("Like", ("part", "pattern")),
    IsNull: StoredForm("IsNull", ("part",)),
    And: StoredForm("And", ("parts",)),
    Or: StoredForm("Or", ("parts",)),
    Not: StoredForm("Not", ("part",)),
    Arithmetic: StoredForm("Arithmetic", ("operation", "left", "right")),
    Divide: StoredForm("Divide", ("left", "right")),
    Bin: StoredForm("Bin", ("part", "width")),
    DatePart: StoredForm("DatePart", ("part", "day")),
    Period: StoredForm("Period", ("span", "day")),
    Case: StoredForm("Case", ("whens", "otherwise")),
}
_OF_RELATIONS: dict[type, StoredForm] = {
    Scan: StoredForm("Scan", ("dataset",)),
    Filter: StoredForm("Filter", ("source", "condition")),
    Join: StoredForm("Join", ("source", "dataset", "left", "right")),
    JoinPublic: StoredForm("JoinPublic", ("source", "table", "left", "right", "outer")),
    UnitValue: StoredForm("UnitValue", ("name", "aggregate")),
    PerUnit: StoredForm("PerUnit", ("source", "keys", "values")),
}
_OF_PLANS: dict[type, StoredForm] = {
    GroupKey: StoredForm("GroupKey", ("name", "expression")),
    Measure: StoredForm("Measure", ("name", "aggregate")),
    Plan: StoredForm("Plan", ("source", "keys", "measures", "post")),
    Output: StoredForm("Output", ("name", "expression")),
    OrderBy: StoredForm("OrderBy", ("expression", "descending")),
    Post: StoredForm("Post", ("outputs", "having", "order", "limit")),
}
_OF_CHOICES: dict[Enum, str] = {
    Comparison.EQUAL: "EQUAL",
    Comparison.UNEQUAL: "UNEQUAL",
    Comparison.LESS: "LESS",
    Comparison.AT_MOST: "AT_MOST",
    Comparison.MORE: "MORE",
    Comparison.AT_LEAST: "AT_LEAST",
    Operation.ADD: "ADD",
    Operation.SUBTRACT: "SUBTRACT",
    Operation.MULTIPLY: "MULTIPLY",
    Part.YEAR: "YEAR",
    Part.QUARTER: "QUARTER",
    Part.MONTH: "MONTH",
    Part.DAY: "DAY",
    Part.WEEKDAY: "WEEKDAY",
    Span.YEARS: "YEARS",
    Span.QUARTERS: "QUARTERS",
    Span.MONTHS: "MONTHS",
    Span.WEEKS: "WEEKS",
    Span.DAYS: "DAYS",
}

PLANS = Vocabulary(_OF_AGGREGATES | _OF_EXPRESSIONS | _OF_RELATIONS | _OF_PLANS, _OF_CHOICES)
"""All that a plan is made of."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A question under names of its own, and what the analyst wants done with its answer."""

    plan: Plan
    post: Post

    @property
    def hash(self) -> bytes:
        """What the question is known by."""
        return sha256(f"tacit plan 1\n{text(self.plan)}".encode()).digest()


def canonical(plan: Plan) -> Canonical:
    """The canonical question behind ``plan``, which answers all that mean the same.

    Conditions are flattened, sorted and named once; keys and measures come in the order of
    their text, each once. What this does not see as equal is charged twice, which costs budget
    and no privacy.
    """
    not_too_large(plan)
    plan = settled(plan)
    keys = {key.name: _normal(key.expression) for key in plan.keys}
    measures = {part.name: _normal(part.aggregate) for part in plan.measures}
    key_names = _numbered("key", keys.values())
    measure_names = _numbered("measure", measures.values())
    made = Plan(
        _normal(plan.source),
        tuple(GroupKey(*each) for each in key_names.values()),
        tuple(Measure(*each) for each in measure_names.values()),
        Post.showing(*(name for name, _ in (*key_names.values(), *measure_names.values()))),
    )
    called = {name: key_names[text(part)][0] for name, part in keys.items()}
    called |= {name: measure_names[text(part)][0] for name, part in measures.items()}
    return Canonical(made, rewritten(plan.post, partial(_called, called)))


def settled(plan: Plan) -> Plan:
    """``plan`` with the values of units under names that follow from what they are."""
    source, names = _settled(plan.source)
    change = partial(_renamed, names)
    keys, measures = rewritten(plan.keys, change), rewritten(plan.measures, change)
    return Plan(source, keys, measures, plan.post)


def _settled(relation: Relation) -> tuple[Relation, dict[str, str]]:
    """``relation``, and what the values of units are called above it."""
    match relation:
        case Scan():
            return relation, {}
        case Filter(source, wanted):
            found, names = _settled(source)
            return Filter(found, rewritten(wanted, partial(_renamed, names))), names
        case Join(source, dataset, left, right):
            found, names = _settled(source)
            return Join(found, dataset, names.get(left, left), right), names
        case JoinPublic(source, table, left, right, outer):
            found, names = _settled(source)
            return JoinPublic(found, table, names.get(left, left), right, outer), names
        case PerUnit(source, keys, values):
            found, names = _settled(source)
            change = partial(_renamed, names)
            meant = {v.name: _normal(rewritten(v.aggregate, change)) for v in values}
            made = _numbered("value", meant.values())
            settled_values = tuple(UnitValue(*each) for each in made.values())
            called = {
                f"{BELOW}.{v}": f"{BELOW}.{made[text(part)][0]}" for v, part in meant.items()
            }
            return PerUnit(found, _sorted(keys), settled_values), called


def _renamed(names: Mapping[str, str], field: Field) -> Field:
    return Field(names.get(field.name, field.name))


def _called(names: Mapping[str, str], field: Field) -> Field:
    if field.name not in names:
        raise InvalidValue(f"The answer has no column {field.name!r}.")
    return Field(names[field.name])


def text(node: object, words: Vocabulary = PLANS) -> str:
    """The text of a plan or of a part of it: equal parts have equal text, and no others.

    Whoever hashes more than plans says by which ``words``.

    Example:
        >>> from tacit.plan.relation import Scan
        >>> text(Scan("visits"))
        '["Scan","visits"]'
    """
    return json.dumps(_plain(node, words), separators=(",", ":"))


def _plain(node: object, words: Vocabulary) -> Any:
    match node:
        case None | bool() | str():
            return node
        case int():
            return ["int", str(node)]
        case Fraction():
            return ["fraction", str(node)]
        case date():
            return ["date", node.isoformat()]
        case Enum():
            return ["enum", words.choice_of(node)]
        case tuple():
            return ["tuple", *[_plain(part, words) for part in node]]
    form = words.form_of(type(node))
    return [form.name, *[_plain(getattr(node, name), words) for name in form.fields]]


def _normal(node: Node) -> Node:
    """``node`` in its canonical form, from the leaves up."""
    if isinstance(node, tuple):
        return tuple(_normal(part) for part in node)  # type: ignore[return-value]
    if isinstance(node, Fraction) and node.denominator == 1:
        return int(node)  # type: ignore[return-value]
    names = PARTS[type(node)]
    if names is None:
        return node
    made: Any = type(node)(*[_normal(getattr(node, name)) for name in names])
    match made:
        case And(inner) | Or(inner):
            same = [part.parts if isinstance(part, type(made)) else (part,) for part in inner]
            flat = _sorted(part for group in same for part in group)
            return flat[0] if len(flat) == 1 else type(made)(flat)  # type: ignore[return-value]
        case Compare(comparison, left, right) if text(left) > text(right):
            return Compare(comparison.mirrored, right, left)  # type: ignore[return-value]
        case OneOf(part, values):
            return OneOf(part, _sorted(values))  # type: ignore[return-value]
        case Filter(Filter(source, below), above):
            return _normal(Filter(source, And((below, above))))  # type: ignore[return-value]
        case Join(Filter(source, wanted), dataset, one, other):
            # which rows are dropped first is all the same
            join = Join(source, dataset, one, other)
            return _normal(Filter(join, wanted))  # type: ignore[return-value]
        case JoinPublic(Filter(source, wanted), table, one, other, outer):
            public = JoinPublic(source, table, one, other, outer)
            return _normal(Filter(public, wanted))  # type: ignore[return-value]
    return made  # type: ignore[no-any-return]


def _sorted(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Each part once, in the order of their texts.

    Parts are the same where their texts are: Python takes 1 and True for equal, and a question
    that lists both would lose one of them before its kind is looked at.
    """
    by_text = {text(part): part for part in parts}
    return tuple(by_text[each] for each in sorted(by_text))


def _numbered(word: str, parts: Iterable[Any]) -> dict[str, tuple[str, Any]]:
    """By the text of each part, once: a name that says nothing but its order, and the part."""
    return {text(part): (f"{word}_{place}", part) for place, part in enumerate(_sorted(parts))}

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
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan.tree_walk import PARTS, not_too_large, rewritten

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
    nodes.CountRows: StoredForm("CountRows"),
    nodes.CountUnits: StoredForm("CountUnits"),
    nodes.CountValues: StoredForm("CountValues", ("argument",)),
    nodes.Sum: StoredForm("Sum", ("argument",)),
    nodes.Mean: StoredForm("Mean", ("argument",)),
    nodes.Variance: StoredForm("Variance", ("argument", "sample")),
    nodes.Deviation: StoredForm("Deviation", ("argument", "sample")),
    nodes.Quantile: StoredForm("Quantile", ("argument", "fraction")),
    nodes.Least: StoredForm("Least", ("argument",)),
    nodes.Greatest: StoredForm("Greatest", ("argument",)),
}
_OF_EXPRESSIONS: dict[type, StoredForm] = {
    expr.Field: StoredForm("Field", ("name",)),
    expr.Constant: StoredForm("Constant", ("value",)),
    expr.Compare: StoredForm("Compare", ("comparison", "left", "right")),
    expr.OneOf: StoredForm("OneOf", ("part", "values")),
    expr.Like: StoredForm("Like", ("part", "pattern")),
    expr.IsNull: StoredForm("IsNull", ("part",)),
    expr.And: StoredForm("And", ("parts",)),
    expr.Or: StoredForm("Or", ("parts",)),
    expr.Not: StoredForm("Not", ("part",)),
    expr.Arithmetic: StoredForm("Arithmetic", ("operation", "left", "right")),
    expr.Divide: StoredForm("Divide", ("left", "right")),
    expr.Bin: StoredForm("Bin", ("part", "width")),
    expr.DatePart: StoredForm("DatePart", ("part", "day")),
    expr.Period: StoredForm("Period", ("span", "day")),
    expr.Case: StoredForm("Case", ("whens", "otherwise")),
}
_OF_RELATIONS: dict[type, StoredForm] = {
    nodes.Scan: StoredForm("Scan", ("dataset",)),
    nodes.Filter: StoredForm("Filter", ("source", "condition")),
    nodes.Join: StoredForm("Join", ("source", "dataset", "left", "right")),
    nodes.JoinPublic: StoredForm("JoinPublic", ("source", "table", "left", "right", "outer")),
    nodes.UnitValue: StoredForm("UnitValue", ("name", "aggregate")),
    nodes.PerUnit: StoredForm("PerUnit", ("source", "keys", "values")),
}
_OF_PLANS: dict[type, StoredForm] = {
    nodes.GroupKey: StoredForm("GroupKey", ("name", "expression")),
    nodes.NamedAggregate: StoredForm("Measure", ("name", "aggregate")),
    nodes.Plan: StoredForm("Plan", ("source", "keys", "measures", "post")),
    nodes.Output: StoredForm("Output", ("name", "expression")),
    nodes.OrderBy: StoredForm("OrderBy", ("expression", "descending")),
    nodes.Post: StoredForm("Post", ("outputs", "having", "order", "limit")),
}
_OF_CHOICES: dict[Enum, str] = {
    expr.Comparison.EQUAL: "EQUAL",
    expr.Comparison.UNEQUAL: "UNEQUAL",
    expr.Comparison.LESS: "LESS",
    expr.Comparison.AT_MOST: "AT_MOST",
    expr.Comparison.MORE: "MORE",
    expr.Comparison.AT_LEAST: "AT_LEAST",
    expr.Operation.ADD: "ADD",
    expr.Operation.SUBTRACT: "SUBTRACT",
    expr.Operation.MULTIPLY: "MULTIPLY",
    expr.DatePartName.YEAR: "YEAR",
    expr.DatePartName.QUARTER: "QUARTER",
    expr.DatePartName.MONTH: "MONTH",
    expr.DatePartName.DAY: "DAY",
    expr.DatePartName.WEEKDAY: "WEEKDAY",
    expr.Span.YEARS: "YEARS",
    expr.Span.QUARTERS: "QUARTERS",
    expr.Span.MONTHS: "MONTHS",
    expr.Span.WEEKS: "WEEKS",
    expr.Span.DAYS: "DAYS",
}

PLANS = Vocabulary(_OF_AGGREGATES | _OF_EXPRESSIONS | _OF_RELATIONS | _OF_PLANS, _OF_CHOICES)
"""All that a plan is made of."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A question under names of its own, and what the analyst wants done with its answer."""

    plan: nodes.Plan
    post: nodes.Post

    @property
    def hash(self) -> bytes:
        """What the question is known by."""
        return sha256(f"tacit plan 1\n{text(self.plan)}".encode()).digest()


def canonical(plan: nodes.Plan) -> Canonical:
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
    made = nodes.Plan(
        _normal(plan.source),
        tuple(nodes.GroupKey(*each) for each in key_names.values()),
        tuple(nodes.NamedAggregate(*each) for each in measure_names.values()),
        nodes.Post.showing(
            *(name for name, _ in (*key_names.values(), *measure_names.values()))
        ),
    )
    called = {name: key_names[text(part)][0] for name, part in keys.items()}
    called |= {name: measure_names[text(part)][0] for name, part in measures.items()}
    return Canonical(made, rewritten(plan.post, partial(_called, called)))


def settled(plan: nodes.Plan) -> nodes.Plan:
    """``plan`` with the values of units under names that follow from what they are."""
    source, names = _settled(plan.source)
    change = partial(_renamed, names)
    keys, measures = rewritten(plan.keys, change), rewritten(plan.measures, change)
    return nodes.Plan(source, keys, measures, plan.post)


def _settled(relation: nodes.Relation) -> tuple[nodes.Relation, dict[str, str]]:
    """``relation``, and what the values of units are called above it."""
    match relation:
        case nodes.Scan():
            return relation, {}
        case nodes.Filter(source, wanted):
            found, names = _settled(source)
            return nodes.Filter(found, rewritten(wanted, partial(_renamed, names))), names
        case nodes.Join(source, dataset, left, right):
            found, names = _settled(source)
            return nodes.Join(found, dataset, names.get(left, left), right), names
        case nodes.JoinPublic(source, table, left, right, outer):
            found, names = _settled(source)
            return nodes.JoinPublic(found, table, names.get(left, left), right, outer), names
        case nodes.PerUnit(source, keys, values):
            found, names = _settled(source)
            change = partial(_renamed, names)
            meant = {v.name: _normal(rewritten(v.aggregate, change)) for v in values}
            made = _numbered("value", meant.values())
            settled_values = tuple(nodes.UnitValue(*each) for each in made.values())
            called = {
                f"{nodes.BELOW}.{v}": f"{nodes.BELOW}.{made[text(part)][0]}"
                for v, part in meant.items()
            }
            return nodes.PerUnit(found, _sorted(keys), settled_values), called


def _renamed(names: Mapping[str, str], field: expr.Field) -> expr.Field:
    return expr.Field(names.get(field.name, field.name))


def _called(names: Mapping[str, str], field: expr.Field) -> expr.Field:
    if field.name not in names:
        raise InvalidValue(f"The answer has no column {field.name!r}.")
    return expr.Field(names[field.name])


def text(node: object, words: Vocabulary = PLANS) -> str:
    """The text of a plan or of a part of it: equal parts have equal text, and no others.

    Whoever hashes more than plans says by which ``words``.

    Example:
        >>> from tacit.plan.plan import Scan
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
        case expr.And(inner) | expr.Or(inner):
            same = [part.parts if isinstance(part, type(made)) else (part,) for part in inner]
            flat = _sorted(part for group in same for part in group)
            return flat[0] if len(flat) == 1 else type(made)(flat)  # type: ignore[return-value]
        case expr.Compare(comparison, left, right) if text(left) > text(right):
            return expr.Compare(comparison.mirrored, right, left)  # type: ignore[return-value]
        case expr.OneOf(part, values):
            return expr.OneOf(part, _sorted(values))  # type: ignore[return-value]
        case nodes.Filter(nodes.Filter(source, below), above):
            return _normal(nodes.Filter(source, expr.And((below, above))))  # type: ignore[return-value]
        case nodes.Join(nodes.Filter(source, wanted), dataset, one, other):
            # which rows are dropped first is all the same
            join = nodes.Join(source, dataset, one, other)
            return _normal(nodes.Filter(join, wanted))  # type: ignore[return-value]
        case nodes.JoinPublic(nodes.Filter(source, wanted), table, one, other, outer):
            public = nodes.JoinPublic(source, table, one, other, outer)
            return _normal(nodes.Filter(public, wanted))  # type: ignore[return-value]
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


# ------------------------------------------------------------------ stored plan
# A plan back from its canonical text, for a process that is told what to run.

NODES: dict[str, type] = {form.name: kind for kind, form in PLANS.classes.items()}
"""Every class that a plan is made of, by its stored name."""

CHOICES = {name: choice for choice, name in PLANS.choices.items()}
"""No two have one name, which is all that a text holds of them."""


def decode_plan(stored: str) -> nodes.Plan:
    """The plan whose canonical text is ``stored``; anything else is refused.

    Guarantee: ``decode(text(plan)) == plan``.
    """
    try:
        found = _restore(json.loads(stored))
        canonical = isinstance(found, nodes.Plan) and text(found) == stored
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise InvalidValue("This is not the text of a plan.") from error
    if not isinstance(found, nodes.Plan) or not canonical:
        raise InvalidValue("This is not the canonical text of a plan.")
    return found


def _restore(stored: Any) -> Any:
    match stored:
        case None | bool() | str():
            return stored
        case ["int", str() as number]:
            return int(number)
        case ["fraction", str() as number]:
            return Fraction(number)
        case ["date", str() as day]:
            return date.fromisoformat(day)
        case ["enum", str() as name]:
            return CHOICES[name]
        case ["tuple", *parts]:
            return tuple(map(_restore, parts))
        case [str() as name, *parts]:
            kind = NODES[name]
            named = zip(PLANS.form_of(kind).fields, parts, strict=True)
            return kind(**{field: _restore(part) for field, part in named})
    raise ValueError

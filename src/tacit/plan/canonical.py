"""Equal questions made equal: the names and the order that an analyst chose are put aside."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

from tacit.errors import InternalError, InvalidValue
from tacit.plan.expression import And, Compare, Field, OneOf, Or
from tacit.plan.node import PARTS
from tacit.plan.plan import GroupKey, Measure, Plan
from tacit.plan.post import Post
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


def text(node: object) -> str:
    """The text of a plan or of a part of it: equal parts have equal text, and no others.

    Example:
        >>> from tacit.plan.relation import Scan
        >>> text(Scan("visits"))
        '["Scan","visits"]'
    """
    return json.dumps(_plain(node), separators=(",", ":"))


def _plain(node: object) -> Any:
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
            return ["enum", node.name]
        case tuple():
            return ["tuple", *map(_plain, node)]
    names = PARTS[type(node)]
    if names is None:
        raise InternalError(f"A plan does not hold a {type(node).__name__}.")
    return [type(node).__name__, *[_plain(getattr(node, name)) for name in names]]


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

"""A plan back from its canonical text, for a process that is told what to run."""

import json
from datetime import date
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidValue
from tacit.plan import aggregate, expression, plan, post, relation
from tacit.plan.calendar import Part, Span
from tacit.plan.canonical import text
from tacit.plan.expression import Comparison, Operation
from tacit.plan.plan import Plan

NODES: dict[str, type] = {
    name: found
    for module in (aggregate, expression, plan, post, relation)
    for name, found in vars(module).items()
    if isinstance(found, type) and found.__module__ == module.__name__
}
"""Every class that a plan is made of, by its name."""

CHOICES: dict[str, Comparison | Operation | Part | Span] = {
    choice.name: choice for choices in (Comparison, Operation, Part, Span) for choice in choices
}
"""No two have one name, which is all that a text holds of them."""


def decode(stored: str) -> Plan:
    """The plan whose canonical text is ``stored``; anything else is refused.

    Guarantee: ``decode(text(plan)) == plan``.
    """
    try:
        found = _restore(json.loads(stored))
        canonical = isinstance(found, Plan) and text(found) == stored
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise InvalidValue("This is not the text of a plan.") from error
    if not isinstance(found, Plan) or not canonical:
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
            return NODES[name](*map(_restore, parts))
    raise ValueError

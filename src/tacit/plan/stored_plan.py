"""A plan back from its canonical text, for a process that is told what to run."""

import json
from datetime import date
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidValue
from tacit.plan.canonical import PLANS, text
from tacit.plan.plan import Plan

NODES: dict[str, type] = {form.name: kind for kind, form in PLANS.classes.items()}
"""Every class that a plan is made of, by its stored name."""

CHOICES = {name: choice for choice, name in PLANS.choices.items()}
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
            kind = NODES[name]
            named = zip(PLANS.form_of(kind).fields, parts, strict=True)
            return kind(**{field: _restore(part) for field, part in named})
    raise ValueError

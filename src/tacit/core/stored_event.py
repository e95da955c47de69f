"""Events as canonical text, for ledgers that must be read back for ever.

Equal events have equal text, so that a hash of it means something: keys in order, no spaces,
fractions as ``"p/q"``.
"""

import json
from dataclasses import fields
from fractions import Fraction
from typing import get_args, get_origin, get_type_hints

from tacit.core.event import Composed, Event, GaussianNoise, LaplaceNoise, Nothing, Repeated
from tacit.errors import InvalidValue

EVENTS: dict[str, type[Event]] = {
    "nothing": Nothing,
    "laplace": LaplaceNoise,
    "gaussian": GaussianNoise,
    "composed": Composed,
    "repeated": Repeated,
}
"""The stored name of each event. A name is never reused and never removed."""

Stored = str | int | list["Stored"] | dict[str, "Stored"]

_NAMES = {event: name for name, event in EVENTS.items()}


def encode(event: Event) -> str:
    """The canonical text of ``event``.

    Example:
        >>> encode(LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3)))
        '{"event":"laplace","scale":"10/3","sensitivity":"1"}'
    """
    return json.dumps(_store(event), sort_keys=True, separators=(",", ":"))


def decode(text: str) -> Event:
    """The event whose canonical text is ``text``.

    Guarantee: ``decode(encode(event)) == event``; what is not the text of an event is refused.

    Example:
        >>> decode('{"event":"laplace","scale":"10/3","sensitivity":"1"}')
        LaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(10, 3))
    """
    try:
        event = _restore(Event, json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InvalidValue("This is not the stored text of an event.") from error
    if not isinstance(event, Event) or encode(event) != text:
        raise InvalidValue("This is not the canonical text of an event.")
    return event


def _store(value: object) -> Stored:
    match value:
        case Event():
            stored = {field.name: _store(getattr(value, field.name)) for field in fields(value)}
            return {"event": _NAMES[type(value)], **stored}
        case tuple():
            return [_store(part) for part in value]
        case Fraction():
            return str(value)
        case int():
            return value
    raise InvalidValue(
        f"An event holds events, fractions and integers, and not {type(value).__name__}."
    )


def _restore(declared: object, stored: Stored) -> object:
    match stored:
        case dict() if declared is Event:
            event = EVENTS[str(stored["event"])]
            hints = get_type_hints(event)
            given = {name: part for name, part in stored.items() if name != "event"}
            return event(**{name: _restore(hints[name], part) for name, part in given.items()})
        case list() if get_origin(declared) is tuple:
            return tuple(_restore(get_args(declared)[0], part) for part in stored)
        case str() if declared is Fraction:
            return Fraction(stored)
        case int() if declared is int:
            return stored
    raise InvalidValue("A field of a stored event has the wrong form.")

"""Events as canonical text, for ledgers that must be read back for ever.

Equal events have equal text, so that a hash of it means something: keys in order, no spaces,
fractions as ``"p/q"``.
"""

import json
import re
from dataclasses import fields
from fractions import Fraction
from numbers import Rational
from typing import get_args, get_origin, get_type_hints

from tacit.core.event import Composed, Event, Nothing, Repeated, Sampled
from tacit.core.noise_event import (
    BallNoise,
    CubeNoise,
    GaussianNoise,
    LaplaceNoise,
    RealGaussianNoise,
    TruncatedLaplaceNoise,
)
from tacit.core.selection_event import (
    AboveThreshold,
    ExponentialSelection,
    KeySelection,
    PermuteAndFlipSelection,
    RandomisedResponse,
)
from tacit.core.smooth_event import (
    LomaxNoise,
    ProposeTestRelease,
    SmoothLaplaceNoise,
    StudentNoise,
)
from tacit.errors import InvalidValue

EVENTS: dict[str, type[Event]] = {
    "nothing": Nothing,
    "laplace": LaplaceNoise,
    "gaussian": GaussianNoise,
    "truncated laplace": TruncatedLaplaceNoise,
    "ball": BallNoise,
    "cube": CubeNoise,
    "exponential": ExponentialSelection,
    "permute and flip": PermuteAndFlipSelection,
    "randomised response": RandomisedResponse,
    "keys": KeySelection,
    "above threshold": AboveThreshold,
    "lomax": LomaxNoise,
    "student": StudentNoise,
    "smooth laplace": SmoothLaplaceNoise,
    "propose test release": ProposeTestRelease,
    "real gaussian": RealGaussianNoise,
    "composed": Composed,
    "repeated": Repeated,
    "sampled": Sampled,
}
"""The stored name of each event. A name is never reused and never removed."""

Stored = str | int | list["Stored"] | dict[str, "Stored"]

FRACTION = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")
"""A fraction in lowest terms, of a size that nobody writes by mistake."""

_NAMES = {event: name for name, event in EVENTS.items()}


def encode(event: Event) -> str:
    """The canonical text of ``event``.

    Guarantee: equal events have equal text.

    Example:
        >>> encode(LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3)))
        '{"kind":"laplace","scale":"10/3","sensitivity":"1"}'
    """
    return json.dumps(_store(Event, event), sort_keys=True, separators=(",", ":"))


def decode(text: str) -> Event:
    """The event whose canonical text is ``text``.

    Guarantee: ``decode(encode(event)) == event``; what is not the text of an event is refused.

    Example:
        >>> decode('{"kind":"laplace","scale":"10/3","sensitivity":"1"}')
        LaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(10, 3))
    """
    try:
        event = _restore(Event, json.loads(text))
        canonical = isinstance(event, Event) and encode(event) == text
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise InvalidValue("This is not the stored text of an event.") from error
    if not isinstance(event, Event) or not canonical:
        raise InvalidValue("This is not the canonical text of an event.")
    return event


def _store(declared: object, value: object) -> Stored:
    """What stands for ``value``, by the type that its field declares."""
    if declared is Event and isinstance(value, Event) and type(value) in _NAMES:
        hints = get_type_hints(type(value))
        parts = {
            field.name: _store(hints[field.name], getattr(value, field.name))
            for field in fields(value)
        }
        return {"kind": _NAMES[type(value)], **parts}
    if get_origin(declared) is tuple and isinstance(value, tuple):
        return [_store(get_args(declared)[0], part) for part in value]
    if declared is Fraction and isinstance(value, Rational):
        return str(Fraction(value))
    if declared is int and type(value) is int:
        return value
    raise InvalidValue(
        f"An event holds listed events, fractions and integers, not {type(value).__name__}."
    )


def _restore(declared: object, stored: Stored) -> object:
    match stored:
        case dict() if declared is Event:
            event = EVENTS[str(stored["kind"])]
            hints = get_type_hints(event)
            given = {name: part for name, part in stored.items() if name != "kind"}
            return event(**{name: _restore(hints[name], part) for name, part in given.items()})
        case list() if get_origin(declared) is tuple:
            return tuple(_restore(get_args(declared)[0], part) for part in stored)
        case str() if declared is Fraction and FRACTION.fullmatch(stored):
            return Fraction(stored)
        case int() if declared is int:
            return stored
    raise InvalidValue("A field of a stored event has the wrong form.")

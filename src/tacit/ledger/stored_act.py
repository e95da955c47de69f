"""Acts as canonical text: equal acts have equal text, so that a hash of it means something."""

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import Any, get_args, get_origin, get_type_hints

from tacit.errors import LedgerBroken
from tacit.ledger.act import (
    Act,
    Approved,
    CapRaised,
    Charged,
    Decision,
    Declared,
    Described,
    Failed,
    Frozen,
    Inherited,
    Joined,
    Kept,
    LeastSet,
    Looked,
    Missed,
    Opened,
    OwnerAdded,
    OwnerRemoved,
    Proposed,
    QuotaSet,
    Retried,
    StateSealed,
    Thawed,
)

ACTS: dict[str, type[Act | Decision]] = {
    "opened": Opened,
    "charged": Charged,
    "kept": Kept,
    "missed": Missed,
    "retried": Retried,
    "failed": Failed,
    "looked": Looked,
    "state sealed": StateSealed,
    "quota set": QuotaSet,
    "least set": LeastSet,
    "joined": Joined,
    "declared": Declared,
    "described": Described,
    "inherited": Inherited,
    "frozen": Frozen,
    "thawed": Thawed,
    "proposed": Proposed,
    "approved": Approved,
    "cap raised": CapRaised,
    "owner added": OwnerAdded,
    "owner removed": OwnerRemoved,
}
"""The stored name of each act. A name is never reused and never removed."""

Form = tuple[str, Callable[[Any], tuple[Any, ...]], tuple[Callable[[Any], str], ...]]
"""The text of an act with a place for each value, its values, and how each is written."""

NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def encode(act: Act | Decision) -> str:
    """The canonical text of ``act``; numbers are text, since not all readers hold 64 bits.

    A field that has its default is left out, so that acts written before the field existed
    keep their text.

    Example:
        >>> encode(OwnerAdded("ann"))
        '{"kind":"owner added","owner":"ann"}'
    """
    kind = type(act)
    optional = _OPTIONAL.get(kind)
    if optional is None:
        text, values, writers = _FORMS[kind]
    else:
        absent = frozenset([name for name, usual in optional if getattr(act, name) == usual])
        text, values, writers = _form_without(_NAMES[kind], absent)
    return text % tuple(
        [write(value) for write, value in zip(writers, values(act), strict=True)]
    )


def decode(text: str) -> Act | Decision:
    """The act whose canonical text is ``text``; anything else is refused.

    Example:
        >>> decode('{"kind":"owner added","owner":"ann"}')
        OwnerAdded(owner='ann')
    """
    try:
        act = _restore(json.loads(text))
        canonical = encode(act) == text
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LedgerBroken("This is not the text of an entry.") from error
    if not canonical:
        raise LedgerBroken("This is not the canonical text of an entry.")
    return act


def _restore(stored: dict[str, Any]) -> Act | Decision:
    act = ACTS[stored["kind"]]
    declared = _FIELDS[act]
    absent = declared.keys() - stored.keys()
    if stored.keys() - {"kind"} != declared.keys() - absent:
        raise ValueError
    if absent - dict(_OPTIONAL.get(act, ())).keys():
        raise ValueError
    given: dict[str, Any] = {
        name: _field(declared[name], stored[name]) for name in declared if name not in absent
    }
    return act(**given)


def _field(declared: object, stored: Any) -> object:
    if declared is str and isinstance(stored, str):
        return stored
    if declared is int and NUMBER.fullmatch(stored):
        return int(stored)
    if get_origin(declared) is tuple and all(isinstance(part, str) for part in stored):
        return tuple(stored)
    if declared == Decision and ACTS[stored["kind"]] in get_args(Decision):
        return _restore(stored)
    raise ValueError


def _declared(act: type[Act | Decision]) -> dict[str, object]:
    hints = get_type_hints(act)
    return {field.name: hints[field.name] for field in fields(act)}


def _form(kind: str, declared: dict[str, object]) -> Form:
    """The keys in order, ``kind`` among them, as JSON in ASCII without spaces."""
    names = sorted(declared)
    places = dict.fromkeys(names, "%s") | {"kind": quoted(kind)}
    text = ",".join(f"{quoted(name)}:{places[name]}" for name in sorted(places))
    values = attrgetter(*names) if len(names) > 1 else lambda act: (getattr(act, names[0]),)
    return "{" + text + "}", values, tuple(_writer(declared[name]) for name in names)


def _writer(declared: object) -> Callable[[Any], str]:
    """How the values of a field are written."""
    if declared is str:
        return quoted
    if declared is int:
        return '"{}"'.format
    if get_origin(declared) is tuple:
        return lambda parts: f"[{','.join(map(quoted, parts))}]"
    return encode


_FIELDS: dict[type, dict[str, object]] = {act: _declared(act) for act in ACTS.values()}
"""The fields of each act, and their types."""

_FORMS = {act: _form(name, _FIELDS[act]) for name, act in ACTS.items()}
"""How each act is written."""

_OPTIONAL: dict[type, tuple[tuple[str, object], ...]] = {
    act: found
    for act in ACTS.values()
    if (found := tuple((f.name, f.default) for f in fields(act) if f.default is not MISSING))
}
"""The fields of each act that have a default, with it; other acts are not here."""


_NAMES = {act: name for name, act in ACTS.items()}


@cache
def _form_without(kind: str, absent: frozenset[str]) -> Form:
    """How acts of a kind are written without the fields in ``absent``."""
    act = ACTS[kind]
    present = {name: hint for name, hint in _FIELDS[act].items() if name not in absent}
    return _form(kind, present)

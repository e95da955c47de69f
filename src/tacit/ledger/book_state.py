"""The state of a `Book` as canonical text, which a checkpoint signs and a later reader resumes.

A checkpoint says: the entries up to here were verified, and they add up to this state. So the
state must contain everything that a rule about a later entry can need.

Checkpoints stay in chains for ever, and every later version must be able to compute what they
state. So the fields of a state are named (`FORMS`), and their names never change. **A new field
of a book needs a new form**, which has its name too: without one, no checkpoint is written. A
checkpoint of an earlier form is still verified by a walk from the start, but not resumed from.

Four fields grow with every entry and are left out (`OF_ENTRIES`): which requests were charged,
which answers were stored, which charges are in several chains, and which acts were signed. A
walk from the first entry verifies what a later entry says about an earlier one of these, and so
do the keys of the tables of requests and answers.
"""

import json
from collections.abc import Mapping
from dataclasses import astuple
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tacit.errors import InternalError, LedgerBroken
from tacit.ledger import entries as acts
from tacit.ledger.charge import IncidentCounts, Units
from tacit.ledger.owner_keys import KnownKey, OwnerKeys

OF_ENTRIES = frozenset({"requests", "kept", "shared", "signatures"})
"""Fields of a book that grow with every question, and begin again after a checkpoint."""

OF_PLACE = frozenset({"population", "seq", "head", "since"})
"""Fields that the place of the checkpoint in the chain determines."""

FORMS: dict[int, frozenset[str]] = {
    1: frozenset(
        {
            "opened",
            "cap",
            "spent",
            "owners",
            "quotas",
            "spent_by",
            "groups",
            "declared",
            "declaration",
            "epochs",
            "epochs_ever",
            "holdings",
            "inherited",
            "inherited_troubles",
            "frozen",
            "proposals",
            "quota_requests",
            "paid",
            "unanswered",
            "missed",
            "failed",
            "retried",
            "looked",
            "least_share",
            "_has_least",
            "states",
            "lost",
            "keys",
        }
    ),
}
"""The fields of a book that a state has, by the number of its form."""

NEWEST_FORM = max(FORMS)

_KINDS = frozenset(acts.ACTS.values())


def state_text(fields: Mapping[str, object], form: int = NEWEST_FORM) -> str:
    """Return the canonical text of a book's ``fields``; equal states have equal text.

    Example:
        >>> book = dict.fromkeys(FORMS[1]) | {"owners": {"olga"}, "spent": Units(1, 0)}
        >>> '"spent":{"units":[1,0]}' in state_text(book)
        True
    """
    unnamed = fields.keys() - OF_ENTRIES - OF_PLACE - FORMS[NEWEST_FORM]
    if unnamed:
        raise InternalError(
            f"No form of a state has the field {min(unnamed)!r} of a book. Add a form to FORMS."
        )
    named = {name: _encode(fields[name]) for name in FORMS[form]}
    return json.dumps(named, separators=(",", ":"), sort_keys=True)


def state_digest(text: str, form: int = NEWEST_FORM) -> str:
    """Return the hash of a state that a checkpoint records."""
    return sha256(f"tacit state of a chain {form}\n{text}".encode()).hexdigest()


def read_state(text: str) -> dict[str, object]:
    """Return the fields of which ``text`` is the state."""
    try:
        return {name: _decode(value) for name, value in json.loads(text).items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LedgerBroken(
            "The state of a checkpoint cannot be decoded: it was changed, or another version "
            "of Tacit wrote it. Run `tacit ledger verify --from-the-start`."
        ) from error


def _encode(value: object) -> object:  # noqa: C901, PLR0911 - one case a type
    match value:
        case None | bool() | int() | str():
            return value
        case bytes():
            return {"bytes": value.hex()}
        case Fraction():
            return {"fraction": str(value)}
        case Units(amount, delta):
            return {"units": [amount, delta]}
        case OwnerKeys(known):
            held = {key: [*astuple(known[key])] for key in sorted(known)}
            return {"keys": held}
        case IncidentCounts():
            return {"counts": list(value)}
        case tuple():
            return {"tuple": [_encode(each) for each in value]}
        case set() | frozenset():
            return {"set": [_encode(each) for each in sorted(value)]}
        case dict():
            return {"dict": [[_encode(key), _encode(value[key])] for key in sorted(value)]}
    if type(value) in _KINDS:
        return {"act": acts.encode_act(value)}  # type: ignore[arg-type]
    raise InternalError(f"A checkpoint cannot contain a {type(value).__name__}.")


def _decode(value: Any) -> Any:  # noqa: C901, PLR0911 - one case a type
    if not isinstance(value, dict):
        return value
    [(kind, inner)] = value.items()
    match kind:
        case "bytes":
            return bytes.fromhex(inner)
        case "fraction":
            return Fraction(inner)
        case "units":
            return Units(*inner)
        case "keys":
            return OwnerKeys({key: KnownKey(*each) for key, each in inner.items()})
        case "counts":
            return IncidentCounts(*inner)
        case "tuple":
            return tuple(_decode(each) for each in inner)
        case "set":
            return {_decode(each) for each in inner}
        case "dict":
            return {_decode(key): _decode(each) for key, each in inner}
        case "act":
            return acts.decode_act(inner)
    raise ValueError(kind)


# ------------------------------------------------------------------ what a checkpoint signs


def signed_text(population: str, seq: int, previous: bytes, state: str) -> bytes:
    """Return the text that a checkpoint in entry ``seq`` signs.

    ``previous`` is the hash of the entry before, and ``state`` the hash of the state.
    """
    parts = ["tacit checkpoint 1", population, seq, previous.hex(), state]
    return json.dumps(parts, separators=(",", ":")).encode()

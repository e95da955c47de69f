"""Who did something to a budget, and when."""

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import Any, get_args, get_origin, get_type_hints

from tacit.errors import LedgerBroken


@dataclass(frozen=True, slots=True)
class Signature:
    """An owner's name, as the caller has verified it, and the time in milliseconds."""

    by: str
    at: int


# ------------------------------------------------------------------ act
# What can happen to a budget: the kinds of entries, for ever.
#
# Amounts are in units (`tacit.ledger.charge`), times in milliseconds since 1970, hashes in
# hexadecimal. A chain is kept for ever, so **the meaning of an act never changes**: a new
# meaning is a new kind.


@dataclass(frozen=True, slots=True)
class Opened:
    """A budget was made."""

    unit: str
    neighbours: str
    measure: str
    amount: int
    delta: int
    conversion_delta: str
    idealised: int
    owners: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Charged:
    """A question was paid for. It may have been answered, or not: it stays charged."""

    principal: str
    holders: tuple[str, ...]
    request: str
    plan: str
    release: str
    event: str
    amount: int
    delta: int
    price_delta: str
    populations: tuple[str, ...]
    nonce: str
    at: int
    declaration: int = 0
    """The place of the `Described` by which it was priced; left out where there was none."""


@dataclass(frozen=True, slots=True)
class AnswerStored:
    """The answer to the charge at ``charge`` was stored, and may leave."""

    charge: int
    release: str
    answer: str
    at: int


@dataclass(frozen=True, slots=True)
class Missed:
    """The charge at ``charge`` had no answer at its public deadline: nothing is charged now."""

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Retried:
    """The charge at ``charge`` failed before any noise was drawn, and is run once more.

    Every third one of a population stops its charges until an owner has looked.
    """

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The charge at ``charge`` failed for good: nothing is charged until an owner looks."""

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Looked:
    """An owner looked at what was late or failed: questions are charged and answered again."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class StateSealed:
    """A sealed state got a new version, such as the noise of a stream's next step.

    ``state`` is the hash of its name, ``digest`` the hash of its sealed bytes.
    """

    state: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class QuotaSet:
    """An owner limited what an analyst or a group may spend of the budget."""

    holder: str
    amount: int
    delta: int
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class LeastSet:
    """An owner set the least price of a question, as a share of the cap.

    From here on every charge that is not free is at least ``share`` of the cap of its time.
    """

    share: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Joined:
    """An owner put an analyst into a group: their charges count for both from here on."""

    principal: str
    group: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class FactsDeclared:
    """An owner declared what is publicly known of the population's tables, a line a fact.

    Version 0.1 wrote this kind. Its charges do not name the declaration they were priced by.
    """

    facts: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Described:
    """An owner declared the population's tables: the facts about them, and which they are.

    The place of this entry in the chain is the declaration's number. From here on every charge
    names this number. ``tables`` are the identities of physical tables
    (`tacit.engines.table_identity`).
    """

    facts: tuple[str, ...]
    tables: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Inherited:
    """This population got tables of another one, and with them what was spent on those people.

    The amounts count as spent here, as if the questions had been asked about this population,
    and so do the answers that were late, failed or were run once more, at which their owners
    have looked.
    """

    source: str
    amount: int
    delta: int
    by: str
    at: int
    late: int = 0
    failed: int = 0
    retried: int = 0


@dataclass(frozen=True, slots=True)
class Frozen:
    """An owner stopped all charges, at every server that shares the store."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Thawed:
    """An owner allowed charges again."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class CapRaised:
    """The cap is raised by an amount. A credit for a lost answer is this too."""

    amount: int
    delta: int
    reason: str


@dataclass(frozen=True, slots=True)
class OwnerAdded:
    """A new owner."""

    owner: str


@dataclass(frozen=True, slots=True)
class OwnerRemoved:
    """An owner less."""

    owner: str


Decision = CapRaised | OwnerAdded | OwnerRemoved
"""What one owner decides alone only where there is one."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """An owner decided; it holds at once where they are the only one."""

    decision: Decision
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Approved:
    """A second owner agreed to the proposal at ``proposal``; it holds from here on."""

    proposal: int
    by: str
    at: int


Act = (
    Opened
    | Charged
    | AnswerStored
    | Missed
    | Retried
    | Failed
    | Looked
    | StateSealed
    | QuotaSet
    | LeastSet
    | Joined
    | FactsDeclared
    | Described
    | Inherited
    | Frozen
    | Thawed
    | Proposed
    | Approved
)
"""What an entry tells."""


# ------------------------------------------------------------------ stored act
# Acts as canonical text: equal acts have equal text, so that a hash of it means something.

ACTS: dict[str, type[Act | Decision]] = {
    "opened": Opened,
    "charged": Charged,
    "kept": AnswerStored,
    "missed": Missed,
    "retried": Retried,
    "failed": Failed,
    "looked": Looked,
    "state sealed": StateSealed,
    "quota set": QuotaSet,
    "least set": LeastSet,
    "joined": Joined,
    "declared": FactsDeclared,
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


def encode_act(act: Act | Decision) -> str:
    """The canonical text of ``act``; numbers are text, since not all readers hold 64 bits.

    A field that has its default is left out, so that acts written before the field existed
    keep their text.

    Example:
        >>> encode_act(OwnerAdded("ann"))
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


def decode_act(text: str) -> Act | Decision:
    """The act whose canonical text is ``text``; anything else is refused.

    Example:
        >>> decode_act('{"kind":"owner added","owner":"ann"}')
        OwnerAdded(owner='ann')
    """
    try:
        act = _restore(json.loads(text))
        canonical = encode_act(act) == text
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
    return encode_act


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


# ------------------------------------------------------------------ entry
# One link of a population's chain.

GENESIS = bytes(32)
"""What the first entry follows."""

FORMAT = b"tacit entry 1\n"
"""Which way of hashing this is; another way gets another name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened, as canonical text, and the hash that ties it to all that came before."""

    population: str
    seq: int
    body: str
    hash: bytes


def follow(previous: bytes, population: str, seq: int, body: str) -> Entry:
    """The entry of ``body`` after the one whose hash is ``previous``.

    Guarantee: whoever knows the hash of an entry knows, up to a collision of SHA-256, the
    place and the text of every entry up to it.

    Example:
        >>> follow(GENESIS, "patients", 1, "{}").hash.hex()[:16]
        '68d1608efa4f8714'
    """
    name = population.encode()
    place = seq.to_bytes(8, "big") + len(name).to_bytes(4, "big") + name
    return Entry(
        population, seq, body, sha256(FORMAT + previous + place + body.encode()).digest()
    )

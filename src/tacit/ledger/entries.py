"""The kinds of ledger entries, their canonical text, and the hash that chains them.

An *act* is something that happened to a budget: it was opened, a question was charged, an
answer was stored, an owner changed something. Each kind of act is a frozen dataclass here. An
act is stored as canonical JSON (equal acts have equal text), and an `Entry` is that text with
its number in the chain and a hash over the entry before it.

Chains are stored for ever, so **the meaning of an act never changes**: a new meaning gets a new
kind, and a new field has a default that is left out of the text.

Amounts are in units (`tacit.ledger.charge`), times in milliseconds since 1970, and hashes in
hexadecimal.
"""

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
from tacit.ledger.chain_acts import Checkpointed, Restored
from tacit.ledger.owner_acts import ActSigner, Attested, KeySet, SignInsEnded, SignInsTrusted


@dataclass(frozen=True, slots=True)
class Signature:
    """The owner who acts, and when. The caller must have authenticated the owner.

    A population whose owners have keys accepts only acts that a ``signer`` signs as well.
    """

    by: str
    at: int
    signer: ActSigner | None = None


# ------------------------------------------------------------------ kinds of entries


@dataclass(frozen=True, slots=True)
class Opened:
    """The first entry of every chain: the budget was opened."""

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
    """A question was charged. It stays charged, whether or not it was answered."""

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
    """Number of the `Described` entry that the price rests on; left out if there was none."""


@dataclass(frozen=True, slots=True)
class AnswerStored:
    """The answer to the charge in entry ``charge`` was stored, so it may be released."""

    charge: int
    release: str
    answer: str
    at: int


@dataclass(frozen=True, slots=True)
class Missed:
    """The charge in entry ``charge`` had no answer at its public deadline.

    Nothing more is charged until an owner has reviewed this.
    """

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Retried:
    """The charge in entry ``charge`` failed before any noise was drawn, and is run once more.

    Every third retry of a population stops its charges until an owner has reviewed them.
    """

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The charge in entry ``charge`` failed for good.

    Nothing more is charged until an owner has reviewed this.
    """

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Looked:
    """An owner reviewed the late and failed answers, so questions are charged again."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class StateSealed:
    """A sealed state, for example the noise of a stream, got a new version.

    ``state`` is the hash of the state's name, ``digest`` the hash of its sealed bytes.
    """

    state: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class QuotaSet:
    """An owner set the quota of an analyst or a group on the budget."""

    holder: str
    amount: int
    delta: int
    by: str
    at: int
    request: int = 0
    """Number of the `QuotaRequested` entry that this grants; left out if there was none."""


@dataclass(frozen=True, slots=True)
class QuotaRequested:
    """An analyst asked for a larger quota, of this amount in all. It changes nothing.

    ``holder`` is the analyst, or one of their groups.
    """

    principal: str
    holder: str
    amount: int
    delta: int
    reason: str
    at: int


@dataclass(frozen=True, slots=True)
class QuotaDeclined:
    """An owner declined the request for a quota in entry ``request``."""

    request: int
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class DefaultQuotaSet:
    """An owner set the quota of every analyst who has none of their own.

    From this entry on it holds for each of these analysts, with what they have spent before.
    """

    amount: int
    delta: int
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class LeastSet:
    """An owner set the least price of a question, as a share of the cap.

    From this entry on, every charge that is not free is at least ``share`` of the current cap.
    """

    share: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Joined:
    """An owner added an analyst to a group. Later charges count for both."""

    principal: str
    group: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class MemberRemoved:
    """An owner removed an analyst from a group. Later charges no longer count for the group.

    The group keeps the sum of the earlier charges.
    """

    principal: str
    group: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class FactsDeclared:
    """An owner declared the public facts about the population's tables, one fact a line.

    Version 0.1 wrote this kind. Its charges do not name the declaration they were priced by.
    """

    facts: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Described:
    """An owner declared the population's tables: their identities, and public facts about them.

    The number of this entry in the chain is the declaration's number, and every later charge
    names it. ``tables`` are the identities of physical tables (`tacit.engines.table_identity`).
    """

    facts: tuple[str, ...]
    tables: tuple[str, ...]
    by: str
    at: int
    since: tuple[str, ...] = ()
    """For each fact about an epoch, the time of the declaration with which the epoch began.

    Each is a time, a space and the fact. Entries of earlier versions leave it out.
    """


@dataclass(frozen=True, slots=True)
class Inherited:
    """This population took over tables of another one, with the loss spent on their people.

    The amounts count as spent here, as if the questions had been asked about this population.
    The late, failed and retried answers, which the owners of the other population have
    reviewed, count here too.
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
    """An owner stopped all charges about the population, at every server of the store."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Thawed:
    """An owner allowed charges about the population again."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class CapLowered:
    """An owner lowered the cap to this amount in all, which is not below what is spent."""

    amount: int
    delta: int
    reason: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class CapRaised:
    """The decision to raise the cap by an amount. A credit for a lost answer is one too."""

    amount: int
    delta: int
    reason: str


@dataclass(frozen=True, slots=True)
class OwnerAdded:
    """The decision to add an owner."""

    owner: str


@dataclass(frozen=True, slots=True)
class OwnerRemoved:
    """The decision to remove an owner."""

    owner: str


Decision = CapRaised | OwnerAdded | OwnerRemoved | KeySet | SignInsTrusted | SignInsEnded
"""Changes that need the approval of a second owner, if there is one."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """An owner proposed a decision. It takes effect at once if there is no second owner."""

    decision: Decision
    by: str
    at: int
    lapses: int = 0
    """The time from which it can no longer be approved; left out if it never lapses."""


@dataclass(frozen=True, slots=True)
class Approved:
    """A second owner approved the proposal in entry ``proposal``, which now takes effect."""

    proposal: int
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class ProposalWithdrawn:
    """An owner withdrew the proposal in entry ``proposal``, or replaced it by another one."""

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
    | DefaultQuotaSet
    | LeastSet
    | QuotaRequested
    | QuotaDeclined
    | Joined
    | MemberRemoved
    | FactsDeclared
    | Described
    | Inherited
    | Frozen
    | Thawed
    | CapLowered
    | Checkpointed
    | Restored
    | Proposed
    | Approved
    | ProposalWithdrawn
    | Attested
)
"""Everything that an entry can record."""


# ------------------------------------------------------------------ canonical text
# An act is written as JSON with sorted keys, in ASCII and without spaces. Equal acts have equal
# text, so that equal hashes mean equal acts. Each kind has a *form*, a template that is built
# once from its fields, because charges are written often and `json.dumps` is slower.

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
    "default quota set": DefaultQuotaSet,
    "least set": LeastSet,
    "quota requested": QuotaRequested,
    "quota declined": QuotaDeclined,
    "joined": Joined,
    "member removed": MemberRemoved,
    "declared": FactsDeclared,
    "described": Described,
    "inherited": Inherited,
    "frozen": Frozen,
    "thawed": Thawed,
    "checkpointed": Checkpointed,
    "restored": Restored,
    "proposed": Proposed,
    "approved": Approved,
    "proposal withdrawn": ProposalWithdrawn,
    "cap lowered": CapLowered,
    "cap raised": CapRaised,
    "owner added": OwnerAdded,
    "owner removed": OwnerRemoved,
    "key set": KeySet,
    "sign-ins trusted": SignInsTrusted,
    "sign-ins ended": SignInsEnded,
    "attested": Attested,
}
"""The stored name of each kind of act. A name is never reused and never removed."""

Form = tuple[str, Callable[[Any], tuple[Any, ...]], tuple[Callable[[Any], str], ...]]
"""A template with a ``%s`` for each value, a getter of the values, and their encoders."""

NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def encode_act(act: Act | Decision) -> str:
    """Return the canonical text of ``act``.

    Numbers are written as strings, because not all JSON readers handle 64 bits. A field that
    has its default value is left out, so that acts written before the field existed keep
    their text.

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
    """Return the act with the canonical text ``text``; raise `LedgerBroken` for other text.

    Example:
        >>> decode_act('{"kind":"owner added","owner":"ann"}')
        OwnerAdded(owner='ann')
    """
    try:
        act = _restore(json.loads(text))
        canonical = encode_act(act) == text
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LedgerBroken(
            "A ledger entry cannot be decoded: it was changed, or a newer version of Tacit "
            "wrote it. Install the newest version."
        ) from error
    if not canonical:
        raise LedgerBroken("A ledger entry is not canonical: it was changed. Restore a backup.")
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


def _field_types(act: type[Act | Decision]) -> dict[str, object]:
    hints = get_type_hints(act)
    return {field.name: hints[field.name] for field in fields(act)}


def _form(kind: str, declared: dict[str, object]) -> Form:
    """Build the text template of a kind of act from its fields and their types."""
    names = sorted(declared)
    places = dict.fromkeys(names, "%s") | {"kind": quoted(kind)}
    text = ",".join(f"{quoted(name)}:{places[name]}" for name in sorted(places))
    values = attrgetter(*names) if len(names) > 1 else lambda act: (getattr(act, names[0]),)
    return "{" + text + "}", values, tuple(_writer(declared[name]) for name in names)


def _writer(declared: object) -> Callable[[Any], str]:
    """Return the encoder of a field with the type ``declared``."""
    if declared is str:
        return quoted
    if declared is int:
        return '"{}"'.format
    if get_origin(declared) is tuple:
        return lambda parts: f"[{','.join(map(quoted, parts))}]"
    return encode_act


_FIELDS: dict[type, dict[str, object]] = {act: _field_types(act) for act in ACTS.values()}
"""The fields of each kind of act, and their types."""

_FORMS = {act: _form(name, _FIELDS[act]) for name, act in ACTS.items()}
"""The text template of each kind of act, with all of its fields."""

_OPTIONAL: dict[type, tuple[tuple[str, object], ...]] = {
    act: found
    for act in ACTS.values()
    if (found := tuple((f.name, f.default) for f in fields(act) if f.default is not MISSING))
}
"""The optional fields of each kind of act, and their defaults."""


_NAMES = {act: name for name, act in ACTS.items()}


@cache
def _form_without(kind: str, absent: frozenset[str]) -> Form:
    """Return the text template of a kind of act, without the fields in ``absent``."""
    act = ACTS[kind]
    present = {name: hint for name, hint in _FIELDS[act].items() if name not in absent}
    return _form(kind, present)


# ------------------------------------------------------------------ entries

GENESIS = bytes(32)
"""The hash that the first entry of a chain follows."""

FORMAT = b"tacit entry 1\n"
"""The prefix of the hashed bytes, which names this way of hashing; another way gets another."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An act as canonical text, its number in the chain, and a hash over all entries so far."""

    population: str
    seq: int
    body: str
    hash: bytes


def follow(previous: bytes, population: str, seq: int, body: str) -> Entry:
    """Return the entry with text ``body`` that follows the entry with hash ``previous``.

    Guarantee: the hash of an entry determines, up to a collision of SHA-256, the number and
    the text of every entry up to it.

    Example:
        >>> follow(GENESIS, "patients", 1, "{}").hash.hex()[:16]
        '68d1608efa4f8714'
    """
    name = population.encode()
    place = seq.to_bytes(8, "big") + len(name).to_bytes(4, "big") + name
    return Entry(
        population, seq, body, sha256(FORMAT + previous + place + body.encode()).digest()
    )

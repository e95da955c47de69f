"""Charges and their amounts: what the ledger counts in, and what it knows of a question.

The ledger counts privacy loss in whole `Units`, so that sums in a database are exact. A cost is
rounded up to units and a limit is rounded down, so rounding never weakens a guarantee.

A `ChargeRequest` holds the public facts of a question that the ledger needs: the populations,
the events that are priced, the analyst, the idempotency key and a hash of the plan. It never
holds the text of the question. A `Charge` is the proof that the question was charged.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Self
from unicodedata import is_normalized

from tacit.accounting import leaves, loss_of
from tacit.core import Event, Loss, Measure, Nothing, Population
from tacit.errors import InternalError, InvalidValue
from tacit.ledger.entries import Charged, Entry, decode_act

AMOUNT_UNITS = 10**12
"""Units in an epsilon or a rho of 1."""

DELTA_UNITS = 10**18
"""Units in a delta of 1."""

MOST = 2**62 - 1
"""Largest amount, chosen so that the sum or difference of two amounts fits into 64 bits."""


@dataclass(frozen=True, slots=True)
class Units:
    """An amount and a delta in whole units.

    Example:
        >>> Units.cost(Loss.pure("1/3"))
        Units(amount=333333333334, delta=0)
        >>> Units.limit(Loss.pure("1/3"))
        Units(amount=333333333333, delta=0)
    """

    amount: int
    delta: int

    @classmethod
    def cost(cls, loss: Loss) -> Self:
        """Return the cost of ``loss``, rounded up to whole units."""
        return cls(
            _check_range(-(-loss.amount * AMOUNT_UNITS // 1)),
            _check_range(-(-loss.delta * DELTA_UNITS // 1)),
        )

    @classmethod
    def limit(cls, loss: Loss) -> Self:
        """Return the limit that a cap of ``loss`` sets, rounded down to whole units."""
        return cls(
            _check_range(loss.amount * AMOUNT_UNITS // 1),
            _check_range(loss.delta * DELTA_UNITS // 1),
        )

    def loss(self, measure: Measure) -> Loss:
        """Return the loss that these units are, exactly."""
        return Loss(
            measure, Fraction(self.amount, AMOUNT_UNITS), Fraction(self.delta, DELTA_UNITS)
        )

    def __add__(self, other: "Units") -> "Units":
        return Units(self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: "Units") -> "Units":
        return Units(self.amount - other.amount, self.delta - other.delta)

    def __le__(self, other: "Units") -> bool:
        return self.amount <= other.amount and self.delta <= other.delta


NO_UNITS = Units(0, 0)
NO_LIMIT = Units(MOST, MOST)
"""The quota of an analyst who has none: the population's cap still holds."""


@lru_cache(maxsize=4096)
def price(event: Event, measure: Measure, delta: Fraction) -> Units:
    """Return the price of ``event`` in a budget in ``measure``, rounded up to units.

    Prices are cached, because questions use few different events.

    Guarantee: the price is never below the loss of the event, and it is above zero for every
    event that depends on the data.
    """
    units = Units.cost(loss_of(event, measure, delta))
    free = units == NO_UNITS
    if free and any(times and not isinstance(leaf, Nothing) for leaf, times in leaves(event)):
        # a forgotten sensitivity bound would show as a price of zero
        raise InternalError("An event that depends on the data was priced at zero.")
    return units


def _check_range(units: int) -> int:
    if units > MOST:
        raise InvalidValue(
            f"The amount is too large: a ledger counts amounts up to {MOST // AMOUNT_UNITS} "
            f"and deltas up to {MOST // DELTA_UNITS}."
        )
    return units


# ------------------------------------------------------------------ late and failed answers
# An analyst sees whether an answer is late or fails, and this can depend on one person's row.
# So the ledger counts these incidents for the people that the question was about. A population
# that takes over the tables of another one inherits the counts with the loss that was spent.

RETRIES = 3
"""Number of retries after which an owner must review them."""


class IncidentCounts(NamedTuple):
    """Numbers of late, failed and retried answers about one population.

    Example:
        >>> IncidentCounts(late=1, retried=4).marks
        2
        >>> IncidentCounts(2, 1, 0) | IncidentCounts(1, 3, 0)
        IncidentCounts(late=2, failed=3, retried=0)
    """

    late: int = 0
    failed: int = 0
    retried: int = 0

    @property
    def marks(self) -> int:
        """Number of incidents that an owner must review: late, failed, every third retry."""
        return self.late + self.failed + self.retried // RETRIES

    def plus(self, other: "IncidentCounts") -> "IncidentCounts":
        """Add the counts of both."""
        return IncidentCounts(
            *(mine + theirs for mine, theirs in zip(self, other, strict=True))
        )

    def beyond(self, known: "IncidentCounts") -> "IncidentCounts":
        """Return the part of each count that exceeds the count in ``known``."""
        return IncidentCounts(
            *(max(mine - his, 0) for mine, his in zip(self, known, strict=True))
        )

    def __or__(self, other: "IncidentCounts") -> "IncidentCounts":
        """Return the larger of the two values of each count."""
        return IncidentCounts(*map(max, self, other))


NO_INCIDENTS = IncidentCounts()


# ------------------------------------------------------------------ requests

LONGEST_NAME = 200
"""Largest number of characters in a principal's name or an idempotency key."""


def is_name(text: str) -> bool:
    """Return whether ``text`` may be the name of a new principal, quota or group.

    Names that look the same must be equal, so that a quota limits the person that its owner
    means: spaces around a name, and letters that are composed differently, are not seen.

    Example:
        >>> is_name("ann"), is_name("ann "), is_name("Jose\u0301"), is_name("Jos\u00e9")
        (True, False, False, True)
    """
    fits = 0 < len(text) <= LONGEST_NAME and text.isprintable()
    return fits and text == text.strip() and is_normalized("NFC", text)


@dataclass(frozen=True, slots=True)
class Target:
    """A population that an answer is about, and the event that it is charged for."""

    population: Population
    event: Event


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """The public facts of a question that the ledger charges for.

    ``plan`` is the hash of the canonical plan without its post-processing. ``epochs`` are the
    public epochs of the datasets that it reads. ``request`` is the idempotency key that the
    client chose: the same key again is the same request. ``price_delta`` is the delta at which
    an event is priced that has a curve of (epsilon, delta) and no single epsilon; only budgets
    in (epsilon, delta) use it. ``question`` is a hash of the plan in whichever order it joins
    its tables: a stored answer to it may be given for a smaller loss. It is empty for a stream,
    a holdout or a fit.

    The other fields are computed: ``release_key`` identifies the stored release,
    ``request_key`` is the hash of the idempotency key (`request_key_of`), ``old_request_key``
    the hash that version 0.1.0 stored for it, and ``binding`` is a hash of the principal, the
    populations and the release, to which the idempotency key is bound.
    """

    targets: tuple[Target, ...]
    principal: str
    request: str
    plan: bytes
    loss: Loss
    policy: str
    epochs: tuple[str, ...]
    price_delta: Fraction = Fraction(0)
    question: bytes = b""
    populations: tuple[str, ...] = field(init=False)
    request_key: bytes = field(init=False)
    old_request_key: bytes = field(init=False)
    release_key: bytes = field(init=False)
    binding: bytes = field(init=False)

    def __post_init__(self) -> None:
        names = [target.population.name for target in self.targets]
        if not names or names != sorted(set(names)):
            raise InvalidValue("A question must name each population once, in sorted order.")
        for what, name in (("principal", self.principal), ("request", self.request)):
            if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
                raise InvalidValue(
                    f"A {what} must have 1 to {LONGEST_NAME} printable characters."
                )
        if self.principal.startswith("@"):
            raise InvalidValue("A principal must not begin with @, which marks a group.")
        key = release_key_of(self, names)
        for name, value in (
            ("populations", tuple(names)),
            ("request_key", request_key_of(self.request, names, key)),
            ("old_request_key", sha256(self.request.encode()).digest()),
            ("release_key", key),
            ("binding", binding_of(self.principal, names, key)),
        ):
            object.__setattr__(self, name, value)

    @property
    def subject(self) -> bytes:
        """The hash of what is asked, whatever the loss; a more exact answer has the same."""
        return subject_of(self.question, self)


def subject_of(question: bytes, like: ChargeRequest) -> bytes:
    """Return the hash by which answers to ``question`` at several losses are found.

    It depends on everything that the key of a release depends on, except the loss: policy,
    epochs and populations are those of ``like``.
    """
    return _hash_parts("subject", like.populations, question.hex(), like.policy, like.epochs)


def release_key_of(question: ChargeRequest, populations: Sequence[str]) -> bytes:
    """Return the key of the stored release. Equal questions of all analysts have equal keys.

    The key depends on what the owner declared and the analyst asked, and never on a hash or a
    timestamp of the data: a cache miss must not reveal that the data changed.
    """
    loss = question.loss
    return _hash_parts(
        "release",
        populations,
        question.plan.hex(),
        (loss.measure.value, str(loss.amount), str(loss.delta)),
        question.policy,
        question.epochs,
    )


def request_key_of(request: str, populations: Sequence[str], release_key: bytes) -> bytes:
    """Return the hash under which the idempotency key ``request`` of a question is stored.

    A key belongs to a principal and to the populations of the question. Otherwise an owner of
    other people, who may issue a token in anybody's name, could find out which keys somebody
    has used, or use them up. A key that was derived from the question itself is the name of its
    release, which depends on the populations already.
    """
    if request == release_key.hex():
        return sha256(request.encode()).digest()
    return _hash_parts("request key", populations, request)


def binding_of(principal: str, populations: Sequence[str], release_key: bytes) -> bytes:
    """Return a hash of who asked which question about which populations.

    An idempotency key is bound to this hash: it cannot be used again for another question.
    """
    return _hash_parts("request", principal, populations, release_key.hex())


def _hash_parts(purpose: str, *parts: object) -> bytes:
    text = json.dumps([f"tacit {purpose} 1", *parts], separators=(",", ":"))
    return sha256(text.encode()).digest()


# ------------------------------------------------------------------ charges


@dataclass(frozen=True, slots=True)
class Record:
    """Incidents among earlier answers about the same people, and the least price of a question.

    Each incident could have depended on the data of one person. A guarantee therefore lists
    the assumption that it did not.
    """

    late: int = 0
    failed: int = 0
    retried: int = 0
    least: str | None = None
    """The current least price as text; empty if there is none, None if it is not known."""
    questions: int = 0
    """Number of questions at the least price that fit into the whole cap."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions that a guarantee lists because of this record.

        Example:
            >>> Record(late=2).assumptions[0]
            "2 late answers were late regardless of any one person's data"
            >>> Record(late=1).assumptions[0]
            "1 late answer was late regardless of any one person's data"
        """
        counted = (
            (self.late, "1 late answer was late", "late answers were late"),
            (self.failed, "1 failed answer failed", "failed answers failed"),
            (self.retried, "1 retried answer was retried", "retried answers were retried"),
        )
        found = [
            f"{one if count == 1 else f'{count} {several}'} regardless of any one person's data"
            for count, one, several in counted
            if count
        ]
        if self.least:
            found.append(
                f"no more than {self.questions} further questions are tried, which the ledger "
                f"enforces by a least price of {self.least}"
            )
        elif self.least is not None:
            found.append(
                "nobody tries an unlimited number of questions, which the ledger does not "
                "prevent, because there is no least price"
            )
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Charge:
    """The proof that a question was charged, so that it may be run once.

    It has an entry in the chain of each of its populations. Its receipt, a hash, is part of the
    key of the noise and is printed on the release.
    """

    entries: tuple[Entry, ...]
    release_key: bytes
    records: tuple[Record, ...] = ()
    """The incidents so far of each of its populations, in the order of the entries."""
    retried: bool = False
    """Whether the question was retried already."""
    subject: bytes = b""
    """The subject of the question, under which its answer is found at a smaller loss."""
    loss: Loss | None = None
    """The loss that was asked for; None for an answer that no other question can use."""
    parked: str | None = None
    """Where the charge was recorded while it was parked, if it was resumed since."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions that the guarantee of the answer lists, for all populations."""
        return tuple(dict.fromkeys(each for one in self.records for each in one.assumptions))

    def run_again(self) -> "Charge":
        """Return this charge as retried; its own guarantee counts the retry too."""
        counted = tuple(replace(each, retried=each.retried + 1) for each in self.records)
        return replace(self, records=counted, retried=True)

    @property
    def day(self) -> date | None:
        """The day on which the question was charged, in UTC."""
        act = decode_act(self.entries[0].body)
        return utc_day(act.at) if isinstance(act, Charged) else None

    @property
    def receipt(self) -> bytes:
        """The hash of the charge's entry, or of the hashes of its entries if it has several."""
        return receipt_of(self.entries)


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """The bytes of a stored release, and the receipt of the charge that paid for them."""

    body: bytes
    receipt: bytes


@dataclass(frozen=True, slots=True)
class Offer:
    """A stored answer that may serve other questions: its key, its loss, and its subject.

    The loss is rounded down to units. ``place`` is the number of the entry that recorded the
    answer; it grows with time.
    """

    subject: bytes
    place: int
    release_key: bytes
    loss: Loss

    def serves(self, loss: Loss) -> bool:
        """Return whether the answer is at least as exact as one within ``loss``, in units.

        Example:
            >>> Offer(b"", 1, b"", Loss.pure("0.5")).serves(Loss.pure("0.1"))
            True
            >>> Offer(b"", 1, b"", Loss.pure("0.5")).serves(Loss.pure("0.6"))
            False
        """
        mine = self.loss
        return mine.measure is loss.measure and Units.limit(loss) <= Units.limit(mine)


def utc_day(time: int) -> date | None:
    """Return the day of a ledger's time in UTC, or None for a time beyond the year 9999.

    Example:
        >>> utc_day(1_800_000_000_000), utc_day(10**18)
        (datetime.date(2027, 1, 15), None)
    """
    try:
        return datetime.fromtimestamp(time // 1000, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def receipt_of(entries: tuple[Entry, ...]) -> bytes:
    """Return the receipt of the charge that has these entries."""
    if len(entries) == 1:
        return entries[0].hash
    return sha256(b"".join(entry.hash for entry in entries)).digest()

"""Losses as the ledger counts them: whole units, costs rounded up and limits rounded down."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Self

from tacit.accounting import leaves, loss_of
from tacit.core import Event, Loss, Measure, Nothing, Population
from tacit.errors import InternalError, InvalidValue
from tacit.ledger.entries import Entry

AMOUNT_UNITS = 10**12
"""Units in an epsilon or a rho of 1."""

DELTA_UNITS = 10**18
"""Units in a delta of 1."""

MOST = 2**62 - 1
"""No amount is larger, so that no sum or difference of two leaves 64 bits."""


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
        """What charging ``loss`` takes: rounded up."""
        return cls(
            _checked(-(-loss.amount * AMOUNT_UNITS // 1)),
            _checked(-(-loss.delta * DELTA_UNITS // 1)),
        )

    @classmethod
    def limit(cls, loss: Loss) -> Self:
        """What a cap of ``loss`` allows: rounded down."""
        return cls(
            _checked(loss.amount * AMOUNT_UNITS // 1), _checked(loss.delta * DELTA_UNITS // 1)
        )

    def loss(self, measure: Measure) -> Loss:
        """The loss that this many units are, exactly."""
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
    """What ``event`` takes from a budget in ``measure``, rounded up; questions use few events.

    Guarantee: never below the loss of the event, and above nothing for every event that
    depends on the data.
    """
    units = Units.cost(loss_of(event, measure, delta))
    free = units == NO_UNITS
    if free and any(times and not isinstance(leaf, Nothing) for leaf, times in leaves(event)):
        # a cost of nothing is how a forgotten bound looks from here
        raise InternalError("An event that depends on the data was priced at nothing.")
    return units


def _checked(units: int) -> int:
    if units > MOST:
        raise InvalidValue(
            f"A ledger counts amounts up to {MOST // AMOUNT_UNITS} and deltas up to "
            f"{MOST // DELTA_UNITS}, and more was given."
        )
    return units


# ------------------------------------------------------------------ trouble
# How often an answer about a population was late, failed, or was run once more.
#
# Whoever asked saw it, and it can depend on one person's row. So it is counted for the people
# that a question was about, under whatever name: a population that takes the tables of
# another one inherits these counts with what was spent.

RETRIES = 3
"""Every so many that are run once more, an owner looks."""


class Troubles(NamedTuple):
    """The counts of one population.

    Example:
        >>> Troubles(late=1, retried=4).marks
        2
        >>> Troubles(2, 1, 0) | Troubles(1, 3, 0)
        Troubles(late=2, failed=3, retried=0)
    """

    late: int = 0
    failed: int = 0
    retried: int = 0

    @property
    def marks(self) -> int:
        """How often an owner had reason to look: late, failed, and every third retry."""
        return self.late + self.failed + self.retried // RETRIES

    def plus(self, other: "Troubles") -> "Troubles":
        """Both together."""
        return Troubles(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def beyond(self, known: "Troubles") -> "Troubles":
        """The part that is not in ``known``."""
        return Troubles(*(max(mine - his, 0) for mine, his in zip(self, known, strict=True)))

    def __or__(self, other: "Troubles") -> "Troubles":
        """The larger of each."""
        return Troubles(*map(max, self, other))


NO_TROUBLES = Troubles()


# ------------------------------------------------------------------ question
# What the ledger must know of a question before anything runs: public facts, and no text.

LONGEST_NAME = 200
"""Characters of a principal or of a request's key."""


@dataclass(frozen=True, slots=True)
class Target:
    """A population that an answer speaks of, and what the answer does to it."""

    population: Population
    event: Event


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """Who asks what, under which key.

    ``plan`` is the hash of the canonical plan without its post-processing; ``epochs`` are the
    public states of the datasets that it reads. ``request`` is the asker's own key for this
    request: sent again, it is the same request. ``price_delta`` is where an event that has no
    epsilon of its own is read off its curve, and matters to budgets in (epsilon, delta) alone.

    The rest follows: ``release_key`` names the stored release, ``request_key`` the request next
    to its principal, and ``binding`` is what that request stands for.
    """

    targets: tuple[Target, ...]
    principal: str
    request: str
    plan: bytes
    loss: Loss
    policy: str
    epochs: tuple[str, ...]
    price_delta: Fraction = Fraction(0)
    populations: tuple[str, ...] = field(init=False)
    request_key: bytes = field(init=False)
    release_key: bytes = field(init=False)
    binding: bytes = field(init=False)

    def __post_init__(self) -> None:
        names = [target.population.name for target in self.targets]
        if not names or names != sorted(set(names)):
            raise InvalidValue("A question names its populations once each, in order.")
        for what, name in (("principal", self.principal), ("request", self.request)):
            if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
                raise InvalidValue(f"A {what} has 1 to {LONGEST_NAME} printable characters.")
        if self.principal.startswith("@"):
            raise InvalidValue("A principal does not begin with @, which marks a group.")
        key = release_key_of(self, names)
        for name, value in (
            ("populations", tuple(names)),
            ("request_key", sha256(self.request.encode()).digest()),
            ("release_key", key),
            ("binding", binding_of(self.principal, names, key)),
        ):
            object.__setattr__(self, name, value)


def release_key_of(question: ChargeRequest, populations: Sequence[str]) -> bytes:
    """The key of the stored release: equal questions have equal keys, whoever asks.

    It holds what the owner and the asker said, and never a hash or a time of the data: a miss
    must not tell that the data changed.
    """
    loss = question.loss
    return _hashed(
        "release",
        populations,
        question.plan.hex(),
        (loss.measure.value, str(loss.amount), str(loss.delta)),
        question.policy,
        question.epochs,
    )


def binding_of(principal: str, populations: Sequence[str], release_key: bytes) -> bytes:
    """What a request's key stands for: who asked what of whom."""
    return _hashed("request", principal, populations, release_key.hex())


def _hashed(purpose: str, *parts: object) -> bytes:
    text = json.dumps([f"tacit {purpose} 1", *parts], separators=(",", ":"))
    return sha256(text.encode()).digest()


# ------------------------------------------------------------------ charge
# One line of the ledger, and what was stored for it.


@dataclass(frozen=True, slots=True)
class Record:
    """How earlier answers about the same people ended, and the least price of a question.

    Each number is one that could depend on who is in the data, so a guarantee says it.
    """

    late: int = 0
    failed: int = 0
    retried: int = 0
    least: str | None = None
    """The least price from now on, in words; empty where there is none."""
    questions: int = 0
    """How many questions at the least price fit into the whole cap."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences that a guarantee adds for this record.

        Example:
            >>> Record(late=2).assumptions[0]
            '2 late answers would have been late whoever is in the data'
        """
        told = []
        if self.late:
            told.append(f"{self.late} late answers would have been late")
        if self.failed:
            told.append(f"{self.failed} failed answers would have failed")
        if self.retried:
            told.append(f"{self.retried} answers that were tried twice would have been")
        told = [f"{each} whoever is in the data" for each in told]
        if self.least:
            told.append(
                f"no more than {self.questions} further questions are tried, which the ledger "
                f"enforces by a least price of {self.least}"
            )
        elif self.least is not None:
            told.append(
                "nobody tries questions without end, which the ledger does not prevent where "
                "there is no least price"
            )
        return tuple(told)


@dataclass(frozen=True, slots=True)
class Charge:
    """A question that is paid for, and may now be run, once.

    It has an entry in the chain of each of its populations. The receipt is the hash that keys
    the noise and stands on the release.
    """

    entries: tuple[Entry, ...]
    release_key: bytes
    records: tuple[Record, ...] = ()
    """How earlier answers about each of its populations ended."""
    retried: bool = False
    """Whether it was run once more already."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee of its answer adds, for all of its populations."""
        return tuple(dict.fromkeys(each for one in self.records for each in one.assumptions))

    def run_again(self) -> "Charge":
        """The same charge after one more retry, which its own guarantee counts too."""
        counted = tuple(replace(each, retried=each.retried + 1) for each in self.records)
        return replace(self, records=counted, retried=True)

    @property
    def receipt(self) -> bytes:
        """The hash of its entry; of several, the hash of their hashes in order."""
        return receipt_of(self.entries)


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """The bytes of a stored release, and the receipt of the charge that paid for them."""

    body: bytes
    receipt: bytes


def receipt_of(entries: tuple[Entry, ...]) -> bytes:
    """The receipt of a charge by its entries."""
    if len(entries) == 1:
        return entries[0].hash
    return sha256(b"".join(entry.hash for entry in entries)).digest()

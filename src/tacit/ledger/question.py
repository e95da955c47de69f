"""What the ledger must know of a question before anything runs: public facts, and no text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256

from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.population import Population
from tacit.errors import InvalidValue

LONGEST_NAME = 200
"""Characters of a principal or of a request's key."""


@dataclass(frozen=True, slots=True)
class Target:
    """A population that an answer speaks of, and what the answer does to it."""

    population: Population
    event: Event


@dataclass(frozen=True, slots=True)
class Question:
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


def release_key_of(question: Question, populations: Sequence[str]) -> bytes:
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

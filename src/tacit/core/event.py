"""What was done to the data, in the terms that an accountant needs.

An event describes and does not price: how much privacy ``LaplaceNoise`` gives up is a question
for `accounting`, which may find a better answer later. A ledger keeps events for ever, so **the
meaning of an event never changes**: new behaviour gets a new class and a new name in
`tacit.core.stored_event`. An event is public: it holds parameters, and nothing that was learned
from data.

There are three kinds: leaves, which say what one mechanism did and stand in
`tacit.core.noise_event` and its neighbours; ``Composed``, ``Repeated`` and ``Sampled``, which
say how often and on whom; and ``Nothing``.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from tacit.errors import InvalidValue


class Numerics(Enum):
    """Whether the noise that was drawn has exactly the law that the proof speaks of."""

    EXACT = "exact"
    IDEALISED = "idealised"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was released. Leaves derive from this class."""

    law: ClassVar[Numerics] = Numerics.EXACT

    @property
    def numerics(self) -> Numerics:
        """Exact, unless a part of it is idealised."""
        return self.law


@dataclass(frozen=True, slots=True)
class Nothing(Event):
    """A release that does not depend on the data."""


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """All of ``events``, each of which may have been chosen after the ones before were seen."""

    events: tuple[Event, ...]

    @property
    def numerics(self) -> Numerics:
        """Exact where all of them are."""
        idealised = any(event.numerics is Numerics.IDEALISED for event in self.events)
        return Numerics.IDEALISED if idealised else Numerics.EXACT


@dataclass(frozen=True, slots=True)
class Repeated(Event):
    """The same event ``times`` times: nothing but a shorter way to write it in `Composed`."""

    event: Event
    times: int

    def __post_init__(self) -> None:
        if self.times < 0:
            raise InvalidValue(
                f"An event is repeated 0 times or more, and times={self.times} was given."
            )

    @property
    def numerics(self) -> Numerics:
        """That of the event."""
        return self.event.numerics


@dataclass(frozen=True, slots=True)
class Sampled(Event):
    """The event on a secret sample that holds each unit independently with ``probability``."""

    event: Event
    probability: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InvalidValue(
                f"A probability lies in [0, 1], and {self.probability} does not."
            )

    @property
    def numerics(self) -> Numerics:
        """That of the event."""
        return self.event.numerics


def at_least_zero(**values: Fraction) -> None:
    """Refuse a field below 0, by its name."""
    for name, value in values.items():
        if value < 0:
            raise InvalidValue(f"{name} is at least 0, and {value} was given.")


def above_zero(**values: Fraction) -> None:
    """Refuse a field of 0 or below, by its name."""
    for name, value in values.items():
        if value <= 0:
            raise InvalidValue(f"{name} is above 0, and {value} was given.")

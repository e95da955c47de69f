"""What a mechanism is: a frozen recipe that says what it does, does it, and says how well."""

from fractions import Fraction
from typing import Protocol

from tacit.core.event import Event
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers


class Mechanism(Protocol):
    """Public in the constructor, private in the call.

    A mechanism never prices itself: it describes what it does as an event, and `accounting`
    says what that costs. Secrets are batches of integers: steps of a public grid, or scores.
    """

    def event(self, sensitivity: Sensitivity) -> Event:
        """What releasing a secret of this sensitivity does."""
        ...

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The noisy integers, or the places of what was selected."""
        ...

    def error(self, confidence: Fraction) -> Fraction:
        """What one released number errs by at most, with at least this probability."""
        ...

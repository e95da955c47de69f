"""Record what a mechanism saw and released, for `tacit.audit.replay` to compare.

A recording holds exact values: it is for synthetic data, and never for production.
"""

from dataclasses import dataclass, field

from tacit.core.keys import Group
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.mechanisms.gateway import Draw, Kept, kept
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Call:
    """One batch at the gateway: what was opened, the claim about it, what was released.

    ``groups`` are those of a selection, one for each value; other batches have none.
    """

    opened: Integers
    sensitivity: Sensitivity
    draw: Draw
    released: Integers
    groups: tuple[Group, ...] | None = None


@dataclass(slots=True)
class RecordingGateway:
    """A gateway that keeps every call.

    It holds exact values: for synthetic data, never in production.
    """

    entropy: Entropy
    calls: list[Call] = field(default_factory=list)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What ``draw`` makes of the secret; the call is kept."""
        return self._released(secret, sensitivity, draw, None)

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> Kept:
        """The groups that ``draw`` keeps; the call is kept."""
        named = unseal(groups)
        return kept(named, self._released(secret, sensitivity, draw, named))

    def _released(
        self,
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
        groups: tuple[Group, ...] | None,
    ) -> Integers:
        opened = unseal(secret).copy()  # an engine may use its buffer again
        released = draw(opened, self.entropy)
        self.calls.append(Call(opened, sensitivity, draw, released.copy(), groups))
        return released

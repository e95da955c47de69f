"""Replay the releases of a recorded run on a neighbour, and compare what it saw.

One pair of runs shows a broken sensitivity, whatever the noise: run on D and record every
opened batch and every release; run again on a neighbour D' with the recorded releases in place
of new draws. The two runs must open as many batches, with the same draws and sensitivities, and
batch by batch the exact values must lie within the sensitivity.
Reference: Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026 (record and replay).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from tacit.audit.record import Call
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import InternalError
from tacit.mechanisms.gateway import Draw
from tacit.noise.integers import Integers


class BrokenPromise(InternalError):
    """Two neighbours were told apart by something other than noise.

    For audits: its text holds exact distances.
    """


@dataclass(slots=True)
class ReplayingGateway:
    """A gateway that releases what was recorded, and raises where a neighbour shows."""

    calls: list[Call]
    replayed: int = 0

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What was released on the first run, if the values opened now lie near enough."""
        if self.replayed == len(self.calls):
            raise BrokenPromise(
                f"The neighbour opens more batches than the {self.replayed} recorded."
            )
        call = self.calls[self.replayed]
        if (sensitivity, draw) != (call.sensitivity, call.draw):
            raise BrokenPromise(
                f"Batch {self.replayed} has another draw or sensitivity on the neighbour."
            )
        opened = unseal(secret)
        if opened.shape != call.opened.shape:
            raise BrokenPromise(f"Batch {self.replayed} has another length on the neighbour.")
        moved = square_distance(call.opened, opened, sensitivity.norm)
        if moved > sensitivity.square:
            raise BrokenPromise(
                f"Batch {self.replayed} moves by the root of {moved}, "
                f"and that of {sensitivity.square} was declared."
            )
        self.replayed += 1
        return call.released.copy()

    def finish(self) -> None:
        """Raise where the neighbour opened fewer batches than were recorded."""
        if self.replayed != len(self.calls):
            raise BrokenPromise(
                f"The neighbour opens {self.replayed} batches of {len(self.calls)} recorded."
            )


def square_distance(left: Integers, right: Integers, norm: Norm) -> Fraction:
    """The square of the distance between two batches, exactly.

    Example:
        >>> import numpy as np
        >>> square_distance(np.array([0, 0]), np.array([3, 4]), Norm.L2)
        Fraction(25, 1)
    """
    moves = [abs(int(a) - int(b)) for a, b in zip(left, right, strict=True)]
    match norm:
        case Norm.L1:
            return Fraction(sum(moves) ** 2)
        case Norm.L2:
            return Fraction(sum(move**2 for move in moves))
        case Norm.LINF:
            return Fraction(max(moves, default=0) ** 2)
        case _:
            assert_never(norm)

"""Record what a mechanism saw and released, for `tacit.audit.replay` to compare.

A recording holds exact values: it is for synthetic data, and never for production.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import assert_never

import numpy as np

from tacit.core import Group, Norm, Secret, Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import InternalError
from tacit.mechanisms import NOWHERE, ChooseCells, Draw, SelectedGroups, kept
from tacit.noise import Integers, packed
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
    ) -> SelectedGroups:
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


# ------------------------------------------------------------------ replay
# Replay the releases of a recorded run on a neighbour, and compare what it saw.
#
# One pair of runs shows a broken sensitivity, whatever the noise: run on D and record every
# opened batch and every release; run again on a neighbour D' with the recorded releases in
# place of new draws. The two runs must open as many batches, with the same draws and
# sensitivities, and batch by batch the exact values must lie within the sensitivity. The
# groups of a selection are secret, so its two batches are compared by name: a group that one
# of them does not have counts 0 there. Reference: Cebere, Erb, Desfontaines, Bellet,
# Fitzsimons 2026 (record and replay).


class BrokenPromise(InternalError):
    """Two neighbours were told apart by something other than noise.

    For audits: its text holds exact distances.
    """


@dataclass(slots=True)
class ReplayingGateway:
    """A gateway that releases what was recorded, and raises where a neighbour shows.

    ``reached`` is the largest square of a distance so far, as a part of the one declared.
    """

    calls: list[Call]
    replayed: int = 0
    reached: Fraction = Fraction(0)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What was released on the first run, if the values opened now lie near enough."""
        call, opened = self._next(sensitivity, draw), unseal(secret)
        if call.groups is not None:
            raise BrokenPromise(f"Batch {self.replayed} is no selection on the neighbour.")
        if opened.shape != call.opened.shape:
            raise BrokenPromise(f"Batch {self.replayed} has another length on the neighbour.")
        self._near(call.opened, opened, sensitivity)
        if isinstance(draw, ChooseCells):
            self._near_in_each_group(call.opened, opened, sensitivity, draw)
        self.replayed += 1
        return call.released.copy()

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """The groups kept on the first run, if the counts opened now lie near enough.

        What is kept may be missing here: a group of one unit, that the neighbour is without.
        """
        call, named = self._next(sensitivity, draw), unseal(groups)
        if call.groups is None:
            raise BrokenPromise(f"Batch {self.replayed} is a selection on the neighbour alone.")
        left, right = aligned(call.groups, call.opened, named, unseal(secret))
        self._near(left, right, sensitivity)
        # within the L2 sensitivity a unit could still count several times in one group
        if square_distance(left, right, Norm.LINF) > 1:
            raise BrokenPromise(f"Batch {self.replayed} counts a unit twice in one group.")
        self.replayed += 1
        found = kept(call.groups, call.released.copy())
        places = {group: place for place, group in enumerate(named)}
        here = [places.get(group, NOWHERE) for group in found.groups]
        return replace(found, places=Secret(np.array(here, dtype=np.int64)))

    def finish(self) -> None:
        """Raise where the neighbour opened fewer batches than were recorded."""
        if self.replayed != len(self.calls):
            raise BrokenPromise(
                f"The neighbour opens {self.replayed} batches of {len(self.calls)} recorded."
            )

    def _next(self, sensitivity: Sensitivity, draw: Draw) -> Call:
        """The recorded call whose turn it is, if it was made in the same way."""
        if self.replayed == len(self.calls):
            raise BrokenPromise(
                f"The neighbour opens more batches than the {self.replayed} recorded."
            )
        call = self.calls[self.replayed]
        if (sensitivity, draw) != (call.sensitivity, call.draw):
            raise BrokenPromise(
                f"Batch {self.replayed} has another draw or sensitivity on the neighbour."
            )
        return call

    def _near(self, left: Integers, right: Integers, sensitivity: Sensitivity) -> None:
        moved = square_distance(left, right, sensitivity.norm)
        if moved > sensitivity.square:
            raise BrokenPromise(
                f"Batch {self.replayed} moves by the root of {moved}, "
                f"and that of {sensitivity.square} was declared."
            )
        if moved:
            self.reached = max(self.reached, moved / sensitivity.square)

    def _near_in_each_group(
        self, left: Integers, right: Integers, sensitivity: Sensitivity, draw: ChooseCells
    ) -> None:
        """A choice pays for each group by itself: within the sum, one could move by it all."""
        most = sensitivity.amount / draw.max_groups
        for one, other in zip(
            left.reshape(-1, draw.cells), right.reshape(-1, draw.cells), strict=True
        ):
            if square_distance(one, other, Norm.L1) > most**2:
                raise BrokenPromise(f"Batch {self.replayed} moves more than {most} in a group.")


def aligned(
    left_groups: Sequence[Group], left: Integers, right_groups: Sequence[Group], right: Integers
) -> tuple[Integers, Integers]:
    """Two batches on the union of their groups, in one order; a group that is absent counts 0.

    Example:
        >>> aligned([("a",), ("b",)], np.array([5, 1]), [("a",)], np.array([5]))
        (array([5, 1]), array([5, 0]))
    """
    one, other = (
        dict(zip(groups, values.tolist(), strict=True))
        for groups, values in ((left_groups, left), (right_groups, right))
    )
    if len(one) != len(left_groups) or len(other) != len(right_groups):
        raise BrokenPromise("A selection lists a group twice.")
    union = sorted(one.keys() | other.keys())
    found = [packed([values.get(group, 0) for group in union]) for values in (one, other)]
    return found[0], found[1]


def square_distance(left: Integers, right: Integers, norm: Norm) -> Fraction:
    """The square of the distance between two batches, exactly.

    Example:
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

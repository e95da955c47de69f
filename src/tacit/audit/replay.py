"""Record and replay: detect a wrong sensitivity with one pair of runs on neighbours.

Run on a dataset D, and record every opened batch and every release. Run again on a neighbour
D', with the recorded releases in place of new draws. Because both runs release the same
numbers, everything that still differs depends on the data without noise. The two runs must
open the same number of batches, with the same draws and sensitivities, and the exact values
of each pair of batches must be within the sensitivity. The groups of a selection are secret,
so its two batches are compared by group: a group that is missing counts as 0.

A recording holds exact values. It is for synthetic data only, and never for production.
Reference: Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026 (record and replay).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import assert_never

import numpy as np

from tacit.core import Group, Norm, Secret, Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import InternalError
from tacit.mechanisms import NOWHERE, ChooseCells, Draw, SelectedGroups, select_groups
from tacit.noise import Integers, integer_array
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the gateway: the opened values, their sensitivity and the release.

    ``groups`` are the groups of a selection, one for each value; None for other batches.
    """

    opened: Integers
    sensitivity: Sensitivity
    draw: Draw
    released: Integers
    groups: tuple[Group, ...] | None = None


@dataclass(slots=True)
class RecordingGateway:
    """A gateway that records every call.

    It stores exact values, so that it is for synthetic data only, and never for production.
    """

    entropy: Entropy
    calls: list[Call] = field(default_factory=list)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """Return the result of ``draw`` for the secret, and record the call."""
        return self._record(secret, sensitivity, draw, None)

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """Return the groups that ``draw`` selects, and record the call."""
        named = unseal(groups)
        return select_groups(named, self._record(secret, sensitivity, draw, named))

    def _record(
        self,
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
        groups: tuple[Group, ...] | None,
    ) -> Integers:
        opened = unseal(secret).copy()  # an engine may reuse its buffer
        released = draw(opened, self.entropy)
        self.calls.append(Call(opened, sensitivity, draw, released.copy(), groups))
        return released


# ------------------------------------------------------------------ replay


class BrokenPromise(InternalError):
    """A difference between two neighbours that noise does not hide.

    It is for audits only, because its message holds exact distances.
    """


@dataclass(slots=True)
class ReplayingGateway:
    """A gateway that repeats recorded releases, and raises where the neighbours differ.

    ``reached`` is the largest squared distance so far, relative to the squared sensitivity.
    """

    calls: list[Call]
    replayed: int = 0
    reached: Fraction = Fraction(0)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """Return the recorded release, if the opened values are within the sensitivity."""
        call, opened = self._next(sensitivity, draw), unseal(secret)
        if call.groups is not None:
            raise BrokenPromise(
                f"Batch {self.replayed} is a selection of groups in the recorded run, but not "
                "a selection on the neighbour: the data decides which mechanism runs."
            )
        if opened.shape != call.opened.shape:
            raise BrokenPromise(
                f"Batch {self.replayed} has another number of values on the neighbour than in "
                "the recorded run: the data decides how many numbers are released."
            )
        self._check_distance(call.opened, opened, sensitivity)
        if isinstance(draw, ChooseCells):
            self._check_each_group(call.opened, opened, sensitivity, draw)
        self.replayed += 1
        return call.released.copy()

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """Return the recorded groups, if the opened counts are within the sensitivity.

        A recorded group may be missing on the neighbour, if only the removed unit was in it.
        """
        call, named = self._next(sensitivity, draw), unseal(groups)
        if call.groups is None:
            raise BrokenPromise(
                f"Batch {self.replayed} is a selection only on the neighbour, but not in the "
                "recorded run: the data decides which mechanism runs."
            )
        left, right = align(call.groups, call.opened, named, unseal(secret))
        self._check_distance(left, right, sensitivity)
        # the L2 sensitivity alone would allow a unit to count several times in one group
        if square_distance(left, right, Norm.LINF) > 1:
            raise BrokenPromise(
                f"Batch {self.replayed} counts a unit twice in one group, but a key selection "
                "is priced for units that count once."
            )
        self.replayed += 1
        found = select_groups(call.groups, call.released.copy())
        places = {group: place for place, group in enumerate(named)}
        here = [places.get(group, NOWHERE) for group in found.groups]
        return replace(found, places=Secret(np.array(here, dtype=np.int64)))

    def finish(self) -> None:
        """Raise where the neighbour opened fewer batches than were recorded."""
        if self.replayed != len(self.calls):
            raise BrokenPromise(
                f"The run on the neighbour opens {self.replayed} batches, but the recorded run "
                f"opened {len(self.calls)}: the data decides how much is released."
            )

    def _next(self, sensitivity: Sensitivity, draw: Draw) -> Call:
        """Return the next recorded call, and raise if its draw or sensitivity differs."""
        if self.replayed == len(self.calls):
            raise BrokenPromise(
                f"The run on the neighbour opens more batches than the {self.replayed} of the "
                "recorded run: the data decides how much is released."
            )
        call = self.calls[self.replayed]
        if (sensitivity, draw) != (call.sensitivity, call.draw):
            raise BrokenPromise(
                f"Batch {self.replayed} has a different draw or sensitivity on the neighbour. "
                "Both must follow from public facts."
            )
        return call

    def _check_distance(
        self, left: Integers, right: Integers, sensitivity: Sensitivity
    ) -> None:
        moved = square_distance(left, right, sensitivity.norm)
        if moved > sensitivity.square:
            raise BrokenPromise(
                f"Batch {self.replayed} changes by the square root of {moved}, "
                f"but the square root of {sensitivity.square} was declared. The declared "
                "sensitivity must bound the change between neighbours."
            )
        if moved:
            self.reached = max(self.reached, moved / sensitivity.square)

    def _check_each_group(
        self, left: Integers, right: Integers, sensitivity: Sensitivity, draw: ChooseCells
    ) -> None:
        """Check each group by itself, because a selection is priced for each group.

        The sensitivity of all groups together would allow one group to change by all of it.
        """
        most = sensitivity.amount / draw.max_groups
        for one, other in zip(
            left.reshape(-1, draw.cells), right.reshape(-1, draw.cells), strict=True
        ):
            if square_distance(one, other, Norm.L1) > most**2:
                raise BrokenPromise(
                    f"Batch {self.replayed} changes by more than {most} in a group, which is "
                    "the sensitivity of one group."
                )


def align(
    left_groups: Sequence[Group], left: Integers, right_groups: Sequence[Group], right: Integers
) -> tuple[Integers, Integers]:
    """Return two batches on the union of their groups; a missing group counts as 0.

    Example:
        >>> align([("a",), ("b",)], np.array([5, 1]), [("a",)], np.array([5]))
        (array([5, 1]), array([5, 0]))
    """
    one, other = (
        dict(zip(groups, values.tolist(), strict=True))
        for groups, values in ((left_groups, left), (right_groups, right))
    )
    if len(one) != len(left_groups) or len(other) != len(right_groups):
        raise BrokenPromise("The engine returned a group twice, so units count twice in it.")
    union = sorted(one.keys() | other.keys())
    found = [
        integer_array([values.get(group, 0) for group in union]) for values in (one, other)
    ]
    return found[0], found[1]


def square_distance(left: Integers, right: Integers, norm: Norm) -> Fraction:
    """Return the exact square of the distance between two batches.

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

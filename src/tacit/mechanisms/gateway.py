"""The gateway: the only place where secret values are opened and noise is added to them.

A gateway is an argument, never a global variable. It takes a batch of integers and returns a
batch, so that it can run in this process, in the workers of an engine, or under an audit that
records its inputs and replays its outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol, TypeVar

import numpy as np

from tacit.core import Group, Secret, Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import InternalError
from tacit.noise import Integers
from tacit.numeric.entropy import Entropy

Value = TypeVar("Value")
Made = TypeVar("Made")

NOWHERE = -1
"""Index of a group that a table does not have. Every tally of such a group is 0."""


class Draw(Protocol):
    """The random step of a mechanism: its fields are public, its call gets private values."""

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the integers to release for the exact ``values``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SelectedGroups:
    """The groups that a selection released, in the order of their keys.

    ``released`` holds the released number of each group, which is above 0. ``places``, the
    indices of these groups among all groups of the table, is secret.
    """

    groups: tuple[Group, ...]
    released: Integers
    places: Secret[Integers]

    def of(self, tally: Secret[Integers], width: int = 1) -> Secret[Integers]:
        """Return the part of ``tally`` that belongs to these groups, as a secret.

        A tally has ``width`` integers for each group.

        Guarantee: once the groups are released, the length of the result is public, and one
        unit changes the result by no more than it changes ``tally``.
        """
        # the index -1 (NOWHERE) selects the zeros that are appended at the end
        values = np.append(unseal(tally), np.zeros(width, dtype=np.int64))
        return Secret(values.reshape(-1, width)[unseal(self.places)].ravel())


class Gateway(Protocol):
    """An object that opens a secret batch of integers and releases a noisy one instead."""

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """Return the result of ``draw`` for a secret with the given sensitivity."""
        ...

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """Return the groups for which ``draw`` returns a number above 0.

        ``secret`` holds one integer for each of ``groups``. A group that is not listed counts
        as 0, and the number of listed groups is secret.
        """
        ...


class LiveGateway:
    """The gateway of production, which opens a secret, draws noise, and stores nothing.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.core.sensitivity import Rule
        >>> from tacit.core.sensitivity import Norm
        >>> from tacit.mechanisms.additive_noise import AddNoise
        >>> from tacit.noise.laplace import DiscreteLaplace
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> gateway = LiveGateway(SystemEntropy(charge=b"the hash of a charge"))
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a row changes a count by 1"))
        >>> noisy = gateway.release(
        ...     Secret(np.array([40, 2])), one, AddNoise(DiscreteLaplace(Fraction(10)))
        ... )
        >>> noisy.shape
        (2,)
    """

    __slots__ = ("_entropy", "_mark")

    def __init__(self, entropy: Entropy, mark: Callable[[], None] = lambda: None) -> None:
        self._entropy = entropy
        self._mark = mark
        """Function that is called before each draw. A query that has drawn is never rerun."""

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """Return the result of ``draw`` for the secret."""
        del sensitivity  # the mechanism calibrated its noise to it, and an audit checks it
        self._mark()
        return draw(unseal(secret), self._entropy)

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """Return the groups that ``draw`` selects."""
        return select_groups(unseal(groups), self.release(secret, sensitivity, draw))


class NothingGateway:
    """The gateway of a rehearsal, which replaces the values of every secret by zeros."""

    __slots__ = ("_entropy",)

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """Return the result of ``draw`` for zeros, as many as the secret has values."""
        del sensitivity
        return draw(np.zeros(unseal(secret).shape, dtype=np.int64), self._entropy)

    @staticmethod
    def select(
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """Return an empty selection."""
        del groups, secret, sensitivity, draw
        return select_groups((), np.zeros(0, dtype=np.int64))


def select_groups(groups: tuple[Group, ...], released: Integers) -> SelectedGroups:
    """Return the groups whose released number is above 0, sorted by their keys.

    Sorting hides the order of the groups in the table, which may depend on the data.

    Example:
        >>> select_groups((("b",), ("a",), ("c",)), np.array([7, 9, 0])).groups
        (('a',), ('b',))
    """
    if len(groups) != released.size:
        raise InternalError("A selection must release one number for each group.")
    above = np.asarray(released > 0, dtype=np.bool_)
    found = list(compress(groups, above.tolist()))
    places = np.flatnonzero(above)
    if found != sorted(found):
        places = places[sorted(range(len(found)), key=found.__getitem__)]
        found.sort()
    return SelectedGroups(tuple(found), released[places], Secret(places))


def together(
    secrets: Sequence[Secret[Integers]], order: Sequence[int] = ()
) -> Secret[Integers]:
    """Return the concatenation of several secret batches, as a secret.

    ``order`` selects integers of the concatenation by index; an index may occur repeatedly.

    Example:
        >>> together([Secret(np.array([3])), Secret(np.array([4]))], order=[0, 1, 1])
        <secret>
    """
    whole = np.concatenate([unseal(secret) for secret in secrets])
    return Secret(whole[list(order)] if order else whole)


def inside(secret: Secret[Value], compute: Callable[[Value], Made]) -> Secret[Made]:
    """Return the result of ``compute`` on a secret, as a secret.

    ``compute`` must not fail, or behave differently in a way that can be observed, for a reason
    that depends on the data.

    Example:
        >>> inside(Secret(np.array([3, 4])), lambda values: 2 * values)
        <secret>
    """
    return Secret(compute(unseal(secret)))

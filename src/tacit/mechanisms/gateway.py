"""Where a secret meets its draw: the only place where exact values are opened.

A gateway is an argument, never a global. It takes a batch of integers and gives a batch back,
so that it can run in this process, in an engine's workers, or under an audit that records what
went in and replays what came out.
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
"""The place of a group that a table does not have: there, every tally is 0."""


class Draw(Protocol):
    """The random step of a mechanism: public in its fields, and private in its call."""

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """What is released for the exact ``values``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SelectedGroups:
    """The groups that a selection released, in the order of their keys.

    ``released`` holds what came out for each, above 0. Where they stand among all groups of the
    table is secret.
    """

    groups: tuple[Group, ...]
    released: Integers
    places: Secret[Integers]

    def of(self, tally: Secret[Integers], width: int = 1) -> Secret[Integers]:
        """What ``tally`` holds for these groups and no others, still secret.

        It has ``width`` integers for each group.

        Guarantee: once the groups are released, its length is public, and one unit moves it by
        no more than it moves ``tally``.
        """
        # a place of -1 is that of the zeros at the end
        values = np.append(unseal(tally), np.zeros(width, dtype=np.int64))
        return Secret(values.reshape(-1, width)[unseal(self.places)].ravel())


class Gateway(Protocol):
    """Opens a batch of integers and releases another in its place."""

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What ``draw`` makes of a secret that one unit moves by ``sensitivity`` at most."""
        ...

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """Those of the ``groups`` for which ``draw`` makes a number above 0 of the secret.

        A group that is not listed counts 0, and how many are listed is secret.
        """
        ...


class LiveGateway:
    """The gateway of production: opens, draws, forgets.

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
        """Called before each draw begins: what has drawn is never run again."""

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What ``draw`` makes of the secret."""
        del sensitivity  # the mechanism calibrated its draw to it, and an audit checks it
        self._mark()
        return draw(unseal(secret), self._entropy)

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """The groups that ``draw`` keeps."""
        return kept(unseal(groups), self.release(secret, sensitivity, draw))


class NothingGateway:
    """The gateway of a rehearsal: whatever a secret holds, the draw is made of zeros."""

    __slots__ = ("_entropy",)

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What ``draw`` makes of as many zeros."""
        del sensitivity
        return draw(np.zeros(unseal(secret).shape, dtype=np.int64), self._entropy)

    @staticmethod
    def select(
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        """No group."""
        del groups, secret, sensitivity, draw
        return kept((), np.zeros(0, dtype=np.int64))


def kept(groups: tuple[Group, ...], released: Integers) -> SelectedGroups:
    """Those of ``groups`` whose release is above 0, sorted: no order of the table's shows.

    Example:
        >>> kept((("b",), ("a",), ("c",)), np.array([7, 9, 0])).groups
        (('a',), ('b',))
    """
    if len(groups) != released.size:
        raise InternalError("A selection releases one number for each group.")
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
    """Several batches as one, still secret; ``order`` says which integers, and how often.

    Example:
        >>> together([Secret(np.array([3])), Secret(np.array([4]))], order=[0, 1, 1])
        <secret>
    """
    whole = np.concatenate([unseal(secret) for secret in secrets])
    return Secret(whole[list(order)] if order else whole)


def inside(secret: Secret[Value], compute: Callable[[Value], Made]) -> Secret[Made]:
    """What ``compute`` makes of a secret, which stays one: nothing leaves its box.

    It must not fail, or take another path that shows, for a reason that depends on the data.

    Example:
        >>> inside(Secret(np.array([3, 4])), lambda values: 2 * values)
        <secret>
    """
    return Secret(compute(unseal(secret)))

"""How sure an interval is: a probability below 1."""

from fractions import Fraction
from typing import Protocol

from tacit.core import Event, Group, Secret, Sensitivity
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gateway import Draw, Gateway, SelectedGroups
from tacit.noise import Integers


def valid_confidence(confidence: Fraction) -> Fraction:
    """The confidence itself, refused where no noise can reach it.

    Example:
        >>> valid_confidence(Fraction("0.95"))
        Fraction(19, 20)
    """
    if not 0 <= confidence < 1:
        raise InvalidValue(f"A confidence lies in [0, 1), and {confidence} does not.")
    return confidence


# ------------------------------------------------------------------ mechanism
# What a mechanism is: a frozen recipe that says what it does, does it, and says how well.


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


# ------------------------------------------------------------------ select
# Release groups by a mechanism that selects keys: only those that it keeps come out.


def select(
    mechanism: Mechanism,
    groups: Secret[tuple[Group, ...]],
    units: Secret[Integers],
    sensitivity: Sensitivity,
    gateway: Gateway,
) -> SelectedGroups:
    """The groups that ``mechanism`` keeps, by the number of ``units`` in each.

    Guarantee: one call at the gateway; of a group that is not kept nothing comes out, not even
    that there was one.

    Example:
        >>> import numpy as np
        >>> from fractions import Fraction
        >>> from tacit.core.sensitivity import Rule
        >>> from tacit.core.sensitivity import Norm
        >>> from tacit.mechanisms.gateway import LiveGateway
        >>> from tacit.mechanisms.optimal_keys import OptimalKeys
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> keys = OptimalKeys(Fraction(1), Fraction(1, 10**9), max_keys=1)
        >>> once = Sensitivity.of(1, Norm.L2, Rule("a person is in one group, once"))
        >>> gateway = LiveGateway(SystemEntropy(charge=b"the hash of a charge"))
        >>> groups = Secret((("flu",), ("rabies",)))
        >>> select(keys, groups, Secret(np.array([900, 1])), once, gateway).groups
        (('flu',),)
    """
    door = _Selecting(gateway, groups)
    mechanism.release(units, sensitivity, door)
    if door.kept is None:
        raise InternalError("A selection releases its groups through the gateway.")
    return door.kept


class _Selecting:
    """The gateway as a mechanism sees it: it draws as ever, and is told of kept groups only."""

    __slots__ = ("_gateway", "_groups", "kept")

    def __init__(self, gateway: Gateway, groups: Secret[tuple[Group, ...]]) -> None:
        self._gateway = gateway
        self._groups = groups
        self.kept: SelectedGroups | None = None

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        self.kept = self.select(self._groups, secret, sensitivity, draw)
        return self.kept.released

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        return self._gateway.select(groups, secret, sensitivity, draw)

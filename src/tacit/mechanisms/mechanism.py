"""The interface of a mechanism, and the selection of groups by a mechanism."""

from fractions import Fraction
from typing import Protocol

from tacit.core import Event, Group, Secret, Sensitivity
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gateway import Draw, Gateway, SelectedGroups
from tacit.noise import Integers


def valid_confidence(confidence: Fraction) -> Fraction:
    """Return the confidence, and raise if it is not in [0, 1).

    Example:
        >>> valid_confidence(Fraction("0.95"))
        Fraction(19, 20)
    """
    if not 0 <= confidence < 1:
        raise InvalidValue(f"A confidence must be in [0, 1), but {confidence} was given.")
    return confidence


class Mechanism(Protocol):
    """A differentially private mechanism, with public parameters and private inputs.

    Public parameters are arguments of the constructor, and private values of `release`. A
    mechanism does not compute its own price: it describes itself by an event, and
    `tacit.accounting` computes the privacy loss of the event. Secrets are batches of integers:
    multiples of the step of a public grid, or scores.
    """

    def event(self, sensitivity: Sensitivity) -> Event:
        """Return the event of a release of a secret with this sensitivity."""
        ...

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the noisy integers, or the indices of the selected items."""
        ...

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error of one released number, at this confidence."""
        ...


# ------------------------------------------------------------------ selection of groups


def select(
    mechanism: Mechanism,
    groups: Secret[tuple[Group, ...]],
    units: Secret[Integers],
    sensitivity: Sensitivity,
    gateway: Gateway,
) -> SelectedGroups:
    """Return the groups that ``mechanism`` selects, by the number of ``units`` in each.

    Guarantee: there is one call of the gateway. Nothing is released about a group that is not
    selected, not even that it exists.

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
    wrapped = _SelectingGateway(gateway, groups)
    mechanism.release(units, sensitivity, wrapped)
    if wrapped.selected is None:
        raise InternalError("A selection must release its groups through the gateway.")
    return wrapped.selected


class _SelectingGateway:
    """A gateway that returns to its mechanism only the released numbers of selected groups."""

    __slots__ = ("_gateway", "_groups", "selected")

    def __init__(self, gateway: Gateway, groups: Secret[tuple[Group, ...]]) -> None:
        self._gateway = gateway
        self._groups = groups
        self.selected: SelectedGroups | None = None

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        self.selected = self.select(self._groups, secret, sensitivity, draw)
        return self.selected.released

    def select(
        self,
        groups: Secret[tuple[Group, ...]],
        secret: Secret[Integers],
        sensitivity: Sensitivity,
        draw: Draw,
    ) -> SelectedGroups:
        return self._gateway.select(groups, secret, sensitivity, draw)

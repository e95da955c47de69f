"""Release groups by a mechanism that selects keys: only those that it keeps come out."""

from tacit.core.keys import Group
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.errors import InternalError
from tacit.mechanisms.gateway import Draw, Gateway, Kept
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise.integers import Integers


def select(
    mechanism: Mechanism,
    groups: Secret[tuple[Group, ...]],
    units: Secret[Integers],
    sensitivity: Sensitivity,
    gateway: Gateway,
) -> Kept:
    """The groups that ``mechanism`` keeps, by the number of ``units`` in each.

    Guarantee: one call at the gateway; of a group that is not kept nothing comes out, not even
    that there was one.

    Example:
        >>> import numpy as np
        >>> from fractions import Fraction
        >>> from tacit.core.proof import Rule
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
        self.kept: Kept | None = None

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
    ) -> Kept:
        return self._gateway.select(groups, secret, sensitivity, draw)

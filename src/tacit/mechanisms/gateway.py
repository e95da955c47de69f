"""Where a secret meets its draw: the only place where exact values are opened.

A gateway is an argument, never a global. It takes a batch of integers and gives a batch back,
so that it can run in this process, in an engine's workers, or under an audit that records what
went in and replays what came out.
"""

from typing import Protocol

from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


class Draw(Protocol):
    """The random step of a mechanism: public in its fields, and private in its call."""

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """What is released for the exact ``values``."""
        ...


class Gateway(Protocol):
    """Opens a batch of integers and releases another in its place."""

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What ``draw`` makes of a secret that one unit moves by ``sensitivity`` at most."""
        ...


class LiveGateway:
    """The gateway of production: opens, draws, forgets.

    Example:
        >>> import numpy as np
        >>> from fractions import Fraction
        >>> from tacit.core.proof import Rule
        >>> from tacit.core.sensitivity import Norm
        >>> from tacit.mechanisms.add_noise import AddNoise
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

    __slots__ = ("_entropy",)

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        """What ``draw`` makes of the secret."""
        del sensitivity  # the mechanism calibrated its draw to it, and an audit checks it
        return draw(unseal(secret), self._entropy)

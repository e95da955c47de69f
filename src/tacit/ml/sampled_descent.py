"""Noisy descent over secret samples (DP-SGD): its public settings, their event and loss."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.accounting.sampled_gaussian import LEAST_SCALE, SampledGaussian
from tacit.accounting.search import least_that
from tacit.core.event import Repeated, Sampled
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.noise_event import RealGaussianNoise
from tacit.errors import InvalidValue
from tacit.noise.bernoulli import Bernoulli
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import Number, exact

NOISE_UNIT = Fraction(1, 100)
"""Noise that is solved for is a multiple of this, rounded up."""


@dataclass(frozen=True, slots=True)
class SampledDescent:
    """So many ``steps``, each on a sample that holds every unit with ``probability``.

    Of each unit in the sample the gradient is clipped to the norm ``clip``; their sum gets
    Gaussian noise of ``noise`` times the clip, and is divided by ``expected``, the number of
    units that one expects in a sample. All of these are public, and no batch decides about any.

    Guarantee: ``loss(delta)`` bounds what all noisy sums tell together about one unit that is
    added or removed, where samples stay secret and noise is real: idealised.
    Reference: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang 2016, algorithm 1.

    Example:
        >>> descent = SampledDescent(
        ...     Fraction(1, 100), steps=100, expected=50, noise=Fraction(1)
        ... )
        >>> descent.event().numerics
        <Numerics.IDEALISED: 'idealised'>
        >>> print(descent.loss(1e-5))
        ε = 0.71804, δ = 0.00001
    """

    probability: Fraction
    steps: int
    expected: int
    noise: Fraction
    clip: float = 1.0

    def __post_init__(self) -> None:
        _ = self.law  # refuses what is out of range
        if self.expected < 1 or not self.clip > 0:
            raise InvalidValue(
                "A sample is expected to hold 1 unit or more, and gradients are clipped to a "
                f"norm above 0; {self.expected} and {self.clip} were given."
            )

    @classmethod
    def within(
        cls, loss: Loss, probability: Number, *, steps: int, expected: int, clip: float = 1.0
    ) -> "SampledDescent":
        """With the least noise, to a hundredth of the clip, that stays within ``loss``."""
        if loss.measure is not Measure.APPROXIMATE or not (loss.amount and loss.delta):
            raise InvalidValue(
                f"Samples have a loss in epsilon with a delta, both above 0, and not {loss}."
            )
        one = cls(exact(probability), steps, expected, Fraction(1), clip)

        def stays(noise: Fraction) -> bool:
            return noise >= LEAST_SCALE and replace(one, noise=noise).law.delta_at(
                float(loss.amount)
            ) <= float(loss.delta)

        return replace(one, noise=least_that(stays, NOISE_UNIT))

    def event(self) -> Repeated:
        """Gaussian noise on a sample, for each step: norms are in clips."""
        sums = RealGaussianNoise(Fraction(1), self.noise**2)
        return Repeated(Sampled(sums, self.probability), self.steps)

    @property
    def law(self) -> SampledGaussian:
        """The curve of that event."""
        return SampledGaussian.of(self.event())

    def loss(self, delta: Number) -> Loss:
        """The epsilon of all steps together, at ``delta``."""
        return Loss.approximate(self.law.epsilon_at(float(exact(delta))), delta)

    def samples(self, units: int, entropy: Entropy) -> Iterator[Integers]:
        """The places of the units of each step's sample: each is in it by a coin of its own.

        Guarantee: coins are exact and independent. Samples are secret, and so is their size.
        """
        coin = Bernoulli(self.probability)
        for _ in range(self.steps):
            yield np.flatnonzero(coin.draw(entropy, units))

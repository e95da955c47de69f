"""Noise for smooth sensitivity: Lomax, Laplace and Student noise.

Each mechanism takes a secret pair (value, smooth sensitivity), and adds noise in proportion to
the smooth sensitivity. `Lomax` has pure epsilon and an exact sampler (`RoundedLomax`). The
other two are published mechanisms for comparison. Their samplers use floats, so their guarantee
is for idealised real numbers, and a served population does not accept them.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import atan2, copysign, cos, log, pi, sin, sqrt

from tacit.accounting import lomax_factor
from tacit.core import (
    LomaxNoiseV2,
    Norm,
    Secret,
    Sensitivity,
    SmoothLaplaceNoise,
    StudentNoiseV2,
)
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, valid_confidence
from tacit.noise import Integers, integer_array
from tacit.numeric import Interval, exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy

SPARE_DIGITS = 7
"""Number of decimal digits of precision beyond the bits that were drawn."""


@dataclass(frozen=True, slots=True)
class RoundedLomax:
    """An exact sampler of the two-sided Lomax distribution, rounded to the nearest integer.

    The tail is P(abs(z) > t) = (1 + t/scale)**(-tail). The scale may be secret, so it is an
    argument of the draw, and is not stored.

    Guarantee: the distribution is exact. abs(z) = scale * (V**(-1/tail) - 1) for a uniform V.
    Bits of V are drawn until both ends of the interval that contains V give the same integer.
    The very first bit is the sign.
    Reference: Devroye 1986, chapter II.2 (inversion); Lomax 1954.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> RoundedLomax(Fraction(6)).draw(SystemEntropy(b"charge"), Fraction(5, 2), 4).shape
        (4,)
    """

    tail: Fraction

    def __post_init__(self) -> None:
        if self.tail <= 0:
            raise InvalidValue(
                f"The tail of Lomax noise must be above 0, but {self.tail} was given."
            )

    def draw(self, entropy: Entropy, scale: Fraction, count: int) -> Integers:
        """Return ``count`` independent draws with this scale."""
        bits = entropy.word_bits - 1
        drawn = []
        for word in entropy.words(count):
            negative, leading = divmod(int(word), 1 << bits)
            size = self._size(entropy, scale, leading, bits)
            drawn.append(-size if negative else size)
        return integer_array(drawn)

    def _size(self, entropy: Entropy, scale: Fraction, leading: int, bits: int) -> int:
        """Return the rounded size for a uniform number whose first ``bits`` are ``leading``."""
        while True:
            if leading:  # if all bits are zeros, there is no upper bound on the size yet
                least, most = self._power(leading, bits)
                size = _nearest(scale * (most - 1))
                if _nearest(scale * (least - 1)) == size:
                    return size
            leading = leading << entropy.word_bits | int(entropy.words(1)[0])
            bits += entropy.word_bits

    def _power(self, leading: int, bits: int) -> Interval:
        """Return bounds on V**(-1/tail), where V in (0, 1) begins with the bits ``leading``."""
        digits = bits // 3 + SPARE_DIGITS
        lower, upper = log_bounds(Fraction(1 << bits, leading), digits)
        # log((leading + 1) / leading) < 1 / leading, and exp(-x) >= 1 - x
        width = (upper - max(Fraction(0), lower - Fraction(1, leading))) / self.tail
        below, above = exp_bounds(upper / self.tail, digits)
        return max(Fraction(1), below * (1 - width)), above


def _nearest(size: Fraction) -> int:
    return int(size + Fraction(1, 2))


# ------------------------------------------------------------------ Lomax noise


@dataclass(frozen=True, slots=True)
class Lomax:
    """The Lomax mechanism: one integer with rounded Lomax noise, with pure epsilon.

    The secret is a pair (value, smooth sensitivity) in whole steps of one public grid. The pair
    must be smooth *as integers*: between neighbours, the value changes by at most the smaller
    of both sensitivities, and the sensitivities differ by a factor of at most exp(smoothing).
    Rounding up can break this, unless a part of the smoothing is reserved for it, as in
    `tacit.robust.trimmed_mean`. The `Sensitivity` of the pair is its worst case over all
    neighbours. It is used by audits, and does not determine the noise.

    Guarantee: pure epsilon.
    Reference: ``docs/privacy/mechanisms/lomax.md`` proves it, with the exact scale; the family
    of noise is that of Hladík, Tětek 2025.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> Lomax(Fraction(1), Fraction(1, 6)).event(most)
        LomaxNoiseV2(epsilon=Fraction(1, 1), smoothing=Fraction(1, 6))
    """

    epsilon: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        LomaxNoiseV2(self.epsilon, self.smoothing)  # raises if a parameter is out of range

    def event(self, sensitivity: Sensitivity) -> LomaxNoiseV2:
        """Describe the noise, which does not depend on the worst-case sensitivity."""
        sensitivity.in_norm(Norm.LINF)
        return LomaxNoiseV2(self.epsilon, self.smoothing)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the value with noise, in an array of one entry."""
        draw = AddLomax(lomax_factor(self.epsilon, self.smoothing), self._tail)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error in units of the smooth sensitivity, which is secret.

        P(abs(z) > t) = (1 + t/scale)**(-tail); rounding adds at most half a grid step.
        """
        valid_confidence(confidence)
        if confidence == 0:
            return Fraction(0)
        power = exp_bounds(-log_bounds(1 - confidence)[0] / self._tail)[1]
        return lomax_factor(self.epsilon, self.smoothing) * (power - 1)

    @property
    def _tail(self) -> Fraction:
        return self.epsilon / self.smoothing


@dataclass(frozen=True, slots=True)
class AddLomax:
    """The draw of Lomax noise, whose scale is ``factor`` times the smooth sensitivity."""

    factor: Fraction
    tail: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the value with noise; the smooth sensitivity is at least one step."""
        value, smooth_sensitivity = (int(each) for each in values)
        scale = self.factor * max(1, smooth_sensitivity)
        noisy = value + int(RoundedLomax(self.tail).draw(entropy, scale, 1)[0])
        return integer_array([noisy])


# ------------------------------------------------------------------ Laplace noise


@dataclass(frozen=True, slots=True)
class SmoothLaplace:
    """One integer with Laplace noise that is scaled by a smooth sensitivity.

    The secret pair is as for `Lomax`. The scale of the noise is ``factor`` times the smooth
    sensitivity. The sampler uses floats, so the guarantee is idealised, and a served population
    does not accept it.

    Guarantee: for real numbers, (epsilon, delta) with the delta of
    ``tacit.accounting.curves.smooth_laplace_delta``. There is no pure epsilon, because of two
    Laplace distributions the wider has infinitely heavier tails.
    Reference: Nissim, Raskhodnikova, Smith 2007, with the exact curve in place of their factor
    of 2.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> SmoothLaplace(Fraction(2), Fraction(1, 30)).event(most)
        SmoothLaplaceNoise(factor=Fraction(2, 1), smoothing=Fraction(1, 30))
    """

    factor: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        SmoothLaplaceNoise(self.factor, self.smoothing)  # raises if out of range

    def event(self, sensitivity: Sensitivity) -> SmoothLaplaceNoise:
        """Describe the noise, which does not depend on the worst-case sensitivity."""
        sensitivity.in_norm(Norm.LINF)
        return SmoothLaplaceNoise(self.factor, self.smoothing)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the value with noise, in an array of one entry."""
        return gateway.release(
            secret, sensitivity.in_norm(Norm.LINF), AddSmoothLaplace(self.factor)
        )

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error in units of the smooth sensitivity, which is secret.

        P(abs(z) > t) = exp(-t/scale); rounding adds at most half a grid step.
        """
        valid_confidence(confidence)
        if confidence == 0:
            return Fraction(0)
        return self.factor * -log_bounds(1 - confidence)[0]


@dataclass(frozen=True, slots=True)
class AddSmoothLaplace:
    """The draw of Laplace noise, whose scale is ``factor`` times the smooth sensitivity."""

    factor: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the value with noise, by inversion in floats."""
        value, smooth_sensitivity = (int(each) for each in values)
        uniform = (int(entropy.words(1)[0]) + 0.5) / 2.0**entropy.word_bits
        side = min(uniform, 1 - uniform)
        # for the very last words 1 - uniform rounds to 0, so the noise is cut off there
        unit = Fraction(copysign(log(max(2 * side, 2.0**-60)), uniform - 0.5))
        return integer_array([value - round(unit * self.factor * max(1, smooth_sensitivity))])


# ------------------------------------------------------------------ Student's t noise


@dataclass(frozen=True, slots=True)
class Student:
    """One integer with Student's t noise that is scaled by a smooth sensitivity.

    The secret pair is as for `Lomax`, which has an exact sampler and less noise. This is the
    published mechanism, for comparison. The sampler uses floats, so the guarantee is idealised,
    and a served population does not accept it.

    Guarantee: for real numbers, pure epsilon = smoothing * degrees + rate * (degrees + 1) /
    (2 * sqrt(degrees)), where the noise is smooth sensitivity / rate times Student's T.
    Reference: Bun, Steinke 2019 (Student's T noise); ``docs/privacy/mechanisms/student.md``
    proves it.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> Student(3, Fraction(1, 10), Fraction(1, 2)).event(most)
        StudentNoiseV2(degrees=3, smoothing=Fraction(1, 10), rate=Fraction(1, 2))
    """

    degrees: int
    smoothing: Fraction
    rate: Fraction

    def __post_init__(self) -> None:
        StudentNoiseV2(self.degrees, self.smoothing, self.rate)  # raises if out of range

    def event(self, sensitivity: Sensitivity) -> StudentNoiseV2:
        """Describe the noise, which does not depend on the worst-case sensitivity."""
        sensitivity.in_norm(Norm.LINF)
        return StudentNoiseV2(self.degrees, self.smoothing, self.rate)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the value with noise, in an array of one entry."""
        draw = AddStudent(self.degrees, self.rate)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error in units of the smooth sensitivity, which is secret.

        Rounding adds at most half a grid step.
        """
        valid_confidence(confidence)
        if confidence == 0:
            return Fraction(0)
        high = 1.0
        while student_within(high, self.degrees) < confidence:
            high *= 2
        low = 0.0
        while (middle := (low + high) / 2) not in {low, high}:
            if student_within(middle, self.degrees) < confidence:
                low = middle
            else:
                high = middle
        return Fraction(high) / self.rate


@dataclass(frozen=True, slots=True)
class AddStudent:
    """The draw of Student's t noise, whose scale is the smooth sensitivity over ``rate``."""

    degrees: int
    rate: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the value with noise, by Bailey's polar method (1994) in floats."""
        value, smooth_sensitivity = (int(each) for each in values)
        bits = entropy.word_bits
        first, second = ((int(word) + 0.5) / 2.0**bits for word in entropy.words(2))
        radius = sqrt(self.degrees * (first ** (-2 / self.degrees) - 1))
        unit = Fraction(radius * cos(2 * pi * second))
        return integer_array([value + round(unit * max(1, smooth_sensitivity) / self.rate)])


def student_within(size: float, degrees: int) -> float:
    """Return P(abs(T) <= size), by the finite sum for integer degrees of freedom.

    Reference: Abramowitz, Stegun 1964, 26.7.3 and 26.7.4.

    Example:
        >>> round(student_within(3.182446, 3), 6)
        0.95
    """
    angle = atan2(size, sqrt(degrees))
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for step in range(1 + odd, degrees, 2):
        total += term
        term *= step / (step + 1) * cos(angle) ** 2
    return (angle + sin(angle) * total) * 2 / pi if odd else sin(angle) * total

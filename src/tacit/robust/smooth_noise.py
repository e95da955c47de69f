"""The two-sided Lomax law, rounded to integers, exactly, for any rational scale."""

from dataclasses import dataclass
from fractions import Fraction
from math import atan2, copysign, cos, log, pi, sin, sqrt

from tacit.accounting import lomax_factor
from tacit.core import LomaxNoise, Norm, Secret, Sensitivity, SmoothLaplaceNoise, StudentNoise
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, valid_confidence
from tacit.noise import Integers, packed
from tacit.numeric import Interval, exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy

SPARE_DIGITS = 7
"""Decimal digits beyond those that the revealed bits are worth."""


@dataclass(frozen=True, slots=True)
class RoundedLomax:
    """A sampler of z rounded to the nearest integer, P(abs(z) > t) = (1 + t/scale)**(-tail).

    The scale may be secret, so it is an argument of the draw, and nothing is kept of it.

    Guarantee: the law is exact. abs(z) = scale * (V**(-1/tail) - 1) for a uniform V, of which
    bits are revealed until both ends of where V must lie give the same integer; the first bit
    of all is the sign.
    Reference: Devroye 1986, chapter II.2 (inversion); Lomax 1954.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> RoundedLomax(Fraction(6)).draw(SystemEntropy(b"charge"), Fraction(5, 2), 4).shape
        (4,)
    """

    tail: Fraction

    def __post_init__(self) -> None:
        if self.tail <= 0:
            raise InvalidValue(f"A Lomax law needs a tail above 0, and {self.tail} is not.")

    def draw(self, entropy: Entropy, scale: Fraction, count: int) -> Integers:
        """``count`` independent draws with this scale."""
        bits = entropy.word_bits - 1
        drawn = []
        for word in entropy.words(count):
            negative, leading = divmod(int(word), 1 << bits)
            size = self._size(entropy, scale, leading, bits)
            drawn.append(-size if negative else size)
        return packed(drawn)

    def _size(self, entropy: Entropy, scale: Fraction, leading: int, bits: int) -> int:
        """The rounded size for a uniform number whose first ``bits`` spell ``leading``."""
        while True:
            if leading:  # all zeros leave the size without an upper bound
                least, most = self._power(leading, bits)
                size = _nearest(scale * (most - 1))
                if _nearest(scale * (least - 1)) == size:
                    return size
            leading = leading << entropy.word_bits | int(entropy.words(1)[0])
            bits += entropy.word_bits

    def _power(self, leading: int, bits: int) -> Interval:
        """Bounds on V**(-1/tail) over leading <= V * 2**bits <= leading + 1."""
        digits = bits // 3 + SPARE_DIGITS
        lower, upper = log_bounds(Fraction(1 << bits, leading), digits)
        # log((leading + 1) / leading) < 1 / leading, and exp(-x) >= 1 - x
        width = (upper - max(Fraction(0), lower - Fraction(1, leading))) / self.tail
        below, above = exp_bounds(upper / self.tail, digits)
        return max(Fraction(1), below * (1 - width)), above


def _nearest(size: Fraction) -> int:
    return int(size + Fraction(1, 2))


# ------------------------------------------------------------------ lomax
# The Lomax mechanism: noise in proportion to a smooth sensitivity, with pure epsilon.


@dataclass(frozen=True, slots=True)
class Lomax:
    """One integer with rounded Lomax noise, from a secret pair (value, smooth sensitivity).

    Both are whole steps of one public grid. The pair must be smooth *as integers*: between
    neighbours the value moves by at most the lesser of both sensitivities, and they differ by a
    factor of exp(smoothing) at most. Rounding up breaks that unless it is paid for:
    `tacit.robust.trimmed_mean` shows how. The `Sensitivity` of the pair is its worst case
    over all neighbours, for audits; it sets no noise.

    Guarantee: pure epsilon.
    Reference: ``docs/privacy/mechanisms/lomax.md`` proves it, with the exact scale; the family
    of noise is that of Hladík, Tětek 2025.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> Lomax(Fraction(1), Fraction(1, 6)).event(most)
        LomaxNoise(epsilon=Fraction(1, 1), smoothing=Fraction(1, 6))
    """

    epsilon: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        LomaxNoise(self.epsilon, self.smoothing)  # refuses what is out of range

    def event(self, sensitivity: Sensitivity) -> LomaxNoise:
        """Lomax noise of this epsilon, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return LomaxNoise(self.epsilon, self.smoothing)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The value with noise, alone in its batch."""
        draw = AddLomax(lomax_factor(self.epsilon, self.smoothing), self._tail)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """What the release errs by, in smooth sensitivities, whose size is secret.

        P(abs(z) > t) = (1 + t/scale)**(-tail); rounding adds half a step of the grid at most.
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
    """The draw: the first of a pair, with noise of ``factor`` times the second."""

    factor: Fraction
    tail: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The value with noise, of one step's sensitivity at least."""
        value, smooth_sensitivity = (int(each) for each in values)
        scale = self.factor * max(1, smooth_sensitivity)
        noisy = value + int(RoundedLomax(self.tail).draw(entropy, scale, 1)[0])
        return packed([noisy])


# ------------------------------------------------------------------ smooth laplace
# The Laplace mechanism on a smooth sensitivity: (epsilon, delta), idealised.


@dataclass(frozen=True, slots=True)
class SmoothLaplace:
    """One integer with Laplace noise, from a secret pair (value, smooth sensitivity).

    The pair is as for `Lomax`. The noise has ``factor`` times the smooth
    sensitivity as its scale, and is made of floats: idealised, and a served population refuses
    it.

    Guarantee: for real numbers, (epsilon, delta) with the delta of
    ``tacit.accounting.curves.smooth_laplace_delta``; no pure epsilon, since the wider of two
    Laplace laws has infinitely heavier tails.
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
        SmoothLaplaceNoise(self.factor, self.smoothing)  # refuses what is out of range

    def event(self, sensitivity: Sensitivity) -> SmoothLaplaceNoise:
        """Laplace noise that follows the data, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return SmoothLaplaceNoise(self.factor, self.smoothing)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The value with noise, alone in its batch."""
        return gateway.release(
            secret, sensitivity.in_norm(Norm.LINF), AddSmoothLaplace(self.factor)
        )

    def error(self, confidence: Fraction) -> Fraction:
        """What the release errs by, in smooth sensitivities, whose size is secret.

        P(abs(z) > t) = exp(-t/scale); rounding adds half a step of the grid at most.
        """
        valid_confidence(confidence)
        if confidence == 0:
            return Fraction(0)
        return self.factor * -log_bounds(1 - confidence)[0]


@dataclass(frozen=True, slots=True)
class AddSmoothLaplace:
    """The draw: the first of a pair, with noise of ``factor`` times the second."""

    factor: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The value with noise, by inversion, in floats."""
        value, smooth_sensitivity = (int(each) for each in values)
        uniform = (int(entropy.words(1)[0]) + 0.5) / 2.0**entropy.word_bits
        side = min(uniform, 1 - uniform)
        # 1 - uniform is 0 for the very last words: the noise ends there, as floats do
        unit = Fraction(copysign(log(max(2 * side, 2.0**-60)), uniform - 0.5))
        return packed([value - round(unit * self.factor * max(1, smooth_sensitivity))])


# ------------------------------------------------------------------ student
# The Student mechanism: noise in proportion to a smooth sensitivity, pure, idealised.


@dataclass(frozen=True, slots=True)
class Student:
    """One integer with Student noise, from a secret pair (value, smooth sensitivity).

    The pair is as for `Lomax`, which is exact and has less noise; this
    is the mechanism of the literature, to compare with. Its noise is made of floats: idealised,
    and a served population refuses it.

    Guarantee: for real numbers, pure epsilon = smoothing * degrees + rate * (degrees + 1) /
    (2 * sqrt(degrees)), where the noise is smooth sensitivity / rate times Student's T.
    Reference: Bun, Steinke 2019 (Student's T noise); ``docs/privacy/mechanisms/student.md``
    proves it.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> most = Sensitivity.of(10**6, Norm.LINF, Rule("the public range of the median"))
        >>> Student(3, Fraction(1, 10), Fraction(1, 2)).event(most)
        StudentNoise(degrees=3, smoothing=Fraction(1, 10), rate=Fraction(1, 2))
    """

    degrees: int
    smoothing: Fraction
    rate: Fraction

    def __post_init__(self) -> None:
        StudentNoise(self.degrees, self.smoothing, self.rate)  # refuses what is out of range

    def event(self, sensitivity: Sensitivity) -> StudentNoise:
        """Student noise, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return StudentNoise(self.degrees, self.smoothing, self.rate)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The value with noise, alone in its batch."""
        draw = AddStudent(self.degrees, self.rate)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """What the release errs by, in smooth sensitivities, whose size is secret.

        Rounding adds half a step of the grid at most.
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
    """The draw: the first of a pair, with noise of the second over ``rate``."""

    degrees: int
    rate: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The value with noise, by Bailey's polar method (1994), in floats."""
        value, smooth_sensitivity = (int(each) for each in values)
        bits = entropy.word_bits
        first, second = ((int(word) + 0.5) / 2.0**bits for word in entropy.words(2))
        radius = sqrt(self.degrees * (first ** (-2 / self.degrees) - 1))
        unit = Fraction(radius * cos(2 * pi * second))
        return packed([value + round(unit * max(1, smooth_sensitivity) / self.rate)])


def student_within(size: float, degrees: int) -> float:
    """P(abs(T) <= size), the finite sum for whole degrees of freedom.

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

"""The Student mechanism: noise in proportion to a smooth sensitivity, pure, idealised."""

from dataclasses import dataclass
from fractions import Fraction
from math import atan2, cos, pi, sin, sqrt

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.smooth_event import StudentNoise
from tacit.mechanisms.confidence import valid_confidence
from tacit.mechanisms.gateway import Gateway
from tacit.noise.integers import Integers, packed
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Student:
    """One integer with Student noise, from a secret pair (value, smooth sensitivity).

    The pair is as for `tacit.mechanisms.lomax.Lomax`, which is exact and has less noise; this
    is the mechanism of the literature, to compare with. Its noise is made of floats: idealised,
    and a served population refuses it.

    Guarantee: for real numbers, pure epsilon = smoothing * degrees + rate * (degrees + 1) /
    (2 * sqrt(degrees)), where the noise is smooth sensitivity / rate times Student's T.
    Reference: Bun, Steinke 2019 (Student's T noise); ``docs/privacy/mechanisms/student.md``
    proves it.

    Example:
        >>> from tacit.core.proof import Rule
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

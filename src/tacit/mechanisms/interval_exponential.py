"""The exponential mechanism on an interval whose scores are constant on public cells."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.secret import Secret
from tacit.core.selection_event import ExponentialSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.exponential import check_choice, check_size, shortfall, spread
from tacit.mechanisms.gateway import Gateway
from tacit.noise.choice import Exponentials, choose
from tacit.noise.integers import Integers
from tacit.noise.uniform import UniformBelow
from tacit.numeric.entropy import Entropy

MOST_POINTS = 2**62
"""Grid points of an interval; their places fit 64 bits."""


@dataclass(frozen=True, slots=True)
class IntervalExponential:
    """The place of one grid point, with weight exp(rate * score of its cell).

    The interval is cut into public cells, and a cell into ``widths[k]`` points of a public
    grid: the base measure. The secret holds one score a cell. A base that is finer where the
    answer is likely, such as a logarithmic one, is a matter of what the places stand for.

    Guarantee: scores that one unit moves by d at most lose pure epsilon 2 * rate * d, and half
    of it where they are ``monotone``, with a bounded range.
    Reference: McSherry, Talwar 2007, definition 2 and theorem 6 (any base measure).

    Example:
        >>> from tacit.core.proof import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each score by at most 1"))
        >>> IntervalExponential(Fraction(1, 2), widths=(10, 1000, 10)).event(one)
        ExponentialSelection(epsilon=Fraction(1, 1))
    """

    rate: Fraction
    widths: tuple[int, ...]
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, len(self.widths))
        if min(self.widths) < 1 or sum(self.widths) > MOST_POINTS:
            raise InvalidValue(
                "Cells have at least 1 grid point each and 2**62 together; the least has "
                f"{min(self.widths)}, and all have {sum(self.widths)}."
            )

    def event(self, sensitivity: Sensitivity) -> ExponentialSelection:
        """A selection whose weights' logarithms spread by twice what one score moves."""
        return ExponentialSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen grid point, in an array of one."""
        draw = ChoosePoint(self.rate, self.widths)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far the chosen score lies below the best at most, however narrow its cell."""
        points = Fraction(sum(self.widths), min(self.widths))
        return shortfall(self.rate, points, confidence)


@dataclass(frozen=True, slots=True)
class ChoosePoint:
    """A cell by its points and its score, then one of its points uniformly.

    How many words the second step takes depends on the cell alone, which the release tells.
    """

    rate: Fraction
    widths: tuple[int, ...]

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of a grid point of one of the cells."""
        check_size(values, len(self.widths))
        cell = choose(entropy, Exponentials(self.rate, values, self.widths))
        within = UniformBelow(self.widths[cell]).draw(entropy, 1)
        return np.array([sum(self.widths[:cell]) + int(within[0])], dtype=np.int64)

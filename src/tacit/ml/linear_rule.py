"""A public linear classifier, and the rows that it gets wrong, in whole numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers
from tacit.numeric.exact import exact
from tacit.plan.axis import Axis

FINE = 2**60
"""No line is higher than this, nor lower, but for the rounding of its weights."""

BINARY = 2


@dataclass(frozen=True, slots=True)
class LinearRule:
    """Of the classes in their order the one whose line is highest, and of equals the first.

    Weights are public: given, or released before. They are rounded to integers, so that a row
    is classified by itself: a product of floats is rounded by the rows that stand beside it.

    Example:
        >>> rule = LinearRule.of([[2.0, -1.0]], [0.5], classes=2)
        >>> rule.slopes[1], rule.starts
        ((Fraction(2, 1), Fraction(-1, 1)), (Fraction(0, 1), Fraction(1, 2)))
    """

    slopes: tuple[tuple[Fraction, ...], ...]
    starts: tuple[Fraction, ...]

    @classmethod
    def of(cls, coef: Any, intercept: Any, classes: int) -> "LinearRule":
        """The rule of scikit-learn's ``coef_`` and ``intercept_``: one line, or one a class."""
        try:
            slopes = np.atleast_2d(np.asarray(coef, dtype=np.float64))
            starts = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InvalidValue("A linear rule is made of numbers.") from error
        lines = 1 if classes == BINARY else classes
        finite = bool(np.isfinite(slopes).all() and np.isfinite(starts).all())
        if slopes.shape != (lines, slopes.shape[-1]) or starts.shape != (lines,) or not finite:
            raise InvalidValue(
                f"A linear rule for {classes} classes has {lines} rows of finite weights and "
                f"as many intercepts; {slopes.shape} and {starts.shape} were given."
            )
        rows = [tuple(map(exact, row)) for row in slopes.tolist()]
        ends = [exact(start) for start in starts.tolist()]
        if classes == BINARY:  # the first class is where the line is not above 0
            rows.insert(0, (Fraction(0),) * slopes.shape[1])
            ends.insert(0, Fraction(0))
        return cls(tuple(rows), tuple(ends))

    def missed(self, rows: Integers, axes: Sequence[Axis]) -> Integers:
        """1 for each row whose last number, the place of its class, is another than the rule's.

        The first number of a row is its unit, and those between are its features.
        """
        weights, starts = self._weights(axes)
        heights = rows[:, 1:-1] @ weights.T + starts  # of integers: exact, and row by row
        return np.asarray(heights.argmax(axis=1) != rows[:, -1], dtype=np.int64)

    def check(self, axes: Sequence[Axis]) -> None:
        """Refuse a rule that has another number of weights than there are ``axes``."""
        if any(len(row) != len(axes) for row in self.slopes):
            raise InvalidValue(
                f"This rule has {len(self.slopes[0])} weights a line, and there are "
                f"{len(axes)} features."
            )

    def _weights(self, axes: Sequence[Axis]) -> tuple[Integers, Integers]:
        """The lines on ``axes``, in one unit for all, and within 62 bits."""
        self.check(axes)
        weights = [[s * a.unit for s, a in zip(row, axes, strict=True)] for row in self.slopes]
        starts = [
            start + sum(slope * axis.centre for slope, axis in zip(row, axes, strict=True))
            for row, start in zip(self.slopes, self.starts, strict=True)
        ]
        highest = max(
            abs(start) + sum(abs(w) * axis.reach for w, axis in zip(row, axes, strict=True))
            for row, start in zip(weights, starts, strict=True)
        )
        fine = FINE / (highest or Fraction(1))
        return (
            np.array([[round(w * fine) for w in row] for row in weights], dtype=np.int64),
            np.array([round(start * fine) for start in starts], dtype=np.int64),
        )

"""Linear regression from noisy sufficient statistics, with a ridge adapted to the noise.

The engine sums X'X and X'y in one scan. Both are released with Gaussian noise, and the normal
equations are solved after adding a ridge penalty that is as large as the noise requires.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from tacit.core import Event, Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import (
    eigen,
    finite,
    float_of,
    floats_of,
    parameter,
    root_of,
    solve,
)
from tacit.ml.sufficient_statistics import (
    Gram,
    Matrix,
    NoisySums,
    Points,
    bounds_of,
    event_of,
    product_tally,
    release_sums,
)
from tacit.plan import REACH, Axis, Training, TrainingSteps

HALF = Fraction(1, 2)
UNLIKELY = 0.05
"""The probability with which the noise may exceed the size for which the ridge is chosen."""


class LinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Least squares from noisy sums X'X and X'y, which the engine computes.

    The ridge is the largest noise on X'X that must be expected, less the smallest eigenvalue of
    the released matrix (AdaSSP). Since the eigenvalue is computed from released numbers, it
    costs no further privacy loss, and no floating-point eigenvalue of exact data gets noise.

    Rows whose features are farther than ``norm`` from the centre of their bounds, in units of
    half the bounds, are left out. If the linear model is true, this biases no coefficient.
    Without a ``norm``, no row within the bounds is left out.

    Guarantee: two Gaussian releases, of half of rho each; integers, and exact noise.
    Reference: Wang 2018, algorithm 2 (AdaSSP).

    Example:
        >>> model = LinearRegression(epsilon=1, bounds=(0, 120), target_bounds=(0, 5000))
        >>> model.get_params()["norm"] is None
        True
    """

    def __init__(  # noqa: PLR0913 - settings by name, as scikit-learn has them
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        target_bounds: Any = None,
        norm: float | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.norm = norm
        self.fit_intercept = fit_intercept

    def event(self, training: Training) -> Event:
        """Describe the releases for the accountant: Gaussian noise on X'X and on X'y."""
        return event_of(self._parts(training), training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Scan the rows once, release both sums, and return the line."""
        points, target = self._points(training), self._target(training)
        parts, known = self._parts(training), target.not_null
        gram, products = yield from release_sums(
            parts, training, self.rho, gateway, points.inside, known
        )
        matrix = Gram(points).matrix(gram)
        moments = floats_of(products) / REACH**2
        noise = root_of(parts[0].mechanism(training, self.rho).variance) / REACH**2
        slopes = solve(matrix + ridge(matrix, noise), moments)
        return self._parameters(slopes, points, target)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the predicted target for each row of ``X``."""
        return self._validate_rows(X) @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scikit-learn's checks use too few rows
        return tags

    def _points(self, training: Training) -> Points:
        # without an intercept the line goes through 0, so the features are not centred
        around = None if self.fit_intercept else Fraction(0)
        points = Points.of(training.features, self.bounds, self.norm, around)
        return points.with_one if self.fit_intercept else points

    def _target(self, training: Training) -> Axis:
        if training.target is None:
            raise InvalidValue("A regression needs a target: name the column to predict.")
        (bounds,) = bounds_of([training.target], self.target_bounds)
        return Axis.of(training.target, bounds, None if self.fit_intercept else Fraction(0))

    def _parts(self, training: Training) -> tuple[NoisySums, NoisySums]:
        points, target = self._points(training), self._target(training)
        products = [product_tally(axis, target, training.max_rows) for axis in points.axes]
        square = points.square * target.reach**2
        gram = Gram(points).sums(training.max_rows, HALF)
        return gram, NoisySums(tuple(products), square, HALF)

    def _parameters(
        self, slopes: Matrix, points: Points, target: Axis
    ) -> tuple[Parameter, ...]:
        """Return the coefficients and the intercept in the units of the columns."""
        ends = [float_of(REACH * axis.unit) for axis in points.axes]
        steepness = finite(float_of(REACH * target.unit) * slopes / ends)
        start = float_of(target.centre)
        if self.fit_intercept:
            start += steepness[-1]
            steepness = steepness[:-1]
        centres = [float_of(axis.centre) for axis in points.axes[: len(steepness)]]
        start -= float(steepness @ centres) if self.fit_intercept else start
        return parameter("coef_", steepness), parameter("intercept_", start)


def ridge(matrix: Matrix, noise: float) -> Matrix:
    """Return the ridge that raises the least eigenvalue of a noisy matrix above the noise.

    Example:
        >>> ridge(np.diag([1.0, 500.0]), noise=1.0)[0, 0] > 2
        np.True_
    """
    size = len(matrix)
    enough = noise * float(np.sqrt(size * np.log(2 * size**2 / UNLIKELY)))
    least = float(eigen(matrix)[0][0])
    return max(0.0, enough - least) * np.eye(size)

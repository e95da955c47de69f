"""What regressions by bounded scores share: a public target, rows that count, and a line."""

from typing import Any

from sklearn.base import RegressorMixin

from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.mallows import MallowsScores
from tacit.ml.points import bounds_of
from tacit.ml.scaled_rows import ScaledRows
from tacit.ml.total_algebra import Floats, float_of, parameter
from tacit.plan.axis import Axis
from tacit.plan.training import Training


class RobustRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A line through a target between public bounds, by Mallows' scores of rows.

    Residuals are taken in units of a public ``scale``. A row x, scaled and with its constant 1,
    counts by w = min(1, (norm / |x|)^2): robust against outliers in the features, too.
    """

    bounds: Any
    scales: Any
    target_bounds: Any
    scale: float
    norm: float

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The line at rows ``X``."""
        return self._asked(X) @ self.coef_ + self.intercept_

    def target(self, training: Training) -> Axis:
        """The target between its public bounds."""
        if training.target is None or not min(self.scale, self.norm) > 0:
            raise InvalidValue(
                "A regression needs a target, and a scale and norm above 0; "
                f"{self.scale} and {self.norm} were given."
            )
        (bounds,) = bounds_of([training.target], self.target_bounds)
        return Axis.of(training.target, bounds)

    def _mallows(self, training: Training, turn: float, shift: float = 0.0) -> MallowsScores:
        """How a row is read, and how much it counts."""
        target = self.target(training)
        bounds = bounds_of(training.features, self.bounds)
        rows = ScaledRows.of(training, bounds, self.scales, (target.steps, target.reach))
        return MallowsScores(rows, float_of(target.unit) / self.scale, turn, self.norm, shift)

    def _line(
        self, weights: Floats, rows: ScaledRows, training: Training
    ) -> tuple[Parameter, Parameter]:
        """The coefficients and the intercept, in units of columns, of released weights."""
        line, start = self.scale * rows.back() @ weights, float_of(self.target(training).centre)
        return parameter("coef_", line[1:]), parameter("intercept_", line[0] + start)

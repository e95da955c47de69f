"""A private standard scaler, and a pipeline of a private scaler and a private model.

The scaler releases means and standard deviations first. The engine then scales the columns by
these released numbers, and the model is fitted to the scaled columns. Both parts are charged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from tacit.core import Composed, Event, Guarantee, Parameter
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import float_of, parameter, root_of
from tacit.ml.sufficient_statistics import (
    NoisyMoments,
    Points,
    bounds_of,
    event_of,
    release_sums,
)
from tacit.plan import REACH, ScaledColumn, Training, TrainingSteps


class StandardScaler(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Standardisation of columns by their noisy mean and standard deviation.

    Guarantee: three Gaussian releases: of the number of rows, the sums and the sums of squares.

    Example:
        >>> StandardScaler(epsilon=0.5, bounds=(0, 120)).get_params()["delta"]
        1e-06
    """

    def __init__(
        self, *, epsilon: float = 1.0, delta: float = 1e-6, bounds: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds

    def event(self, training: Training) -> Event:
        """Describe the releases: noise on the count, the sums and the sums of squares."""
        parts = NoisyMoments(self._points(training).axes).sums(training.max_rows)
        return event_of(parts, training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Scan the rows once, and return means and standard deviations."""
        points = self._points(training)
        moments = NoisyMoments(points.axes)
        parts = moments.sums(training.max_rows)
        found = yield from release_sums(parts, training, self.rho, gateway, points.inside)
        noise = root_of(parts[2].mechanism(training, self.rho).variance)
        counts, means, variances = moments.read(found, noise)
        ends = np.array([float_of(REACH * axis.unit) for axis in points.axes])
        centres = np.array([float_of(axis.centre) for axis in points.axes])
        deviations = np.sqrt(variances[0]) * ends
        return (
            parameter("n_samples_seen_", counts[0]),
            parameter("mean_", centres + means[0] * ends),
            parameter("var_", deviations**2),
            parameter("scale_", deviations),
        )

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the rows of ``X`` less the mean, divided by the standard deviation."""
        return (self._validate_rows(X) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Return the rows as they were before `transform`."""
        return np.asarray(X) * self.scale_ + self.mean_

    def _points(self, training: Training) -> Points:
        return Points.of(training.features, self.bounds)


# ------------------------------------------------------------------ pipeline


class Pipeline(PrivateEstimator):
    """A `StandardScaler` followed by a model; a session fits scikit-learn's `Pipeline` as this.

    The scaler's means and standard deviations are released first. The engine then scales the
    columns by these numbers for the model. The model needs its own ``bounds``, in standard
    deviations, because scaled columns have no public bounds. The model's privacy loss does not
    depend on the numbers that the scaler released.

    Guarantee: the scaler's releases and the model's.

    Example:
        >>> from tacit.ml.linear_regression import LinearRegression
        >>> line = LinearRegression(bounds=(-3, 3), target_bounds=(0, 1))
        >>> Pipeline([("scale", StandardScaler(bounds=(0, 120))), ("line", line)]).delta
        1e-06
    """

    def __init__(self, parts: Any = ()) -> None:
        self.parts = parts

    @property
    def delta(self) -> float:  # type: ignore[override]
        """The delta of the model."""
        return float(self.model.delta)

    @property
    def scaler(self) -> StandardScaler:
        """The first part."""
        return self._two()[0]

    @property
    def model(self) -> Any:
        """The last part."""
        return self._two()[1]

    def event(self, training: Training) -> Event:
        """Describe the releases of the scaler, and of the model on scaled columns."""
        unit = [(Fraction(0), Fraction(1))] * len(training.features)
        after = self.model.event(self._scale_features(training, unit))
        return Composed((self.scaler.event(training), after))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Run the steps of the scaler, and then those of the model."""
        unit = [(Fraction(0), Fraction(1))] * len(training.features)
        # start the model's steps once, so that wrong settings raise before any data is read
        next(self.model.steps(self._scale_features(training, unit), gateway), None)
        first, last = (str(name) for name, _ in self.parts)
        found = yield from self.scaler.steps(training, gateway)
        by_name = {each.name: map(Fraction, each.values) for each in found}
        scales = list(zip(by_name["mean_"], by_name["scale_"], strict=True))
        more = yield from self.model.steps(self._scale_features(training, scales), gateway)
        return (*add_prefix(first, found), *add_prefix(last, more))

    def learn(
        self, parameters: Iterable[Parameter], guarantee: Guarantee, names: Sequence[str] = ()
    ) -> Self:
        """Store the parameters of each part, and the guarantee of both together."""
        found = list(parameters)
        for (name, part), known in zip(self.parts, (names, ()), strict=True):
            part.learn(of_part(name, found), guarantee, known)
            part.n_features_in_ = self.scaler.mean_.size
        self.guarantee_ = guarantee
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the model's predictions for the scaled rows of ``X``."""
        return self.model.predict(self.scaler.transform(X))

    def _scale_features(
        self, training: Training, scales: Sequence[tuple[Fraction, Fraction]]
    ) -> Training:
        within = bounds_of(training.features, self.scaler.bounds)
        each = zip(training.features, within, scales, strict=True)
        return replace(
            training,
            features=tuple(ScaledColumn.of(one, ends, *scale) for one, ends, scale in each),
        )

    def _two(self) -> tuple[StandardScaler, Any]:
        match self.parts:
            case [[str(), StandardScaler() as scaler], [str(), PrivateEstimator() as model]]:
                return scaler, model
        raise InvalidValue(
            "A session can fit a pipeline of two named steps only: a StandardScaler of "
            "tacit.ml, and then a model of tacit.ml."
        )


def of_part(name: str, parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Return the ``parameters`` that begin with name__, without this prefix."""
    start = f"{name}__"
    return tuple(
        replace(each, name=each.name.removeprefix(start))
        for each in parameters
        if each.name.startswith(start)
    )


def add_prefix(name: str, parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters with the prefix name__."""
    return tuple(replace(each, name=f"{name}__{each.name}") for each in parameters)

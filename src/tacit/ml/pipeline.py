"""Means and deviations of columns, and columns without them."""

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
from tacit.ml.sufficient_statistics import NoisyMoments, Points, bounds_of, event_of, released
from tacit.plan import REACH, ScaledColumn, Training, TrainingSteps


class StandardScaler(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Columns less their mean, in units of their deviation, both of which are released.

    Guarantee: three Gaussian releases: of the number of rows, the sums and the squares.

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
        """Gaussian noise on the count, the sums and the squares."""
        parts = NoisyMoments(self._points(training).axes).sums(training.max_rows)
        return event_of(parts, training, self.rho)

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """One scan of the rows."""
        points = self._points(training)
        moments = NoisyMoments(points.axes)
        parts = moments.sums(training.max_rows)
        found = yield from released(parts, training, self.rho, gateway, points.inside)
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
        """Rows ``X`` in deviations from the mean."""
        return (self._asked(X) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Rows as they were before `transform`."""
        return np.asarray(X) * self.scale_ + self.mean_

    def _points(self, training: Training) -> Points:
        return Points.of(training.features, self.bounds)


# ------------------------------------------------------------------ pipeline
# A private scaler and a private model, one after the other; each is charged.


class Pipeline(PrivateEstimator):
    """What a session fits of a scikit-learn `Pipeline`: a `StandardScaler`, and then a model.

    The scaler's mean and deviation are released first. The model then sees columns that are
    scaled by these numbers, in the engine, and has ``bounds`` of its own, in deviations: no
    bounds of a scaled column are public. Its cost does not depend on what the scaler found.

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
        """That of the model."""
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
        """What the scaler releases, and what the model does of any scaled columns."""
        unit = [(Fraction(0), Fraction(1))] * len(training.features)
        after = self.model.event(self._scaled(training, unit))
        return Composed((self.scaler.event(training), after))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Those of the scaler, and then those of the model."""
        unit = [(Fraction(0), Fraction(1))] * len(training.features)
        # what is wrong with the model's settings shows before the first step is asked
        next(self.model.steps(self._scaled(training, unit), gateway), None)
        first, last = (str(name) for name, _ in self.parts)
        found = yield from self.scaler.steps(training, gateway)
        by_name = {each.name: map(Fraction, each.values) for each in found}
        scales = list(zip(by_name["mean_"], by_name["scale_"], strict=True))
        more = yield from self.model.steps(self._scaled(training, scales), gateway)
        return (*prefixed(first, found), *prefixed(last, more))

    def learn(
        self, parameters: Iterable[Parameter], guarantee: Guarantee, names: Sequence[str] = ()
    ) -> Self:
        """Each part with its own parameters, and the guarantee of all of them."""
        found = list(parameters)
        for (name, part), known in zip(self.parts, (names, ()), strict=True):
            part.learn(of_part(name, found), guarantee, known)
            part.n_features_in_ = self.scaler.mean_.size
        self.guarantee_ = guarantee
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the model predicts of scaled rows."""
        return self.model.predict(self.scaler.transform(X))

    def _scaled(
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
            "A pipeline that a session fits has two steps, each with its name: a "
            "StandardScaler of tacit.ml, and then a model of tacit.ml."
        )


def of_part(name: str, parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Those of the ``parameters`` that are called name__..., under their own names."""
    start = f"{name}__"
    return tuple(
        replace(each, name=each.name.removeprefix(start))
        for each in parameters
        if each.name.startswith(start)
    )


def prefixed(name: str, parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """The parameters of a part, as those of the whole."""
    return tuple(replace(each, name=f"{name}__{each.name}") for each in parameters)

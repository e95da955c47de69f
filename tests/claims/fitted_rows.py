"""Models on rows, fed without an engine: rows as it would hand them on, and made-up data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.engines.unit_rows import UnitRows
from tacit.mechanisms.gateway import Gateway
from tacit.ml.clipped_sum import ScaledRows
from tacit.ml.estimator import Arrays
from tacit.noise.integers import Integers

Floats = NDArray[np.float64]


def table_of(
    rows: ScaledRows, features: Floats, target: Integers, of_last: int = 1
) -> Secret[UnitRows]:
    """A matrix of units, features in the axes' steps, and targets in their own.

    Each row is a unit of its own, but for the last ``of_last`` rows, which are one.
    """
    steps = [
        np.clip(
            np.rint((column - float(axis.centre)) / float(axis.unit)), -axis.reach, axis.reach
        )
        for column, axis in zip(features.T, rows.axes, strict=True)
    ]
    units = np.minimum(np.arange(len(features)), len(features) - of_last)
    table = np.column_stack([units, *steps, target])
    return Secret(UnitRows.of(table.astype(np.int64)))


def training_like(features: Floats, target: Any, neighbours: Neighbours) -> Any:
    """What is public of such rows."""
    return Arrays(features[:2], target[:2], neighbours=neighbours).training


def fitted(model: Any, training: Any, table: Secret[UnitRows], gateway: Gateway) -> Any:
    """The model's parameters, by name."""
    steps = model.steps(training, gateway)
    next(steps)
    try:
        steps.send(table)
    except StopIteration as done:
        return {each.name: np.array(each.nested) for each in done.value}
    raise AssertionError


def unit_ball(rng: np.random.Generator, size: int, dimensions: int) -> tuple[Floats, Integers]:
    """Directions at random, and classes by a line of steepness 8: those of claim T53."""
    features = rng.normal(size=(size, dimensions))
    features /= np.maximum(1, np.linalg.norm(features, axis=1))[:, None]
    line = rng.normal(size=dimensions)
    odds = features @ (8 * line / np.linalg.norm(line))
    return features, (rng.random(size) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def risk(features: Floats, classes: Integers, weights: Floats) -> float:
    """The mean log-loss."""
    margins = (2 * classes - 1) * (features @ weights)
    return float(np.logaddexp(0, -margins).mean())


def minimiser(features: Floats, classes: Integers, penalty: float) -> Floats:
    """Of the sum of log-losses and penalty / 2 times the squared length."""
    signs = 2 * classes - 1

    def objective(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (features @ weights)
        slopes = -signs / (1 + np.exp(np.clip(margins, -500, 500)))
        loss = np.logaddexp(0, -margins).sum() + penalty / 2 * weights @ weights
        return float(loss), features.T @ slopes + penalty * weights

    start = np.zeros(features.shape[1])
    limits = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 2000}
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=limits).x)

"""What a fitted classifier is scored by: its line, and the rows that it is beside."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tacit.core.parameter import Parameter
from tacit.errors import InvalidValue
from tacit.ml.fewest_errors import Labelled
from tacit.ml.linear_rule import LinearRule
from tacit.ml.pipeline import Pipeline, of_part
from tacit.ml.points import Points
from tacit.ml.total_algebra import finite
from tacit.plan.training import Training


def scored_rows(model: Any, training: Training) -> Labelled:
    """The rows of ``training`` with a class; one that is not linear is refused.

    Example:
        >>> from tacit.ml.naive_bayes import GaussianNB
        >>> scored_rows(GaussianNB(), None)
        Traceback (most recent call last):
        tacit.errors.InvalidValue: GaussianNB has no score here: linear classifiers have one.
    """
    last = model.model if isinstance(model, Pipeline) else model
    if not hasattr(last, "decision_function") or not is_classifier(last):
        name = type(last).__name__
        raise InvalidValue(f"{name} has no score here: linear classifiers have one.")
    bounds = model.scaler.bounds if isinstance(model, Pipeline) else model.bounds
    axes = Points.of(training.features, bounds).axes
    return Labelled(axes, training.target, tuple(np.asarray(last.classes).tolist()))


def rule_of(model: Any, parameters: Iterable[Parameter]) -> LinearRule:
    """The line of a classifier by its released ``parameters``, in its columns' own units."""
    found = tuple(parameters)
    if isinstance(model, Pipeline):
        first, last = (str(name) for name, _ in model.parts)
        scaler = _numbers(of_part(first, found))
        line = _numbers(of_part(last, found))
        slopes = finite(np.atleast_2d(line["coef_"]) / scaler["scale_"])
        starts = np.atleast_1d(line["intercept_"]) - slopes @ scaler["mean_"]
        return LinearRule.of(finite(slopes), finite(starts), len(model.model.classes))
    line = _numbers(found)
    return LinearRule.of(line["coef_"], line["intercept_"], len(model.classes))


def _numbers(parameters: Iterable[Parameter]) -> dict[str, Any]:
    return {each.name: np.asarray(each.nested, dtype=np.float64) for each in parameters}

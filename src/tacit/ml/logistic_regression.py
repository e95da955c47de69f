"""Logistic regression by noisy gradient descent, for two classes or more."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from tacit.ml.descent_classifier import DescentClassifier
from tacit.ml.total_algebra import Floats
from tacit.noise.integers import Integers


class LogisticRegression(DescentClassifier):
    """The log-odds of public ``classes`` as a line; for settings see `DescentClassifier`.

    More than two classes are one problem, a softmax, and not one each.

    Example:
        >>> model = LogisticRegression(epsilon=1, bounds=(0, 120), classes=("no", "yes"))
        >>> model.classes_.tolist()
        ['no', 'yes']
    """

    curvature = 0.25

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each class."""
        scores = self.decision_function(X)
        if self._outputs == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def _off(self, scores: Floats, labels: Integers) -> Floats:
        """How far the probabilities by ``scores`` are from what the rows are."""
        if self._outputs == 1:
            return np.asarray(expit(scores) - labels[:, None])
        return np.asarray(softmax(scores, axis=1) - np.eye(len(self.classes))[labels])

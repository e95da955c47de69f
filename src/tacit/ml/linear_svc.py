"""A support vector machine by noisy gradient descent, with a hinge that is round."""

import numpy as np

from tacit.ml.descent_classifier import DescentClassifier
from tacit.ml.total_algebra import Floats
from tacit.noise.integers import Integers

HALF_WIDTH = 0.5
"""Of the round part of the hinge, around a margin of 1."""


class LinearSVC(DescentClassifier):
    """A line with a margin between ``classes``; for settings see `DescentClassifier`.

    The loss of a margin z is Huber's: 1 - z below 1 - h, nothing above 1 + h, and a parabola
    between. More than two classes have a line each against all others, in one problem.

    Reference: Chapelle 2007; Chaudhuri, Monteleoni, Sarwate 2011, equation 7.

    Example:
        >>> LinearSVC(epsilon=1, bounds=(0, 120)).get_params()["iterations"]
        40
    """

    curvature = 1 / (2 * HALF_WIDTH)

    def _off(self, scores: Floats, labels: Integers) -> Floats:
        """The slope of the hinge at each row's margins."""
        places = np.ones(1) if self._outputs == 1 else np.arange(self._outputs)
        signs = np.where(labels[:, None] == places, 1.0, -1.0)
        return -signs * np.clip((1 + HALF_WIDTH - signs * scores) / (2 * HALF_WIDTH), 0, 1)

"""How fresh noise shows in what is shown: the same at every step, as long as it is there."""

import numpy as np

from tacit.stream.factor import Numbers
from tacit.stream.window import Window


def spread(response: Numbers, window: Window) -> Numbers:
    """The deviation of what is shown at each step.

    ``response`` says how far a fresh draw moves the noise of its own step and of those after.

    Example:
        >>> spread(np.array([1.0, 0.0, 0.0, 0.0]), Window(None)).round(2).tolist()
        [1.0, 1.41, 1.73, 2.0]
    """
    summed = np.cumsum(response)
    if window.steps is not None:
        summed[window.steps :] -= np.cumsum(response)[: -window.steps]
    deviations: Numbers = np.sqrt(np.cumsum(summed**2))
    return deviations

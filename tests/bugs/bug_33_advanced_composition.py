"""TD-10, 33: a filter that adds up by advanced composition, though epsilons are adaptive."""

from collections.abc import Callable
from math import exp, log, sqrt

from tacit.core.loss import Loss, Measure
from tacit.lab.accountants import PrivacyFilter

PLACE = "tacit.lab.accountants:PrivacyFilter.admits"
CAUGHT_BY = "tests/bugs/test_a_filter_is_a_sum.py::test_a_hundred_small_losses_fill_a_filter"
SHOWN = "assert not spent.admits(SMALL)"

Admits = Callable[[PrivacyFilter, Loss], bool]


def bug(original: Admits) -> Admits:
    def admits(self: PrivacyFilter, loss: Loss) -> bool:
        epsilon = float(loss.amount)
        if self.cap.measure is not Measure.APPROXIMATE or not self.cap.delta or not epsilon:
            return original(self, loss)
        # as many equal losses as fill what is spent, all charged to half of delta
        times = float(self.spent.amount) / epsilon + 1
        room = sqrt(2 * times * log(2 / self.cap.delta)) * epsilon
        return room + times * epsilon * (exp(epsilon) - 1) <= self.cap.amount

    return admits

"""F-A8: randomised response with many answers is priced by the divergence of order 1 alone."""

from collections.abc import Callable
from fractions import Fraction

from tacit.numeric.exact_numbers import log_bounds

PLACE = "tacit.accounting.concentrated_loss:response_rho"
CAUGHT_BY = (
    "tests/unit/accounting/test_concentrated_loss.py"
    "::test_randomised_response_costs_the_divergence_of_its_own_law[odds20-1000]"
)
SHOWN = "assert price >= shown"

Curve = Callable[[Fraction, int], Fraction]


def bug(original: Curve) -> Curve:
    def response_rho(truth: Fraction, choices: int) -> Fraction:
        lie = (1 - truth) / (choices - 1)
        if truth <= lie:
            return original(truth, choices)
        return log_bounds(truth / lie)[1] * (truth - lie)

    return response_rho

"""F-A8: noise on a count is priced by the curve of continuous noise, which is a fifth lower."""

from collections.abc import Callable
from fractions import Fraction

from tacit.numeric.exact_numbers import exp_bounds

PLACE = "tacit.accounting.concentrated_loss:laplace_rho"
CAUGHT_BY = (
    "tests/unit/accounting/test_concentrated_loss.py"
    "::test_laplace_noise_costs_the_divergence_of_its_own_law[1-scale0]"
)
SHOWN = "assert price >= shown - Decimal(10) ** -30"

Curve = Callable[[Fraction, Fraction], Fraction]


def bug(original: Curve) -> Curve:
    del original

    def laplace_rho(sensitivity: Fraction, scale: Fraction) -> Fraction:
        epsilon = sensitivity / scale
        return epsilon - 1 + exp_bounds(-epsilon)[1]

    return laplace_rho

"""Which selection to use: the budget's measure decides."""

from fractions import Fraction

from tacit.accounting.price import loss_of
from tacit.choose.candidate import Candidate
from tacit.core.loss import Loss
from tacit.core.sensitivity import Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.permute_and_flip import PermuteAndFlip

UNIT = Fraction(1, 10**9)
"""Rates are solved for to this step, rounded down."""

HALF = Fraction(1, 2)

Selector = PermuteAndFlip | Exponential
KINDS: tuple[type[Selector], ...] = (PermuteAndFlip, Exponential)


def choose_selector(
    sensitivity: Sensitivity, candidates: int, loss: Loss, *, monotone: bool = False
) -> Candidate:
    """The selection that misses the best score by least within ``loss``.

    At equal epsilon permute-and-flip never does worse than the exponential mechanism, so it is
    taken under pure epsilon. Under zCDP the exponential mechanism costs epsilon**2 / 8 and
    permute-and-flip epsilon**2 / 2: the first may use twice the rate, and is taken.

    Example:
        >>> from tacit.core.proof import Rule
        >>> from tacit.core.sensitivity import Norm
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a person changes each score by 1"))
        >>> type(choose_selector(one, 10, Loss.pure(1)).mechanism).__name__
        'PermuteAndFlip'
        >>> type(choose_selector(one, 10, Loss.zcdp("0.05")).mechanism).__name__
        'Exponential'
    """
    if sensitivity.amount == 0 or loss.amount == 0:
        raise InvalidValue("A selection needs a sensitivity and a loss above 0.")
    rates = {kind: _rate(kind, sensitivity, candidates, loss, monotone) for kind in KINDS}
    mechanisms = [kind(rates[kind], candidates, monotone) for kind in KINDS]
    found = [Candidate(mechanism, mechanism.error(HALF)) for mechanism in mechanisms]
    return min(found, key=lambda candidate: candidate.error)


def _rate(
    kind: type[Selector],
    sensitivity: Sensitivity,
    candidates: int,
    loss: Loss,
    monotone: bool,  # noqa: FBT001 - a field handed on
) -> Fraction:
    """The greatest rate, to a step, whose event stays within ``loss``."""

    def fits(steps: int) -> bool:
        event = kind(steps * UNIT, candidates, monotone).event(sensitivity)
        return loss_of(event, loss.measure, loss.delta) <= loss

    high = 1
    while fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return max(1, low) * UNIT

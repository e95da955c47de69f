"""Private selection of one candidate: permute-and-flip, or the exponential mechanism.

At equal epsilon, permute-and-flip is never worse than the exponential mechanism. Under zCDP the
exponential mechanism costs less. `choose_selector` takes the better one for a given loss.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.accounting import loss_of
from tacit.choose import Candidate
from tacit.core import Loss, Norm, PermuteAndFlipSelectionV2, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Exponential, Gateway, check_choice, check_size, shortfall, spread
from tacit.noise import Categorical, Geometric, Integers, choose
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """The permute-and-flip mechanism: the first candidate in random order that is accepted.

    A candidate is accepted with probability exp(-rate * gap), where the gap is the difference
    between the best score and its own. Under pure epsilon, this mechanism is the better choice;
    under zCDP, the exponential mechanism is, since its cost there is a quarter.

    Guarantee: scores that one unit changes by at most d have the pure loss 2 * rate * d, and
    half of that where they are ``monotone``: where one unit changes all scores in the same
    direction.
    Reference: McKenna, Sheldon 2020; Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021
    (the mechanism equals report noisy max with exponential noise).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each score by at most 1"))
        >>> PermuteAndFlip(Fraction("0.25"), candidates=10).event(one)
        PermuteAndFlipSelectionV2(epsilon=Fraction(1, 2))
    """

    rate: Fraction
    candidates: int
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, self.candidates)

    def event(self, sensitivity: Sensitivity) -> PermuteAndFlipSelectionV2:
        """Describe the selection, which has the epsilon of the exponential mechanism."""
        return PermuteAndFlipSelectionV2(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the index of the chosen candidate, in an array of one entry."""
        draw = FlipAll(self.rate, self.candidates)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin by which the chosen score may be below the best.

        The probability of exceeding it is half that of the exponential mechanism: if H
        candidates with such a gap are accepted, one of them comes before the best candidate
        with probability H / (H + 1), which is at most H / 2 for H >= 1.
        """
        return shortfall(self.rate, Fraction(self.candidates, 2), confidence)


@dataclass(frozen=True, slots=True)
class FlipAll:
    """The draw of permute-and-flip: a uniform choice among all accepted candidates.

    This has the same distribution as the first accepted candidate in a random order. All coins
    are always flipped, so that the running time does not depend on the result.
    """

    rate: Fraction
    candidates: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the index of the chosen score."""
        check_size(values, self.candidates)
        scores = values.astype(object)  # Python integers: a gap may exceed 64 bits
        # a geometric draw of scale 1 / rate reaches the gap with probability exp(-rate * gap)
        ticks = Geometric(1 / self.rate).draw(entropy, self.candidates)
        heads = Categorical(tuple(map(int, ticks >= scores.max() - scores)))
        return np.array([choose(entropy, heads)], dtype=np.int64)


# ------------------------------------------------------------------ choice of a mechanism

UNIT = Fraction(1, 10**9)
"""The step to which the rate of a selection mechanism is rounded down."""

HALF = Fraction(1, 2)

Selector = PermuteAndFlip | Exponential
KINDS: tuple[type[Selector], ...] = (PermuteAndFlip, Exponential)


def choose_selector(
    sensitivity: Sensitivity, candidates: int, loss: Loss, *, monotone: bool = False
) -> Candidate:
    """Return the selection mechanism with the smallest error within ``loss``.

    At equal epsilon, permute-and-flip is never worse than the exponential mechanism, so it is
    chosen under pure epsilon. Under zCDP, the exponential mechanism costs epsilon**2 / 8 and
    permute-and-flip about epsilon**2 / 2. So the exponential mechanism may use twice the rate,
    and is chosen.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> from tacit.core.sensitivity import Norm
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a person changes each score by 1"))
        >>> type(choose_selector(one, 10, Loss.pure(1)).mechanism).__name__
        'PermuteAndFlip'
        >>> type(choose_selector(one, 10, Loss.zcdp("0.05")).mechanism).__name__
        'Exponential'
    """
    if sensitivity.amount == 0 or loss.amount == 0:
        raise InvalidValue("A selection needs a sensitivity above 0 and a loss above 0.")
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
    """Return the largest rate, to a precision of `UNIT`, whose event is within ``loss``."""

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

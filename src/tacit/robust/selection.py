"""Permute-and-flip: one candidate, never worse than the exponential mechanism's."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.accounting import loss_of
from tacit.choose import Candidate
from tacit.core import Loss, Norm, PermuteAndFlipSelection, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Exponential, Gateway, check_choice, check_size, shortfall, spread
from tacit.noise import Categorical, Geometric, Integers, choose
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """The place of the first candidate in random order whose coin exp(-rate * gap) falls heads.

    The gap is how far its score lies below the best. Under pure epsilon this is the better
    choice; under zCDP the exponential mechanism is, which costs a quarter there.

    Guarantee: scores that one unit moves by d at most lose pure epsilon 2 * rate * d, and half
    of it where they are ``monotone``: where one unit moves all of them the same way.
    Reference: McKenna, Sheldon 2020; Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021 (it
    is report noisy max with exponential noise).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each score by at most 1"))
        >>> PermuteAndFlip(Fraction("0.25"), candidates=10).event(one)
        PermuteAndFlipSelection(epsilon=Fraction(1, 2))
    """

    rate: Fraction
    candidates: int
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, self.candidates)

    def event(self, sensitivity: Sensitivity) -> PermuteAndFlipSelection:
        """A selection of the same epsilon as the exponential mechanism."""
        return PermuteAndFlipSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen candidate, in an array of one."""
        draw = FlipAll(self.rate, self.candidates)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far the chosen score lies below the best at most.

        Half as likely to be passed as with the exponential mechanism: where H candidates so far
        below fall heads, one of them comes first with probability H / (H + 1) <= H / 2 at most.
        """
        return shortfall(self.rate, Fraction(self.candidates, 2), confidence)


@dataclass(frozen=True, slots=True)
class FlipAll:
    """Flips all coins, and takes one of those that fell heads, uniformly.

    That is the first heads in a random order, without the order. All steps are done whatever
    falls, so that their number says nothing.
    """

    rate: Fraction
    candidates: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of one of the scores."""
        check_size(values, self.candidates)
        scores = values.astype(object)  # Python integers: a gap may pass 64 bits
        # a geometric draw of scale 1 / rate reaches the gap with probability exp(-rate * gap)
        ticks = Geometric(1 / self.rate).draw(entropy, self.candidates)
        heads = Categorical(tuple(map(int, ticks >= scores.max() - scores)))
        return np.array([choose(entropy, heads)], dtype=np.int64)


# ------------------------------------------------------------------ selector
# Which selection to use: the budget's measure decides.

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
        >>> from tacit.core.sensitivity import Rule
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

"""How the loss of a question is divided among its tallies."""

from collections import defaultdict
from fractions import Fraction

from tacit.core.loss import Loss
from tacit.plan.bound import Bound
from tacit.plan.reading import (
    ExtremeReading,
    MeanReading,
    QuantileReading,
    TotalReading,
    VarianceReading,
)
from tacit.plan.sensitivity import group_count

TOTAL_SHARE = Fraction(3, 5)
"""What the centred sum of a mean gets of its loss; its count gets the rest.

Loss in proportion to how much each moves the answer makes the variance least under zCDP, and a
count moves a mean by its distance from the centre. That is two thirds of a sum's bound here:
bounds are wide, and what is asked for often lies near one of them. Half each would be better by
2% for a mean at a bound, and worse by 10% for one at the centre.
"""

SQUARES_SHARE, MEAN_SHARE = Fraction(2, 5), Fraction(2, 5)
"""What the squares and the sum of a variance get of its loss; its count gets the rest.

By the same rule: a quarter of the half range off the centre, and values spread evenly, the
three move a variance by 0.5, 0.5 and 0.29 of the square of the half range.
"""


def shares(bounded: Bound) -> list[Fraction]:
    """The part of the loss that each tally gets: equal parts for what the analyst asked."""
    parts: dict[int, Fraction] = defaultdict(Fraction)
    whole = Fraction(1, len(bounded.readings))
    for reading in bounded.readings:
        match reading:
            case TotalReading(tally, _):
                parts[tally] += whole
            case MeanReading():
                parts[reading.total] += whole * TOTAL_SHARE
                parts[reading.count] += whole * (1 - TOTAL_SHARE)
            case VarianceReading():
                parts[reading.squares] += whole * SQUARES_SHARE
                parts[reading.mean.total] += whole * MEAN_SHARE
                parts[reading.mean.count] += whole * (1 - SQUARES_SHARE - MEAN_SHARE)
            case QuantileReading() | ExtremeReading():
                parts[reading.tree] += whole
    return [parts[place] for place in range(len(bounded.plan.tallies))]


def losses(bounded: Bound, loss: Loss) -> list[Loss]:
    """The loss of each tally; where the keys are secret, the first one selects them.

    A selection whose counts nobody asked for takes as much as one thing that was asked, and a
    selection takes all of the delta. Under (epsilon, delta) the tallies of public groups share
    it equally, since each is read off its curve at one delta.
    """
    parts = shares(bounded)
    if group_count(bounded.plan) is not None:
        each = loss.delta / len(parts)
        return [Loss(loss.measure, loss.amount * part, each) for part in parts]
    if not parts[0]:
        asked = len(bounded.readings)
        parts = [Fraction(1, asked), *parts[1:]]
        parts = [part * Fraction(asked, asked + 1) for part in parts]
    deltas = [loss.delta, *(Fraction(0) for _ in parts[1:])]
    return [
        Loss(loss.measure, loss.amount * part, delta)
        for part, delta in zip(parts, deltas, strict=True)
    ]

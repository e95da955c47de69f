"""How the loss of a question is divided among its tallies."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import loss_of
from tacit.choose import choose_noise, choose_quantile, keys
from tacit.choose.keys import choose_keys
from tacit.core import Catalog, Composed, Loss, Measure, Neighbours, Norm
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import (
    Gaussian,
    GaussianKeys,
    GridQuantile,
    Laplace,
    LaplaceKeys,
    Mechanism,
    TreeQuantile,
    TruncatedGeometricKeys,
)
from tacit.numeric import sqrt_bounds
from tacit.plan import (
    Bound,
    BoundedPlan,
    ColumnKey,
    ExtremeReading,
    MeanReading,
    PeriodKey,
    Plan,
    QuantileReading,
    Tally,
    TotalReading,
    TreeTally,
    VarianceReading,
    assumptions,
    bound,
    canonical,
    check_post,
    group_count,
    groups_touched,
    sensitivities,
)
from tacit.query.quote import PricedTally, Quote

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


# ------------------------------------------------------------------ price
# The price of a question, from public facts alone.


def price(plan: Plan, catalog: Catalog, loss: Loss) -> Quote:
    """What answering ``plan`` within ``loss`` would do.

    Guarantee: no data is read, and the event's loss, computed by another route than the
    mechanisms were, is within ``loss``.
    """
    question = canonical(plan)
    bounded = bound(question.plan, catalog)
    names = tuple(measure.name for measure in question.plan.measures)
    check_post(question.post, bounded.plan.keys, names)
    dataset = catalog.dataset(bounded.plan.source.dataset)
    population = catalog.population(dataset.population)
    neighbours = population.unit.neighbours
    parts = losses(bounded, loss)
    tallies, delta = [], parts[-1].delta
    if group_count(bounded.plan) is None:
        counted = shares(bounded)[0] > 0
        tallies.append(selection_for(bounded.plan, parts[0], neighbours, counted=counted))
        delta = keys.price_delta(parts[0])
    rest = slice(len(tallies), None)
    for tally, part in zip(bounded.plan.tallies[rest], parts[rest], strict=True):
        tallies.append(noise_for(bounded.plan, tally, part, neighbours))
    event = Composed(tuple(part.mechanism.event(part.sensitivity) for part in tallies))
    if not loss_of(event, loss.measure, delta) <= loss:
        raise InternalError("A quote costs more than was asked for.")
    assumed = assumptions(bounded.plan.source, catalog)
    return Quote(question, bounded, population, tuple(tallies), event, loss, delta, assumed)


def noise_for(
    plan: BoundedPlan, tally: Tally, loss: Loss, neighbours: Neighbours
) -> PricedTally:
    """The noise or the choice with the least error for ``tally`` within ``loss``."""
    if tally.low == tally.high == 0:
        raise InvalidValue(
            "A number in this question has one value alone within the declared bounds and "
            "limits, so that there is nothing to ask; widen them, or leave it out."
        )
    moved = sensitivities(plan, tally, neighbours)
    if isinstance(tally, TreeTally) and tally.quantile is not None:
        rows, groups = (
            next(part for part in moved if part.norm is Norm.L1),
            groups_touched(plan),
        )
        chosen = choose_quantile(rows, tally.quantile, tally.cells, groups, loss)
        return PricedTally(chosen, rows)
    # Gaussian noise has an epsilon only at a delta
    curved = loss.measure is Measure.APPROXIMATE and not loss.delta
    known = [part for part in moved if part.norm is Norm.L1] if curved else moved
    mechanism = choose_noise(known, group_count(plan) or 1, loss).mechanism
    norm = Norm.L2 if isinstance(mechanism, Gaussian) else Norm.L1
    return PricedTally(mechanism, next(part for part in moved if part.norm is norm))


def selection_for(
    plan: BoundedPlan, loss: Loss, neighbours: Neighbours, *, counted: bool
) -> PricedTally:
    """The selection of the groups of ``plan`` within ``loss``, by its first tally."""
    if not loss.delta:
        raise InvalidValue(
            "The groups of this question are not public, and which there are cannot be "
            "released without a delta; ask with one, such as 1e-8, which the budget's delta "
            f"must hold, or {to_declare(plan)}."
        )
    moved = sensitivities(plan, plan.tallies[0], neighbours)
    once = next(part for part in moved if part.norm is Norm.L2)
    return PricedTally(choose_keys(once, loss, counted=counted).mechanism, once)


def to_declare(plan: BoundedPlan) -> str:
    """What the owner can declare so that all groups are public; empty where they are."""
    parts = []
    for key in plan.keys:
        match key:
            case ColumnKey(_, name, _, None):
                parts.append(f"the keys of {name!r}")
            case PeriodKey(_, day, _, None):
                parts.append(f"the bounds of {day.name!r}")
    return f"declare {' and '.join(parts)}" if parts else ""


# ------------------------------------------------------------------ advice
# Cheaper ways to ask the same: worked out from public facts, before anything is charged.


@dataclass(frozen=True, slots=True)
class Advice:
    """What to change, and by which part the noise would be smaller at the same loss.

    Example:
        >>> print(Advice("declare the keys of 'doctor'", Fraction(38, 100)))
        declare the keys of 'doctor': noise 38% smaller
    """

    change: str
    smaller: Fraction

    def __str__(self) -> str:
        percent = (100 * self.smaller).__floor__()
        return f"{self.change}: noise {percent}% smaller" if percent > 0 else self.change


def advice_on(quote: Quote) -> tuple[Advice, ...]:
    """What would answer the question of ``quote`` with less noise.

    Guarantee: a function of the quote, which is public; no data is read.
    """
    return tuple(_declared_keys(quote))


def _declared_keys(quote: Quote) -> Iterator[Advice]:
    """With public keys nothing is spent on selecting groups, and none is left out."""
    plan, change = quote.bound.plan, to_declare(quote.bound.plan)
    if not change:
        return
    smaller, parts, loss = [Fraction(0)], shares(quote.bound), quote.loss
    delta = loss.delta / sum(part > 0 for part in parts)
    for place, part in enumerate(parts):
        if part:
            whole = Loss(loss.measure, loss.amount * part, delta)
            neighbours = quote.population.unit.neighbours
            declared = noise_for(plan, plan.tallies[place], whole, neighbours)
            now = quote.tallies[place].mechanism
            smaller.append(1 - sqrt_bounds(variance(declared.mechanism) / variance(now))[1])
    yield Advice(change, max(smaller))


def variance(mechanism: Mechanism) -> Fraction:
    """Of the noise of one released number, or just above it."""
    match mechanism:
        case Gaussian(square) | GaussianKeys(square, _, _) | TreeQuantile(square, _, _):
            return square
        case Laplace(scale):
            return 2 * scale**2
        case GridQuantile(_, rate):
            return 2 / rate**2  # in ranks, far from the ends of a table
        case LaplaceKeys(epsilon, _, max_keys) | TruncatedGeometricKeys(epsilon, _, max_keys):
            return 2 * (max_keys / epsilon) ** 2
    raise InternalError(f"The noise of {type(mechanism).__name__} has no variance here.")

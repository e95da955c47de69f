"""The price of a question, from public facts alone, and advice on how to lower its noise.

`price` bounds the question, divides the allowed loss among its tallies (`losses`), chooses the
mechanism with the least error for each of them, and checks that the loss of the whole event is
within the allowed loss. `advice_on` looks for declarations that would give less noise at the
same loss.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit import mechanisms
from tacit import plan as plans
from tacit.accounting import loss_of
from tacit.choose import (
    choose_noise,
    choose_quantile,
    gaussian_in_rho,
    keys,
    split_loss,
    tables_to_measure,
)
from tacit.choose.keys import choose_keys
from tacit.core import (
    Catalog,
    Composed,
    Loss,
    Measure,
    Neighbours,
    Norm,
    Population,
    Sensitivity,
)
from tacit.errors import InternalError, InvalidValue
from tacit.numeric import sqrt_bounds
from tacit.query.priced_time import PricedTime
from tacit.query.quote import PricedTally, Quote

# Division of the loss among tallies ----------------------------------------------------------

TOTAL_SHARE = Fraction(3, 5)
"""Part of the loss of a mean that its centred sum gets; the count gets the rest.

Under zCDP the variance of the mean is least if each part is proportional to how much its noise
changes the mean. The noise of the count changes a mean by the mean's distance from the centre.
We assume that this distance is two thirds of the half range, because bounds are usually wide
and many means lie near one of them. Equal parts would be better by 2% for a mean at a bound,
and worse by 10% for a mean at the centre.
"""

SQUARES_SHARE, MEAN_SHARE = Fraction(2, 5), Fraction(2, 5)
"""Parts of the loss of a variance that its squares and its sum get; the count gets the rest.

They follow from the same rule: for a mean that is a quarter of the half range off the centre,
and values that are spread evenly, the noises of the three change a variance by 0.5, 0.5 and
0.29 of the square of the half range.
"""


PAIR_SHARES: dict[int, tuple[Fraction, Fraction, Fraction]] = {
    0: (Fraction(5, 10), Fraction(4, 20), Fraction(0)),
    1: (Fraction(35, 100), Fraction(7, 40), Fraction(1, 5)),
    2: (Fraction(3, 10), Fraction(13, 100), Fraction(17, 100)),
}
"""Parts of the loss of a statistic of two numbers: its products, each sum, and each variance.

They depend on the number of variances that the statistic needs; the count gets the rest. Noise
in the products moves a covariance by as much as a row can, and noise in a sum by the distance
of the other mean from its centre, of which we assume a third of the half range.
"""


def shares(bounded: plans.Bound) -> list[Fraction]:
    """Return the part of the loss that each tally gets; all measures get equal parts.

    A count of people that only decides which cells are shown gets as much as one measure. If
    the keys are secret, their selection counts the people.
    """
    parts: dict[int, Fraction] = defaultdict(Fraction)
    asked = len(bounded.readings)
    if bounded.people is not None and plans.group_count(bounded.plan) is not None:
        counted = [
            each.tally for each in bounded.readings if isinstance(each, plans.TotalReading)
        ]
        if bounded.people not in counted:
            asked += 1
            parts[bounded.people] += Fraction(1, asked)
    whole = Fraction(1, asked)
    for reading in bounded.readings:
        match reading:
            case plans.TotalReading(tally, _):
                parts[tally] += whole
            case plans.MeanReading():
                parts[reading.total] += whole * TOTAL_SHARE
                parts[reading.count] += whole * (1 - TOTAL_SHARE)
            case plans.VarianceReading():
                parts[reading.squares] += whole * SQUARES_SHARE
                parts[reading.mean.total] += whole * MEAN_SHARE
                parts[reading.mean.count] += whole * (1 - SQUARES_SHARE - MEAN_SHARE)
            case plans.PairReading():
                for place, part in _pair_shares(reading):
                    parts[place] += whole * part
            case plans.QuantileReading() | plans.ExtremeReading():
                parts[reading.tree] += whole
    return [parts[place] for place in range(len(bounded.plan.tallies))]


def _pair_shares(reading: plans.PairReading) -> list[tuple[int, Fraction]]:
    """Return the tallies of a statistic of two numbers, and the part that each gets."""
    spreads = [each for each in (reading.x_variance, reading.y_variance) if each is not None]
    products, sums, squares = PAIR_SHARES[len(spreads)]
    count = 1 - products - 2 * sums - len(spreads) * squares
    return [
        (reading.product, products),
        (reading.x.total, sums),
        (reading.y.total, sums),
        (reading.x.count, count),
        *((each.squares, squares) for each in spreads),
    ]


def losses(bounded: plans.Bound, loss: Loss) -> list[Loss]:
    """Return the loss of each tally. If the keys are secret, the first tally selects them.

    A key selection whose counts are not a measure of the question gets as much as one measure.
    A selection gets all of the delta. With public groups, tallies share the delta equally:
    under (epsilon, delta), the epsilon of each of them is read off its curve at its part of
    delta.
    """
    parts = shares(bounded)
    if plans.group_count(bounded.plan) is not None:
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


# The price -----------------------------------------------------------------------------------


def price(
    plan: plans.Plan, catalog: Catalog, loss: Loss, time: PricedTime | None = None
) -> Quote:
    """Return the quote for answering ``plan`` within ``loss``, and ``time`` with it.

    Guarantee: no data is read. The loss of the event is within ``loss``; it is computed again,
    independently of the code that chose the mechanisms.
    """
    question = plans.canonical(plan)
    bounded = plans.bound(question.plan, catalog)
    names = tuple(measure.name for measure in question.plan.measures)
    pairs = zip(names, bounded.readings, strict=True)
    dates = frozenset(name for name, reading in pairs if plans.is_date(reading))
    plans.check_post(question.post, bounded.plan.keys, names, dates)
    dataset = catalog.dataset(bounded.plan.source.dataset)
    population = catalog.population(dataset.population)
    return _price_bound(question, bounded, population, catalog, loss, time)


def reprice(quote: Quote, catalog: Catalog, loss: Loss, time: PricedTime | None) -> Quote:
    """Return the quote for the same question at another loss, as `price` would.

    The question is not bounded again, so that this is several times faster.
    """
    return _price_bound(quote.question, quote.bound, quote.population, catalog, loss, time)


def _price_bound(  # noqa: PLR0913, PLR0917 - a question, its loss and its time
    question: plans.Canonical,
    bounded: plans.Bound,
    population: Population,
    catalog: Catalog,
    loss: Loss,
    time: PricedTime | None,
) -> Quote:
    """Return the quote of a question whose contributions are bounded."""
    neighbours = population.unit.neighbours
    if bounded.tables:
        return _price_tables(question, bounded, population, catalog, loss, time)
    parts = losses(bounded, loss if time is None else time.rest_of(loss))
    tallies, delta = [], parts[-1].delta
    if plans.group_count(bounded.plan) is None:
        counted = shares(bounded)[0] > 0 or bounded.people is not None
        tallies.append(selection_for(bounded.plan, parts[0], neighbours, counted=counted))
        delta = keys.price_delta(parts[0])
    rest = slice(len(tallies), None)
    for tally, part in zip(bounded.plan.tallies[rest], parts[rest], strict=True):
        tallies.append(noise_for(bounded.plan, tally, part, neighbours))
    event = _event_of(tallies, loss, delta, time)
    assumed = _assumptions(bounded, catalog, time)
    return Quote(
        *(question, bounded, population, tuple(tallies), event, loss, delta, assumed),
        time=time,
    )


def _event_of(
    tallies: Sequence[PricedTally], loss: Loss, delta: Fraction, time: PricedTime | None
) -> Composed:
    """Return the event of a question, after a check that its loss is what was asked for."""
    events = tuple(part.mechanism.event(part.sensitivity) for part in tallies)
    if time is not None and time.event is not None:
        events = (*events, time.event)
    event, most = Composed(events), loss if time is None else time.total_of(loss)
    if not _loss_of(event, loss.measure, delta) <= most:
        raise InternalError("The price of a quote is above the requested loss.")
    return event


def _assumptions(
    bounded: plans.Bound, catalog: Catalog, time: PricedTime | None
) -> tuple[str, ...]:
    """Return the assumptions of a guarantee: those of the tables, and that of the time."""
    assumed = plans.assumptions(bounded.plan.source, catalog)
    return assumed if time is None else (*assumed, time.assumption)


class LastPrice:
    """The last quote that was computed, so that a worker prices a question once.

    A worker rehearses a question before the charge and runs it after the charge, and needs its
    quote both times. Only one quote is stored, and it is dropped before the next one is
    computed, so that a worker never has memory for two.

    Guarantee: a stored quote is returned only for the same ``text`` under the same catalogue.
    The text must determine plan and loss. Plans themselves are not compared, because equal
    plans may differ: in Python, 1 and TRUE are equal.
    """

    def __init__(self) -> None:
        self._found: tuple[str, Catalog, Quote] | None = None

    def price(self, text: str, catalog: Catalog, compute: Callable[[], Quote]) -> Quote:
        """Return the quote of the question ``text``, which ``compute`` computes if needed."""
        found = self._found
        if found is not None and found[0] == text and found[1] is catalog:
            return found[2]
        self._found = found = None
        quote = compute()
        self._found = (text, catalog, quote)
        return quote


def _price_tables(  # noqa: PLR0913, PLR0917 - a question, its loss and its time
    question: plans.Canonical,
    bounded: plans.Bound,
    population: Population,
    catalog: Catalog,
    loss: Loss,
    time: PricedTime | None,
) -> Quote:
    """Return the quote of a question with several tables: one event, of all their noise."""
    plan, neighbours = bounded.plan, population.unit.neighbours
    paid = loss if time is None else time.rest_of(loss)
    asked = tuple(table.kept for table in bounded.tables)
    found, sizes = tables_to_measure(asked), plans.key_sizes(plan)
    wanted, split = [], []
    for tally in plan.tallies:
        moved = {
            kept: plans.marginal_sensitivities(plan, tally, kept, neighbours) for kept in found
        }
        _check_unknown(tally)
        squares = [known[1].square for known in moved.values()]
        # only the proportions matter, so that equal proportions are computed once
        parts = split_loss(sizes, asked, tuple(each / squares[0] for each in squares))
        wanted.append(moved)
        split.append(parts)
    delta = paid.delta / sum(map(len, split))
    tallies = []
    for whole, moved, parts in zip(shares(bounded), wanted, split, strict=True):
        for kept, part in parts.items():
            each = Loss(paid.measure, paid.amount * whole * part, delta)
            if loss.measure is Measure.ZCDP:
                size = moved[kept][1]
                tallies.append(PricedTally(gaussian_in_rho(size, each), size))
            else:
                tallies.append(_noise_of(moved[kept], plans.cells_of(sizes, kept), each))
    event = _event_of(tallies, loss, delta, time)
    return Quote(
        question,
        bounded,
        population,
        tuple(tallies),
        event,
        loss,
        delta,
        _assumptions(bounded, catalog, time),
        tuple(tuple(parts) for parts in split),
        time,
    )


def _check_unknown(tally: plans.Tally) -> None:
    """Refuse a tally that is known without data."""
    if tally.low == tally.high == 0:
        raise InvalidValue(
            "A number in this question can have only one value within the declared bounds and "
            "limits, so that its aggregate is known; widen them, or leave it out."
        )


def noise_for(
    plan: plans.BoundedPlan, tally: plans.Tally, loss: Loss, neighbours: Neighbours
) -> PricedTally:
    """Return the mechanism with the least error for ``tally`` within ``loss``."""
    _check_unknown(tally)
    moved = plans.sensitivities(plan, tally, neighbours)
    if isinstance(tally, plans.TreeTally) and tally.quantile is not None:
        rows, groups = (
            next(part for part in moved if part.norm is Norm.L1),
            plans.groups_touched(plan),
        )
        chosen = choose_quantile(rows, tally.quantile, tally.cells, groups, loss)
        return PricedTally(chosen, rows)
    return _noise_of(moved, plans.group_count(plan) or 1, loss)


@lru_cache(maxsize=1024)
def _choose_noise(
    moved: tuple[Sensitivity, ...], dimensions: int, loss: Loss
) -> mechanisms.Mechanism:
    """Return the mechanism with the least error; questions of one shape have the same."""
    return choose_noise(moved, dimensions, loss).mechanism


_loss_of = lru_cache(maxsize=1024)(loss_of)
"""The loss of an event. It is cached, because questions of one shape have the same event."""


def _noise_of(moved: Sequence[Sensitivity], dimensions: int, loss: Loss) -> PricedTally:
    """Return the noise with the least error for numbers of these sensitivities."""
    mechanism = _choose_noise(tuple(moved), dimensions, loss)
    norm = Norm.L2 if isinstance(mechanism, mechanisms.Gaussian) else Norm.L1
    return PricedTally(mechanism, next(part for part in moved if part.norm is norm))


def selection_for(
    plan: plans.BoundedPlan, loss: Loss, neighbours: Neighbours, *, counted: bool
) -> PricedTally:
    """Return the key selection for the groups of ``plan`` within ``loss``."""
    if not loss.delta:
        raise InvalidValue(
            "The groups of this question are not public, and releasing them needs a delta; ask "
            "with a delta, such as 1e-10, that fits in the delta of the budget, or "
            f"{to_declare(plan)}."
        )
    moved = plans.sensitivities(plan, plan.tallies[0], neighbours)
    once = next(part for part in moved if part.norm is Norm.L2)
    return PricedTally(choose_keys(once, loss, counted=counted).mechanism, once)


def to_declare(plan: plans.BoundedPlan) -> str:
    """Return the declarations that would make all groups public, as text; empty if none."""
    parts = []
    for key in plan.keys:
        match key:
            case plans.ColumnKey(_, name, _, None):
                parts.append(f"the keys of {name!r}")
            case plans.PeriodKey(_, day, _, None):
                parts.append(f"the bounds of {day.name!r}")
    return f"declare {' and '.join(parts)}" if parts else ""


# Advice --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Advice:
    """A change, and the fraction by which it would make the noise smaller at the same loss.

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
    """Return the changes with which the question of ``quote`` would have less noise.

    Guarantee: the result is a function of the quote, which is public; no data is read.
    """
    return tuple(_advise_public_keys(quote))


def _advise_public_keys(quote: Quote) -> Iterator[Advice]:
    """Yield the advice to declare keys, which makes a key selection unnecessary."""
    plan, change = quote.bound.plan, to_declare(quote.bound.plan)
    if not change:
        return
    smaller, parts, loss = [Fraction(0)], shares(quote.bound), quote.noise_loss
    delta = loss.delta / sum(part > 0 for part in parts)
    for place, part in enumerate(parts):
        if part:
            whole = Loss(loss.measure, loss.amount * part, delta)
            neighbours = quote.population.unit.neighbours
            declared = noise_for(plan, plan.tallies[place], whole, neighbours)
            now = quote.tallies[place].mechanism
            smaller.append(1 - sqrt_bounds(variance(declared.mechanism) / variance(now))[1])
    yield Advice(change, max(smaller))


def variance(mechanism: mechanisms.Mechanism) -> Fraction:
    """Return the variance of the noise of one released number, or an upper bound of it."""
    match mechanism:
        case (
            mechanisms.Gaussian(square)
            | mechanisms.GaussianKeys(square, _, _)
            | mechanisms.TreeQuantile(square, _, _)
        ):
            return square
        case mechanisms.Laplace(scale):
            return 2 * scale**2
        case mechanisms.GridQuantile(_, rate):
            return 2 / rate**2  # in ranks, for a quantile that is not near MIN or MAX
        case mechanisms.LaplaceKeys(epsilon, _, max_keys) | mechanisms.TruncatedGeometricKeys(
            epsilon, _, max_keys
        ):
            return 2 * (max_keys / epsilon) ** 2
    raise InternalError(f"The variance of {type(mechanism).__name__} noise is not implemented.")

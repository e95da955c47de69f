"""The price of a question, from public facts alone."""

from tacit.accounting.price import loss_of
from tacit.choose import keys
from tacit.choose.keys import choose_keys
from tacit.choose.noise import choose_noise
from tacit.choose.quantile import choose_quantile
from tacit.core.catalog import Catalog
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.sensitivity import Norm
from tacit.core.unit import Neighbours
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gaussian import Gaussian
from tacit.plan.bound import bound
from tacit.plan.bounded import BoundedPlan, ColumnKey, PeriodKey
from tacit.plan.canonical import canonical
from tacit.plan.plan import Plan
from tacit.plan.post_kind import check_post
from tacit.plan.sensitivity import group_count, groups_touched, sensitivities
from tacit.plan.source import assumptions
from tacit.plan.tally import Tally, TreeTally
from tacit.query.quote import PricedTally, Quote
from tacit.query.share import losses, shares


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

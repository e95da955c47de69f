"""The price of a question, from public facts alone."""

from tacit.accounting.price import loss_of
from tacit.choose.noise import choose_noise
from tacit.core.catalog import Catalog
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.sensitivity import Norm
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gaussian import Gaussian
from tacit.plan.bound import bound
from tacit.plan.canonical import canonical
from tacit.plan.plan import Plan
from tacit.plan.sensitivity import group_count, sensitivities
from tacit.query.quote import PricedTally, Quote
from tacit.query.share import shares


def price(plan: Plan, catalog: Catalog, loss: Loss) -> Quote:
    """What answering ``plan`` within ``loss`` would do.

    Guarantee: no data is read, and the event's loss, computed by another route than the
    mechanisms were, is within ``loss``.
    """
    question = canonical(plan)
    bounded = bound(question.plan, catalog)
    dataset = catalog.dataset(bounded.plan.source.dataset)
    population = catalog.population(dataset.population)
    groups = group_count(bounded.plan)
    if groups is None:
        secret = next(key.name for key in bounded.plan.keys if key.keys is None)
        raise InvalidValue(f"The groups of {secret!r} are not public; declare its keys.")
    tallies = []
    for tally, share in zip(bounded.plan.tallies, shares(bounded), strict=True):
        part = Loss(loss.measure, loss.amount * share, loss.delta * share)
        moved = sensitivities(bounded.plan, tally, population.unit.neighbours)
        mechanism = choose_noise(moved, groups, part).mechanism
        norm = Norm.L2 if isinstance(mechanism, Gaussian) else Norm.L1
        tallies.append(PricedTally(mechanism, next(s for s in moved if s.norm is norm)))
    event = Composed(tuple(part.mechanism.event(part.sensitivity) for part in tallies))
    if not loss_of(event, loss.measure, loss.delta) <= loss:
        raise InternalError("A quote costs more than was asked for.")
    return Quote(question, bounded, population, tuple(tallies), event, loss)

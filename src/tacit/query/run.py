"""Run a paid question: the engine counts, mechanisms release, the rest is arithmetic."""

from tacit.core.catalog import Catalog
from tacit.core.guarantee import Guarantee
from tacit.core.release import Release, ReleasedColumn
from tacit.engines.engine import Engine, public_groups
from tacit.mechanisms.gateway import Gateway
from tacit.query.column import column_of
from tacit.query.quote import Quote


def run(
    quote: Quote, engine: Engine, catalog: Catalog, salt: bytes, gateway: Gateway
) -> tuple[ReleasedColumn, ...]:
    """The released columns under the question's own names, in the order of its keys."""
    table = engine.run(quote.bound.plan, catalog, salt)
    released = [
        [int(value) for value in part.mechanism.release(secret, part.sensitivity, gateway)]
        for part, secret in zip(quote.tallies, table.tallies, strict=True)
    ]
    plan = quote.question.plan
    groups = public_groups(quote.bound.plan) or ()
    keys = [
        ReleasedColumn(key.name, tuple(group[place] for group in groups))
        for place, key in enumerate(plan.keys)
    ]
    measures = [
        column_of(measure.name, reading, quote, released)
        for measure, reading in zip(plan.measures, quote.bound.readings, strict=True)
    ]
    return (*keys, *measures)


def released_by(quote: Quote, columns: tuple[ReleasedColumn, ...], receipt: bytes) -> Release:
    """The release that the charge of ``receipt`` paid for."""
    guarantee = Guarantee(quote.population, quote.loss, numerics=quote.event.numerics)
    return Release(columns, guarantee, receipt)

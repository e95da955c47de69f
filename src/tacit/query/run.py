"""Run a paid question: the engine counts, mechanisms release, the rest is arithmetic."""

from collections.abc import Sequence
from operator import itemgetter

from tacit.core.catalog import Catalog
from tacit.core.guarantee import Guarantee
from tacit.core.keys import Group
from tacit.core.release import Release, ReleasedColumn
from tacit.engines.engine import Engine, SecretTable, public_groups
from tacit.errors import InternalError
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.select import select
from tacit.plan.tally import width
from tacit.query.column import column_of
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote


def run(
    quote: Quote, engine: Engine, catalog: Catalog, salt: bytes, gateway: Gateway
) -> tuple[ReleasedColumn, ...]:
    """The released columns under the question's own names, in the order of its keys."""
    groups, released = release(quote, engine.run(quote.bound.plan, catalog, salt), gateway)
    plan = quote.question.plan
    keys = [
        ReleasedColumn(key.name, tuple(map(itemgetter(place), groups)))
        for place, key in enumerate(plan.keys)
    ]
    measures = [
        column_of(measure.name, reading, quote, released)
        for measure, reading in zip(plan.measures, quote.bound.readings, strict=True)
    ]
    return (*keys, *measures)


def release(
    quote: Quote, table: SecretTable, gateway: Gateway
) -> tuple[tuple[Group, ...], list[list[int]]]:
    """The groups of the answer, and for each tally its integers with noise, group by group.

    Where the keys are not public the first tally selects the groups, and of the others only
    what belongs to these is opened.
    """
    priced, secrets = quote.tallies, table.tallies
    groups, selected = public_groups(quote.bound.plan), []
    if groups is None:
        if table.groups is None:
            raise InternalError("An engine tells which groups it found, where they are secret.")
        first, *priced_rest = priced
        chosen = select(first.mechanism, table.groups, secrets[0], first.sensitivity, gateway)
        groups, selected = chosen.groups, [chosen.released.tolist()]
        widths = [width(tally) for tally in quote.bound.plan.tallies[1:]]
        priced = tuple(priced_rest)
        secrets = tuple(map(chosen.of, secrets[1:], widths))
    noisy = [
        part.mechanism.release(secret, part.sensitivity, gateway).tolist()
        for part, secret in zip(priced, secrets, strict=True)
    ]
    return groups, [*selected, *noisy]


def released_by(
    quote: Quote | FitQuote,
    columns: tuple[ReleasedColumn, ...],
    receipt: bytes,
    noted: Sequence[str] = (),
) -> Release:
    """The release that the charge of ``receipt`` paid for.

    Its guarantee adds what was ``noted`` of earlier answers about the same people: how many
    were late, failed or were run twice, and the least price of a question.
    """
    assumed = (*quote.assumptions, *noted)
    guarantee = Guarantee(quote.population, quote.loss, assumed, quote.event.numerics)
    return Release(columns, guarantee, receipt)

"""Drive an estimator: each step that it asks for is run by the engine, and sent back boxed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from tacit import core
from tacit.engines import Engine, RowEngine, SecretTable, public_groups
from tacit.errors import InternalError
from tacit.mechanisms import Gateway, LiveGateway, select
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import Estimator, RowsOf, Step, Training, width
from tacit.query.below_charge import ENCODE, Progress
from tacit.query.intervals import column_of
from tacit.query.quote import FitQuote, Quote


@dataclass(frozen=True, slots=True)
class Data:
    """Where the rows of a fit are: an engine, its catalogue, and the salt of their order."""

    engine: Engine
    catalog: core.Catalog
    salt: bytes

    def answer(self, step: Step) -> Any:
        """What ``step`` asked for: secrets, one for each tally, or one of rows."""
        if not isinstance(step, RowsOf):
            return self.engine.run(step, self.catalog, self.salt).tallies
        if not isinstance(self.engine, RowEngine):
            raise InternalError("This engine has no rows to hand on.")
        return self.engine.rows(step.plan, self.catalog, self.salt)


def drive(
    estimator: Estimator[Gateway], training: Training, data: Data, gateway: Gateway
) -> tuple[core.Parameter, ...]:
    """The parameters that ``estimator`` learns; its event was charged before, or is not.

    Secrets go in and none comes out: they are opened at the ``gateway``.
    """
    steps = estimator.steps(training, gateway)
    # a warning would be an error where somebody made it one, and then tell of the data
    with np.errstate(all="ignore"):
        try:
            step = next(steps)
            while True:
                step = steps.send(data.answer(step))
        except StopIteration as done:
            found: tuple[core.Parameter, ...] = done.value
            return found


def fitted(
    estimator: Estimator[Gateway], training: Training, data: Data, charge: bytes
) -> tuple[core.Parameter, ...]:
    """The parameters that ``estimator`` learns, with fresh noise keyed by a ``charge``."""
    return drive(estimator, training, data, LiveGateway(SystemEntropy(charge)))


def run_fit(
    quote: FitQuote, engine: Engine, catalog: core.Catalog, salt: bytes, gateway: Gateway
) -> tuple[core.ReleasedColumn, ...]:
    """The parameters of a fit that was paid for, as columns."""
    data = Data(engine, catalog, salt)
    return core.columns_of(drive(quote.estimator, quote.training, data, gateway))


# ------------------------------------------------------------------ run
# Run a paid question: the engine counts, mechanisms release, the rest is arithmetic.


def run(
    quote: Quote, engine: Engine, catalog: core.Catalog, salt: bytes, gateway: Gateway
) -> tuple[core.ReleasedColumn, ...]:
    """The released columns under the question's own names, in the order of its keys."""
    groups, released = release(quote, engine.run(quote.bound.plan, catalog, salt), gateway)
    plan = quote.question.plan
    keys = [
        core.ReleasedColumn(key.name, tuple(map(itemgetter(place), groups)))
        for place, key in enumerate(plan.keys)
    ]
    measures = [
        column_of(measure.name, reading, quote, released)
        for measure, reading in zip(plan.measures, quote.bound.readings, strict=True)
    ]
    return (*keys, *measures)


def release(
    quote: Quote, table: SecretTable, gateway: Gateway
) -> tuple[tuple[core.Group, ...], list[list[int]]]:
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
    columns: tuple[core.ReleasedColumn, ...],
    receipt: bytes,
    noted: Sequence[str] = (),
) -> core.Release:
    """The release that the charge of ``receipt`` paid for.

    Its guarantee adds what was ``noted`` of earlier answers about the same people: how many
    were late, failed or were run twice, and the least price of a question.
    """
    assumed = (*quote.assumptions, *noted)
    guarantee = core.Guarantee(quote.population, quote.loss, assumed, quote.event.numerics)
    return core.Release(columns, guarantee, receipt)


# ------------------------------------------------------------------ paid work
# The work of a paid question or fit: one function, here and in a worker.


@dataclass(frozen=True, slots=True)
class QuoteWork:
    """What a paid quote does to the data: the engine counts, noise is drawn, bytes come out.

    ``noted`` is what the guarantee adds about earlier answers.
    """

    quote: Quote | FitQuote
    catalog: core.Catalog
    salt: bytes = field(repr=False)
    receipt: bytes
    noted: Sequence[str] = ()

    def __call__(self, engine: Engine, progress: Progress) -> bytes:
        """The bytes of the release; only the ledger may hand them on."""
        quote, gateway = self.quote, progress.gateway_for(self.receipt)
        if isinstance(quote, FitQuote):
            columns = run_fit(quote, engine, self.catalog, self.salt, gateway)
        else:
            columns = run(quote, engine, self.catalog, self.salt, gateway)
        progress.stage = ENCODE
        return core.encode_release(released_by(quote, columns, self.receipt, self.noted))

"""The work of a paid question or a paid fit.

`run` answers a question: the engine computes tallies, mechanisms release them with noise, and
the columns of the answer are computed from released values. `drive` fits a model: it runs each
step of an estimator on the engine, and sends the result back as a secret. `QuoteWork` is the
function that a session or a worker process calls below the charge.
"""

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
from tacit.plan import Estimator, RowsOf, Step, Training, group_count, width
from tacit.query.below_charge import ENCODE, Progress
from tacit.query.intervals import column_of
from tacit.query.marginal_estimates import (
    cell_groups,
    estimate_tables,
    quote_of_table,
    release_marginals,
)
from tacit.query.open_ends import (
    cells_shown,
    coverage,
    drop_hidden,
    join_columns,
    leave_empty,
    open_column,
    open_measure,
)
from tacit.query.quote import FitQuote, Quote

# Fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Data:
    """The data of a fit: an engine, its catalogue, and the salt of the row-order hash."""

    engine: Engine
    catalog: core.Catalog
    salt: bytes

    def answer(self, step: Step) -> Any:
        """Return the answer to ``step``: a secret for each tally, or one secret of rows."""
        if not isinstance(step, RowsOf):
            return self.engine.run(step, self.catalog, self.salt).tallies
        if not isinstance(self.engine, RowEngine):
            raise InternalError("This engine does not support reading rows.")
        return self.engine.rows(step.plan, self.catalog, self.salt)


def drive(
    estimator: Estimator[Gateway], training: Training, data: Data, gateway: Gateway
) -> tuple[core.Parameter, ...]:
    """Run all steps of ``estimator`` and return its parameters.

    The caller must have charged the estimator's event, unless the data is not personal.
    Secrets are opened only at the ``gateway``, so that the parameters contain none.
    """
    steps = estimator.steps(training, gateway)
    # a floating-point warning depends on the data, and can be configured to raise an error
    with np.errstate(all="ignore"):
        try:
            step = next(steps)
            while True:
                step = steps.send(data.answer(step))
        except StopIteration as done:
            found: tuple[core.Parameter, ...] = done.value
            return found


def fit_parameters(
    estimator: Estimator[Gateway], training: Training, data: Data, charge: bytes
) -> tuple[core.Parameter, ...]:
    """Return the parameters of ``estimator``, fitted with fresh noise keyed by ``charge``."""
    return drive(estimator, training, data, LiveGateway(SystemEntropy(charge)))


def run_fit(
    quote: FitQuote, engine: Engine, catalog: core.Catalog, salt: bytes, gateway: Gateway
) -> tuple[core.ReleasedColumn, ...]:
    """Run a paid fit and return its parameters as columns."""
    data = Data(engine, catalog, salt)
    return core.columns_of(drive(quote.estimator, quote.training, data, gateway))


# Questions -----------------------------------------------------------------------------------


def run(
    quote: Quote, engine: Engine, catalog: core.Catalog, salt: bytes, gateway: Gateway
) -> tuple[core.ReleasedColumn, ...]:
    """Run a paid question and return its released columns, in the order of its keys."""
    groups, released = release(quote, engine.run(quote.bound.plan, catalog, salt), gateway)
    if quote.bound.tables:
        return table_columns(quote, released)
    plan = quote.question.plan
    keys = [
        core.ReleasedColumn(key.name, tuple(map(itemgetter(place), groups)))
        for place, key in enumerate(plan.keys)
    ]
    measures = [
        open_column(column_of(measure.name, reading, quote, released), reading, slack)
        for measure, reading, slack in zip(
            plan.measures, quote.bound.readings, quote.bound.slacks, strict=True
        )
    ]
    shown = cells_shown(quote, released)
    if shown is not None and group_count(quote.bound.plan) is None:
        # the key of a small group is not shown either, if it is not public
        return tuple(drop_hidden(column, shown) for column in (*keys, *measures))
    return (*keys, *(leave_empty(column, shown) for column in measures))


def release(
    quote: Quote, table: SecretTable, gateway: Gateway
) -> tuple[tuple[core.Group, ...], list[list[int]]]:
    """Return the groups of the answer, and for each tally its noisy integers by group.

    If the keys are not public, the first tally selects the groups, and the other tallies are
    released only for the selected groups. If the question has several tables, the groups are
    the finest cells, and the integers are those of the marginals that the quote measures.
    """
    priced, secrets = quote.tallies, table.tallies
    groups, selected = public_groups(quote.bound.plan), []
    if quote.measured:
        return groups or (), release_marginals(quote, secrets, gateway)
    if groups is None:
        if table.groups is None:
            raise InternalError("An engine must return the groups it found if they are secret.")
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


def table_columns(
    quote: Quote, released: Sequence[Sequence[int]]
) -> tuple[core.ReleasedColumn, ...]:
    """Return the columns of an answer with several tables, one table after the other.

    A key that a table sums over is NULL in its rows.
    """
    plan, bound = quote.question.plan, quote.bound
    groups = [group for each in bound.tables for group in cell_groups(bound.plan, each.kept)]
    keys = [
        core.ReleasedColumn(key.name, tuple(map(itemgetter(place), groups)))
        for place, key in enumerate(plan.keys)
    ]
    parts: list[list[core.ReleasedColumn]] = [[] for _ in plan.measures]
    for table, found in zip(bound.tables, estimate_tables(quote, released), strict=True):
        alone = quote_of_table(quote, table.kept)
        for number, measure in enumerate(plan.measures):
            column = column_of(measure.name, bound.readings[number], alone, found)
            parts[number].append(column)
    columns = [join_columns(each) for each in parts]
    return (*keys, *(open_measure(bound, number, each) for number, each in enumerate(columns)))


def released_by(
    quote: Quote | FitQuote,
    columns: tuple[core.ReleasedColumn, ...],
    receipt: bytes,
    noted: Sequence[str] = (),
    dates: core.ReleaseDates | None = None,
) -> core.Release:
    """Return the release that the charge of ``receipt`` paid for, with its ``dates``.

    ``noted`` is added to the assumptions of its guarantee: how many earlier answers about the
    same population were late, failed or were run twice, and the least price of a question.
    """
    assumed = (*quote.assumptions, *noted)
    time = None if quote.time is None or quote.time.event is None else quote.time.loss
    guarantee = core.Guarantee(
        quote.population, quote.total_loss, assumed, quote.event.numerics, time
    )
    said: tuple[str, ...] = ()
    if isinstance(quote, Quote):
        said = coverage(quote.bound, quote.population.unit.name)
    return core.Release(columns, guarantee, receipt, coverage=said, dates=dates)


# The function that runs below the charge -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuoteWork:
    """The work of a paid quote: ask the engine, draw noise, and return the encoded release.

    ``noted`` are the sentences that the guarantee adds about earlier answers, and ``dates``
    are those of the charge and of the tables' epochs.
    """

    quote: Quote | FitQuote
    catalog: core.Catalog
    salt: bytes = field(repr=False)
    receipt: bytes
    noted: Sequence[str] = ()
    dates: core.ReleaseDates | None = None

    def __call__(self, engine: Engine, progress: Progress) -> bytes:
        """Return the encoded release, which must be stored in the ledger before it is shown."""
        quote, gateway = self.quote, progress.gateway_for(self.receipt)
        if isinstance(quote, FitQuote):
            columns = run_fit(quote, engine, self.catalog, self.salt, gateway)
        else:
            columns = run(quote, engine, self.catalog, self.salt, gateway)
        progress.stage = ENCODE
        made = released_by(quote, columns, self.receipt, self.noted, self.dates)
        return core.encode_release(made)

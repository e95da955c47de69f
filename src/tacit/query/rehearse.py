"""Rehearse what is asked before it is charged: what fails for all rows alike fails here, free.

A paid failure locks a population until an owner has looked. So a question that this engine
cannot run whatever the rows are, such as one of more columns than PostgreSQL allows, must not
come that far. Each statement that will be run is read by the engine, which resolves its names
and types, and no row.

Guarantee: nothing here depends on a row. Engines refuse by the text of a statement and by the
types of their tables; a fit is taken through all its steps over no rows at all. Statements of
a later step may hold other numbers when it is paid for, since they follow from releases.
"""

from collections.abc import Iterator

import numpy as np

from tacit.core.catalog import Catalog
from tacit.core.secret import Secret
from tacit.engines.engine import Engine, RehearsedEngine, sealed
from tacit.engines.unit_rows import UnitRows
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.mechanisms.gateway import NothingGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import RowsOf, Step
from tacit.query import below
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote
from tacit.query.size import check_size

NO_FIT = (
    "This model cannot be fitted to these columns, whatever the rows are; fit fewer features, "
    "or choose other settings. Nothing was charged."
)


def rehearse(
    quote: Quote | FitQuote,
    engine: Engine,
    catalog: Catalog,
    salt: bytes,
    most: int | None = None,
) -> None:
    """Refuse a quote that ``engine`` cannot run, or one of more than ``most`` numbers."""
    for step in steps_of(quote):
        check_size(step.plan if isinstance(step, RowsOf) else step, most)
        rehearse_step(step, engine, catalog, salt)


def rehearse_step(step: Step, engine: Engine, catalog: Catalog, salt: bytes) -> None:
    """Refuse a step that ``engine`` cannot run; it is waited for where it is not reached."""
    if not isinstance(engine, RehearsedEngine):
        return
    rows = isinstance(step, RowsOf)
    plan = step.plan if isinstance(step, RowsOf) else step
    try:
        below.when_reached(
            lambda: engine.rehearse(plan, catalog, salt, rows=rows), below.OUTAGE_SECONDS
        )
    except EngineUnreachable:
        raise EngineUnreachable(below.UNCHARGED) from None


def steps_of(quote: Quote | FitQuote) -> Iterator[Step]:
    """What the engine will be asked: one question, or the steps of a fit over no rows."""
    if isinstance(quote, Quote):
        yield quote.bound.plan
        return
    gateway = NothingGateway(SystemEntropy(b"a rehearsal over no rows"))
    steps = quote.estimator.steps(quote.training, gateway)
    answer: object = None
    while True:
        try:
            with np.errstate(all="ignore"):
                step = steps.send(answer)
        except StopIteration:
            return
        except Exception as error:
            raise InvalidValue(NO_FIT) from error
        yield step
        if isinstance(step, RowsOf):
            answer = Secret(UnitRows(len(step.plan.tallies)))
        else:
            answer = sealed(step, []).tallies

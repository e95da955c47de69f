"""How large an answer a worker can make: a public cap, held before anything is charged.

An answer with public groups holds every group, with or without rows, so that how much memory
and time it takes is known when it is priced. A worker that reached its limits with such a
question would fail whatever the rows are, and a failure locks a population for everybody.
"""

from collections.abc import Iterator

import numpy as np

from tacit.core import Catalog, Secret
from tacit.engines import Engine, RehearsedEngine, UnitRows, sealed
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.mechanisms import NothingGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import BoundedPlan, RowsOf, Step, TreeTally, group_count
from tacit.query import below_charge
from tacit.query.quote import FitQuote, Quote

BYTES = 1000
"""Memory that one number of an answer takes in a worker: at most 970 bytes were measured."""

SECONDS = 1e-4
"""Time that one number takes: 10 to 30 microseconds of a sum or a mean, 66 of a variance."""

NODES = 10
"""Nodes of a tree that take as much as one number: 4 microseconds each were measured."""

SHARE = 0.5
"""The part of a worker's memory and time that an answer may take: the rest is for the rows."""


def numbers_of(plan: BoundedPlan) -> int:
    """The numbers of an answer: its groups, each with its keys and tallies.

    Where groups are not public, how many there are is not known, and it is those of one group.
    """
    each = len(plan.keys)
    for tally in plan.tallies:
        each += 1 + tally.nodes // NODES if isinstance(tally, TreeTally) else 1
    return (group_count(plan) or 1) * each


def most_numbers(memory_bytes: int, seconds: float) -> int:
    """The numbers of an answer that a worker makes within its limits.

    Example:
        >>> most_numbers(8192 * 2**20, 60)
        300000
    """
    return int(SHARE * min(memory_bytes / BYTES, seconds / SECONDS))


def check_size(plan: BoundedPlan, most: int | None) -> None:
    """Refuse an answer of more than ``most`` numbers; without a cap, refuse nothing.

    Guarantee: a function of the plan and of public limits.
    """
    numbers = numbers_of(plan)
    if most is not None and numbers > most:
        groups = group_count(plan) or 1
        raise InvalidValue(
            f"This answer has {groups} groups of {len(plan.tallies)} sums each, which are "
            f"{numbers} numbers; a worker of this server makes at most {most}. Ask for fewer "
            "groups or fewer aggregates, or let the operator allow more: [server] seconds and "
            "megabytes. Nothing was charged."
        )


# ------------------------------------------------------------------ rehearse
# Rehearse what is asked before it is charged: what fails for all rows alike fails here, free.
#
# A paid failure locks a population until an owner has looked. So a question that this engine
# cannot run whatever the rows are, such as one of more columns than PostgreSQL allows, must
# not come that far. Each statement that will be run is read by the engine, which resolves its
# names and types, and no row.
#
# Guarantee: nothing here depends on a row. Engines refuse by the text of a statement and by
# the types of their tables; a fit is taken through all its steps over no rows at all.
# Statements of a later step may hold other numbers when it is paid for, since they follow
# from releases.

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
        below_charge.when_reached(
            lambda: engine.rehearse(plan, catalog, salt, rows=rows), below_charge.OUTAGE_SECONDS
        )
    except EngineUnreachable:
        raise EngineUnreachable(below_charge.UNCHARGED) from None


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

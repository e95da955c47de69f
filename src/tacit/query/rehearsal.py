"""Checks that a question can be run, made before it is charged and without reading a row.

A failure after the charge locks a population until an owner has reviewed it. A question that
fails for all possible rows must therefore be refused before the charge:

* `check_size` refuses an answer that is too large for a worker process. An answer with public
  groups contains every group, even without rows, so that its need of memory and time is known
  when it is priced.
* `rehearse` has the engine parse every statement that will run, and resolve its names and
  types. This finds, for example, a statement with more columns than PostgreSQL allows.
"""

from collections.abc import Iterator

import numpy as np

from tacit.choose import tables_to_measure
from tacit.core import Catalog, Secret
from tacit.engines import Engine, RehearsingEngine, UnitRows, wrap_groups
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.mechanisms import NothingGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import (
    Bound,
    BoundedPlan,
    RowsOf,
    Step,
    TreeTally,
    cells_of,
    group_count,
    key_sizes,
)
from tacit.query import below_charge
from tacit.query.quote import FitQuote, Quote

# Size ----------------------------------------------------------------------------------------

BYTES = 1000
"""Memory in bytes for one number of an answer in a worker; at most 970 were measured."""

SECONDS = 1e-4
"""Time in seconds for one number of an answer; 10 to 30 microseconds were measured for a sum or
a mean, and 66 for a variance."""

NODES = 10
"""Number of nodes of a tree that take as long as one number; 4 microseconds each were
measured."""

SHARE = 0.5
"""Part of a worker's memory and time that an answer may take; the rest is for reading rows."""


def numbers_of(plan: BoundedPlan) -> int:
    """Return how many numbers an answer has: the keys and tallies of all groups.

    If the groups are not public, their number is unknown, and one group is counted.
    """
    each = len(plan.keys)
    for tally in plan.tallies:
        each += 1 + tally.nodes // NODES if isinstance(tally, TreeTally) else 1
    return (group_count(plan) or 1) * each


def most_numbers(memory_bytes: int, seconds: float) -> int:
    """Return how many numbers of an answer a worker can compute within its limits.

    Example:
        >>> most_numbers(8192 * 2**20, 60)
        300000
    """
    return int(SHARE * min(memory_bytes / BYTES, seconds / SECONDS))


def check_size(plan: BoundedPlan, most: int | None, times: int = 1) -> None:
    """Refuse an answer with more than ``most`` numbers; None means no limit.

    An answer with several tables computes ``times`` as many as its finest cells have.

    Guarantee: the result is a function of the plan and of public limits.
    """
    numbers = numbers_of(plan) * times
    if most is not None and numbers > most:
        groups = (group_count(plan) or 1) * times
        raise InvalidValue(
            f"This answer has {groups} groups with {len(plan.tallies)} sums each, which are "
            f"{numbers} numbers; a worker of this server can compute at most {most}. Ask for "
            "fewer groups or fewer aggregates, or ask the operator to raise [server] seconds "
            "and megabytes. Nothing was charged."
        )


def table_times(bound: Bound) -> int:
    """Return how many times the finest cells an answer with several tables computes.

    These are the cells of the tables that are asked for, and of those that are measured.
    """
    if not bound.tables:
        return 1
    sizes, asked = key_sizes(bound.plan), tuple(table.kept for table in bound.tables)
    cells = sum(cells_of(sizes, kept) for kept in (*asked, *tables_to_measure(asked)))
    return 1 + cells // (group_count(bound.plan) or 1)


# Rehearsal -----------------------------------------------------------------------------------
#
# Guarantee: nothing here depends on a row. Engines refuse a statement by its text and by the
# types of their tables. A fit is run through all its steps over an empty table; the statements
# of its later steps may contain other numbers in the paid run, because these follow from
# releases.

NO_FIT = (
    "This model cannot be fitted to these columns, for any rows; use fewer features, or choose "
    "other settings. Nothing was charged."
)


def rehearse(
    quote: Quote | FitQuote,
    engine: Engine,
    catalog: Catalog,
    salt: bytes,
    most: int | None = None,
) -> None:
    """Refuse a quote that ``engine`` cannot run, or that has more than ``most`` numbers."""
    times = table_times(quote.bound) if isinstance(quote, Quote) else 1
    for step in steps_of(quote):
        check_size(step.plan if isinstance(step, RowsOf) else step, most, times)
        rehearse_step(step, engine, catalog, salt)


def rehearse_step(step: Step, engine: Engine, catalog: Catalog, salt: bytes) -> None:
    """Refuse a step that ``engine`` cannot run; retry while the engine cannot be reached."""
    if not isinstance(engine, RehearsingEngine):
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
    """Yield what the engine will be asked: one plan, or the steps of a fit over no rows."""
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
            answer = wrap_groups(step, []).tallies

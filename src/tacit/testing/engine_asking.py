"""The ways in which a contract asks an engine, and the records of what the engine finds.

A record holds exact values: it is for synthetic tables only.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tacit import core
from tacit.audit.replay import RecordingGateway
from tacit.engines import CheckedEngine, RehearsingEngine, RowEngine, SecretTable, UnitRows
from tacit.errors import EngineUnreachable, InternalError
from tacit.mechanisms import inside
from tacit.noise import Integers
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.plan import Axis, BoundedPlan, RowSumTally, Scan, bound, canonical, training_of
from tacit.sql import parse

SALT, OTHER_SALT = b"salt", b"another salt"
"""Two salts, by which an engine keeps different rows of a person."""


Ask = Callable[[], object]
"""Asks an engine once."""


def groups_and_tallies(
    table: SecretTable,
) -> tuple[tuple[core.Group, ...] | None, list[list[int]]]:
    """Return the groups and integers that an engine found, as an audit records them."""
    recording = RecordingGateway(SystemEntropy(SALT))
    nothing = core.Sensitivity.of(1, core.Norm.L1, core.Rule("a synthetic example"))
    found = [recording.release(tally, nothing, _as_it_is).tolist() for tally in table.tallies]
    if table.groups is None:
        return None, found
    recording.select(table.groups, table.tallies[0], nothing, _as_it_is)
    return recording.calls[-1].groups, found


def _as_it_is(values: Integers, entropy: Entropy) -> Integers:
    del entropy
    return values


def plan_of(text: str, declared: core.Catalog) -> BoundedPlan:
    """Return the bounded plan of a question."""
    return bound(canonical(parse(text, declared)).plan, declared).plan


def plan_of_rows(declared: core.Catalog) -> BoundedPlan:
    """Return the plan of a fit that asks for rows, with the ages of visits as a column."""
    training = training_of(Scan("visits"), ["age"], None, declared)
    axis = Axis.of(training.features[0], core.Bounds.of(0, 120))
    most = training.max_rows * axis.reach
    return training.plan([RowSumTally(axis.steps, -most, most)])


def ways_to_ask(engine: CheckedEngine, declared: core.Catalog) -> Iterator[tuple[str, Ask]]:
    """Yield the methods of an engine that read rows, each with a question about visits."""
    plan = plan_of("SELECT SUM(age) FROM visits", declared)
    yield "run", lambda: engine.run(plan, declared, SALT)
    if isinstance(engine, RowEngine):
        rows = plan_of_rows(declared)
        yield "rows", lambda: row_blocks(engine.rows(rows, declared, SALT))


def members_without_rows(
    engine: CheckedEngine, declared: core.Catalog
) -> Iterator[tuple[str, Ask]]:
    """Yield the methods of an engine that may not read a row."""
    place = declared.datasets[0].location.table
    yield "check", lambda: engine.check(declared)
    yield "plain", lambda: engine.plain(declared)
    yield "tables", engine.tables
    yield "columns", lambda: engine.columns(place)
    yield "identities", lambda: engine.identities(place)
    for call in rehearsals(engine, declared):
        yield "rehearse", call


def rehearsals(engine: CheckedEngine, declared: core.Catalog) -> Iterator[Ask]:
    """Yield the rehearsals of the same questions, if the engine rehearses."""
    if isinstance(engine, RehearsingEngine):
        plan, rows = plan_of("SELECT SUM(age) FROM visits", declared), plan_of_rows(declared)
        yield lambda: engine.rehearse(plan, declared, SALT)
        if isinstance(engine, RowEngine):
            yield lambda: engine.rehearse(rows, declared, SALT, rows=True)


def failure_of_asking(
    ask: Ask, secrets: tuple[str, ...]
) -> InternalError | EngineUnreachable | str | None:
    """Return the error of a question; a sentence if it reveals too much; None without one."""
    try:
        ask()
    except (EngineUnreachable, InternalError) as error:
        said = "\n".join((str(error), *getattr(error, "__notes__", ())))
        if any(secret in said for secret in secrets):
            return "The engine repeats the text of the database in an error."
        return error
    except Exception as error:  # noqa: BLE001 - an analyst would see it
        return f"The engine raises an error that is not Tacit's: {type(error).__name__}."
    return None


def row_blocks(rows: core.Secret[UnitRows]) -> list[list[int]]:
    """Return the rows for a fit, as an audit records them."""
    recording = RecordingGateway(SystemEntropy(SALT))
    nothing = core.Sensitivity.of(1, core.Norm.L1, core.Rule("a synthetic example"))

    def flat(found: UnitRows) -> Integers:
        blocks = [block.reshape(-1) for block in found.blocks()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])

    return [recording.release(inside(rows, flat), nothing, _as_it_is).tolist()]

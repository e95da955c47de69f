"""The contract of an engine: what every one must show, wherever it is written.

An author gives one function, which takes a catalogue and its tables and gives the engine that
holds them. The suite does the rest: the same integers as the reference on tables with special
values, and on none; whoever joins or leaves shows in nothing but noise; a failure has one text;
what the engine says that it lacks it refuses.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tacit.audit.record import RecordingGateway
from tacit.audit.replay import BrokenPromise, ReplayingGateway
from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.core.dataset import Limits, Location
from tacit.core.keys import Group
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.engines.engine import MEMBERS, CheckedEngine, RowEngine, SecretTable
from tacit.engines.joined import Tables
from tacit.engines.reference import Reference
from tacit.engines.unit_rows import UnitRows
from tacit.errors import EngineUnreachable, InternalError, InvalidValue, TacitError
from tacit.mechanisms.gateway import inside
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.plan.bound import bound
from tacit.plan.canonical import canonical
from tacit.plan.relation import Scan
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import KeptTally
from tacit.plan.training import training_of
from tacit.query.price import price
from tacit.query.quote import Quote
from tacit.query.run import run
from tacit.session.open import open_session
from tacit.sql.parse import parse
from tacit.testing.engine_cases import QUESTIONS
from tacit.testing.engine_tables import PEOPLE, WARDS, catalog, tables

SALT = b"salt"
TIGHT, WIDE = Limits(max_groups=2, max_rows=3), Limits(max_groups=50, max_rows=50)
"""Where contributions are bounded, and where every row still counts."""

LEAVING = PEOPLE[0]
"""Who joins and leaves: the person of the most rows."""

LOSS = Loss.zcdp("0.1", "1e-6")
GONE = "gone_from_here"


Over = Callable[[Catalog, Tables], CheckedEngine]
"""The engine over some tables; what it held before may be gone.

A column of a kind that the engine lacks is written there in any type.
"""


@dataclass(frozen=True, slots=True)
class EngineContract:
    """An engine, and the kinds of columns for which it says that it has no type.

    Example:
        >>> from tacit.testing.engine_contract import EngineContract
        >>> def over(catalog, tables):
        ...     raise NotImplementedError
        >>> len(EngineContract(over, lacks=frozenset({Kind.DECIMAL})).questions) > 30
        True
    """

    over: Over
    lacks: frozenset[Kind] = frozenset()
    one_of: int = 1
    """Of so many questions one is asked, where an engine takes long for each."""
    shared: bool = False
    """Whether ``over`` gives one engine again and again, which must then stay open."""

    @property
    def questions(self) -> list[str]:
        """The questions about columns that the engine can hold."""
        declared = catalog(WIDE)
        lost = {
            column.name
            for table in declared.tables
            for column in table.schema.columns
            if column.kind in self.lacks
        }
        texts = [text for group in QUESTIONS.values() for text in group]
        held = [text for text in texts if lost.isdisjoint(re.findall(r"\w+", text))]
        return held[:: self.one_of]

    def broken(self) -> list[str]:
        """What the engine does not keep, a sentence each; nothing for a good engine.

        Neighbours and errors are looked at where the integers are right.
        """
        return (
            [*self.incomplete()]
            or [*self.unequal()]
            or [
                *self.told_apart(),
                *self.told_by_errors(),
                *self.approximated(),
                *self.unequal_rows(),
                *self.misdescribed(),
                *self.unpaid(),
                *self.left_open(),
            ]
        )

    def incomplete(self) -> Iterator[str]:
        """Members of the port that the engine does not have."""
        engine = self.over(catalog(WIDE, self.lacks), tables())
        for name in MEMBERS:
            if not hasattr(engine, name):
                yield f"Has no {name}, which every engine has."

    def misdescribed(self) -> Iterator[str]:
        """Tables and columns that the engine names otherwise than `check` accepts them."""
        declared = catalog(WIDE, self.lacks)
        engine = self.over(declared, tables())
        engine.check(declared)
        listed = {table[-1] for table in engine.tables()}
        for table in declared.tables:
            if table.location.table[-1] not in listed:
                yield f"Does not list the table {table.name}."
            found = {each.name: each.kind for each in engine.columns(table.location.table)}
            for column in table.schema.columns:
                if found.get(column.name) is not column.kind:
                    yield f"Describes {table.name}.{column.name} otherwise than it checks it."
            # tables in memory have no identity; others have the same each time
            known: list[object] = [engine.identities(table.location.table) for _ in range(2)]
            if not isinstance(known[0], tuple) or known[0] != known[1]:
                yield f"Does not say which physical table {table.name} is."
        if not _refuses_columns(engine):
            yield "Describes a table that is not there."

    def unequal_rows(self) -> Iterator[str]:
        """Rows for a fit that are not those of the reference, where the engine hands on any."""
        declared = catalog(TIGHT, self.lacks)
        engine = self.over(declared, tables())
        if not isinstance(engine, RowEngine):
            return
        plan = training_of(Scan("visits"), ["age"], None, declared).plan(
            [KeptTally(WholeSteps(1), 0, TIGHT.max_rows)]
        )
        reference = Reference(dict(tables()))
        wanted, found = (each.rows(plan, declared, SALT) for each in (reference, engine))
        if _blocks(found) != _blocks(wanted):
            yield "Hands on other rows for a fit than the reference."

    def unpaid(self) -> Iterator[str]:
        """A session that `tacit.open` makes with the engine, and one question that it pays."""
        declared = catalog(WIDE, self.lacks)
        engine: Any = Unclosed(self.over(declared, tables()))
        with TemporaryDirectory(prefix="tacit-contract-") as folder:
            try:
                session = open_session(
                    engine=engine,
                    table="visits",
                    population="patients",
                    unit="person",
                    max_groups=2,
                    max_rows=3,
                    keys={"ward": list(WARDS)},
                    budget=(10, "1e-6"),
                    folder=folder,
                    principal="the contract",
                )
                asked = session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
                answer = asked.ask(epsilon=1)
                session.close()
            except TacitError as error:
                yield f"Does not answer a paid question of tacit.open: {error}"
                return
            if len(answer.columns[0].values) != len(WARDS):
                yield "Answers a paid question with other groups than the public ones."

    def left_open(self) -> Iterator[str]:
        """An engine that cannot be closed twice."""
        if self.shared:
            return
        engine = self.over(catalog(WIDE, self.lacks), tables())
        try:
            engine.close()
            engine.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, a session would fail by it
            yield f"Fails with {type(error).__name__} when it is closed twice."

    def unequal(self) -> Iterator[str]:
        """Questions whose integers are not those of the reference."""
        for limits, people in ((TIGHT, tables()), (WIDE, tables()), (WIDE, tables(()))):
            declared = catalog(limits, self.lacks)
            engine, reference = self.over(declared, people), Reference(dict(people))
            engine.check(declared)
            for text in self.questions:
                plan = bound(canonical(parse(text, declared)).plan, declared).plan
                wanted = opened(reference.run(plan, declared, SALT))
                try:
                    found = opened(engine.run(plan, declared, SALT))
                except Exception as error:  # noqa: BLE001 - whatever it is, it was seen
                    yield f"Fails with {type(error).__name__}: {text}"
                    continue
                if found != wanted:
                    yield f"Finds other integers than the reference: {text}"

    def told_apart(self) -> Iterator[str]:
        """Questions in which somebody shows in more than noise."""
        declared = catalog(TIGHT, self.lacks)
        asked: list[tuple[str, Quote, RecordingGateway]] = []
        without = tables([person for person in PEOPLE if person != LEAVING])
        engine = self.over(declared, without)
        for text in self.questions:
            quote = price(parse(text, declared), declared, LOSS)
            asked.append((text, quote, RecordingGateway(SystemEntropy(SALT))))
            run(quote, engine, declared, SALT, asked[-1][-1])
        engine = self.over(declared, tables())
        for text, quote, recording in asked:
            replaying = ReplayingGateway(recording.calls)
            try:
                run(quote, engine, declared, SALT, replaying)
                replaying.finish()
            except BrokenPromise as broken:
                yield f"Tells neighbours apart: {text}: {broken}"

    def told_by_errors(self) -> Iterator[str]:
        """A failure that is not hidden, and a table that is not missed."""
        declared = catalog(WIDE, self.lacks)
        plan = bound(parse("SELECT COUNT(*) FROM visits", declared), declared).plan
        engine = self.over(declared, tables())
        visits, *others = declared.datasets
        moved = replace(visits, location=Location("here", (GONE,)))
        lost = replace(declared, datasets=(moved, *others))
        try:
            engine.run(plan, lost, SALT)
        except (EngineUnreachable, InternalError) as error:
            if GONE in str(error):
                yield "Tells in an error what the database told."
        except Exception as error:  # noqa: BLE001 - an analyst would see it
            yield f"Fails with an error of its own, {type(error).__name__}."
        else:
            yield "Answers about a table that is not there."
        if not _refuses(engine, lost):
            yield "Does not refuse a catalogue whose table is not there."

    def approximated(self) -> Iterator[str]:
        """Kinds that the engine lacks by its own word, and takes nevertheless."""
        for kind in self.lacks:
            declared = catalog(WIDE, self.lacks - {kind})
            if not _refuses(self.over(declared, tables()), declared):
                yield f"Lacks {kind.value} columns by its own word, and does not refuse them."


class Unclosed:
    """An engine that stays open when a session lets go of it: others may share it."""

    def __init__(self, engine: CheckedEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Leave the engine open."""


def opened(table: SecretTable) -> tuple[tuple[Group, ...] | None, list[list[int]]]:
    """The groups and integers that an engine found, as an audit records them."""
    recording = RecordingGateway(SystemEntropy(SALT))
    nothing = Sensitivity.of(1, Norm.L1, Rule("it is made up"))
    found = [recording.release(tally, nothing, _as_it_is).tolist() for tally in table.tallies]
    if table.groups is None:
        return None, found
    recording.select(table.groups, table.tallies[0], nothing, _as_it_is)
    return recording.calls[-1].groups, found


def _as_it_is(values: Integers, entropy: Entropy) -> Integers:
    del entropy
    return values


def _refuses(engine: CheckedEngine, declared: Catalog) -> bool:
    try:
        engine.check(declared)
    except InvalidValue:
        return True
    return False


def _refuses_columns(engine: CheckedEngine) -> bool:
    try:
        engine.columns((GONE,))
    except InvalidValue:
        return True
    return False


def _blocks(rows: Secret[UnitRows]) -> list[list[int]]:
    """The rows for a fit, as an audit records them."""
    recording = RecordingGateway(SystemEntropy(SALT))
    nothing = Sensitivity.of(1, Norm.L1, Rule("it is made up"))

    def flat(found: UnitRows) -> Integers:
        blocks = [block.reshape(-1) for block in found.blocks()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])

    return [recording.release(inside(rows, flat), nothing, _as_it_is).tolist()]

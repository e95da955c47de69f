"""The contract of an engine: what every one must show, wherever it is written.

An author gives one function, which takes a catalogue and its tables and gives the engine that
holds them. The suite does the rest: the same integers as the reference on tables with special
values, and on none; whoever joins or leaves shows in nothing but noise; a failure has one text;
what the engine says that it lacks it refuses.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from tacit.audit.record import RecordingGateway
from tacit.audit.replay import BrokenPromise, ReplayingGateway
from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.core.dataset import Limits, Location
from tacit.core.keys import Group
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.joined import Tables
from tacit.engines.reference import Reference
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.plan.bound import bound
from tacit.plan.canonical import canonical
from tacit.query.price import price
from tacit.query.quote import Quote
from tacit.query.run import run
from tacit.sql.parse import parse
from tacit.testing.engine_cases import QUESTIONS
from tacit.testing.engine_tables import PEOPLE, catalog, tables

SALT = b"salt"
TIGHT, WIDE = Limits(max_groups=2, max_rows=3), Limits(max_groups=50, max_rows=50)
"""Where contributions are bounded, and where every row still counts."""

LEAVING = PEOPLE[0]
"""Who joins and leaves: the person of the most rows."""

LOSS = Loss.zcdp("0.1", "1e-6")
GONE = "gone_from_here"


class CheckedEngine(Engine, Protocol):
    """An engine that looks at its tables before anybody asks."""

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types; no row is read."""
        ...


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
        return list(self.unequal()) or [
            *self.told_apart(),
            *self.told_by_errors(),
            *self.approximated(),
        ]

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

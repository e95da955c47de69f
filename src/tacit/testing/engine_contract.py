"""The contract of an engine: the properties that every engine must have, also of a plug-in.

The author of an engine provides one function, which takes a catalogue and its tables and
returns an engine over them. The contract checks that the engine finds the same integers as the
reference, for two salts, on tables with special values and on empty tables; that a person who
joins or leaves changes nothing beyond the noise; that a failure is an error of Tacit's without
the database's text; that each member of the port returns what it should; and that the engine
refuses tables and columns that do not exist, columns of other kinds, and kinds that it lacks.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from tacit import core
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.engines import MEMBERS, CheckedEngine, Dialect, RowEngine
from tacit.engines.reference import Reference, Tables
from tacit.errors import EngineUnreachable, InvalidValue, TacitError
from tacit.numeric.entropy import SystemEntropy
from tacit.query import Quote, price, run
from tacit.session import open_session
from tacit.sql import parse
from tacit.testing import engine_asking as asking
from tacit.testing.checks import run_checks
from tacit.testing.engine_asking import OTHER_SALT, SALT, groups_and_tallies, plan_of
from tacit.testing.engine_tables import PEOPLE, QUESTIONS, WARDS, catalog, tables

TIGHT, WIDE = core.Limits(max_groups=2, max_rows=3), core.Limits(max_groups=50, max_rows=50)
"""Limits that leave out rows, and limits under which every row counts."""

SHORT = core.Limits(max_groups=50, max_rows=3, max_length=Fraction(2))
"""Limits that leave out rows by the length of a unit's vector of rows."""

LEAVING = PEOPLE[0]
"""The person who joins and leaves, who has the most rows."""

LOSS = core.Loss.zcdp("0.1", "1e-6")
GONE = "gone_from_here"

OTHER_KIND = {
    "smoker": core.Kind.INTEGER,
    "room": core.Kind.TEXT,
    "cost": core.Kind.INTEGER,
    "pay": core.Kind.INTEGER,
    "doctor": core.Kind.INTEGER,
    "day": core.Kind.TEXT,
    "seen": core.Kind.DATE,
}
"""A column of each kind, and another kind as which a wrong catalogue declares it."""

UNREADABLE = ("the-cell-of-ann", "the-cell-of-bob")
"""Texts in place of integers, which an engine over files of text stores and cannot read."""

Over = Callable[[core.Catalog, Tables], CheckedEngine]
"""A function that returns the engine over some tables; earlier tables may be removed.

It stores a table of one name in the same place each time, and columns with the declared kinds
and steps. A column of a kind that the engine lacks has any type. A cell that does not have the
kind of its column is stored as it is, or the function raises an error.
"""


@dataclass(frozen=True, slots=True)
class EngineContract:
    """An engine, and the kinds of columns for which the engine has no type.

    Example:
        >>> from tacit.testing.engine_contract import EngineContract
        >>> def over(catalog, tables):
        ...     raise NotImplementedError
        >>> len(EngineContract(over, lacks=frozenset({core.Kind.DECIMAL})).questions) > 30
        True
    """

    over: Over
    lacks: frozenset[core.Kind] = frozenset()
    one_of: int = 1
    """The contract asks every n-th question only, for an engine that takes long for each."""
    shared: bool = False
    """Whether ``over`` always returns the same engine, which must then stay open."""

    @property
    def questions(self) -> list[str]:
        """The questions about columns of kinds that the engine has."""
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

    def violations(self) -> list[str]:
        """Return the violations of the contract, one sentence each; none for a good engine.

        A check that raises an error is a violation too. Members are checked only if all are
        there, and neighbours and errors only if the integers are right.
        """
        return (
            run_checks(self.incomplete)
            or run_checks(self.wrong_types, self.unequal)
            or run_checks(
                self.distinguished_neighbours,
                self.revealing_errors,
                self.wrongly_accepted_kinds,
                self.wrongly_accepted_columns,
                self.unequal_rows,
                self.wrong_descriptions,
                self.wrong_identities,
                self.unreadable_cells,
                self.unpaid,
                self.left_open,
            )
        )

    def incomplete(self) -> Iterator[str]:
        """Yield the required methods and attributes that the engine does not have."""
        engine = self.over(catalog(WIDE, self.lacks), tables())
        for name in MEMBERS:
            if not hasattr(engine, name):
                yield f"The engine has no {name}, which every engine must have."

    def wrong_types(self) -> Iterator[str]:
        """Yield the members that raise an error, or return a value of another type.

        Whether the reasons of `plain` are true cannot be checked here.
        """
        declared = catalog(WIDE, self.lacks)
        engine = self.over(declared, tables())
        places = [table.location.table for table in declared.tables]
        members: list[tuple[str, Callable[[], Any], Callable[[Any], bool]]] = [
            ("dialect", lambda: engine.dialect, lambda v: v is None or isinstance(v, Dialect)),
            ("check", lambda: engine.check(declared), lambda value: value is None),
            ("plain", lambda: engine.plain(declared), _are_texts),
            (
                "tables",
                engine.tables,
                lambda v: isinstance(v, tuple) and all(map(_are_texts, v)),
            ),
        ]
        for place in places:
            members += [
                ("columns", partial(engine.columns, place), _are_columns),
                ("identities", partial(engine.identities, place), _are_texts),
            ]
        for call in asking.rehearsals(engine, declared):
            members.append(("rehearse", call, lambda value: value is None))
        for name, value, right in members:
            try:
                found = value()
            except Exception as error:  # noqa: BLE001 - any error is a violation
                yield f"The engine's {name} raises {type(error).__name__}: {error}"
                continue
            if not right(found):
                yield f"The engine's {name} has a value of another type than the port says."

    def wrong_descriptions(self) -> Iterator[str]:
        """Yield tables and columns that the engine describes differently than it checks."""
        declared = catalog(WIDE, self.lacks)
        engine = self.over(declared, tables())
        engine.check(declared)
        listed = engine.tables()
        if len(set(listed)) != len(listed):
            yield "The engine lists a table twice."
        for place in set(listed):
            if not _describes(engine, place):
                yield "The engine lists a table that it cannot describe."
        for table in declared.tables:
            if table.location.table[-1] not in {place[-1] for place in listed}:
                yield f"The engine does not list the table {table.name}."
            found = {each.name: each for each in engine.columns(table.location.table)}
            for column in table.schema.columns:
                # bounds and keys are declared by an owner: a type does not have them
                if found.get(column.name) != core.Column(
                    column.name, column.kind, step=column.step
                ):
                    yield (
                        f"The engine describes {table.name}.{column.name} differently than it "
                        "checks it."
                    )
        if _describes(engine, (GONE,)):
            yield "The engine describes a table that does not exist."

    def wrong_identities(self) -> Iterator[str]:
        """Yield tables whose identities change, or are those of another table.

        Tables in memory have no identity. A table that was made again in its place may have
        new identities, but one of the old ones must remain.
        """
        declared = catalog(WIDE, self.lacks)
        first, second = (self._identities(declared) for _ in range(2))
        for name, known in first.items():
            if (known or second[name]) and not known & second[name]:
                yield (
                    f"The engine does not identify the physical table {name}: opened again "
                    "over the same place, it has other identities."
                )
            for other, identities in first.items():
                if name < other and known & identities:
                    yield f"The tables {name} and {other} have an identity in common."

    def _identities(self, declared: core.Catalog) -> dict[str, set[str]]:
        engine = self.over(declared, tables())
        return {
            table.name: set(engine.identities(table.location.table))
            for table in declared.tables
        }

    def unequal_rows(self) -> Iterator[str]:
        """Yield a violation if rows for a fit differ from those of the reference.

        Only an engine that can return rows is checked.
        """
        declared = catalog(TIGHT, self.lacks)
        engine = self.over(declared, tables())
        if not isinstance(engine, RowEngine):
            return
        plan, reference = asking.plan_of_rows(declared), Reference(dict(tables()))
        for salt in (SALT, OTHER_SALT) if self.one_of == 1 else (OTHER_SALT,):
            wanted, found = (each.rows(plan, declared, salt) for each in (reference, engine))
            if asking.row_blocks(found) != asking.row_blocks(wanted):
                yield "The engine returns other rows for a fit than the reference."
                return

    def unpaid(self) -> Iterator[str]:
        """Yield a violation if a session over the engine cannot answer a charged question."""
        declared = catalog(WIDE, self.lacks)
        engine: Any = SharedEngine(self.over(declared, tables()))
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
                yield f"The engine does not answer a charged question of tacit.open: {error}"
                return
            if len(answer.columns[0].values) != len(WARDS):
                yield "The engine answers a charged question with groups that are not public."

    def left_open(self) -> Iterator[str]:
        """Yield a violation if the engine cannot be closed twice."""
        if self.shared:
            return
        engine = self.over(catalog(WIDE, self.lacks), tables())
        try:
            engine.close()
            engine.close()
        except Exception as error:  # noqa: BLE001 - any error would make a session fail
            yield f"The engine fails with {type(error).__name__} when it is closed twice."

    def unequal(self) -> Iterator[str]:
        """Yield the questions for which the engine finds other integers than the reference.

        One question is asked with a second salt, by which other rows are kept.
        """
        everybody, nobody = tables(), tables(())
        asked = ((TIGHT, everybody), (WIDE, everybody), (SHORT, everybody), (WIDE, nobody))
        for limits, people in asked:
            declared = catalog(limits, self.lacks)
            engine, reference = self.over(declared, people), Reference(dict(people))
            engine.check(declared)
            for text in self.questions:
                yield from _unequal(engine, reference, declared, text, SALT)
            if limits is TIGHT:
                text = self._salted_question(reference, declared)
                for found in _unequal(engine, reference, declared, text, OTHER_SALT):
                    yield f"{found} This was found with a second salt."

    def _salted_question(self, reference: Reference, declared: core.Catalog) -> str:
        """Return a question whose integers depend on the salt; the first one if none does."""
        for text in self.questions:
            plan = plan_of(text, declared)
            one, other = (
                groups_and_tallies(reference.run(plan, declared, salt))
                for salt in (SALT, OTHER_SALT)
            )
            if one != other:
                return text
        return self.questions[0]

    def distinguished_neighbours(self) -> Iterator[str]:
        """Yield the questions whose answers distinguish neighbours by more than noise."""
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
                yield f"The engine distinguishes neighbours: {text}: {broken}"

    def revealing_errors(self) -> Iterator[str]:
        """Yield errors that reveal the database's text, and missing tables not noticed."""
        declared = catalog(WIDE, self.lacks)
        engine = self.over(declared, tables())
        visits, *others = declared.datasets
        moved = replace(visits, location=core.Location("here", (GONE,)))
        lost = replace(declared, datasets=(moved, *others))
        for name, ask in asking.ways_to_ask(engine, lost):
            found = asking.failure_of_asking(ask, (GONE,))
            if found is None:
                yield f"The engine's {name} answers about a table that does not exist."
            elif isinstance(found, str):
                yield f"{found} It is raised by {name}."
        if not _refuses(engine, lost):
            yield "The engine accepts a catalogue whose table does not exist."

    def unreadable_cells(self) -> Iterator[str]:
        """Yield violations by a cell that cannot be read, if the engine can store one.

        Members that read no row must not notice it. `run` and `rows` must fail with one text,
        whatever the cell contains, or take the cell for NULL. An engine over typed columns
        refuses such a cell when ``over`` writes it, and is not checked.
        """
        declared = catalog(WIDE, self.lacks)
        told: dict[str, set[str]] = {}
        for cell in UNREADABLE:
            try:
                engine = self.over(declared, _with_age(cell))
            except Exception:  # noqa: BLE001 - a typed column refuses the cell, by any error
                return
            for name, call in asking.members_without_rows(engine, declared):
                if not _succeeds(call):
                    yield f"The engine's {name} reads rows: it fails by a cell of a row."
            for name, ask in asking.ways_to_ask(engine, declared):
                found = asking.failure_of_asking(ask, UNREADABLE)
                if isinstance(found, EngineUnreachable):
                    yield f"The engine's {name} takes a cell that cannot be read for an outage."
                elif isinstance(found, str):
                    yield f"{found} It is raised by {name}, by a cell that cannot be read."
                told.setdefault(name, set()).add(f"{type(found).__name__}: {found}")
        for name, texts in told.items():
            if len(texts) > 1:
                yield f"The text of a failure of the engine's {name} depends on a cell."

    def wrongly_accepted_kinds(self) -> Iterator[str]:
        """Yield the kinds of columns that the engine claims to lack, but accepts."""
        for kind in self.lacks:
            declared = catalog(WIDE, self.lacks - {kind})
            if not _refuses(self.over(declared, tables()), declared):
                yield f"The engine claims to lack {kind.value} columns, but accepts them."

    def wrongly_accepted_columns(self) -> Iterator[str]:
        """Yield columns that do not exist or have another kind, but that `check` accepts."""
        visits, *_ = (full := catalog(WIDE, self.lacks)).datasets
        alone = replace(full, datasets=(visits,), public=())
        engine = self.over(full, tables())
        added = core.Schema((*visits.schema.columns, core.Column(GONE, core.Kind.INTEGER)))
        if not _refuses(engine, replace(alone, datasets=(replace(visits, schema=added),))):
            yield "The engine accepts a column that does not exist."
        for name, kind in OTHER_KIND.items():
            if name in visits.schema.names:
                changed = core.Schema(
                    tuple(
                        core.Column(name, kind) if column.name == name else column
                        for column in visits.schema.columns
                    )
                )
                wrong = replace(alone, datasets=(replace(visits, schema=changed),))
                if not _refuses(engine, wrong):
                    had = visits.schema[name].kind.value
                    yield f"The engine accepts a column of kind {had} as {kind.value}."


class SharedEngine:
    """An engine that stays open when a session closes it, because others may use it."""

    def __init__(self, engine: CheckedEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Leave the engine open."""


def _refuses(engine: CheckedEngine, declared: core.Catalog) -> bool:
    try:
        engine.check(declared)
    except InvalidValue:
        return True
    return False


def _describes(engine: CheckedEngine, place: tuple[str, ...]) -> bool:
    try:
        engine.columns(place)
    except InvalidValue:
        return False
    return True


def _succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception:  # noqa: BLE001 - any error counts
        return False
    return True


def _with_age(cell: str) -> Tables:
    """Return the tables with a text as the age of the first visit."""
    first, *rest = tables()["visits",]
    return {**tables(), ("visits",): [{**first, "age": cell}, *rest]}


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) and each for each in value)


def _are_columns(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, core.Column) for each in value)


def _unequal(
    engine: CheckedEngine, reference: Reference, declared: core.Catalog, text: str, salt: bytes
) -> Iterator[str]:
    """Yield a violation if the engine answers one question differently than the reference."""
    plan = plan_of(text, declared)
    wanted = groups_and_tallies(reference.run(plan, declared, salt))
    try:
        groups, tallies = groups_and_tallies(engine.run(plan, declared, salt))
    except Exception as error:  # noqa: BLE001 - any error is a violation
        yield f"The engine fails with {type(error).__name__}: {text}"
        return
    if (groups, tallies) != wanted:
        yield f"The engine finds other integers than the reference: {text}"
    elif not all(type(each) is int for tally in tallies for each in tally):
        yield f"The engine returns numbers that are not integers: {text}"

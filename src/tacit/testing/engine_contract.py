"""The contract of an engine: questions, tables with hostile values, and the checks.

Every engine must answer the questions as the reference does. The questions are grouped by
topic.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import cycle, islice
from math import inf, nan
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tacit import core
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.engines import MEMBERS, CheckedEngine, RowEngine, SecretTable, UnitRows
from tacit.engines.reference import Cell, Reference, Row, Tables
from tacit.errors import EngineUnreachable, InternalError, InvalidValue, TacitError
from tacit.mechanisms import inside
from tacit.noise import Integers
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.plan import RowSumTally, Scan, WholeSteps, bound, canonical, training_of
from tacit.query import Quote, price, run
from tacit.session import open_session
from tacit.sql import parse

QUESTIONS: dict[str, tuple[str, ...]] = {
    "counts": (
        "SELECT COUNT(*), COUNT(DISTINCT person) FROM visits",
        "SELECT COUNT(pay), COUNT(ward), COUNT(day), COUNT(seen) FROM visits",
        "SELECT COUNT(cost), COUNT(smoker) FROM visits",
    ),
    "sums": (
        "SELECT SUM(age), SUM(age * 3 - 1) FROM visits",
        "SELECT SUM(pay), SUM(0.5 * pay - 2 * age) FROM visits",
        "SELECT SUM(cost), SUM(age * cost) FROM visits",
    ),
    "kept rows": (
        "SELECT AVG(age), VARIANCE(age) FROM visits",
        "SELECT ward, AVG(pay) FROM visits GROUP BY ward",
        "SELECT ward, AVG(cost), STDDEV(age) FROM visits GROUP BY ward",
    ),
    "trees": (
        "SELECT MEDIAN(age), MAX(age) FROM visits",
        "SELECT ward, MEDIAN(pay) FROM visits GROUP BY ward",
        "SELECT MIN(cost), QUANTILE(cost, 0.9) FROM visits",
    ),
    "comparisons": (
        "SELECT COUNT(*) FROM visits WHERE age < 17.5 OR age = 40",
        "SELECT COUNT(*) FROM visits WHERE room >= 4611686018427387903",
        "SELECT COUNT(*) FROM visits WHERE age <> room AND NOT age IN (1, 2, 120)",
        "SELECT COUNT(*) FROM visits WHERE pay > 0.1 OR pay = 0",
        "SELECT COUNT(*) FROM visits WHERE cost > -10.5 AND cost <> 99.99",
        "SELECT COUNT(*) FROM visits WHERE cost > 0.000000000000000001",
        "SELECT COUNT(*) FROM visits WHERE pay BETWEEN age AND 99.9 OR pay IS NULL",
        "SELECT COUNT(*) FROM visits WHERE NOT (smoker OR age > 30)",
        "SELECT COUNT(*) FROM visits WHERE age * 2 - 1 = 33 OR NULL",
    ),
    "text": (
        "SELECT COUNT(*) FROM visits WHERE ward = 'it''s' OR ward = ''",
        "SELECT COUNT(*) FROM visits WHERE doctor IN ('\\', '😀', 'NULL', 'Ärztin')",
        "SELECT COUNT(*) FROM visits WHERE ward <> doctor",
        "SELECT COUNT(*) FROM visits WHERE ward LIKE '%o_th' OR ward NOT LIKE 'a\\%'",
    ),
    "days": (
        "SELECT COUNT(*) FROM visits WHERE day < DATE '2000-01-01' OR seen < DATE '2020-02-29'",
        "SELECT SUM(until - DATE '2020-02-29'), AVG(YEAR(until)) FROM visits",
        "SELECT SUM(EXTRACT(QUARTER FROM day)), SUM(EXTRACT(DOW FROM day)) FROM visits",
        "SELECT DATE_TRUNC('week', day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT DATE_TRUNC('quarter', until) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT day, DAYOFWEEK(until) AS k, COUNT(*) FROM visits GROUP BY day, k",
    ),
    "groups": (
        "SELECT ward, smoker, COUNT(*) FROM visits GROUP BY ward, smoker",
        "SELECT FLOOR(age / 10) * 10 AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT FLOOR(pay / 25) * 25 AS k, SUM(age) FROM visits GROUP BY k",
        "SELECT FLOOR(cost / 7) * 7 AS k, COUNT(*) FROM visits GROUP BY k",
        (
            "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS k, COUNT(*) FROM visits"
            " GROUP BY k"
        ),
        "SELECT doctor, COUNT(*), SUM(age) FROM visits GROUP BY doctor",
        "SELECT room, AVG(age), MEDIAN(age) FROM visits GROUP BY room",
        "SELECT doctor, ward, COUNT(DISTINCT person) FROM visits GROUP BY doctor, ward",
    ),
    "tables side by side": (
        "SELECT ward, SUM(value) FROM labs JOIN visits ON visit = visits.id GROUP BY ward",
        "SELECT AVG(age * value) FROM visits v JOIN labs l ON l.visit = v.id WHERE age > 9",
        (
            "SELECT region, COUNT(*), AVG(beds + age) FROM visits v JOIN places p"
            " ON v.ward = p.ward GROUP BY region"
        ),
        (
            "SELECT SUM(beds), COUNT(beds) FROM visits LEFT JOIN places"
            " ON places.ward = visits.ward WHERE region IS NULL OR beds > 3"
        ),
    ),
    "each person": (
        "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)",
        "SELECT AVG(m) FROM (SELECT person, AVG(pay) AS m FROM visits GROUP BY person)",
        (
            "SELECT SUM(m) FROM (SELECT person, AVG(age) AS m, MIN(age) AS l FROM visits"
            " GROUP BY person) WHERE l < 18"
        ),
        (
            "SELECT ward, MEDIAN(m) FROM (SELECT person, ward, MAX(age) AS m FROM visits"
            " GROUP BY person, ward) GROUP BY ward"
        ),
        "SELECT AVG(t) FROM (SELECT person, SUM(cost) AS t FROM visits GROUP BY person)",
    ),
}


# ------------------------------------------------------------------ engine tables
# Three tables with all values about which engines disagree, for the contract of an engine.
#
# The tables of a clinic: visits name the person, labs link to visits, and a public table has
# the region of each ward.

PEOPLE: tuple[Cell, ...] = ("a", "b", " a", "A", "", "it's", "NULL", "Ä", "a|b", "\\", None)
"""Names that are easily confused with each other or with NULL; the last one is NULL."""

MOST_ROWS = 7
"""The most rows of a person; the first person has this number."""

WARDS = ("north", "south", "it's", "a\\b", "")
VISITS = (
    core.Column("id", core.Kind.INTEGER),
    core.Column("person", core.Kind.TEXT),
    core.Column("ward", core.Kind.TEXT, keys=core.Keys(WARDS)),
    core.Column("age", core.Kind.INTEGER, bounds=core.Bounds.of(0, 120)),
    core.Column("pay", core.Kind.FLOAT, bounds=core.Bounds.of("-0.1", 100)),
    core.Column(
        "cost",
        core.Kind.DECIMAL,
        bounds=core.Bounds.of("-10.5", "99.99"),
        step=Fraction(1, 100),
    ),
    core.Column("smoker", core.Kind.BOOLEAN),
    core.Column("day", core.Kind.DATE),
    core.Column(
        "until", core.Kind.DATE, bounds=core.Bounds.days(date(2019, 12, 30), date(2021, 3, 1))
    ),
    core.Column("seen", core.Kind.TIMESTAMP),
    core.Column("doctor", core.Kind.TEXT),
    core.Column("room", core.Kind.INTEGER),
)
LABS = (
    core.Column("visit", core.Kind.INTEGER),
    core.Column("value", core.Kind.INTEGER, bounds=core.Bounds.of(-5, 5)),
)
PLACES = (
    core.Column("ward", core.Kind.TEXT),
    core.Column("region", core.Kind.TEXT, keys=core.Keys(("hills", "coast"))),
    core.Column("beds", core.Kind.INTEGER, bounds=core.Bounds.of(0, 50)),
)
WHERE: tuple[Row, ...] = (
    {"ward": "north", "region": "hills", "beds": 30},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "north", "region": "coast", "beds": -7},
    {"ward": "elsewhere", "region": None, "beds": None},
    {"ward": None, "region": "hills", "beds": 2**63 - 1},
)
"""The public table, in which a ward occurs once, several times or not at all."""

CELLS: dict[str, Sequence[Cell]] = {
    "ward": ("north", *WARDS, "elsewhere", None, "NULL", "north|"),
    "age": (40, None, 120, 121, -1, 0, 2**63 - 1, -(2**63), 17, 18, 2**53 + 1),
    "pay": (
        *(0.1, nan, None, inf, -inf, -0.0, 1e308, -1.7976931348623157e308, 5e-324, 50.5),
        *(99.99999999999999, 100.00000000000001, 2.0**-33, 1 / 3, 0.5, 2.0**63),
    ),
    "cost": tuple(
        None if text is None else Decimal(text)
        for text in ("9.99", None, "-10.5", "9999999999999999.99", "0", "-0.01", "99.99", "5")
    ),
    "smoker": (True, None, False),
    "day": (date(2000, 2, 29), date.min, date.max, None, date(1969, 12, 31), date(2024, 6, 1)),
    "until": (
        date(2020, 2, 29),
        date.max,
        None,
        date.min,
        date(2019, 12, 30),
        date(2021, 3, 1),
    ),
    "seen": tuple(
        None if moment is None else datetime.fromisoformat(moment)
        for moment in ("2020-02-29", "2020-02-28T23:59:59.999999", None, "0001-01-02")
    ),
    "doctor": ("who", "no", None, "", "it's", "no|", "Ärztin", "a\nb", "\\", "😀", "NULL"),
    "room": (7, -1, None, 2**63 - 1, -(2**63), 0),
    "value": (5, None, -5, 6, -9, 0, 2**63 - 1),
}
"""The values of each column, which rows use in turn.

The columns have different numbers of values, so that every combination occurs.
"""


def catalog(limits: core.Limits, without: frozenset[core.Kind] = frozenset()) -> core.Catalog:
    """Return the tables as an owner declares them, ``without`` columns of some kinds."""

    def schema(columns: Sequence[core.Column]) -> core.Schema:
        return core.Schema(tuple(column for column in columns if column.kind not in without))

    def dataset(
        name: str, columns: Sequence[core.Column], way: core.UnitColumn | core.Link
    ) -> core.Dataset:
        place = core.Location("here", (name,))
        return core.Dataset(
            name, "patients", schema(columns), way, limits, place, core.Epoch("1")
        )

    return core.Catalog(
        (core.Population("patients", core.PrivacyUnit("person")),),
        (
            dataset("visits", VISITS, core.UnitColumn("person")),
            dataset("labs", LABS, core.Link("visit", "visits", "id")),
        ),
        (_places(schema(PLACES)),),
    )


def _places(schema: core.Schema) -> core.PublicTable:
    place = core.Location("here", ("places",))
    return core.PublicTable(
        "places", schema, place, core.Epoch("1"), schema.names, core.MOST_FAN_OUT
    )


def tables(people: Sequence[Cell] = PEOPLE) -> Tables:
    """Return all rows of ``people``; the rows of a person do not depend on the others."""
    visits: list[Row] = []
    labs: list[Row] = []
    for place, person in enumerate(PEOPLE):
        if person not in people:
            continue
        for number in range(MOST_ROWS - place % 4):
            key = 100 * place + number
            cells = {name: _cell(name, place, number) for name in CELLS if name != "value"}
            visits.append({"id": key, "person": person} | cells)
            labs += [
                {"visit": key, "value": _cell("value", place, number + more)}
                for more in range(number % 3)
            ]
    return {("visits",): visits, ("labs",): labs, ("places",): WHERE}


def _cell(column: str, place: int, number: int) -> Cell:
    """Return one cell; most rows of the first person are alike, the others use all values."""
    cells = CELLS[column]
    start = MOST_ROWS * place
    step = number if place else number // 2
    return next(islice(cycle(cells), start + step, None))


# ------------------------------------------------------------------ engine contract
# The contract of an engine: the properties that every engine must have, also one that is not
# part of Tacit.
#
# The author of an engine provides one function, which takes a catalogue and its tables and
# returns an engine over them. The contract checks that the engine finds the same integers as
# the reference, on tables with special values and on empty tables; that a person who joins or
# leaves changes nothing beyond the noise; that every failure has the same text; and that the
# engine refuses the kinds of columns that it lacks.

SALT = b"salt"
TIGHT, WIDE = core.Limits(max_groups=2, max_rows=3), core.Limits(max_groups=50, max_rows=50)
"""Limits that leave out rows, and limits under which every row counts."""

LEAVING = PEOPLE[0]
"""The person who joins and leaves, who has the most rows."""

LOSS = core.Loss.zcdp("0.1", "1e-6")
GONE = "gone_from_here"


Over = Callable[[core.Catalog, Tables], CheckedEngine]
"""A function that returns the engine over some tables; earlier tables may be removed.

It stores a column of a kind that the engine lacks in any type.
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

        Neighbours and errors are checked only if the integers are right.
        """
        return (
            [*self.incomplete()]
            or [*self.unequal()]
            or [
                *self.distinguished_neighbours(),
                *self.revealing_errors(),
                *self.wrongly_accepted_kinds(),
                *self.unequal_rows(),
                *self.wrong_descriptions(),
                *self.unpaid(),
                *self.left_open(),
            ]
        )

    def incomplete(self) -> Iterator[str]:
        """Yield the required methods and attributes that the engine does not have."""
        engine = self.over(catalog(WIDE, self.lacks), tables())
        for name in MEMBERS:
            if not hasattr(engine, name):
                yield f"The engine has no {name}, which every engine must have."

    def wrong_descriptions(self) -> Iterator[str]:
        """Yield tables and columns that the engine describes differently than it checks."""
        declared = catalog(WIDE, self.lacks)
        engine = self.over(declared, tables())
        engine.check(declared)
        listed = {table[-1] for table in engine.tables()}
        for table in declared.tables:
            if table.location.table[-1] not in listed:
                yield f"The engine does not list the table {table.name}."
            found = {each.name: each.kind for each in engine.columns(table.location.table)}
            for column in table.schema.columns:
                if found.get(column.name) is not column.kind:
                    yield (
                        f"The engine describes {table.name}.{column.name} differently than it "
                        "checks it."
                    )
            # tables in memory have no identity; other tables have the same one each time
            known: list[object] = [engine.identities(table.location.table) for _ in range(2)]
            if not isinstance(known[0], tuple) or known[0] != known[1]:
                yield f"The engine does not identify the physical table {table.name}."
        if not _refuses_columns(engine):
            yield "The engine describes a table that does not exist."

    def unequal_rows(self) -> Iterator[str]:
        """Yield a violation if rows for a fit differ from those of the reference.

        Only an engine that can return rows is checked.
        """
        declared = catalog(TIGHT, self.lacks)
        engine = self.over(declared, tables())
        if not isinstance(engine, RowEngine):
            return
        plan = training_of(Scan("visits"), ["age"], None, declared).plan(
            [RowSumTally(WholeSteps(1), 0, TIGHT.max_rows)]
        )
        reference = Reference(dict(tables()))
        wanted, found = (each.rows(plan, declared, SALT) for each in (reference, engine))
        if _blocks(found) != _blocks(wanted):
            yield "The engine returns other rows for a fit than the reference."

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
        """Yield the questions for which the engine finds other integers than the reference."""
        for limits, people in ((TIGHT, tables()), (WIDE, tables()), (WIDE, tables(()))):
            declared = catalog(limits, self.lacks)
            engine, reference = self.over(declared, people), Reference(dict(people))
            engine.check(declared)
            for text in self.questions:
                plan = bound(canonical(parse(text, declared)).plan, declared).plan
                wanted = groups_and_tallies(reference.run(plan, declared, SALT))
                try:
                    found = groups_and_tallies(engine.run(plan, declared, SALT))
                except Exception as error:  # noqa: BLE001 - any error is a violation
                    yield f"The engine fails with {type(error).__name__}: {text}"
                    continue
                if found != wanted:
                    yield f"The engine finds other integers than the reference: {text}"

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
        plan = bound(parse("SELECT COUNT(*) FROM visits", declared), declared).plan
        engine = self.over(declared, tables())
        visits, *others = declared.datasets
        moved = replace(visits, location=core.Location("here", (GONE,)))
        lost = replace(declared, datasets=(moved, *others))
        try:
            engine.run(plan, lost, SALT)
        except (EngineUnreachable, InternalError) as error:
            if GONE in str(error):
                yield "The engine repeats the text of the database in an error."
        except Exception as error:  # noqa: BLE001 - an analyst would see it
            yield f"The engine raises an error that is not Tacit's: {type(error).__name__}."
        else:
            yield "The engine answers about a table that does not exist."
        if not _refuses(engine, lost):
            yield "The engine accepts a catalogue whose table does not exist."

    def wrongly_accepted_kinds(self) -> Iterator[str]:
        """Yield the kinds of columns that the engine claims to lack, but accepts."""
        for kind in self.lacks:
            declared = catalog(WIDE, self.lacks - {kind})
            if not _refuses(self.over(declared, tables()), declared):
                yield f"The engine claims to lack {kind.value} columns, but accepts them."


class SharedEngine:
    """An engine that stays open when a session closes it, because others may use it."""

    def __init__(self, engine: CheckedEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Leave the engine open."""


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


def _refuses(engine: CheckedEngine, declared: core.Catalog) -> bool:
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


def _blocks(rows: core.Secret[UnitRows]) -> list[list[int]]:
    """Return the rows for a fit, as an audit records them."""
    recording = RecordingGateway(SystemEntropy(SALT))
    nothing = core.Sensitivity.of(1, core.Norm.L1, core.Rule("a synthetic example"))

    def flat(found: UnitRows) -> Integers:
        blocks = [block.reshape(-1) for block in found.blocks()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])

    return [recording.release(inside(rows, flat), nothing, _as_it_is).tolist()]

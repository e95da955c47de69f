"""How far one person moves the time of a question, measured on synthetic neighbours.

The guarantee of a delayed answer assumes that one person moves the time from a question's start
to the engine's result by at most ``person_ms``. This module measures that movement on tables
with the declared columns and limits and with synthetic rows, so that no personal data is read
and everything that it prints is public.

Three databases are compared: a crowd, the same crowd again (the control), and the crowd with
one person more. The person is the heaviest that is allowed for, or has one row that is hostile
to planners: a key that nobody has, values beyond their bounds, NULL everywhere. First the plans
of all of them must be equal. Then each question is run on the three databases in turn, in
random order, and the differences of time are paired by round: of processor time on an idle
machine, or of wall time with all places busy (`tacit.audit.busy_places`). The proposal is twice
the largest upper 99% bound of a median difference, rounded up to 1, 2 or 5 times a power of
ten. Nothing is proposed if the control alone moves by more than half of the proposal, or if
the bound of its movement is a large share of a question's time: a proposal grows with the noise
of the machine, so that it alone does not show that other work disturbed the measurement.

A measurement is evidence and not a proof: other data, another machine or a busier one may move
times further.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from math import comb
from pathlib import Path
from shutil import copyfile
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tacit.audit.busy_places import BusyPlaces, Side
from tacit.audit.synthetic_people import Choices
from tacit.core import Catalog, Column, Dataset, Kind, Link, Location, day_of, number_of
from tacit.engines import DUCKDB, Preparation, question
from tacit.engines.duckdb import quoted_name
from tacit.engines.synthetic_duckdb import WRITTEN, SyntheticDuckDB
from tacit.errors import InvalidValue
from tacit.numeric import plain
from tacit.plan import BoundedPlan, bound, canonical
from tacit.sql import parse

SALT = b"made up"
CONFIDENCE = Fraction(99, 100)
FACTOR = 2
"""The proposal is this many times the largest bound, as a margin for what was not measured."""

WORKER_MS = 10
"""Milliseconds that a worker needs for a question besides the engine, at most in most cases."""

LOUD_SHARE, LOUD_MS = 0.25, 0.5
"""The control of a quiet machine moves by at most this share of the time, or this many ms."""

LEAST_ROUNDS = 15
"""With fewer rounds, no pair of order statistics covers a median with 99%."""

HEAVY, ODD, BEYOND, EMPTY = "many rows", "a key that nobody has", "beyond all bounds", "NULL"
PEOPLE = (HEAVY, ODD, BEYOND, EMPTY)
"""The persons in whom neighbours differ."""

MEASURED = (HEAVY, ODD)
"""The persons whose time is measured; the plans of all are compared."""

SIDES = 3

FIRST_DAY, LAST_DAY = number_of(date(2024, 1, 1)), number_of(date(9998, 1, 1))
"""Days of the crowd where none are declared, and the last day of anybody, as numbers."""

Clock = Callable[[], int]


# ------------------------------------------------------------------ synthetic tables


@dataclass(frozen=True, slots=True)
class SyntheticTables:
    """Synthetic tables for the datasets of one population: a crowd, and one person more.

    Each dataset has ``rows`` rows of the crowd, or one for each person. ``heavy`` is the number
    of rows of the heaviest person. Cells are computed by DuckDB from the number of a row.
    """

    catalog: Catalog
    rows: int
    heavy: int

    @property
    def people(self) -> int:
        """The number of people in the crowd."""
        return max(1, self.rows // 10)

    def open(
        self, person: str | None, path: str = ":memory:"
    ) -> tuple[SyntheticDuckDB, Catalog]:
        """Return a database with copies of all tables, and the catalogue that reads them."""
        database, catalog = SyntheticDuckDB(path), self.catalog
        run = database.connection.execute
        for dataset in catalog.datasets:
            rows = self.people if self._is_one_row(dataset) else self.rows
            run(self._create(dataset, f"range({rows})", None))
            if person is not None:
                many = self.heavy if person == HEAVY and not self._is_one_row(dataset) else 1
                named = f"range({rows}, {rows + many})"
                run(f"INSERT INTO {self._name(dataset)} {self._select(dataset, named, person)}")
        for dataset in self.catalog.datasets:
            linked = self.catalog.linked_columns(dataset.name)
            making = Preparation(dataset, ("main",), DUCKDB, linked=linked)
            for _ in making.steps(SALT, lambda text: run(text).fetchall()):
                pass
            catalog = catalog.with_tables(making.prepared)
        return database, catalog

    @staticmethod
    def _name(dataset: Dataset) -> str:
        return quoted_name(dataset.location.table[-1])

    def _create(self, dataset: Dataset, rows: str, person: str | None) -> str:
        return f"CREATE TABLE {self._name(dataset)} AS {self._select(dataset, rows, person)}"

    def _is_one_row(self, dataset: Dataset) -> bool:
        return not isinstance(dataset.unit, Link) and dataset.unit.one_row

    def _select(self, dataset: Dataset, rows: str, person: str | None) -> str:
        """Return a statement with the cells of these rows: the crowd's, or one person's."""
        ids = {*self.catalog.linked_columns(dataset.name), dataset.row_key}
        cells = []
        for column in dataset.schema.columns:
            if column.name == dataset.unit.column:
                # everybody links to the first rows, and the person to one of their own
                number = f"i % {self.people}" if person is None else str(self._own)
                if isinstance(dataset.unit, Link) and person is not None:
                    number = str(self._own_row(dataset.unit.parent))
                cell = _of_number(column.kind, number)
            elif column.name in ids:
                cell = _of_number(column.kind, "i")
            else:
                cell = _cell(column, person)
            cells.append(
                f"CAST({cell} AS {WRITTEN[column.kind]}) AS {quoted_name(column.name)}"
            )
        return f"SELECT {', '.join(cells)} FROM {rows} AS r(i)"  # noqa: S608 - our own numbers

    @property
    def _own(self) -> int:
        """The number of the person more, which is not that of anybody in the crowd."""
        return self.rows + 10**6

    def _own_row(self, parent: str) -> int:
        """Return the number of the first row of the person more in the table ``parent``."""
        above = self.catalog.dataset(parent)
        link = next(
            each.unit.parent_column
            for each in self.catalog.datasets
            if isinstance(each.unit, Link) and each.unit.parent == parent
        )
        if link == above.unit.column:
            return self._own
        return self.people if self._is_one_row(above) else self.rows


def _of_number(kind: Kind, number: str) -> str:
    """Return the name of a person or a row as SQL."""
    return f"'n' || ({number})" if kind is Kind.TEXT else number


def _cell(column: Column, person: str | None) -> str:
    """Return a cell as SQL, which depends on the number ``i`` of its row."""
    if person == EMPTY:
        return "NULL"
    if column.kind is Kind.BOOLEAN:
        return "i % 2 = 0"
    if column.kind is Kind.TEXT:
        return _text_cell(column, person)
    low, high = _range(column)
    if person in {ODD, BEYOND}:
        low = high = high + (5000 if person == ODD else 10**6)
    place = f"(i * 31) % {high - low + 1}"
    if column.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return f"DATE '{day_of(min(low, LAST_DAY))}' + CAST({place} AS INTEGER)"
    return f"({low} + {place})"


def _text_cell(column: Column, person: str | None) -> str:
    if person in {ODD, BEYOND}:
        return "'nobody has this'"
    if column.keys is None:
        return "'t' || (i * 7919) % 50"
    quoted = ["'" + str(key).replace("'", "''") + "'" for key in column.keys.values]
    return f"[{', '.join(quoted)}][1 + (i * 7919) % {len(quoted)}]"


def _range(column: Column) -> tuple[int, int]:
    """Return the least and the largest whole number of a column that the crowd has."""
    if column.bounds is not None:
        return int(column.bounds.lower), int(column.bounds.upper)
    keys = () if column.keys is None else column.keys.values
    numbers = [key for key in keys if isinstance(key, int)]
    if numbers:
        return min(numbers), max(numbers)
    if column.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return FIRST_DAY, FIRST_DAY + 1000
    return 0, 100


# ------------------------------------------------------------------ questions


OF_TABLE = ("SELECT COUNT(*) AS n FROM {table}",)
OF_KEY = ("SELECT {key}, COUNT(*) AS n FROM {table} GROUP BY {key}",)
OF_NUMBER = (
    "SELECT COUNT(*) AS n FROM {table} WHERE {number} = 123456",
    "SELECT SUM({number}) AS s FROM {table}",
    "SELECT AVG({number}) AS a FROM {table} WHERE {number} > 10",
    "SELECT MEDIAN({number}) AS m FROM {table}",
)
OF_BOTH = ("SELECT {key}, AVG({number}) AS a FROM {table} GROUP BY {key}",)
"""The shapes of questions: about a table, a key, a number, and a key and a number."""

COLUMNS = 2
"""The number of keys and of numbers of each table about which questions are asked."""


def shapes_of(catalog: Catalog) -> Iterator[str]:
    """Yield questions of several shapes about each dataset, as an analyst could ask them."""
    for dataset in catalog.datasets:
        table, columns = quoted_name(dataset.name), dataset.schema.columns
        keys = [quoted_name(each.name) for each in columns if each.keys is not None][:COLUMNS]
        numbers = [
            quoted_name(each.name)
            for each in columns
            if each.bounds is not None and each.kind not in {Kind.DATE, Kind.TIMESTAMP}
        ][:COLUMNS]
        yield from (each.format(table=table) for each in OF_TABLE)
        for key in keys:
            yield from (each.format(table=table, key=key) for each in OF_KEY)
        for number in numbers:
            yield from (each.format(table=table, number=number) for each in OF_NUMBER)
            for key in keys[:1]:
                yield from (
                    each.format(table=table, key=key, number=number) for each in OF_BOTH
                )


# ------------------------------------------------------------------ measurement


@dataclass(frozen=True, slots=True)
class Movement:
    """How far one person moves the time of a question, in milliseconds.

    They are of processor time, or of wall time if all places were busy.
    """

    shape: str
    person: str
    took: float
    moved: float
    bound: float
    """The upper 99% bound of the size of the median difference."""
    control: float
    """The median difference of the control, which is noise of the machine."""
    noise: float = 0.0
    """The upper 99% bound of the size of the control's median difference."""

    @property
    def is_loud(self) -> bool:
        """Whether noise of the machine hides what was to be measured."""
        return self.noise > max(abs(self.moved), LOUD_SHARE * self.took, LOUD_MS)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The movements of all questions, and the ``person_ms`` that they propose."""

    movements: tuple[Movement, ...]
    crowding: int = 1
    """How many places share a core: a factor for what was measured on an idle machine.

    It is 1 if all places were busy, because their load is in what was measured.
    """

    @property
    def proposal(self) -> Fraction:
        """The proposed ``person_ms``; `check` says whether the machine was quiet enough."""
        largest = max(each.bound for each in self.movements)
        return round_up(Fraction(largest) * FACTOR * self.crowding)

    @property
    def expected(self) -> Fraction:
        """The proposed ``expected_ms``: the slowest question and its worker, with a margin."""
        slowest = max(each.took for each in self.movements)
        return round_up((Fraction(slowest) + WORKER_MS) * FACTOR * self.crowding)

    def check(self) -> None:
        """Refuse to propose anything if the control moved too far, or may have."""
        loudest = max(abs(each.control) for each in self.movements) * self.crowding
        noise = max((each.noise for each in self.movements if each.is_loud), default=None)
        if noise is not None or 2 * Fraction(loudest) > self.proposal:
            raise InvalidValue(
                "Other work on this machine disturbs the measurement: two equal databases "
                f"differ by up to {plain(Fraction(f'{noise or loudest:.2g}'))} ms. Stop it, or "
                "use more --rounds."
            )


Database = tuple[SyntheticDuckDB, Catalog]
RunSide = Callable[[int], float]
"""A function that runs a question on one of three databases, and returns its milliseconds.

The databases are the crowd, the control, and the crowd with one person more.
"""


@dataclass(frozen=True, slots=True)
class TimeCalibration:
    """Settings of a calibration: the tables, the rounds, and the clock of processor time.

    ``crowding`` is the number of places that share a core. With ``busy`` places, wall time is
    measured while all of them run the same question, and ``crowding`` is not needed.
    """

    tables: SyntheticTables
    rounds: int = 41
    crowding: int = 1
    busy: int = 0
    clock: Clock = time.process_time_ns

    def __post_init__(self) -> None:
        if self.rounds < LEAST_ROUNDS:
            raise InvalidValue(f"A calibration needs at least {LEAST_ROUNDS} rounds.")

    def run(self, tell: Callable[[str], None] = lambda _: None) -> Calibrated:
        """Compare plans, measure all questions, and return the movements.

        Raises:
            InvalidValue: The plan of a question depends on one person's rows, so that no
                ``person_ms`` holds.
        """
        if not self.busy:
            return Calibrated(tuple(self._run_idle(tell)), self.crowding)
        with TemporaryDirectory(prefix="tacit-calibrate-") as folder:
            return Calibrated(tuple(self._run_busy(Path(folder), tell)))

    def _run_idle(self, tell: Callable[[str], None]) -> Iterator[Movement]:
        """Yield the movements of processor time, of one question at a time."""
        with ExitStack() as opened:
            crowd, control = (_closing(opened, self.tables.open(None)) for _ in range(2))
            plans = _plans(crowd)
            for person in PEOPLE:
                with ExitStack() as of_person:
                    more = _closing(of_person, self.tables.open(person))
                    _compare_plans(plans, more, person)
                    for shape in plans if person in MEASURED else ():
                        tell(f"{person}: {shape}")
                        run = self._run_here(shape, (crowd, control, more))
                        yield self._measure(shape, person, run)

    def _run_busy(self, folder: Path, tell: Callable[[str], None]) -> Iterator[Movement]:
        """Yield the movements of wall time, while all places run the same question."""
        sides: dict[str | None, Side] = {}
        plans: dict[str, Any] = {}
        for number, person in enumerate((None, *PEOPLE)):
            path = _file_in(folder / str(number))
            with ExitStack() as opened:
                made = _closing(opened, self.tables.open(person, path))
                plans = plans or _plans(made)
                _compare_plans(plans, made, str(person))
                sides[person] = (path, made[1])
        crowd = sides[None]
        # the control is a file of its own, so that it is read from another place
        control = (_file_in(folder / "control"), crowd[1])
        copyfile(crowd[0], control[0])
        for person in MEASURED:
            three = (crowd, control, sides[person])
            with BusyPlaces(self.busy, three, SALT) as places:
                for shape in plans:
                    tell(f"{person}: {shape}")
                    yield self._measure(shape, person, partial(places.run, shape=shape))

    def _run_here(self, shape: str, sides: Sequence[Database]) -> RunSide:
        """Return a function that runs a question in this process, by processor time."""
        asked = [
            (database.engine, bound_plan(shape, catalog), catalog)
            for database, catalog in sides
        ]

        def run(side: int) -> float:
            engine, plan, catalog = asked[side]
            began = self.clock()
            engine.run(plan, catalog, SALT)
            return (self.clock() - began) / 10**6

        return run

    def _measure(self, shape: str, person: str, run: RunSide) -> Movement:
        """Run a question on all sides in random order, and pair the times of each round."""
        taken = [list[float]() for _ in range(SIDES)]
        for round_ in range(self.rounds + 1):
            for side in Choices(f"{shape} {person} {round_}").permute(range(SIDES)):
                milliseconds = run(side)
                if round_:  # the first run of a statement takes longer
                    taken[side].append(milliseconds)
        crowd, control, more = taken
        moved = [after - before for before, after in zip(crowd, more, strict=True)]
        same = [after - before for before, after in zip(crowd, control, strict=True)]
        widest, noise = (max(map(abs, median_bounds(each))) for each in (moved, same))
        took = median(crowd)
        return Movement(shape, person, took, median(moved), widest, median(same), noise)


def _file_in(folder: Path) -> str:
    """Return the database file in a new folder; the name of a file is part of plans."""
    folder.mkdir()
    return str(folder / "made.duckdb")


def _closing(stack: ExitStack, opened: Database) -> Database:
    """Return a database that is closed with ``stack``."""
    stack.callback(opened[0].close)
    return opened


def _plans(database: Database) -> dict[str, Any]:
    """Return DuckDB's plans of all questions about a database."""
    return {shape: plan_of(shape, *database) for shape in shapes_of(database[1])}


def _compare_plans(plans: Mapping[str, Any], database: Database, person: str) -> None:
    """Refuse a database in which a question has another plan."""
    for shape, plan in plans.items():
        if plan_of(shape, *database) != plan:
            raise InvalidValue(
                "The plan of a question depends on the rows of one person "
                f"({person}), so that no person_ms holds: {shape}"
            )


def bound_plan(shape: str, catalog: Catalog) -> BoundedPlan:
    """Return the bounded plan of a question."""
    return bound(canonical(parse(shape, catalog)).plan, catalog).plan


def plan_of(shape: str, database: SyntheticDuckDB, catalog: Catalog) -> Any:
    """Return DuckDB's own plan of a question, without the numbers of rows that it expects."""
    text = question(bound_plan(shape, catalog), catalog, SALT, DUCKDB)
    [(_, plan)] = database.connection.execute(f"EXPLAIN (FORMAT json) {text}").fetchall()
    return _without_estimates(json.loads(plan))


ESTIMATE = "Estimated Cardinality"


def _without_estimates(plan: Any) -> Any:
    match plan:
        case dict():
            kept = {
                name: part for name, part in plan.items() if name != "Estimated Cardinality"
            }
            return {name: _without_estimates(part) for name, part in kept.items()}
        case list():
            return [_without_estimates(part) for part in plan]
    return plan


def median_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return two order statistics that hold the median with 99%, whatever the distribution.

    Example:
        >>> median_bounds([float(each) for each in range(41)])
        (11.0, 29.0)
    """
    count, ordered = len(values), sorted(values)
    below, place = Fraction(0), 0
    while True:  # the probability that at most ``place`` values are below the median
        below += Fraction(comb(count, place), 2**count)
        if 2 * below > 1 - CONFIDENCE:
            break
        place += 1
    if place == 0:
        raise InvalidValue(f"A bound of a median needs at least {LEAST_ROUNDS} values.")
    return ordered[place - 1], ordered[count - place]


def round_up(milliseconds: Fraction) -> Fraction:
    """Return the next larger number of 0.1, 0.2, 0.5, 1, 2, 5 and so on.

    Example:
        >>> [str(round_up(Fraction(each))) for each in ("0.03", "0.2", "0.9", "7.1", "300")]
        ['1/10', '1/5', '1', '10', '500']
    """
    power = Fraction(1, 10)
    while True:
        for digit in (1, 2, 5):
            if milliseconds <= digit * power:
                return digit * power
        power *= 10


def catalog_to_measure(catalog: Catalog, population: str, engines: Sequence[str]) -> Catalog:
    """Return the datasets of one population in these engines, located in synthetic tables."""
    theirs = tuple(
        replace(
            each,
            location=Location("made up", (each.name,)),
            schema=each.schema.copied,
            copy=None,
        )
        for each in catalog.datasets
        if each.population == population and each.location.engine in engines
    )
    people = tuple(each for each in catalog.populations if each.name == population)
    return Catalog(people, theirs, ())
